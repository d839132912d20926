//! Attributes PMU samples to functions, for slots that the hardware counted.

use std::collections::HashMap;

use topdown_run::category::PerCategory;
use topdown_run::code::CodeCounts;
use topdown_run::code_samples::{CodeSamples, Sampled, SampledAddress, SamplingEngine};
use topdown_run::provenance::Provenance;
use topdown_run::run_file::{Functions, IterationSample};
use topdown_run::sample::{Flags, Sample};
use topdown_run::visible::visible;

use topdown_gate::statistics::share::share_margin;

use super::group_event::{GroupEvent, events_of};
use super::own_counts::{OwnCounts, OwnFormula};
use super::slots::{FunctionKey, limited, ranked};
use super::symbols::Symbols;

/// The counts of each function that was sampled in one launch.
#[derive(Clone, Debug, Default)]
pub struct SampledFunctions {
    counts: HashMap<FunctionKey, FunctionCounts>,
    /// The counts of events with periods of their own, by function, and their formula.
    pub(super) own: HashMap<FunctionKey, OwnCounts>,
    formula: Option<OwnFormula>,
    /// The events with counts in `own`.
    pub(super) events: Vec<GroupEvent>,
    /// How they were found.
    pub sampled: Sampled,
}

/// Fewer PMU samples do not determine the categories of a function.
const MIN_CATEGORY_SAMPLES: u64 = 10;

/// Minimum excess over chance of consecutive samples of a function, as a fraction of the distance
/// to always. If it runs for far less than a period at a time, the preceding PMU sample is in it by
/// chance alone, and the counts in between are of all functions.
const MIN_FRACTION_BEYOND_CHANCE: f64 = 0.2;

/// A function with this share of the slots has at least this share of the counts between two of its
/// PMU samples.
const DOMINANT_FRACTION: f64 = 0.9;

/// The counts of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct FunctionCounts {
    /// Of all its PMU samples, which determine its share of the slots.
    all: SampledCounts,
    /// Of those after another PMU sample of the function. The others' counts are partly of the
    /// function that ran before it.
    inside: SampledCounts,
}

impl FunctionCounts {
    fn add(&mut self, other: &FunctionCounts) {
        self.all.add(&other.all);
        self.inside.add(&other.inside);
    }

    /// Returns whether the counts of the samples inside of the function are its own, given its
    /// share of all PMU samples.
    fn is_known_inside(&self, share: f64) -> bool {
        let twice = self.inside.hits as f64 / self.all.hits.max(1) as f64;
        let is_beyond_chance = twice - share >= MIN_FRACTION_BEYOND_CHANCE * (1.0 - share);
        self.inside.hits >= MIN_CATEGORY_SAMPLES
            && self.inside.slots > 0
            && (is_beyond_chance || share >= DOMINANT_FRACTION)
    }

    /// Returns the counts and the margin of their categories. `hits` are the PMU samples of all
    /// functions, `own` are the counts of events with periods of their own.
    ///
    /// The samples inside of the function determine its categories best, unless they keep step with
    /// a loop around it: then the counts between them are those of the whole loop. So they must
    /// agree with the events' own PMU samples, which a loop does not mislead.
    fn whole(&self, hits: u64, own: Option<(&OwnCounts, &OwnFormula)>) -> Whole {
        let own = own.filter(|(own, _)| own.hits >= MIN_CATEGORY_SAMPLES);
        let own = own.map(|(own, formula)| self.whole_by_own(own, formula));
        let is_known = self.is_known_inside(self.all.hits as f64 / hits.max(1) as f64);
        let inside = is_known.then(|| self.whole_inside());
        match (inside, own) {
            (Some(inside), Some(own)) if !inside.agrees_with(&own) => own,
            (Some(inside), _) => inside,
            (None, Some(own)) => own,
            (None, None) => Whole {
                counts: self.all.whole(),
                category_hits: 0,
                category_margin: None,
            },
        }
    }

