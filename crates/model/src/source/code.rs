//! Cost of each block in each sample that is kept.
//!
//! The model counts per block from the start of the process. This module remembers the counts at
//! the start of a sample and subtracts them at its end, both outside of windows. Samples that turn
//! out to be warm-up are emptied again. All memory is reserved when the source is opened, so that
//! it does not affect where the benchmark's allocations lie.

use std::ops::Range;

use topdown_core_model::{BlockCounts, BlockOnPath, CallPath, Model, ROOT};
use topdown_tracer::BlockId;

use super::executed::Executed;
use super::meetings::MAX_TAKING_BLOCKS;
use topdown_counters::modules::ModuleMap;
use topdown_run::code::{CodeBlock, CodeCall, CodeCounts, CodeSlots, Trail};
use topdown_run::doubling::FINGERPRINT_SAMPLES;
use topdown_run::environment;
use topdown_run::instruction::InstructionEvents;
use topdown_run::steady::steady_samples;

/// Room for this many block costs per benchmark: of 10 samples with 23 thousand blocks each, on one
/// path. A benchmark that needs more has no functions.
const MAX_COSTS: usize = 256 * 1024;

/// More samples than criterion takes by default.
const MAX_SAMPLES: usize = 1000;

/// The parts of code whose slots are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeDetail {
    Blocks,
    /// Blocks, separately for each call path.
    Paths,
    Instructions,
}

impl CodeDetail {
    /// Reads [`environment::INSTRUCTIONS`] and [`environment::PATHS`].
    pub(super) fn from_environment() -> CodeDetail {
        let is_set = |name| std::env::var(name).is_ok_and(|wanted| wanted == "1");
        match [environment::INSTRUCTIONS, environment::PATHS].map(is_set) {
            [true, _] => CodeDetail::Instructions,
            [false, true] => CodeDetail::Paths,
            [false, false] => CodeDetail::Blocks,
        }
    }
}

/// The account of the current benchmark.
pub(super) struct CodeAccount {
    /// Each row's cost when the sample began, by row number: the model has a row for each block on
    /// each path.
    before: Vec<CodeCounts>,
    /// The events of each row at the same time, if the model counts by instruction.
    events_before: Option<Vec<InstructionEvents>>,
    /// Row numbers and their costs, sample by sample.
    costs: Vec<(u32, CodeCounts)>,
    /// The events of each of `costs`, if the model counts by instruction.
    events: Vec<InstructionEvents>,
    /// Where each sample ends in `costs`.
    ends: Vec<usize>,
    /// Indices of the usable samples.
    usable: Vec<usize>,
    /// What the first samples executed: row numbers and instruction counts.
    first: Vec<(u32, u64)>,
    /// Whether one of these samples was not traced to its end.
    first_has_gap: bool,
    /// Whether a sample did not fit.
    is_full: bool,
    /// Whether the costs of the last usable sample represent it.
    last_is_known: bool,
}

impl CodeAccount {
    /// Reserves room for a model of this many rows, each an instruction or a block.
    pub(super) fn new(rows: usize, by_instruction: bool) -> CodeAccount {
        let max_events = if by_instruction { MAX_COSTS } else { 0 };
        CodeAccount {
            before: Vec::with_capacity(rows),
            events_before: by_instruction.then(|| Vec::with_capacity(rows)),
            events: Vec::with_capacity(max_events),
            costs: Vec::with_capacity(MAX_COSTS),
            ends: Vec::with_capacity(MAX_SAMPLES),
            usable: Vec::with_capacity(MAX_SAMPLES),
            first: Vec::with_capacity(FINGERPRINT_SAMPLES * rows),
            first_has_gap: false,
            is_full: false,
            last_is_known: true,
        }
    }

    /// Returns the number of samples kept of the benchmark.
    pub(super) fn kept_samples(&self) -> usize {
        self.ends.len()
    }

    /// Begins a sample. Executions since the previous one belong to no sample.
    pub(super) fn begin_sample(&mut self, model: &Model) {
        self.before.clear();
        let blocks = model.blocks().take(self.before.capacity());
        self.before
            .extend(blocks.map(|(_, counts)| code_counts(&counts)));
        if let Some(before) = &mut self.events_before {
            before.clear();
            let blocks = model.blocks().take(before.capacity());
            before.extend(blocks.map(|(row, counts)| events(model, row, &counts)));
        }
    }

