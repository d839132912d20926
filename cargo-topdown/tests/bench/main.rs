//! `cargo topdown bench` from outside: the fixture workspace through the compiled program.

mod explain;
mod fixture;
mod noise;
mod relaunch;
mod run;
mod shard;
mod short_windows;
mod trouble;
