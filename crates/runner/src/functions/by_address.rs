//! Slots of a benchmark by address, over the samples that count.

use std::collections::BTreeMap;

use topdown_gate::statistics::launch::{Taken, kept_for_slots};
use topdown_run::category::PerCategory;
use topdown_run::code::CodeSlots;
use topdown_run::code_samples::{CodeSamples, Sampled};
use topdown_run::instruction::InstructionEvents;
use topdown_run::run_file::IterationSample;
use topdown_run::sample::Flags;

/// What one launch recorded about its instructions.
#[derive(Clone, Debug)]
pub enum InstructionRecord {
    /// The model counted each of them.
    Modelled(CodeSlots),
    /// Interrupts of counters found some of them.
    Sampled(CodeSamples),
}

/// Slots of a benchmark by address.
#[derive(Clone, Debug, Default)]
pub struct SlotsByAddress {
    /// The iterations that took them.
    pub iterations: u64,
    /// By module and offset in it.
    pub places: BTreeMap<(String, u64), PlaceSlots>,
    /// Numbers of PMU samples, unless the slots are exact.
    pub sampled: Option<Sampled>,
}

/// Slots at one address.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlaceSlots {
    /// The length of the instruction, or of two that execute as one; 0 if it is not known.
    pub bytes: u32,
    /// Slots by category. Those of PMU samples are all in `retiring`: what was counted between two
    /// of them is also that of the code that ran before.
    pub level1: PerCategory<f64>,
    /// The measured part of each.
    pub level2: PerCategory<f64>,
    /// Number of PMU samples.
    pub hits: u64,
    /// Events of the instruction; `None` if it was sampled.
    pub events: Option<InstructionEvents>,
}

/// Sums up the instructions of a benchmark, given each launch's samples and what it recorded.
///
/// Returns `None` if nothing was recorded, or if the slots differ from the samples'.
pub fn slots_by_address(
    launches: &[(&[IterationSample], &InstructionRecord)],
    taken: Taken,
) -> Option<SlotsByAddress> {
    let mut all = SlotsByAddress::default();
    for (samples, record) in launches {
        match record {
            InstructionRecord::Modelled(code) => all.add_modelled(samples, code, taken)?,
            InstructionRecord::Sampled(hits) => all.add_sampled(samples, hits),
        }
    }
    (all.iterations > 0 && !all.places.is_empty()).then_some(all)
}

impl SlotsByAddress {
    fn add_modelled(
        &mut self,
        samples: &[IterationSample],
        code: &CodeSlots,
        taken: Taken,
    ) -> Option<()> {
        for index in kept_for_slots(samples, taken).unwrap_or_default() {
            let (sample, costs) = (&samples[index], code.samples.get(index)?);
            let slots = costs.iter().map(|(_, counts)| counts.slots());
            if sample.sample.slots != Some(slots.fold(0, u64::saturating_add)) {
                return None;
            }
            self.iterations = self.iterations.saturating_add(sample.iterations);
            for ((block, counts), events) in costs.iter().zip(code.events.get(index)?) {
                let block = &code.blocks[*block as usize];
                let module = code.modules[block.module as usize].clone();
                let place = self.places.entry((module, block.offset)).or_default();
                place.bytes = place.bytes.max(block.bytes);
                let add = |(sum, more): (f64, u64)| sum + more as f64;
                place.level1 = place.level1.zip(counts.level1_slots).map(add);
                place.level2 = place.level2.zip(counts.level2_slots).map(add);
                *place.events.get_or_insert_default() += *events;
            }
        }
        Some(())
    }

    fn add_sampled(&mut self, samples: &[IterationSample], hits: &CodeSamples) {
        let is_usable = |of: &&IterationSample| !of.sample.flags.intersects(Flags::UNUSABLE);
        for sample in samples.iter().filter(is_usable) {
            self.iterations = self.iterations.saturating_add(sample.iterations);
        }
        for place in &hits.places {
            let module = hits.modules[place.module as usize].clone();
            let sum = self.places.entry((module, place.offset)).or_default();
            sum.level1.retiring += place.slots as f64;
            sum.hits = sum.hits.saturating_add(place.hits);
        }
        let sum = self.sampled.get_or_insert_default();
        let more = hits.sampled;
        *sum = Sampled {
            engine: more.engine,
            period_cycles: sum.period_cycles.max(more.period_cycles),
            hits: sum.hits.saturating_add(more.hits),
            effective_hits: sum.effective_hits.saturating_add(more.effective_hits),
            lost: sum.lost.saturating_add(more.lost),
            throttled: sum.throttled.saturating_add(more.throttled),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::code::{CodeBlock, CodeCounts};
    use topdown_run::sample::Sample;

    fn sample(slots: u64) -> IterationSample {
        IterationSample {
            iterations: 2,
            sample: Sample {
                slots: Some(slots),
                ..Sample::EMPTY
            },
        }
    }

    fn code(slots: u64) -> CodeSlots {
        let block = |offset| CodeBlock {
            module: 0,
            offset,
            bytes: 4,
            content: 0,
            call: 0,
        };
        let counts = |slots| CodeCounts::from([1, slots, 0, 0, 0, 0, 0, 0, 0]);
        CodeSlots {
            modules: vec!["/bench".to_owned()],
            blocks: vec![block(0x10), block(0x14)],
            samples: vec![vec![(0, counts(slots - 3)), (1, counts(3))]; 8],
            events: vec![vec![InstructionEvents::default(); 2]; 8],
            ..CodeSlots::default()
        }
    }

    #[test]
    fn modelled_instructions_have_all_slots_or_none_are_known() {
        let samples = vec![sample(100); 8];
        let sum_of = |code: CodeSlots| {
            let record = InstructionRecord::Modelled(code);
            let sums = slots_by_address(&[(&samples, &record)], Taken::OnTheModel)?;
            let slots: f64 = sums.places.values().map(|place| place.level1.sum()).sum();
            Some(slots / sums.iterations as f64)
        };
        assert_eq!(sum_of(code(100)), Some(50.0));
        assert_eq!(sum_of(code(101)), None);
        let without_events = CodeSlots {
            events: Vec::new(),
            ..code(100)
        };
        assert_eq!(sum_of(without_events), None);
        assert!(slots_by_address(&[], Taken::OnTheModel).is_none());
    }
}