    /// Keeps what was executed since the sample began. `is_usable` says whether its windows were
    /// traced to their ends.
    pub(super) fn keep_sample(&mut self, model: &Model, is_usable: bool) {
        let begin = self.costs.len();
        for (row, (block, counts)) in model.blocks().enumerate() {
            let before = self.before.get(row).copied().unwrap_or_default();
            let after = code_counts(&counts);
            if after == before {
                continue;
            }
            if self.costs.len() == self.costs.capacity() {
                self.is_full = true;
                return;
            }
            self.costs.push((row as u32, difference(after, before)));
            if let Some(before) = &self.events_before {
                let before = before.get(row).copied().unwrap_or_default();
                let after = events(model, block, &counts);
                self.events.push(after.since(before));
            }
        }
        if self.ends.len() == self.ends.capacity() {
            self.is_full = true;
            return;
        }
        if self.ends.len() < FINGERPRINT_SAMPLES {
            let executed = self.costs[begin..].iter();
            self.first
                .extend(executed.map(|(number, counts)| (*number, counts.instructions)));
            self.first_has_gap |= !is_usable;
        }
        if is_usable {
            self.usable.push(self.ends.len());
            self.last_is_known = true;
        }
        self.ends.push(self.costs.len());
        self.empty_warm_up();
    }

    /// Scales the sample that was kept last, of which only units were modelled, to `whole`, the
    /// estimate of all of it. Without `whole`, its blocks do not represent it.
    pub(super) fn scale_last(&mut self, whole: Option<CodeCounts>) {
        self.first_has_gap = true;
        self.last_is_known = whole.is_some();
        let Some(whole) = whole else {
            return;
        };
        let before = self.ends.len().checked_sub(2);
        let begin = before.map_or(0, |before| self.ends[before]);
        let modelled = self.costs[begin..].iter();
        let modelled: u64 = modelled.map(|(_, counts)| counts.slots()).sum();
        let scaled = |count: u64| {
            let product = u128::from(count) * u128::from(whole.slots());
            (product / u128::from(modelled.max(1))) as u64
        };
        for events in self.events.iter_mut().skip(begin) {
            *events = events.map(scaled);
        }
        scale(&mut self.costs[begin..], whole);
    }

    /// Scales the sample that was kept last, of which only one iteration in `times` counted.
    pub(super) fn repeat_last(&mut self, times: u64) {
        let before = self.ends.len().checked_sub(2);
        let begin = before.map_or(0, |before| self.ends[before]);
        for (_, counts) in &mut self.costs[begin..] {
            let counts_of_all = <[u64; 9]>::from(*counts).map(|count| count.saturating_mul(times));
            *counts = counts_of_all.into();
        }
        for events in self.events.iter_mut().skip(begin) {
            *events = events.map(|count| count.saturating_mul(times));
        }
    }

    /// Empties the samples before those that count.
    fn empty_warm_up(&mut self) {
        let steady = steady_samples(self.usable.len());
        let Some(&first) = self.usable.get(self.usable.len() - steady) else {
            return;
        };
        let Some(last_of_warm_up) = first.checked_sub(1) else {
            return;
        };
        let emptied = self.ends[last_of_warm_up];
        self.costs.drain(..emptied);
        self.events.drain(..emptied.min(self.events.len()));
        for end in &mut self.ends {
            *end = end.saturating_sub(emptied);
        }
    }

    /// Ends the benchmark and returns its kept samples, if all fitted.
    #[inline(never)]
    pub(super) fn take(&mut self, model: &Model, executed: &mut Executed) -> Option<CodeSlots> {
        let is_whole = !self.is_full && self.last_is_known && !self.ends.is_empty();
        // A fingerprint is of blocks.
        let is_known = !self.first_has_gap && self.events_before.is_none();
        if !is_known || self.ends.len() < FINGERPRINT_SAMPLES {
            self.first.clear();
        }
        let code = is_whole.then(|| self.code_slots(model, executed));
        self.first.clear();
        self.first_has_gap = false;
        self.costs.clear();
        self.events.clear();
        self.ends.clear();
        self.usable.clear();
        self.is_full = false;
        self.last_is_known = true;
        code
    }

