//! A model of an out-of-order core that accounts for every issue slot of a traced program.
//!
//! [`Model`] is a [`Consumer`](topdown_tracer::Consumer) of the tracer's stream. It executes each
//! instruction on a core described by [`CoreParameters`] and charges each issue slot to one
//! category of the TopDown method.
//!
//! # What it is
//!
//! One pass over the executed instructions in program order. The times of each (delivered, issued,
//! executed, retired) follow from those of its predecessors and from calendars of shared resources;
//! cycles in which nothing begins are not simulated. The result depends only on the stream and the
//! parameters: the same stream gives the same counts, bit for bit.
//!
//! # What it leaves out
//!
//! The kernel, the other hardware thread, and what cores do to each other. Most work on the wrong
//! path: its slots are charged, but only its loads that the right path repeats have an effect on
//! caches, and only on cores where `wrong_path_skip_bytes` is not 0. Physical addresses: caches are
//! indexed by virtual ones, where each mapping has a fixed place ([`Model::with_mappings`]).
//! Store-side coherence, page faults, frequency changes.

#![warn(clippy::incompatible_msrv)]

mod address_space;
mod branch;
mod calendar;
mod class;
mod core;
pub mod cores;
mod cost;
mod index;
mod instruction;
mod instruction_rows;
mod ledger;
mod memory;
mod model;
mod parameters;
mod paths;
mod pipeline;
mod pools;
mod ports;
mod sampling;
mod slots;
mod threads;
mod upper_halves;

pub use address_space::AddressSpace;
pub use class::{Class, DelayedPart, Timing};
pub use ledger::{BlockCounts, Waits};
pub use model::{BlockOnPath, Capacity, Effort, Model};
pub use parameters::{
    Atomics, Binding, Cache, CoreParameters, DecodedEntries, Disambiguation, Frontend, LearntOrder,
    Memory, MemoryPorts, MemoryRenaming, Prediction, Rename, SCHEDULERS, StoreDataWaits,
    TAGGED_TABLES, TaggedTable, TargetBuffer, Tlb, UopCacheReads, VectorSchedulers, Window,
};
pub use paths::{CallPath, ROOT};
pub use ports::{INTEGER_PORTS, Ports};
pub use sampling::{Estimate, GROUPS, Plan, Sampling};
pub use slots::{Counts, Events, Slots};
