//! How often a benchmark is timed.
//!
//! Where slots are modelled, time gates nothing. So a benchmark whose slots are exact is timed
//! twice, and again in the remaining launches only if these two hint that time and slots disagree.

use std::collections::HashMap;

use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::{Benchmark, BenchmarkId};
use topdown_gate::statistics::median;
use topdown_gate::verdict::is_exact;

use super::{MeasureError, Session, problems};
use crate::bench_targets::BenchTarget;
use crate::runner::launcher::Launcher;
use crate::runner::{Outcome, again, modelled};

/// How often a benchmark is timed whose slots are modelled exactly.
const LAUNCHES_BESIDE_THE_MODEL: u32 = 2;

/// Time and slots may disagree if a benchmark's time per slot grew by this factor more than the
/// suite's. A disagreement fails from a factor of 1.25 on.
const GROWTH_THAT_HINTS: f64 = 1.1;

/// Without an earlier run: if its time per slot is this many times the suite's. The model's own
/// error stays below it in all but a few of its validation kernels.
const RATIO_THAT_HINTS: f64 = 2.0;

/// A suite's median means something from this number of benchmarks on.
const LEAST_BENCHMARKS: usize = 3;

impl Session {
    /// Launches `targets` on the clock or the counters, then on the model, and joins the two.
    /// `before` is an earlier run of the benchmarks, if there is one.
    ///
    /// # Errors
    /// Returns an error if a launch cannot be made, or the user interrupts.
    pub fn measure(
        &self,
        targets: &[BenchTarget],
        before: &[Benchmark],
    ) -> Result<Outcome, MeasureError> {
        let clock = modelled::on_the_clock(targets, LAUNCHES_BESIDE_THE_MODEL);
        let mut outcome = self.launch(&clock, &self.briefly_without_counters())?;
        self.add_model(targets, modelled::LAUNCHES_THAT_AGREE, &mut outcome)?;
        let lacking = lacking(&outcome.collected.benchmarks, before);
        let further = further(targets, &lacking);
        if !further.is_empty() && !self.has_to_stop(&outcome) {
            outcome.append(
                self.launch(&further, self.launcher())?,
                LAUNCHES_BESIDE_THE_MODEL,
            );
        }
        Ok(outcome)
    }

    /// Launches both sides of a comparison in turn, and each on the model.
    ///
    /// # Errors
    /// As [`measure`](Session::measure).
    pub fn measure_in_turn(
        &self,
        base: &[BenchTarget],
        candidate: &[BenchTarget],
    ) -> Result<(Outcome, Outcome), MeasureError> {
        let clock = [base, candidate]
            .map(|targets| modelled::on_the_clock(targets, LAUNCHES_BESIDE_THE_MODEL));
        let launcher = self.briefly_without_counters();
        let (mut of_base, mut of_candidate) =
            self.pairs_with(&launcher, &clock[0], &clock[1]).launch()?;
        for (targets, outcome) in [(base, &mut of_base), (candidate, &mut of_candidate)] {
            self.add_model(targets, modelled::LAUNCHES_THAT_AGREE, outcome)?;
        }
        let benchmarks = [&of_base, &of_candidate].map(|o| &o.collected.benchmarks[..]);
        // Both sides of a benchmark have as many launches.
        let mut either = lacking(benchmarks[0], &[]);
        either.extend(lacking(benchmarks[1], benchmarks[0]));
        let further = [further(base, &either), further(candidate, &either)];
        if !further.concat().is_empty()
            && !self.has_to_stop(&of_base)
            && !self.has_to_stop(&of_candidate)
        {
            let (more_of_base, more_of_candidate) =
                self.pairs(&further[0], &further[1]).launch()?;
            of_base.append(more_of_base, LAUNCHES_BESIDE_THE_MODEL);
            of_candidate.append(more_of_candidate, LAUNCHES_BESIDE_THE_MODEL);
        }
        Ok((of_base, of_candidate))
    }

    /// Launches `targets` as [`measure`](Session::measure) does, but times every benchmark in all
    /// launches.
    ///
    /// # Errors
    /// As [`measure`](Session::measure).
    pub fn measure_in_full(&self, targets: &[BenchTarget]) -> Result<Outcome, MeasureError> {
        let clock = modelled::on_the_clock(targets, u32::MAX);
        let mut outcome = self.launch(&clock, self.launcher())?;
        self.add_model(targets, modelled::LAUNCHES_THAT_AGREE, &mut outcome)?;
        Ok(outcome)
    }

    /// Only a launch shows whether `auto` finds counters.
    fn briefly_without_counters(&self) -> Launcher {
        Launcher {
            launches_without_counters: LAUNCHES_BESIDE_THE_MODEL,
            ..self.launcher().clone()
        }
    }

    /// Returns whether the first problem ends the run and `outcome` has one.
    pub(super) fn has_to_stop(&self, outcome: &Outcome) -> bool {
        self.request.fail_fast && problems::count(outcome) > 0
    }
}

/// The launches on the clock that the benchmarks `ids` lack.
fn further(targets: &[BenchTarget], ids: &[BenchmarkId]) -> Vec<BenchTarget> {
    let mut further = again::restricted_to(ids, targets, |launches| {
        launches.saturating_sub(LAUNCHES_BESIDE_THE_MODEL)
    });
    further.retain(|target| target.settings.launches > 0);
    modelled::on_the_clock(&further, u32::MAX)
}

