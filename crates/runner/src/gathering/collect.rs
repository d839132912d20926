//! Combines launches: benchmarks by id, one value per launch.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use topdown_gate::cold;
use topdown_gate::statistics::launch::{Taken, launch_value, values_of_groups};
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{
    Benchmark, BenchmarkId, Cold, IterationSample, LaunchSamples, Throughput,
};
use topdown_run::sample::{Flags, Sample};
use topdown_run::setting::Threads;

use crate::functions::{CalledByLine, SlotsByAddress};
use crate::gathering::benchmark_error::BenchmarkError;
use crate::gathering::counted_threads::{CountedAlike, counted_alike, time_alone};
use crate::gathering::residual::{Residual, residual};
use crate::launching::launched_code::LaunchedCode;
use crate::launching::measured::{Measured, SlotsOrigin};
use crate::launching::repeated::complete_repeated;
use crate::launching::trail::LaunchTrail;
use crate::targets::bench_targets::BenchTarget;
use topdown_explain::GroupFunctions;

/// The difference of launches of which only the first was modelled.
const DIFFERENT_DIGESTS: &str = "they have different digests";

/// A launch without enough usable samples, in a benchmark with others that have.
#[derive(Debug, PartialEq)]
pub struct LostLaunch {
    /// The benchmark.
    pub id: BenchmarkId,
    /// The launch, from 1.
    pub launch: u32,
}

/// The results of all launches.
#[derive(Debug, Default)]
pub struct Collected {
    /// The benchmarks with at least one launch value.
    pub benchmarks: Vec<Benchmark>,
    /// Their samples, in the order in which they were taken.
    pub samples: Vec<LaunchSamples>,
    /// The benchmarks that are left out, and why.
    pub errors: Vec<BenchmarkError>,
    /// Launches without a value.
    pub lost_launches: Vec<LostLaunch>,
    /// Benchmarks whose categories miss more than 1 % of their slots.
    pub residuals: Vec<Residual>,
    /// Functions by the PMU samples of a metric group, if it was sampled.
    pub hit_groups: Vec<(BenchmarkId, GroupFunctions)>,
    /// Slots by address, if they were requested.
    pub by_address: Vec<(BenchmarkId, SlotsByAddress)>,
    /// Cost of code outside of the workspace, where launches know their paths.
    pub called: Vec<(BenchmarkId, CalledByLine)>,
    /// The trails of the launches on the model, launch by launch.
    pub trails: Vec<(BenchmarkId, LaunchTrail)>,
}

/// Gathers launches as they arrive.
#[derive(Debug, Default)]
pub struct Collector {
    launches: Vec<(BenchmarkId, u32, Measured)>,
}

impl Collector {
    /// Adds the benchmarks of one launch (counted from 0) of `target`.
    pub fn add(&mut self, target: &BenchTarget, launch: u32, benchmarks: Vec<Measured>) {
        self.launches.extend(benchmarks.into_iter().map(|measured| {
            let measured = Measured {
                own_thread_alone: target.settings.threads == Threads::Own,
                ..measured
            };
            let id = target.id_of(measured.name.clone());
            (id, launch, measured)
        }));
    }

    /// Drops the results of `target`, since a later launch failed.
    pub fn forget(&mut self, target: &BenchTarget) {
        self.launches.retain(|(id, _, _)| !target.has(id));
    }

    /// Returns the benchmarks in the order of their first appearance. `launches_of` returns how
    /// many launches a benchmark's target had.
    pub fn finish(self, launches_of: impl Fn(&BenchmarkId) -> u32) -> Collected {
        let mut order: Vec<BenchmarkId> = Vec::new();
        let mut by_id: HashMap<BenchmarkId, Vec<(u32, Measured)>> = HashMap::new();
        for (id, launch, measured) in self.launches {
            if !by_id.contains_key(&id) {
                order.push(id.clone());
            }
            by_id.entry(id).or_default().push((launch, measured));
        }
        let mut collected = Collected::default();
        let renamed = renamed(&by_id, &launches_of);
        for id in order {
            let launches = by_id.remove(&id).unwrap_or_default();
            match renamed.get(&id) {
                // Once for all of its names.
                Some(0) => collected.errors.push(BenchmarkError::Renamed { id }),
                Some(_) => {}
                None => {
                    let count = launches_of(&id);
                    let added = collected.add(id, launches, count);
                    collected.errors.extend(added.err());
                }
            }
        }
        collected.samples.sort_by_key(|sample| sample.launch);
        collected
    }
}

