//! Sampling periods of a group's events.

use crate::cpu::{Counts, Split};
use crate::hardware::inherited_group::{MAX_EVENTS, Shape};
use topdown_run::code_samples::{DEFAULT_PERIOD_CYCLES, SamplingEngine};

/// Counts between interrupts of each event of a group; 0 if it only counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Periods {
    each: [u64; MAX_EVENTS],
    /// The event of cycles, whose PMU samples carry the counts of the group.
    reading: usize,
    engine: SamplingEngine,
}

impl Periods {
    /// The event of cycles alone interrupts.
    pub fn for_cycles(shape: Shape, period_cycles: u64) -> Periods {
        let reading = shape.cycles_at();
        let mut each = [0; MAX_EVENTS];
        each[reading] = period_cycles;
        Periods {
            each,
            reading,
            engine: match shape {
                Shape::Metrics(_) => SamplingEngine::Metrics,
                Shape::Exact { .. } => SamplingEngine::Counters,
            },
        }
    }

    /// Each event that decides categories, and that of instructions, interrupts after as many slots
    /// as `period_cycles` have. The PMU samples of cycles give the events that decide the number of
    /// slots. `None` for a register, which cannot interrupt.
    pub fn own(shape: Shape, period_cycles: u64) -> Option<Periods> {
        let Shape::Exact {
            plan,
            slots_per_cycle,
        } = shape
        else {
            return None;
        };
        let formula = plan.split?;
        // Plausible counts, large enough to change one a little.
        let mut counts = [0; MAX_EVENTS];
        counts[..plan.example_counts.len()].copy_from_slice(plan.example_counts);
        let split =
            |counts: [u64; MAX_EVENTS]| formula(&Counts::new(plan.events, counts, slots_per_cycle));
        let before = split(counts);
        let mut periods = Periods {
            engine: SamplingEngine::OwnPeriods,
            ..Periods::for_cycles(shape, period_cycles)
        };
        for at in 0..plan.events.len() {
            const MORE: u64 = 1000;
            let mut changed = counts;
            changed[at] += MORE;
            let after = split(changed);
            if at == periods.reading || after.slots != before.slots {
                continue;
            }
            let slots_each = match plan.instructions_at == Some(at) {
                true => 1.0,
                false => max_difference(&before, &after) / MORE as f64,
            };
            if slots_each > 0.0 {
                let slots = period_cycles as f64 * f64::from(slots_per_cycle);
                // Events that count the same must not keep step.
                let apart = 100 * at as u64;
                periods.each[at] = prime_from((slots / slots_each) as u64 + apart);
            }
        }
        Some(periods)
    }

    /// Each event of a metric group interrupts after about as many counts as `each` has at its
    /// position, but for 0 and those that `each` lacks. The event at `reading` carries the counts
    /// of the group.
    pub fn for_group(reading: usize, each: &[u64]) -> Periods {
        let mut periods = Periods {
            each: [0; MAX_EVENTS],
            reading,
            engine: SamplingEngine::OwnPeriods,
        };
        for (at, period) in each.iter().enumerate().take(MAX_EVENTS) {
            if *period == 0 {
                continue;
            }
            let mut period = prime_from(*period);
            // Events that count the same must not keep step.
            while periods.each.contains(&period) {
                period = prime_from(period + 2);
            }
            periods.each[at] = period;
        }
        if periods.each[reading] == 0 {
            periods.each[reading] = DEFAULT_PERIOD_CYCLES;
        }
        periods
    }

    /// Returns the periods in the order of the group's events.
    pub fn each(&self) -> &[u64; MAX_EVENTS] {
        &self.each
    }

    /// Returns which event's PMU samples carry the counts of the group.
    pub fn reading(&self) -> usize {
        self.reading
    }

    pub fn cycles(&self) -> u64 {
        self.each[self.reading]
    }

    pub fn engine(&self) -> SamplingEngine {
        self.engine
    }

    /// Returns the period of an event, unless its counts are those from one PMU sample of cycles to
    /// the next.
    pub fn own_of(&self, event: usize) -> Option<u64> {
        Some(self.each[event]).filter(|period| *period > 0 && event != self.reading)
    }

