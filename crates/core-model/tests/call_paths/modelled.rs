//! The call paths that the model follows.

use std::collections::BTreeMap;

use topdown_core_model::{Capacity, Model, ROOT, cores};

use super::programs::is_known;

/// Returns a core that follows calls.
pub fn model() -> Model {
    Model::new(&cores::GOLDEN_COVE, Capacity::default()).following_calls()
}

/// Returns how often each path was called, of those that end with a function of the programs.
pub fn calls(model: &Model) -> BTreeMap<Vec<u64>, u64> {
    let starts: Vec<u64> = model.ranges().map(|range| range.start).collect();
    let paths = model.paths();
    let mut calls = BTreeMap::new();
    for (row, counts) in model.blocks() {
        let entry = paths[row.path as usize].entry_ip;
        if row.path == ROOT || !is_known(entry) || starts[row.block.index()] != entry {
            continue;
        }
        let mut chain = Vec::new();
        let mut path = row.path;
        while path != ROOT {
            assert!(paths[path as usize].caller < path);
            chain.extend(Some(paths[path as usize].entry_ip).filter(|ip| is_known(*ip)));
            path = paths[path as usize].caller;
        }
        chain.reverse();
        *calls.entry(chain).or_default() += counts.executions;
    }
    calls.retain(|_, count| *count > 0);
    calls
}