/// Returns the benchmarks that seem to have another name in every launch, such as a date, and the
/// launch of each: those that ran in a single launch of several, if all launches have equally many.
fn renamed(
    by_id: &HashMap<BenchmarkId, Vec<(u32, Measured)>>,
    launches_of: impl Fn(&BenchmarkId) -> u32,
) -> HashMap<BenchmarkId, u32> {
    let mut by_target: HashMap<(&str, &str), Vec<(&BenchmarkId, u32)>> = HashMap::new();
    for (id, launches) in by_id {
        if let [(launch, _)] = launches[..]
            && launches_of(id) > 1
        {
            let target = (id.package.as_str(), id.target.as_str());
            by_target.entry(target).or_default().push((id, launch));
        }
    }
    let mut renamed = HashMap::new();
    for once in by_target.into_values() {
        let in_launch = |launch| once.iter().filter(|(_, of)| *of == launch).count();
        let are_as_many = (1..launches_of(once[0].0)).all(|of| in_launch(of) == in_launch(0));
        if are_as_many {
            renamed.extend(once.into_iter().map(|(id, launch)| (id.clone(), launch)));
        }
    }
    renamed
}

impl Collected {
    /// Drops all results of a benchmark.
    pub fn forget(&mut self, id: &BenchmarkId) {
        self.benchmarks.retain(|benchmark| benchmark.id != *id);
        self.samples.retain(|sample| sample.benchmark != *id);
        self.errors.retain(|error| error.id() != id);
        self.lost_launches.retain(|lost| lost.id != *id);
        self.residuals.retain(|residual| residual.id != *id);
    }

    fn add(
        &mut self,
        id: BenchmarkId,
        mut launches: Vec<(u32, Measured)>,
        count: u32,
    ) -> Result<(), BenchmarkError> {
        let mut ran_in = HashSet::new();
        if !launches.iter().all(|(launch, _)| ran_in.insert(*launch)) {
            return Err(BenchmarkError::SameName { id });
        }
        let missing: Vec<u32> = (0..count)
            .filter(|launch| !ran_in.contains(launch))
            .collect();
        if !missing.is_empty() {
            return Err(BenchmarkError::dropped_out(id, count, &missing));
        }
        let repeated_by_digest = complete_repeated(&mut launches);
        let is_known = |of: &Measured| of.slots_of != SlotsOrigin::Unknown;
        let (launches, mut differing): (Vec<_>, Vec<_>) =
            launches.into_iter().partition(|(_, of)| is_known(of));
        let CountedAlike {
            mut launches,
            others,
            uncounted_work,
        } = counted_alike(launches);
        self.lost_launches
            .extend(others.iter().map(|launch| LostLaunch {
                id: id.clone(),
                launch: launch + 1,
            }));
        let Some((_, first)) = launches.first() else {
            return Ok(());
        };
        let (provenance, throughput) = (first.provenance.clone(), first.throughput.clone());
        for (launch, measured) in &launches {
            if !is_same_kind(&measured.provenance, &provenance) {
                let other = &measured.provenance;
                return Err(BenchmarkError::mixed(id, &provenance, other, *launch));
            }
        }
        let provenance = match uncounted_work {
            Some(uncounted_work) => provenance.with_work(uncounted_work),
            None => Provenance {
                repeated_by_digest,
                ..provenance
            },
        };
        if provenance.sampled_units.is_some() {
            self.add_sampled(id, provenance, throughput, launches);
            return Ok(());
        }
        let taken = Taken::by(provenance.source);
        let value = |launch: u32, measured: &Measured| match uncounted_work {
            Some(_) => launch_value(launch, &time_alone(&measured.samples), taken, None),
            None => {
                let window = measured.provenance.empty_window.as_ref();
                launch_value(launch, &measured.samples, taken, window)
            }
        };
        let values: Vec<_> = launches
            .iter()
            .map(|(launch, measured)| (*launch, value(*launch, measured)))
            .collect();
        if values.iter().all(|(_, value)| value.is_none()) {
            let samples = launches.iter().flat_map(|(_, measured)| &measured.samples);
            let doubts = samples.fold(Flags::NONE, |all, s| all | s.sample.flags);
            return Err(BenchmarkError::NothingUsable {
                id,
                least: taken.min_samples(),
                doubts: format!("flags: {doubts}"),
            });
        }
        for (launch, value) in &values {
            if value.is_none() {
                self.lost_launches.push(LostLaunch {
                    id: id.clone(),
                    launch: launch + 1,
                });
            }
        }
        let fault = residual(&id, &launches, &values, uncounted_work.is_some());
        self.residuals.extend(fault);
        let code = LaunchedCode::of(&launches, taken);
        self.hit_groups
            .extend(code.hit_group.map(|of| (id.clone(), of)));
        self.by_address
            .extend(code.by_address.map(|of| (id.clone(), of)));
        self.called.extend(code.called.map(|of| (id.clone(), of)));
        let cold = cold_of(&provenance, &launches);
        let values = values.into_iter().filter_map(|(_, value)| value);
        let about_the_work = uncounted_work.is_none();
        self.benchmarks.push(Benchmark {
            throughput,
            functions: code.functions.filter(|_| about_the_work).map(Box::new),
            call_paths: code.call_paths.filter(|_| about_the_work),
            fingerprint: code.fingerprint.filter(|_| about_the_work),
            cold: cold.filter(|_| about_the_work).map(Box::new),
            launches_differ: (!differing.is_empty()).then(|| DIFFERENT_DIGESTS.to_owned()),
            ..Benchmark::of_launches(id.clone(), provenance, values)
        });
        for (_, measured) in launches.iter_mut().chain(&mut differing) {
            let trail = measured.trail.take();
            self.trails.extend(trail.map(|trail| (id.clone(), trail)));
        }
        self.keep_samples(&id, launches);
        Ok(())
    }

