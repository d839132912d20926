//! Studies of the modelled cores. The programs are in `src/bin`; this is what they share.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

pub mod kernels;
pub mod mechanisms;
pub mod recording;
pub mod thread_time;