    fn whole_inside(&self) -> Whole {
        let inside = &self.inside;
        let scale = self.all.slots as f64 / inside.slots as f64;
        let scaled = SampledCounts {
            hits: self.all.hits,
            instructions: (inside.instructions as f64 * scale).round() as u64,
            slots: self.all.slots,
            level1_slots: inside.level1_slots.map(|slots| slots * scale),
            level2_slots: inside.level2_slots.map(|slots| slots * scale),
        };
        Whole {
            counts: scaled.whole(),
            category_hits: inside.hits,
            category_margin: None,
        }
    }

    fn whole_by_own(&self, own: &OwnCounts, formula: &OwnFormula) -> Whole {
        let split = formula.split(own);
        let counts = SampledCounts {
            hits: self.all.hits,
            instructions: formula.instructions(own).unwrap_or(self.all.instructions),
            slots: self.all.slots,
            level1_slots: split.level1.slots,
            level2_slots: split.level2.unwrap_or_default(),
        };
        Whole {
            counts: counts.whole(),
            category_hits: own.hits,
            category_margin: Some(formula.margin(own, self.all.hits)),
        }
    }
}

/// A function's whole slots.
#[derive(Clone, Copy)]
struct Whole {
    counts: CodeCounts,
    /// The PMU samples from which the categories are taken; 0 if none determine them.
    category_hits: u64,
    /// Half the width of their intervals, unless `category_hits` determines it.
    category_margin: Option<f64>,
}

impl Whole {
    /// Returns whether no category differs from that of `own` by more than chance explains.
    fn agrees_with(&self, own: &Whole) -> bool {
        let slots = self.counts.slots().max(1) as f64;
        let both = self.counts.level1_slots.zip(own.counts.level1_slots);
        let margin = own.category_margin.unwrap_or(1.0);
        both.into_array().into_iter().all(|(inside, own)| {
            let fraction = inside as f64 / slots;
            let margin = margin.hypot(share_margin(fraction, self.category_hits));
            (fraction - own as f64 / slots).abs() <= margin
        })
    }
}

/// The counts of some PMU samples, as the formula gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct SampledCounts {
    hits: u64,
    instructions: u64,
    slots: u64,
    level1_slots: PerCategory<f64>,
    level2_slots: PerCategory<f64>,
}

impl SampledCounts {
    /// Adds counts, saturating: a bench can write anything.
    fn add(&mut self, other: &SampledCounts) {
        let sum = |(a, b): (f64, f64)| a + b;
        self.hits = self.hits.saturating_add(other.hits);
        self.instructions = self.instructions.saturating_add(other.instructions);
        self.slots = self.slots.saturating_add(other.slots);
        self.level1_slots = self.level1_slots.zip(other.level1_slots).map(sum);
        self.level2_slots = self.level2_slots.zip(other.level2_slots).map(sum);
    }

    /// Returns whole slots that add up. Small counts can put a category a little below 0.
    fn whole(&self) -> CodeCounts {
        let parts = self.level1_slots.map(|slots| slots.max(0.0));
        let sum: f64 = parts.into_array().iter().sum();
        let scale = if sum > 0.0 {
            self.slots as f64 / sum
        } else {
            0.0
        };
        // Rounds the sums, so that the rest of one category goes to the next.
        let mut before = 0.0;
        let level1_slots = PerCategory::from_fn(|category| {
            let begin = f64::round(before);
            before += parts[category] * scale;
            before.round() as u64 - begin as u64
        });
        let level2_slots = level1_slots.zip(self.level2_slots);
        CodeCounts {
            instructions: self.instructions,
            level1_slots,
            level2_slots: level2_slots.map(|(whole, part)| ((part * scale) as u64).min(whole)),
        }
    }
}

impl SampledFunctions {
    /// Returns how often each function was sampled by the event that carries the counts of the
    /// group.
    pub(super) fn sample_counts(&self) -> impl Iterator<Item = (&FunctionKey, u64)> {
        self.counts
            .iter()
            .map(|(place, counts)| (place, counts.all.hits))
    }