    /// Adds a benchmark that the model sampled. Its values are those of the groups of units, which
    /// are the same in each launch.
    fn add_sampled(
        &mut self,
        id: BenchmarkId,
        provenance: Provenance,
        throughput: Option<Throughput>,
        launches: Vec<(u32, Measured)>,
    ) {
        let of_launches: Vec<Vec<IterationSample>> = launches
            .iter()
            .map(|(_, measured)| groups_of(measured))
            .collect();
        let code = LaunchedCode::of(&launches, Taken::by(provenance.source));
        self.by_address
            .extend(code.by_address.map(|of| (id.clone(), of)));
        self.called.extend(code.called.map(|of| (id.clone(), of)));
        let values = values_of_groups(&of_launches, provenance.empty_window.as_ref());
        self.benchmarks.push(Benchmark {
            throughput,
            cold: cold_of(&provenance, &launches).map(Box::new),
            ..Benchmark::of_launches(id.clone(), provenance, values)
        });
        self.keep_samples(&id, launches);
    }

    fn keep_samples(&mut self, id: &BenchmarkId, launches: Vec<(u32, Measured)>) {
        let samples = launches
            .into_iter()
            .map(|(launch, measured)| LaunchSamples {
                benchmark: id.clone(),
                source: measured.provenance.source,
                launch,
                samples: measured.samples,
                groups: measured.groups,
            });
        self.samples.extend(samples);
    }
}

/// Returns the cost of the first iterations. On the model, samples begin with them; on hardware,
/// launches record the iteration that begins the warm-up.
fn cold_of(provenance: &Provenance, launches: &[(u32, Measured)]) -> Option<Cold> {
    let launches = launches.iter().map(|(_, measured)| measured);
    let samples: Vec<Cow<'_, [IterationSample]>> = match provenance.source {
        SourceKind::Model => launches.map(|m| Cow::from(&m.samples)).collect(),
        SourceKind::Hardware => launches
            .filter_map(first_and_last)
            .map(|pair| Cow::from(pair.to_vec()))
            .collect(),
        SourceKind::Time => return None,
    };
    let samples: Vec<&[IterationSample]> = samples.iter().map(|sample| &**sample).collect();
    cold::of_launches(&samples, provenance.empty_window.as_ref())
}