/// Returns the benchmarks whose launches ended early and whose time has to be known better.
fn lacking(benchmarks: &[Benchmark], before: &[Benchmark]) -> Vec<BenchmarkId> {
    let exact: Vec<&Benchmark> = benchmarks.iter().filter(|b| is_exact(b)).collect();
    let hinting = hinting(&exact, before);
    benchmarks
        .iter()
        .filter(|b| ended_early(b) && (!is_exact(b) || hinting.contains(&&b.id)))
        .map(|b| b.id.clone())
        .collect()
}

fn ended_early(benchmark: &Benchmark) -> bool {
    let last = benchmark.times.launches.last();
    benchmark.times.provenance.source == SourceKind::Time
        && last.is_some_and(|time| time.launch < LAUNCHES_BESIDE_THE_MODEL)
}

/// Returns the benchmarks whose time the slots do not seem to explain.
fn hinting<'a>(exact: &[&'a Benchmark], before: &[Benchmark]) -> Vec<&'a BenchmarkId> {
    let before: HashMap<&BenchmarkId, f64> = before
        .iter()
        .filter(|b| is_exact(b))
        .filter_map(|b| Some((&b.id, time_per_slot_ns(b)?)))
        .collect();
    let (known, new): (Vec<_>, Vec<_>) = exact
        .iter()
        .filter_map(|b| Some((&b.id, time_per_slot_ns(b)?)))
        .partition(|(id, _)| before.contains_key(id));
    let growth = known.iter().map(|(id, now)| (*id, now / before[id]));
    let all = exact.iter().filter_map(|b| time_per_slot_ns(b)).collect();
    let growth: Vec<(&BenchmarkId, f64)> = growth.collect();
    let usual_growth = median(growth.iter().map(|(_, growth)| *growth).collect())
        .filter(|_| growth.len() >= LEAST_BENCHMARKS)
        .unwrap_or(1.0);
    let grew = growth
        .into_iter()
        .filter(|(_, growth)| *growth > GROWTH_THAT_HINTS * usual_growth);
    let usual = median(all).unwrap_or(f64::INFINITY);
    let is_far_off = new
        .into_iter()
        .filter(|(_, ratio)| *ratio > RATIO_THAT_HINTS * usual);
    grew.chain(is_far_off).map(|(id, _)| id).collect()
}

fn time_per_slot_ns(benchmark: &Benchmark) -> Option<f64> {
    let slots = benchmark.slots_launches().first()?.slots;
    let times = benchmark.times.launches.iter().map(|time| time.wall_ns);
    median(times.collect()).map(|ns| ns / slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::{Launch, with_launches};

    /// A benchmark that was timed in `timed` launches and modelled in two.
    fn modelled(name: &str, timed: u32, wall_ns: f64, slots: [f64; 2]) -> Benchmark {
        let launch = |launch, wall_ns, slots| Launch {
            launch,
            wall_ns,
            slots,
            ..Launch::default()
        };
        let model = [(0, slots[0]), (1, slots[1])].map(|(n, slots)| launch(n, 1e6, Some(slots)));
        let clock = (0..timed).map(|n| launch(n, wall_ns, None));
        Benchmark {
            times: with_launches(name, SourceKind::Time, clock.collect()).times,
            ..with_launches(name, SourceKind::Model, model.to_vec())
        }
    }

    fn names(ids: Vec<BenchmarkId>) -> Vec<String> {
        ids.into_iter().map(|id| id.name).collect()
    }

    #[test]
    fn what_is_not_modelled_exactly_gets_all_launches_on_the_clock() {
        let time_alone = Benchmark {
            slots: None,
            ..modelled("time alone", 2, 10.0, [100.0; 2])
        };
        let suite = [
            modelled("exact", 2, 10.0, [100.0; 2]),
            modelled("inexact", 2, 10.0, [100.0, 101.0]),
            time_alone,
            modelled("timed in full", 10, 10.0, [100.0, 101.0]),
        ];
        assert_eq!(names(lacking(&suite, &[])), ["inexact", "time alone"]);
    }

    #[test]
    fn time_that_slots_do_not_explain_gets_all_launches_on_the_clock() {
        let suite = |waits_ns| {
            let waits = modelled("waits", 2, waits_ns, [100.0; 2]);
            let others = ["a", "b", "c"].map(|name| modelled(name, 2, 10.0, [100.0; 2]));
            Vec::from_iter(others.into_iter().chain([waits]))
        };
        assert_eq!(names(lacking(&suite(19.0), &[])), Vec::<String>::new());
        assert_eq!(names(lacking(&suite(21.0), &[])), ["waits"]);
        // It always took that long.
        assert_eq!(
            names(lacking(&suite(21.0), &suite(21.0))),
            Vec::<String>::new()
        );
        assert_eq!(names(lacking(&suite(21.0), &suite(19.0))), ["waits"]);
        // The machine is slower, and so are all.
        let mut slower = suite(30.0);
        for benchmark in &mut slower {
            for time in &mut benchmark.times.launches {
                time.wall_ns *= 1.3;
            }
        }
        assert_eq!(names(lacking(&slower, &suite(30.0))), Vec::<String>::new());
    }
}