    /// Returns periods twice as long, about.
    pub fn doubled(&self) -> Periods {
        let each = self.each.map(|period| match period {
            0 => 0,
            period => period.saturating_mul(2).saturating_add(1),
        });
        Periods { each, ..*self }
    }
}

/// Returns the largest difference of a category, or of a part of one, in slots.
fn max_difference(before: &Split, after: &Split) -> f64 {
    let (l1, l2) = (&before.level1, &after.level1);
    let contention = |split: &Split| split.level1.smt_contention_slots.unwrap_or(0.0);
    let mut most = (contention(after) - contention(before)).abs();
    let parts = [before, after].map(|part| part.level2.unwrap_or_default());
    for (before, now) in [(l1.slots, l2.slots), (parts[0], parts[1])] {
        for (before, now) in before.into_array().into_iter().zip(now.into_array()) {
            most = most.max((now - before).abs());
        }
    }
    most
}

/// Returns the first prime number that is not smaller: PMU samples must not keep step with a loop.
fn prime_from(number: u64) -> u64 {
    let mut number = number | 1;
    let is_prime = |number: u64| {
        let mut by = 3;
        while by * by <= number && number % by != 0 {
            by += 2;
        }
        by * by > number
    };
    while !is_prime(number) {
        number += 2;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::TABLES;
    use crate::hardware::exact_group::Plan;

    /// The names of the events that interrupt, and their periods.
    fn of(table: &str, form: usize) -> Vec<(&'static str, u64)> {
        let table = TABLES.iter().find(|known| known.name == table).unwrap();
        let plan = Plan::for_form(&table.forms()[form]);
        let shape = Shape::Exact {
            plan,
            slots_per_cycle: table.slots_per_cycle.unwrap(),
        };
        let periods = Periods::own(shape, 20_011).unwrap();
        let events = plan.events.iter().enumerate();
        events
            .filter(|(at, _)| periods.each()[*at] > 0)
            .map(|(at, event)| (event.name, periods.each()[at]))
            .collect()
    }

    #[test]
    fn events_interrupt_after_equal_slots() {
        assert_eq!(
            of("Zen 4", 0),
            [
                ("ls_not_halted_cyc", 20_011),
                ("ex_ret_ops", 120_167),
                ("de_src_op_disp.all", 120_277),
                ("de_no_dispatch_per_slot.no_ops_from_frontend", 120_371),
                ("de_no_dispatch_per_slot.backend_stalls", 120_473),
                ("de_no_dispatch_per_slot.smt_contention", 120_569),
            ]
        );
    }

    /// A mispredicted branch costs four cycles of eight slots.
    #[test]
    fn expensive_event_interrupts_more_often() {
        let events = of("Neoverse V1", 0);
        let mispredicted = events.iter().find(|(name, _)| *name == "BR_MIS_PRED");
        assert_eq!(mispredicted, Some(&("BR_MIS_PRED", 5_623)), "{events:?}");
    }

    #[test]
    fn periods_of_events_are_unique() {
        for table in TABLES {
            for (index, form) in table.forms().iter().enumerate() {
                let shape = Shape::Exact {
                    plan: Plan::for_form(form),
                    slots_per_cycle: table.slots_per_cycle.unwrap_or(8),
                };
                let periods = Periods::own(shape, 20_011).unwrap();
                let mut each = periods.each().to_vec();
                each.retain(|period| *period > 0);
                each.sort_unstable();
                let all = each.len();
                each.dedup();
                assert_eq!(each.len(), all, "{} {index}", table.name);
                assert!(all > 3, "{} {index}: {each:?}", table.name);
            }
        }
    }

    #[test]
    fn metric_group_events_use_requested_periods() {
        let each = |reading, asked: &[u64]| Periods::for_group(reading, asked).each()[..4].to_vec();
        assert_eq!(each(0, &[1000, 90, 0, 90]), [1009, 97, 0, 101]);
        assert_eq!(each(1, &[90]), [97, DEFAULT_PERIOD_CYCLES, 0, 0]);
        assert_eq!(each(0, &[7; 99]), [7, 11, 13, 17]);
    }

    #[test]
    fn primes_are_found() {
        let from = [1, 2, 9, 20_011, 120_066].map(prime_from);
        assert_eq!(from, [1, 3, 11, 20_011, 120_067]);
    }
}