/// Returns the first iteration and the last sample that can be compared with it.
fn first_and_last(measured: &Measured) -> Option<[IterationSample; 2]> {
    let is_usable = |sample: &Sample| !sample.flags.intersects(Flags::UNUSABLE);
    // An `iter_custom` closure may measure an iteration in parts, of which only the first is known.
    let mut samples = measured.samples.iter();
    let is_whole = samples.all(|s| s.sample.windows <= s.iterations);
    let sample = measured
        .first
        .filter(|first| is_whole && is_usable(first))?;
    let last = measured.samples.iter().rfind(|s| is_usable(&s.sample))?;
    let first = IterationSample {
        iterations: 1,
        sample,
    };
    Some([first, *last])
}

/// Returns the estimate of each group of units for the last sample that counts.
fn groups_of(measured: &Measured) -> Vec<IterationSample> {
    let mut usable = measured.samples.iter().rev();
    let last = usable.find(|s| !s.sample.flags.intersects(Flags::UNUSABLE));
    let iterations = last.map_or(0, |last| last.iterations);
    let groups = measured.groups.iter();
    groups
        .map(|&sample| IterationSample { iterations, sample })
        .collect()
}

/// Returns whether two launches measured the same thing. The cost of an empty window, which each
/// launch measures, and the reason, which is prose, may differ.
fn is_same_kind(a: &Provenance, b: &Provenance) -> bool {
    (a.source, &a.formula, &a.core_type, a.slots_per_cycle)
        == (b.source, &b.formula, &b.core_type, b.slots_per_cycle)
        && a.sampled_units.is_some() == b.sampled_units.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gathering::residual::SplitFault;
    use topdown_gate::scenario::{Planted, benchmark, id};
    use topdown_run::activity::{Activity, UncountedWork};
    use topdown_run::category::PerCategory;
    use topdown_run::provenance::CountedThreads;
    use topdown_run::sample::{Level1, Sample};

    fn measured(attributed: f64) -> Measured {
        with_level1(Level1 {
            slots: PerCategory {
                backend_bound: 1000.0 * attributed,
                ..PerCategory::default()
            },
            ..Level1::default()
        })
    }

    fn with_level1(level1: Level1) -> Measured {
        let sample = IterationSample {
            iterations: 1,
            sample: Sample {
                windows: 1,
                wall_ns: 10,
                slots: Some(1000),
                level1: Some(level1),
                ..Sample::EMPTY
            },
        };
        let provenance = benchmark("b", Planted::default()).times.provenance;
        let provenance = Provenance::clone(&provenance);
        Measured::from_samples(provenance, vec![sample; 4])
    }

    /// With this much processor time of other threads in each window.
    fn watched(others_ns: u64) -> Measured {
        let mut measured = measured(1.0);
        for sample in &mut measured.samples {
            sample.sample.activity = Some(Activity {
                windows: 1,
                wall_ns: 10_000,
                own_ns: 10_000,
                others_ns,
                blocked: 0,
            });
        }
        measured
    }

    fn collected(launches: Vec<Measured>) -> Collected {
        let mut collected = Collected::default();
        let count = launches.len() as u32;
        let launches = (0..).zip(launches).collect();
        collected.add(id("b"), launches, count).unwrap();
        collected
    }

    /// chrono's benches name some by the time of day.
    #[test]
    fn changing_benchmark_names_are_reported_once() {
        let errors = |names_of_launches: &[&[&str]]| -> Vec<String> {
            let named = |name: &str| (id(name), name.to_owned());
            let launches = names_of_launches.iter().zip(0..);
            let launches = launches.flat_map(|(names, launch)| {
                names.iter().map(move |name| {
                    let (id, name) = named(name);
                    let measured = Measured {
                        name,
                        ..measured(1.0)
                    };
                    (id, launch, measured)
                })
            });
            let collector = Collector {
                launches: launches.collect(),
            };
            let collected = collector.finish(|_| names_of_launches.len() as u32);
            collected.errors.iter().map(ToString::to_string).collect()
        };
        let reported = errors(&[&["a", "at 15:04"], &["a", "at 15:05"], &["a", "at 15:06"]]);
        let expected = "benchmark `suite::bench::at 15:04` has another name in every launch; give \
                        it one that stays the same, or leave it out: `--leave-out PATTERN`";
        assert_eq!(reported, [expected]);
        let dropped = errors(&[&["a", "b"], &["a"], &["a"]]);
        let expected = "benchmark `suite::bench::b` ran in 1 of 3 launches; it dropped out of \
                        launches 2, 3";
        assert_eq!(dropped, [expected]);
    }

    #[test]
    fn one_launch_with_other_threads_decides_for_all() {
        let alone = collected(vec![watched(0), watched(0)]);
        let benchmark = &alone.benchmarks[0];
        assert_eq!(benchmark.provenance().elsewhere, None);
        assert_eq!(benchmark.slots_launches()[0].slots, 1000.0);
        let handed_on = collected(vec![watched(0), watched(30_000)]);
        let benchmark = &handed_on.benchmarks[0];
        assert_eq!(benchmark.provenance().source, SourceKind::Time);
        let fraction = 0.75;
        let expected = Some(UncountedWork::OtherThreads { fraction });
        assert_eq!(benchmark.provenance().elsewhere, expected);
        assert_eq!(benchmark.slots, None);
        assert!(
            benchmark
                .times
                .launches
                .iter()
                .all(|time| time.wall_ns == 10.0)
        );
        // The measurements are kept.
        assert_eq!(handed_on.samples[0].samples[0].sample.slots, Some(1000));
    }

    fn counting_all(others_ns: u64) -> Measured {
        let mut all = watched(others_ns);
        all.provenance.threads = CountedThreads::All;
        all.provenance.formula = "exact/1".to_owned();
        all
    }

    #[test]
    fn launches_with_minority_thread_choice_are_lost() {
        let launches = vec![counting_all(200), watched(99), counting_all(200)];
        let mostly_all = collected(launches);
        let benchmark = &mostly_all.benchmarks[0];
        assert_eq!(benchmark.provenance().threads, CountedThreads::All);
        assert_eq!(benchmark.provenance().elsewhere, None);
        assert_eq!(benchmark.launches(), 2);
        let lost = LostLaunch {
            id: id("b"),
            launch: 2,
        };
        assert_eq!(mostly_all.lost_launches, [lost]);
        let mostly_own = collected(vec![watched(99), counting_all(2000), watched(99)]);
        let benchmark = &mostly_own.benchmarks[0];
        assert!(benchmark.provenance().elsewhere.is_some());
        assert_eq!(benchmark.slots, None);
    }

    #[test]
    fn other_threads_can_be_declared_background() {
        let mut background = watched(30_000);
        background.own_thread_alone = true;
        let benchmark = &collected(vec![background]).benchmarks[0];
        assert_eq!(benchmark.provenance().elsewhere, None);
        assert_eq!(benchmark.slots_launches()[0].slots, 1000.0);
    }

    #[test]
    fn counted_threads_are_not_elsewhere() {
        let mut all = watched(30_000);
        all.provenance.threads = CountedThreads::All;
        let benchmark = &collected(vec![all]).benchmarks[0];
        assert_eq!(benchmark.provenance().elsewhere, None);
        assert_eq!(benchmark.slots_launches()[0].slots, 1000.0);
    }

    #[test]
    fn categories_missing_slots_are_counted() {
        let residuals = |attributed: [f64; 3]| {
            let mut collected = Collected::default();
            let launches = (0..).zip(attributed.map(measured)).collect();
            collected.add(id("b"), launches, 3).unwrap();
            collected.residuals
        };
        assert_eq!(residuals([1.0, 0.991, 1.009]), []);
        let found = residuals([1.0, 0.97, 1.02]);
        assert_eq!(
            found[0].to_string(),
            "the categories of `suite::bench::b` miss its slots by up to 3.0 % in 2 of 3 launches, \
             and were scaled to them: its split is only that accurate"
        );
    }
    #[test]
    fn impossible_counts_have_no_split() {
        let level1 = |retiring: f64| Level1 {
            slots: PerCategory {
                retiring,
                backend_bound: 1000.0 - retiring,
                ..PerCategory::default()
            },
            ..Level1::default()
        };
        let collected = |retiring: f64| {
            let mut collected = Collected::default();
            let launches = vec![(0, with_level1(level1(retiring)))];
            collected.add(id("b"), launches, 1).unwrap();
            collected
        };
        let possible = collected(-40.0);
        assert_eq!(possible.residuals, []);
        assert!(possible.benchmarks[0].slots_launches()[0].level1.is_some());
        let impossible = collected(-60.0);
        let value = &impossible.benchmarks[0].slots_launches()[0];
        assert_eq!((value.slots, value.level1), (1000.0, None));
        assert_eq!(impossible.residuals[0].fault, SplitFault::Impossible);
    }
}
