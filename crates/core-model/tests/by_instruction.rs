//! Slots by instruction: all slots, each once, and no other count changes.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::HashMap;
use std::hint::black_box;

use topdown_core_model::cores::ALL;
use topdown_core_model::{Capacity, CoreParameters, Events, Model, Slots};
use topdown_skipped::{Need, skip};
use topdown_tracer::iced_x86::FlowControl;
use topdown_tracer::{Block, Config, Consumer, Tracer};

/// Sorts, hashes, prints, copies and divides: repeated string instructions, fused pairs,
/// mispredicted branches and cache misses.
fn work(data: &[u64]) {
    let mut copy = data.to_vec();
    copy.sort_unstable();
    let map: HashMap<u64, usize> = copy.iter().copied().zip(0..).collect();
    let text = format!("{:?} {:.3}", map.len(), 1.5 * copy[3] as f64);
    let mut bytes = vec![0_u8; 300_000];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    black_box(bytes.clone());
    let mut quotient = u64::MAX;
    for divisor in data {
        quotient = quotient / black_box(divisor | 1) + *divisor;
    }
    black_box(quotient);
}

/// Two models of one core that receive the same stream.
struct Both {
    plain: Model,
    by_instruction: Model,
    /// By the end of each instruction.
    is_branch: HashMap<u64, bool>,
}

impl Consumer for Both {
    fn translated(&mut self, block: &Block<'_>) {
        self.plain.translated(block);
        self.by_instruction.translated(block);
        for instruction in block.instructions {
            let decoded = &instruction.decoded;
            let is_branch = decoded.flow_control() != FlowControl::Next;
            self.is_branch.insert(decoded.next_ip(), is_branch);
        }
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        self.plain.block(block, addresses);
        self.by_instruction.block(block, addresses);
    }
}

/// Traces the work twice on each core.
fn for_each_core(check: impl Fn(&CoreParameters, &mut Both)) {
    let data: Vec<u64> = (0..700_u64)
        .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)
        .collect();
    for core in ALL {
        let model = || Model::new(core, Capacity::default());
        let both = Both {
            plain: model(),
            by_instruction: model().by_instruction(),
            is_branch: HashMap::with_capacity(1 << 16),
        };
        let mut tracer = match Tracer::new(Config::default(), both) {
            Ok(tracer) => tracer,
            Err(error) => return skip(Need::Model, error),
        };
        for _ in 0..2 {
            let ((), end) = tracer.trace(|| work(&data));
            end.expect("the trace is complete");
            let both = tracer.consumer_mut();
            both.plain.drain();
            both.by_instruction.drain();
            check(core, both);
        }
        assert!(!tracer.consumer_mut().by_instruction.is_full());
    }
}

#[test]
fn counting_by_instruction_changes_no_count() {
    for_each_core(|core, both| {
        assert_eq!(
            both.plain.counts(),
            both.by_instruction.counts(),
            "{}",
            core.name
        );
    });
}

#[test]
fn slots_and_events_of_instructions_add_up() {
    for_each_core(|core, both| {
        let model = &both.by_instruction;
        let mut slots = Slots::default();
        let mut events = Events::default();
        for (row, counts) in model.blocks() {
            assert!(row.block.index() < model.max_rows());
            slots += counts.slots;
            events += counts.events;
        }
        let counts = model.counts();
        assert_eq!(slots, counts.slots, "{}", core.name);
        assert_eq!(slots.total(), counts.cycles * u64::from(core.width));
        assert_eq!(events, counts.events);
        assert_eq!(model.ranges().count(), model.blocks().count());
        let mut lengths = model.ranges().map(|ips| ips.end - ips.start);
        assert!(lengths.all(|bytes| (1..=30).contains(&bytes)));
    });
}

/// Events belong to the instruction that has them: mispredictions to branches.
#[test]
fn mispredictions_belong_to_branches_and_refills_to_targets() {
    for_each_core(|_, both| {
        let model = &both.by_instruction;
        let mut refills = 0;
        for ((row, counts), ips) in model.blocks().zip(model.ranges()) {
            if counts.events.mispredicted_branches > 0 {
                assert_eq!(both.is_branch.get(&ips.end), Some(&true));
            }
            refills += model.waits(row.block).refill_slots;
        }
        assert!(
            refills > 0
                && refills
                    <= model.counts().slots.fetch_latency + model.counts().slots.fetch_bandwidth
        );
    });
}