    #[inline(never)]
    fn code_slots(&self, model: &Model, executed: &mut Executed) -> CodeSlots {
        let room = self.before.capacity();
        let mut blocks = BlockTable {
            ranges: match self.events_before {
                Some(_) => with_room(room, model.ranges()),
                None => with_room(room, executed.ranges()),
            },
            rows: with_room(room, model.blocks().map(|(row, _)| row)),
            index_of: Vec::with_capacity(room),
            root_of: Vec::with_capacity(room),
            map: ModuleMap::for_this_process(),
            blocks: Vec::with_capacity(room),
            paths: model.paths(),
            call_of: Vec::with_capacity(room),
            calls: Vec::with_capacity(room),
            has_contents: self.events_before.is_none(),
        };
        blocks.index_of.resize(blocks.rows.len(), None);
        blocks.root_of.resize(blocks.ranges.len(), None);
        blocks.call_of.resize(blocks.paths.len(), None);
        let mut code = CodeSlots {
            samples: Vec::with_capacity(MAX_SAMPLES),
            ..CodeSlots::default()
        };
        let mut begin = 0;
        for &end in &self.ends {
            let costs = self.costs[begin..end].iter();
            let costs = costs.map(|&(row, counts)| (blocks.index(row, executed), counts));
            code.samples.push(if begin == end {
                Vec::new()
            } else {
                with_room(room, costs)
            });
            if self.events_before.is_some() {
                code.events.push(self.events[begin..end].to_vec());
            }
            begin = end;
        }
        let first = self.first.iter();
        let first = first.map(|&(row, count)| (blocks.index(row, executed), count));
        code.first_samples = with_room(room, first);
        code.first_samples_data = executed.data();
        let trail = executed.trail();
        // It is of blocks, too. A launch that models nothing can execute more than are kept.
        let known = match self.events_before {
            Some(_) => 0,
            None => blocks.ranges.len(),
        };
        let is_known = |number: &&u32| (**number as usize) < known;
        let stretch = trail.stretch.iter().filter(is_known);
        let stretch = stretch.map(|&number| blocks.root_index(number, executed));
        code.trail = Trail {
            stretch: with_room(trail.stretch.capacity(), stretch),
            ..trail
        };
        let lock = executed.lock().iter().filter(is_known);
        let lock = lock.map(|&number| blocks.root_index(number, executed));
        code.lock = with_room(MAX_TAKING_BLOCKS, lock);
        code.modules = blocks.map.into_names();
        code.blocks = blocks.blocks;
        code.calls = blocks.calls;
        code
    }
}

/// Collects `items` in an allocation whose size does not depend on their number, so that a record
/// uses the allocator in the same way for another program.
fn with_room<T>(room: usize, items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::with_capacity(room);
    all.extend(items);
    all
}

/// The blocks and calls of a record, by their numbers in the process.
struct BlockTable<'a> {
    ranges: Vec<Range<u64>>,
    rows: Vec<BlockOnPath>,
    /// Indices of blocks, by row number.
    index_of: Vec<Option<u32>>,
    /// Indices of blocks on no path, by block number.
    root_of: Vec<Option<u32>>,
    map: ModuleMap,
    blocks: Vec<CodeBlock>,
    paths: &'a [CallPath],
    /// One more than the indices of calls, by path.
    call_of: Vec<Option<u32>>,
    calls: Vec<CodeCall>,
    /// Whether the blocks are those that were executed, of which the contents are known.
    has_contents: bool,
}

