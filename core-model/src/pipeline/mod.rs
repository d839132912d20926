//! The parts of the core between the frontend and retirement, each as the times it imposes.

mod frontend;
mod schedulers;
mod stores;
mod window;

pub(crate) use frontend::Frontend;
pub(crate) use schedulers::{NO_POOL, Schedulers};
pub(crate) use stores::{Forward, Store, StoreQueue};
pub(crate) use window::{Issued, LoadNumber, NO_LOAD, Window};
