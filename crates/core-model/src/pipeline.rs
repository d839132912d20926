//! The parts of the core between the frontend and retirement, each represented by the times it
//! imposes.

mod binding;
mod bound_sets;
mod crowded_branches;
mod dependences;
mod disambiguation;
mod emptiest_scheduler;
mod entries;
mod frontend;
mod load_banks;
mod loads;
mod packets;
mod queue;
mod round_robin;
mod schedulers;
mod shared_path;
mod stores;
mod vector_queue;
mod window;

pub(crate) use binding::BoundPorts;
pub(crate) use dependences::{Dependences, Effect, Found, Source};
pub(crate) use disambiguation::Disambiguation;
pub(crate) use frontend::Frontend;
pub(crate) use load_banks::LoadBanks;
pub(crate) use loads::{LoadNumber, NO_LOAD};
pub(crate) use schedulers::Schedulers;
pub(crate) use shared_path::{Mispredicted, SharedPath};
pub(crate) use stores::{Forward, Store, StoreQueue};
pub(crate) use vector_queue::VectorQueue;
pub(crate) use window::{Issued, Window};
