//! Categories of a function by the interrupts of each event. An event interrupts after as many
//! counts as its period, so a function has its share of them however short it runs at a time.

use topdown_counters::cpu::{Counts, Form, Split};
use topdown_counters::table_of_provenance;
use topdown_run::code_samples::{EventAddress, EventSamples};
use topdown_run::provenance::Provenance;

/// A normal variable is within this many standard deviations in 95 % of cases.
const Z_95: f64 = 1.959_963_984_540_054;

/// Counts of a group's events in a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnCounts {
    /// The PMU samples of events that have a period of their own.
    pub hits: u64,
    /// One count for each event.
    counts: Vec<u64>,
}

/// The formula for the counts, and their periods.
#[derive(Clone, Debug)]
pub struct OwnFormula {
    form: &'static Form,
    slots_per_cycle: u32,
    /// One for each event; 0 if its counts are those between two PMU samples of cycles.
    periods: Vec<u64>,
}

impl OwnCounts {
    pub fn add(&mut self, place: &EventAddress) {
        self.add_counts(place.hits, &place.counts);
    }

    /// Returns the count of the event at this position.
    pub fn count_of(&self, event: usize) -> u64 {
        self.counts.get(event).copied().unwrap_or(0)
    }

    pub fn add_all(&mut self, other: &OwnCounts) {
        self.add_counts(other.hits, &other.counts);
    }

    /// Adds counts, saturating: a bench can write anything.
    fn add_counts(&mut self, hits: u64, counts: &[u64]) {
        self.hits = self.hits.saturating_add(hits);
        self.counts.resize(self.counts.len().max(counts.len()), 0);
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum = sum.saturating_add(*count);
        }
    }
}

impl OwnFormula {
    /// Returns `None` if no table of this machine has the events.
    pub fn new(own: &EventSamples, provenance: &Provenance) -> Option<OwnFormula> {
        let table = table_of_provenance(provenance).ok()?;
        let is_it = |form: &&Form| {
            let names = form.events.iter().map(|event| event.name);
            form.formula == provenance.formula && names.eq(own.events.iter().map(String::as_str))
        };
        Some(OwnFormula {
            form: table.forms().iter().find(is_it)?,
            slots_per_cycle: provenance.slots_per_cycle?,
            periods: own.periods.clone(),
        })
    }

    /// Splits the function's slots.
    pub fn split(&self, own: &OwnCounts) -> Split {
        self.split_of(&own.counts)
    }

    fn split_of(&self, counts: &[u64]) -> Split {
        let counts = counts.iter().copied();
        (self.form.split)(&Counts::new(self.form.events, counts, self.slots_per_cycle))
    }

    /// Returns the retired instructions, if the group counts them.
    pub fn instructions(&self, own: &OwnCounts) -> Option<u64> {
        let instructions = self.form.instructions?;
        let mut events = self.form.events.iter();
        let at = events.position(|event| *event == instructions)?;
        own.counts.get(at).copied()
    }

    /// Returns half the width of the widest 95 % interval of the function's categories, as a
    /// fraction of its slots. `hits` are the function's PMU samples of cycles.
    ///
    /// The number of PMU samples of an event is a Poisson variable, and there may have been one
    /// more. Changing each count a little shows how much that moves a category's fraction.
    pub fn margin(&self, own: &OwnCounts, hits: u64) -> f64 {
        let fractions = |split: &Split| {
            let slots = split.level1.slots;
            let sum: f64 = slots.into_array().iter().sum();
            slots.map(|part| part / sum.max(1.0))
        };
        let now = fractions(&self.split_of(&own.counts));
        let mut variances = [0.0; 4];
        for (event, count) in own.counts.iter().enumerate() {
            let period = match self.periods.get(event) {
                Some(period @ 1..) => *period as f64,
                _ => *count as f64 / hits.max(1) as f64,
            };
            let more = (count / 1000).max(1);
            let mut changed = own.counts.clone();
            changed[event] += more;
            let then = fractions(&self.split_of(&changed));
            let variance = (*count as f64 + period) * period;
            for (sum, (now, then)) in variances.iter_mut().zip(now.zip(then).into_array()) {
                let per_count = (then - now) / more as f64;
                *sum += per_count * per_count * variance;
            }
        }
        let widest = variances.into_iter().fold(0.0, f64::max);
        (Z_95 * widest.sqrt()).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_counters::cpu::TABLES;

    /// Cycles, instructions, slots that were not delivered, issued and retired, and recovery.
    fn skylake() -> OwnFormula {
        let table = TABLES
            .iter()
            .find(|table| table.name.starts_with("Skylake"));
        OwnFormula {
            form: &table.unwrap().forms()[0],
            slots_per_cycle: 4,
            periods: vec![0, 80_000, 80_000, 80_000, 80_000, 20_000],
        }
    }

    fn counts(thousands_of_hits: u64) -> OwnCounts {
        let counts = [20, 10, 16, 44, 40, 1].map(|counts| counts * 1_000_000 * thousands_of_hits);
        let mut own = OwnCounts::default();
        own.add(&EventAddress {
            hits: 1000 * thousands_of_hits,
            counts: counts.to_vec(),
            ..EventAddress::default()
        });
        own
    }

    #[test]
    fn counts_use_formula_of_their_group() {
        let own = counts(1);
        let slots = skylake().split(&own).level1.slots;
        assert_eq!(slots.into_array(), [40e6, 8e6, 16e6, 16e6]);
        assert_eq!(skylake().instructions(&own), Some(10_000_000));
        let mut twice = counts(1);
        twice.add_all(&own);
        assert_eq!(twice, counts(2));
    }

    /// Of 80 million slots, backend bound is what the others leave. Its standard deviation comes
    /// from the slots (1000 PMU samples of 80 000, of which four fifths are of others), and from
    /// those not delivered (200), issued (550) and lost to recovery (50).
    #[test]
    fn margin_covers_widest_category_and_shrinks() {
        let margin = |thousands| skylake().margin(&counts(thousands), 1000 * thousands);
        let hits: f64 = 0.8 * 0.8 * 1000.0 + 200.0 + 550.0 + 50.0;
        let expected = Z_95 * hits.sqrt() * 80e3 / 80e6;
        assert!((margin(1) - expected).abs() < 0.002, "{}", margin(1));
        assert!((margin(100) - margin(1) / 10.0).abs() < 0.0005);
        assert!((0.0..=1.0).contains(&skylake().margin(&counts(0), 0)));
    }
}
