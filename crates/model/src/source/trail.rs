//! The path of a benchmark's execution, in a form short enough to keep, to locate the divergence of
//! two launches.
//!
//! A hash of all blocks executed so far is kept at regular intervals. Two launches have diverged
//! before the first hash in which they differ. Further launches then keep the blocks of that
//! interval, one by one.

use std::ops::Range;

use super::content::mix;
use topdown_run::code::Trail;

/// Maximum number of hashes per benchmark. When it is reached, every second one is dropped.
const MAX_HASHES: usize = 1024;

/// Maximum number of blocks kept per interval. A budget of 30 million instructions has intervals of
/// some ten thousand.
const MAX_BLOCKS: usize = 64 * 1024;

/// Maximum number of benchmarks of a process whose blocks are kept.
const MAX_RANGES: usize = 1024;

/// The trail of the current benchmark.
pub(super) struct TrailKeeper {
    wanted: Vec<(u32, Range<u64>)>,
    number: u32,
    hash: u64,
    blocks: u64,
    /// A power of two.
    every_blocks: u64,
    hashes: Vec<u64>,
    stretch: Range<u64>,
    /// Whether the current benchmark's trail was asked for.
    is_known: bool,
    /// Block numbers.
    kept: Vec<u32>,
}

impl TrailKeeper {
    /// Reserves all memory. `wanted` is the value of
    /// [`STRETCHES`](topdown_run::environment::STRETCHES).
    pub(super) fn new(wanted: &str) -> TrailKeeper {
        // The same memory whether blocks are wanted or not: data of the benchmark lies behind it.
        let ranges = wanted.split(',').filter_map(parse_range);
        let mut wanted = Vec::with_capacity(MAX_RANGES);
        wanted.extend(ranges.take(MAX_RANGES));
        let mut keeper = TrailKeeper {
            wanted,
            number: 0,
            hash: 0,
            blocks: 0,
            every_blocks: 1,
            hashes: Vec::with_capacity(MAX_HASHES),
            stretch: 0..0,
            is_known: false,
            kept: Vec::with_capacity(MAX_BLOCKS),
        };
        keeper.begin();
        keeper
    }

    /// Begins a benchmark. It has the next number if the trail of the one before was asked for.
    pub(super) fn begin(&mut self) {
        self.number += u32::from(std::mem::take(&mut self.is_known));
        self.hash = 0;
        self.blocks = 0;
        self.every_blocks = 1;
        self.hashes.clear();
        self.kept.clear();
        let wanted = self
            .wanted
            .iter()
            .find(|(number, _)| *number == self.number);
        self.stretch = wanted.map_or(0..0, |(_, stretch)| stretch.clone());
    }

    /// Records an executed block.
    #[inline]
    pub(super) fn step(&mut self, id: u32, content: u64) {
        if self.stretch.contains(&self.blocks) && self.kept.len() < self.kept.capacity() {
            self.kept.push(id);
        }
        self.hash = mix(self.hash, content);
        self.blocks += 1;
        if self.blocks & (self.every_blocks - 1) == 0 {
            self.keep_hash();
        }
    }

    fn keep_hash(&mut self) {
        self.hashes.push(self.hash);
        if self.hashes.len() == MAX_HASHES {
            let mut is_second = true;
            self.hashes.retain(|_| {
                is_second = !is_second;
                is_second
            });
            self.every_blocks *= 2;
        }
    }

    /// Returns the trail of the benchmark. The interval contains block numbers.
    pub(super) fn trail(&mut self) -> Trail {
        self.is_known = true;
        Trail {
            number: self.number,
            blocks: self.blocks,
            hash: self.hash,
            every_blocks: self.every_blocks,
            hashes: copied(&self.hashes),
            stretch_from: self.stretch.start,
            stretch: copied(&self.kept),
            digest: None,
        }
    }
}

/// Copies with the same capacity, however little is in use.
fn copied<T: Copy>(kept: &Vec<T>) -> Vec<T> {
    let mut copy = Vec::with_capacity(kept.capacity());
    copy.extend_from_slice(kept);
    copy
}

fn parse_range(text: &str) -> Option<(u32, Range<u64>)> {
    let mut numbers = text.split(':');
    let mut next = || numbers.next()?.parse::<u64>().ok();
    let (number, from, end) = (next()?, next()?, next()?);
    Some((u32::try_from(number).ok()?, from..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(keeper: &mut TrailKeeper, blocks: impl Iterator<Item = u32>) -> Trail {
        for block in blocks {
            keeper.step(block, u64::from(block));
        }
        let trail = keeper.trail();
        keeper.begin();
        trail
    }

    #[test]
    fn hashes_locate_divergence_of_trails() {
        let mut keeper = TrailKeeper::new("");
        let one = trail(&mut keeper, 0..100_000);
        assert_eq!(one.every_blocks, 128);
        assert_eq!(one.hashes.len(), 100_000 / 128);
        let other = trail(
            &mut keeper,
            (0..100_000).map(|n| if n == 5000 { 7 } else { n }),
        );
        assert_eq!((one.number, other.number), (0, 1));
        let first = one
            .hashes
            .iter()
            .zip(&other.hashes)
            .position(|(a, b)| a != b);
        assert_eq!(first, Some(5000 / 128));
        // A short trail has the same hashes as a long one after the same blocks.
        let short = trail(&mut keeper, 0..1000);
        assert_eq!(short.every_blocks, 1);
        assert_eq!(short.hashes[127], one.hashes[0]);
    }

    #[test]
    fn requested_interval_is_kept() {
        let mut keeper = TrailKeeper::new("1:4:7,nonsense,3:0:2");
        let blocks = |keeper: &mut TrailKeeper| trail(keeper, 10..20).stretch;
        assert_eq!(blocks(&mut keeper), [0; 0]);
        assert_eq!(blocks(&mut keeper), [14, 15, 16]);
        assert_eq!(blocks(&mut keeper), [0; 0]);
        assert_eq!(blocks(&mut keeper), [10, 11]);
    }
}
