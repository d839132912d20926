//! The categories of a function by the interrupts of its own events: each interrupts after as many
//! counts as its period, wherever that is, so that a function has its share of them however short
//! it runs at a time.

use criterion_topdown::counter::table_behind;
use criterion_topdown::cpu::{Counts, Form, Split};
use criterion_topdown::hits::{OwnHits, OwnPlace};
use criterion_topdown::provenance::Provenance;

/// A normal variable is within this many standard deviations in 95 % of cases.
const Z_95: f64 = 1.959_963_984_540_054;

/// What the events of a group counted in a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnCounts {
    /// The hits of events that have a period of their own.
    pub hits: u64,
    /// One count for each event.
    counts: Vec<u64>,
}

/// What the counts mean.
#[derive(Clone, Debug)]
pub struct OwnFormula {
    form: &'static Form,
    slots_per_cycle: u32,
    /// One for each event; 0 if its counts are those between two hits of cycles.
    periods: Vec<u64>,
}

impl OwnCounts {
    pub fn add(&mut self, place: &OwnPlace) {
        self.add_counts(place.hits, &place.counts);
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
    pub fn new(own: &OwnHits, provenance: &Provenance) -> Option<OwnFormula> {
        let table = table_behind(provenance).ok()?;
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
    /// fraction of its slots. `hits` are the function's hits of cycles.
    ///
    /// The number of hits of an event varies like a count of independent ones (Poisson), of which
    /// there may have been one more. By how much that moves a category's fraction is found by
    /// changing each count a little.
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