impl BlockTable<'_> {
    /// Returns the index of a row's block in the record, adding it if necessary.
    fn index(&mut self, row: u32, executed: &Executed) -> u32 {
        let BlockOnPath { block, path } = self.rows[row as usize];
        if path == ROOT {
            return self.root_index(block.0, executed);
        }
        if let Some(index) = self.index_of[row as usize] {
            return index;
        }
        let call = self.call(path);
        let index = self.add(block, call, executed);
        self.index_of[row as usize] = Some(index);
        index
    }

    /// Returns the index of a block on no path, adding it if necessary.
    fn root_index(&mut self, number: u32, executed: &Executed) -> u32 {
        if let Some(index) = self.root_of[number as usize] {
            return index;
        }
        let index = self.add(BlockId(number), 0, executed);
        self.root_of[number as usize] = Some(index);
        index
    }

    fn add(&mut self, block: BlockId, call: u32, executed: &Executed) -> u32 {
        let range = &self.ranges[block.index()];
        let (module, offset) = self.map.locate(range.start);
        self.blocks.push(CodeBlock {
            module,
            offset,
            // A block has at most 48 instructions.
            bytes: (range.end - range.start) as u32,
            content: match self.has_contents {
                true => executed.content(block.0),
                false => 0,
            },
            call,
        });
        self.blocks.len() as u32 - 1
    }

    /// Returns one more than the index of a path's call in the record, adding it and its callers if
    /// necessary.
    fn call(&mut self, path: u32) -> u32 {
        // Callers have smaller numbers, so this ends; the stack may be small.
        let mut missing = path;
        loop {
            let known = |path: u32| path == ROOT || self.call_of[path as usize].is_some();
            if known(path) {
                return self.call_of[path as usize].unwrap_or(0);
            }
            let CallPath {
                caller, return_ip, ..
            } = self.paths[missing as usize];
            if !known(caller) {
                missing = caller;
                continue;
            }
            let (module, offset) = self.map.locate(return_ip - 1);
            self.calls.push(CodeCall {
                caller: self.call_of[caller as usize].unwrap_or(0),
                module,
                offset,
            });
            self.call_of[missing as usize] = Some(self.calls.len() as u32);
            missing = path;
        }
    }
}

/// Scales each count of all blocks so that they add up to `whole` exactly.
fn scale(costs: &mut [(u32, CodeCounts)], whole: CodeCounts) {
    let mut sum = CodeCounts::default();
    for (_, counts) in &*costs {
        sum += *counts;
    }
    let (sum, whole) = (<[u64; 9]>::from(sum), <[u64; 9]>::from(whole));
    let share = |index: usize, count: u64| {
        let product = u128::from(count) * u128::from(whole[index]);
        (product / u128::from(sum[index].max(1))) as u64
    };
    let mut passed = [0; 9];
    for (_, counts) in costs {
        let mut row = <[u64; 9]>::from(*counts);
        for (index, count) in row.iter_mut().enumerate() {
            let before = share(index, passed[index]);
            passed[index] += *count;
            *count = share(index, passed[index]) - before;
        }
        *counts = row.into();
    }
}

fn code_counts(counts: &BlockCounts) -> CodeCounts {
    let slots = &counts.slots;
    CodeCounts {
        instructions: counts.events.instructions,
        level1_slots: super::counted::level1_slots(slots),
        level2_slots: super::counted::level2_slots(slots),
    }
}

/// Returns the events of a row that is one instruction.
fn events(model: &Model, row: BlockOnPath, counts: &BlockCounts) -> InstructionEvents {
    let (events, waits) = (&counts.events, model.waits(row.block));
    InstructionEvents {
        executions: counts.executions,
        mispredictions: events.mispredicted_branches,
        clears: events.machine_clears,
        l1i_misses: events.l1i_misses,
        l1d_misses: events.l1d_misses,
        l2_misses: events.l2_misses,
        l3_misses: events.l3_misses,
        page_walks: events.dtlb_walks,
        operand_cycles: waits.operand_cycles,
        port_cycles: waits.port_cycles,
        refill_slots: waits.refill_slots,
        store_queue_slots: waits.store_queue_slots,
    }
}

/// Subtracts counts, which only grow.
fn difference(after: CodeCounts, before: CodeCounts) -> CodeCounts {
    let mut counts = <[u64; 9]>::from(after);
    for (count, less) in counts.iter_mut().zip(<[u64; 9]>::from(before)) {
        *count -= less;
    }
    counts.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_blocks_keep_shares_and_add_up() {
        let mut costs: Vec<(u32, CodeCounts)> = (0..100)
            .map(|row| (row, CodeCounts::from([u64::from(row); 9])))
            .collect();
        let whole = CodeCounts::from([1, 0, 4950, 99_003, 7, 1_000_000_007, 3, 5, 1 << 50]);
        scale(&mut costs, whole);
        let mut sum = CodeCounts::default();
        for (_, counts) in &costs {
            sum += *counts;
        }
        assert_eq!(sum, whole);
        let last = <[u64; 9]>::from(costs[99].1);
        assert_eq!(last[2], 99);
        assert!(last[5].abs_diff(20_000_000) <= 1);
    }
}