    /// Adds a PMU sample of a function, and the counts since the preceding one; `is_inside` if that
    /// was in the same function.
    pub fn add_hit(
        &mut self,
        (name, module): (&Option<String>, &Option<String>),
        is_inside: bool,
        since: &Sample,
    ) {
        let level1 = since.level1.unwrap_or_default();
        let contention = level1.smt_contention_slots.unwrap_or(0.0).max(0.0);
        let counts = SampledCounts {
            hits: 1,
            instructions: since.instructions.unwrap_or(0),
            slots: (since.slots.unwrap_or(0) as f64 - contention) as u64,
            level1_slots: level1.slots,
            level2_slots: since.level2.unwrap_or_default(),
        };
        let function = FunctionKey {
            name: name.as_deref().map(|name| limited(&visible(name))),
            module: module.as_deref().map(|module| visible(module).into_owned()),
        };
        let counted = self.counts.entry(function).or_default();
        counted.all.add(&counts);
        if is_inside {
            counted.inside.add(&counts);
        }
    }
}

impl From<&SampledAddress> for SampledCounts {
    fn from(place: &SampledAddress) -> SampledCounts {
        SampledCounts {
            hits: place.hits,
            instructions: place.instructions,
            slots: place.slots,
            level1_slots: place.level1_slots,
            level2_slots: place.level2_slots,
        }
    }
}

/// Attributes `hits` to functions, named by `symbols`.
pub fn attribute_samples(
    hits: &CodeSamples,
    symbols: &mut Symbols,
    provenance: &Provenance,
) -> SampledFunctions {
    let own = hits.own.as_ref();
    let mut functions = SampledFunctions {
        sampled: hits.sampled,
        formula: own.and_then(|own| OwnFormula::new(own, provenance)),
        events: events_of(hits),
        ..SampledFunctions::default()
    };
    if functions.formula.is_none() && hits.sampled.engine == SamplingEngine::OwnPeriods {
        // Without its formula, the counts mean nothing.
        functions.sampled.engine = SamplingEngine::Counters;
    }
    let mut known: HashMap<(u32, u64), FunctionKey> = HashMap::new();
    let mut function_of = |at: (u32, u64)| {
        let function = known.entry(at).or_insert_with(|| {
            let module = &hits.modules[at.0 as usize];
            let name = symbols.name_of(module, at.1, 1);
            FunctionKey {
                name: name.map(|name| limited(&name)),
                module: symbols.label_of(module),
            }
        });
        function.clone()
    };
    for place in &hits.places {
        let function = function_of((place.module, place.offset));
        let is_inside = place.after.is_some_and(|at| function_of(at) == function);
        let counts = functions.counts.entry(function).or_default();
        counts.all.add(&place.into());
        if is_inside {
            counts.inside.add(&place.into());
        }
    }
    for place in own.iter().flat_map(|own| &own.places) {
        let function = function_of((place.module, place.offset));
        functions.own.entry(function).or_default().add(place);
    }
    functions
}

/// Sums up the functions of a benchmark over its launches, given each launch's samples: PMU samples
/// are of the usable ones. `None` if nothing was sampled.
pub fn functions_of_samples(
    launches: &[(&[IterationSample], &SampledFunctions)],
) -> Option<Functions> {
    let mut iterations = 0_u64;
    let mut sums: HashMap<&FunctionKey, FunctionCounts> = HashMap::new();
    let mut own: HashMap<&FunctionKey, OwnCounts> = HashMap::new();
    let mut sampled = Sampled::default();
    let engines = launches
        .iter()
        .map(|(_, functions)| functions.sampled.engine);
    // If all launches agree, the events of one are those of the others.
    let engine = engines.clone().next().unwrap_or_default();
    let engine = match engine {
        SamplingEngine::OwnPeriods if !engines.clone().all(|other| other == engine) => {
            SamplingEngine::Counters
        }
        engine => engine,
    };
    let formula = launches
        .first()
        .and_then(|(_, launch)| launch.formula.as_ref());
    let formula = formula.filter(|_| engine == SamplingEngine::OwnPeriods);
    for (samples, functions) in launches {
        let usable = samples
            .iter()
            .filter(|sample| !sample.sample.flags.intersects(Flags::UNUSABLE));
        for sample in usable {
            iterations = iterations.saturating_add(sample.iterations);
        }
        for (place, counts) in &functions.counts {
            sums.entry(place).or_default().add(counts);
        }
        for (place, counts) in &functions.own {
            own.entry(place).or_default().add_all(counts);
        }
        let more = functions.sampled;
        sampled = Sampled {
            engine,
            period_cycles: sampled.period_cycles.max(more.period_cycles),
            hits: sampled.hits.saturating_add(more.hits),
            effective_hits: sampled.effective_hits.saturating_add(more.effective_hits),
            lost: sampled.lost.saturating_add(more.lost),
            throttled: sampled.throttled.saturating_add(more.throttled),
        };
    }
    let whole: HashMap<&FunctionKey, Whole> = sums
        .into_iter()
        .map(|(place, counts)| {
            let own = own.get(place).zip(formula);
            (place, counts.whole(sampled.hits, own))
        })
        .collect();
    let counts = whole.iter().map(|(place, whole)| (*place, whole.counts));
    let mut functions = ranked(iterations, counts.collect());
    for function in &mut functions.largest {
        let place = FunctionKey {
            name: function.name.clone(),
            module: function.module.clone(),
        };
        let whole = whole.get(&place);
        function.category_hits = whole.map(|whole| whole.category_hits);
        function.category_margin = whole.and_then(|whole| whole.category_margin);
    }
    (iterations > 0 && sampled.hits > 0).then_some(Functions {
        sampled: Some(sampled),
        ..functions
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Of a core of six slots per cycle.
    fn provenance() -> Provenance {
        let counted = topdown_gate::scenario::benchmark("b", Default::default());
        counted.provenance().clone()
    }

    fn sampled_at(module: u32, slots: u64, level1: [f64; 4]) -> SampledAddress {
        SampledAddress {
            module,
            offset: slots,
            after: None,
            hits: 1,
            instructions: slots / 2,
            slots,
            level1_slots: level1.into(),
            level2_slots: [0.0, 0.0, level1[2] / 2.0, level1[3] / 2.0].into(),
        }
    }

    fn launch(slots: u64) -> SampledFunctions {
        let hits = CodeSamples {
            modules: vec!["/nowhere/liba.so".to_owned(), "[vdso]".to_owned()],
            places: vec![
                sampled_at(0, 600, [300.0, 150.0, 75.0, 75.0]),
                sampled_at(0, 300, [150.0, 75.0, 37.5, 37.5]),
                sampled_at(1, slots, [slots as f64, 0.0, 0.0, 0.0]),
            ],
            own: None,
            sampled: Sampled {
                engine: SamplingEngine::Counters,
                period_cycles: 20_011,
                hits: 3,
                effective_hits: 2,
                lost: 4,
                throttled: 1,
            },
        };
        attribute_samples(
            &hits,
            &mut Symbols::new(Path::new("/nowhere/bench")),
            &provenance(),
        )
    }

    fn sample(iterations: u64, flags: Flags) -> IterationSample {
        IterationSample {
            iterations,
            sample: Sample {
                flags,
                ..Sample::EMPTY
            },
        }
    }

    #[test]
    fn pmu_samples_of_kept_samples_add_up() {
        let (a, b) = (launch(100), launch(50));
        let samples = [sample(7, Flags::NONE), sample(5, Flags::NOT_COUNTING)];
        let functions = functions_of_samples(&[(&samples, &a), (&samples, &b)]).unwrap();
        assert_eq!(functions.iterations, 14);
        assert_eq!(functions.total().slots(), 2 * 900 + 150);
        let largest = &functions.largest[0];
        assert_eq!(largest.module.as_deref(), Some("liba.so"));
        assert_eq!(largest.counts.slots(), 1800);
        assert_eq!(
            largest.counts.level1_slots.into_array(),
            [900, 450, 225, 225]
        );
        assert_eq!(largest.counts.level2_slots.into_array(), [0, 0, 112, 112]);
        assert_eq!(largest.counts.instructions, 900);
        let sampled = functions.sampled.unwrap();
        assert_eq!((sampled.hits, sampled.lost, sampled.throttled), (6, 8, 2));
        assert_eq!(sampled.effective_hits, 4);
    }

    /// Of two functions, `a` is sampled after itself and after `b`.
    #[test]
    fn categories_use_only_samples_inside_the_function() {
        let offsets = (0x10, 0x20);
        let hit = |offset, after, hits, level1: [f64; 4]| SampledAddress {
            offset,
            after,
            hits,
            ..sampled_at(0, level1.iter().sum::<f64>() as u64, level1)
        };
        let at = |offset| Some((0, offset));
        let launch = |inside, others| CodeSamples {
            // Code without names: each file is one function.
            modules: vec!["/nowhere/a".to_owned(), "/nowhere/b".to_owned()],
            places: vec![
                hit(offsets.0, at(offsets.1), inside, [800.0, 0.0, 0.0, 200.0]),
                hit(offsets.1, Some((1, 7)), 4, [0.0, 1000.0, 0.0, 2000.0]),
                SampledAddress {
                    module: 1,
                    ..hit(7, at(offsets.0), others, [0.0, 0.0, 500.0, 0.0])
                },
            ],
            own: None,
            sampled: Sampled {
                hits: 4 + inside + others,
                ..Sampled::default()
            },
        };
        let functions = |inside, others| {
            let symbols = &mut Symbols::new(Path::new("/nowhere/bench"));
            let launch = attribute_samples(&launch(inside, others), symbols, &provenance());
            functions_of_samples(&[(&[sample(1, Flags::NONE)], &launch)]).unwrap()
        };
        let enough = functions(10, 30);
        let a = &enough.largest[0];
        assert_eq!(a.module.as_deref(), Some("a"));
        assert_eq!((a.counts.slots(), a.category_hits), (4000, Some(10)));
        assert_eq!(a.counts.level1_slots.into_array(), [3200, 0, 0, 800]);
        assert_eq!(a.counts.level2_slots.into_array(), [0, 0, 0, 400]);
        assert_eq!(a.counts.instructions, 2000);
        assert_eq!(enough.largest[1].category_hits, Some(0));
        assert_eq!(enough.total().slots(), 4500);
        let too_few = functions(9, 30);
        let a = &too_few.largest[0];
        assert_eq!((a.counts.slots(), a.category_hits), (4000, Some(0)));
        assert_eq!(a.counts.level1_slots.into_array(), [800, 1000, 0, 2200]);
        // Three of four PMU samples are in it, and as many of those before them: by chance.
        assert_eq!(functions(12, 5).largest[0].category_hits, Some(0));
        // Almost all of them are.
        assert_eq!(functions(40, 4).largest[0].category_hits, Some(40));
    }

    #[test]
    fn negative_categories_become_zero() {
        let counts = SampledCounts {
            slots: 1001,
            level1_slots: [600.0, -50.0, 300.0, 150.0].into(),
            level2_slots: [-1.0, 0.0, 9000.0, 75.0].into(),
            ..SampledCounts::default()
        };
        let whole = counts.whole();
        assert_eq!(whole.slots(), 1001);
        assert_eq!(whole.level1_slots.into_array(), [572, 0, 286, 143]);
        assert_eq!(whole.level2_slots.into_array(), [0, 0, 286, 71]);
        assert_eq!(SampledCounts::default().whole(), CodeCounts::default());
    }

    #[test]
    fn no_functions_without_usable_samples() {
        let usable = [sample(7, Flags::NONE)];
        assert_eq!(functions_of_samples(&[]), None);
        assert_eq!(
            functions_of_samples(&[(&usable, &SampledFunctions::default())]),
            None
        );
        let none = [sample(7, Flags::NOT_COUNTING)];
        assert_eq!(functions_of_samples(&[(&none, &launch(100))]), None);
    }
}
