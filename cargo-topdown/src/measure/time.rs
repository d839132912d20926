//! Number of timed launches of a benchmark.
//!
//! Where slots are modelled, time gates nothing. So a benchmark whose slots are exact is timed
//! once, and briefly. If that hints that time and slots disagree, it is timed twice more. If its
//! time grew in all three, it is timed in the remaining launches, all of them brief.
//! On a busy machine one launch hints at much that three do not.

use std::collections::HashMap;

use topdown_gate::statistics::median;
use topdown_gate::verdict::is_exact;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, BenchmarkId};

use super::{MeasureError, Session, problems};
use topdown_runner::Outcome;
use topdown_runner::gathering::relaunch;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::modelling::model_or_clock;
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_terminal::count_of;
use topdown_terminal::terminal::message;

/// Number of timed launches of a benchmark whose slots are modelled exactly.
const TIMED_LAUNCHES_WITH_MODEL: u32 = 1;

/// After this many launches the times show whether more are needed.
const LOOKS: [u32; 2] = [TIMED_LAUNCHES_WITH_MODEL, 3];

/// Time and slots may disagree if a benchmark's time per slot grew by this factor more than the
/// suite's. A disagreement fails from a factor of 1.25 on.
const MIN_SUSPICIOUS_GROWTH: f64 = 1.1;

/// Without an earlier run: if its time per slot is this many times the suite's. The model's own
/// error stays below it in all but a few of its validation kernels.
const MIN_SUSPICIOUS_RATIO: f64 = 2.0;

/// A suite's median means something from this number of benchmarks on.
const MIN_BENCHMARKS: usize = 3;

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
        let clock = model_or_clock::briefly_on_the_clock(targets);
        let mut outcome = self.launch(&clock, &self.briefly_without_counters())?;
        let few = model_or_clock::MIN_AGREEING_LAUNCHES;
        self.add_model(targets, few, &mut outcome)?;
        for made in LOOKS {
            let needing_timing = NeedsTiming::of(&outcome.collected.benchmarks, before, made);
            let further = needing_timing.further(targets, made);
            if !further.is_empty() && !self.has_to_stop(&outcome) {
                self.report_further(&needing_timing);
                outcome.append(self.launch(&further, self.launcher())?, made);
            }
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
    ) -> Result<[Outcome; 2], MeasureError> {
        let clock = [base, candidate].map(model_or_clock::briefly_on_the_clock);
        let launcher = self.briefly_without_counters();
        let (mut of_base, mut of_candidate) =
            self.pairs_with(&launcher, &clock[0], &clock[1]).launch()?;
        self.add_model_of_side("base", base, &mut of_base)?;
        self.add_model_of_side("candidate", candidate, &mut of_candidate)?;
        for made in LOOKS {
            let benchmarks = [&of_base, &of_candidate].map(|o| &o.collected.benchmarks[..]);
            // Both sides of a benchmark have as many launches.
            let either = NeedsTiming::of(benchmarks[0], &[], made).or(NeedsTiming::of(
                benchmarks[1],
                benchmarks[0],
                made,
            ));
            let further = [base, candidate].map(|targets| either.further(targets, made));
            if !further.concat().is_empty()
                && !self.has_to_stop(&of_base)
                && !self.has_to_stop(&of_candidate)
            {
                self.report_further(&either);
                let (more_of_base, more_of_candidate) =
                    self.pairs(&further[0], &further[1]).launch()?;
                of_base.append(more_of_base, made);
                of_candidate.append(more_of_candidate, made);
            }
        }
        Ok([of_base, of_candidate])
    }

    fn add_model_of_side(
        &self,
        side: &str,
        targets: &[BenchTarget],
        timed: &mut Outcome,
    ) -> Result<(), MeasureError> {
        if !self.request.quiet && !model_or_clock::wanted(targets, &timed.collected).is_empty() {
            message!("   Modelling the {side}");
        }
        self.add_model(targets, model_or_clock::MIN_AGREEING_LAUNCHES, timed)
    }

    /// Launches `targets` as [`measure`](Session::measure) does, but times every benchmark in all
    /// launches.
    ///
    /// # Errors
    /// As [`measure`](Session::measure).
    pub fn measure_in_full(&self, targets: &[BenchTarget]) -> Result<Outcome, MeasureError> {
        let clock = model_or_clock::on_the_clock(targets);
        let mut outcome = self.launch(&clock, self.launcher())?;
        self.add_model(targets, model_or_clock::MIN_AGREEING_LAUNCHES, &mut outcome)?;
        Ok(outcome)
    }

    /// Says which benchmarks are timed further, and why.
    fn report_further(&self, needing_timing: &NeedsTiming) {
        for line in needing_timing.lines().filter(|_| !self.request.quiet) {
            message!("      Timing {line}");
        }
    }

    /// Only a launch shows whether `auto` finds counters.
    fn briefly_without_counters(&self) -> Launcher {
        Launcher {
            launches_without_counters: TIMED_LAUNCHES_WITH_MODEL,
            ..self.launcher().clone()
        }
    }

    /// Returns whether the first problem ends the run and `outcome` has one.
    pub(super) fn has_to_stop(&self, outcome: &Outcome) -> bool {
        self.request.fail_fast && problems::count(outcome) > 0
    }
}

/// Benchmarks whose launches ended early and whose time has to be known better.
#[derive(Debug, Default, PartialEq)]
struct NeedsTiming {
    /// Their slots are not exact, so time may decide.
    inexact: Vec<BenchmarkId>,
    /// Their time and slots seem to disagree.
    suspicious: Vec<BenchmarkId>,
}

impl NeedsTiming {
    /// Chooses among those of `benchmarks` that have `made` launches.
    fn of(benchmarks: &[Benchmark], before: &[Benchmark], made: u32) -> NeedsTiming {
        let exact: Vec<&Benchmark> = benchmarks.iter().filter(|b| is_exact(b)).collect();
        let mut suspicious = suspicious(&exact, before);
        if made > TIMED_LAUNCHES_WITH_MODEL {
            // Three launches are enough for later runs to compare with.
            suspicious.retain(|id| before.iter().any(|b| b.id == **id));
        }
        let mut needing_timing = NeedsTiming::default();
        for benchmark in benchmarks.iter().filter(|b| ended_after(b, made)) {
            let id = benchmark.id.clone();
            if !is_exact(benchmark) {
                needing_timing.inexact.push(id);
            } else if suspicious.contains(&&id) {
                needing_timing.suspicious.push(id);
            }
        }
        needing_timing
    }

    /// Returns how many benchmarks are timed further and why, a line per reason.
    fn lines(&self) -> impl Iterator<Item = String> {
        let reasons = [
            // Launches disagree, iterations are sampled, or there are no slots.
            (&self.inexact, "without exact slots"),
            (&self.suspicious, "longer than the slots explain"),
        ];
        let reasons = reasons.into_iter().filter(|(ids, _)| !ids.is_empty());
        reasons.map(|(ids, why)| format!("{} further: {why}", count_of(ids.len(), "benchmark")))
    }

    /// Returns the benchmarks of both. One that is inexact in either is inexact.
    fn or(mut self, other: NeedsTiming) -> NeedsTiming {
        self.inexact.extend(other.inexact);
        self.suspicious.extend(other.suspicious);
        let NeedsTiming {
            inexact,
            suspicious,
        } = &mut self;
        suspicious.retain(|id| !inexact.contains(id));
        self
    }

    /// Returns the launches on the clock to make after those that were `made`: all that are left,
    /// or for what merely hints short ones up to the next look. Short ones deviate by some 2 %, and
    /// a disagreement is far larger.
    fn further(&self, targets: &[BenchTarget], made: u32) -> Vec<BenchTarget> {
        let up_to = |ids: &[BenchmarkId], most: u32| {
            relaunch::restricted_to(ids, targets, |launches| {
                launches.min(most).saturating_sub(made)
            })
        };
        let mut further = model_or_clock::on_the_clock(&up_to(&self.inexact, u32::MAX));
        let next = LOOKS.into_iter().find(|look| *look > made);
        let suspicious = up_to(&self.suspicious, next.unwrap_or(u32::MAX));
        further.extend(model_or_clock::briefly(&suspicious));
        further.retain(|target| target.settings.launches > 0);
        further
    }
}

/// Returns whether the launches of a benchmark ended at the look after this many. The last of them
/// may be lost.
fn ended_after(benchmark: &Benchmark, made: u32) -> bool {
    let look_before = LOOKS.into_iter().rfind(|look| *look < made).unwrap_or(0);
    let last = benchmark.times.launches.last();
    benchmark.times.provenance.source == SourceKind::Time
        && last.is_some_and(|time| (look_before..made).contains(&time.launch))
}

/// Returns the benchmarks whose time the slots do not seem to explain.
fn suspicious<'a>(exact: &[&'a Benchmark], before: &[Benchmark]) -> Vec<&'a BenchmarkId> {
    let before: HashMap<&BenchmarkId, f64> = before
        .iter()
        .filter(|b| is_exact(b))
        .filter_map(|b| Some((&b.id, time_per_slot_ns(b, median)?)))
        .collect();
    // A busy machine only adds time.
    let fastest = |times: Vec<f64>| times.into_iter().reduce(f64::min);
    let now: Vec<(&BenchmarkId, f64)> = exact
        .iter()
        .filter_map(|b| Some((&b.id, time_per_slot_ns(b, fastest)?)))
        .collect();
    let usual = median(now.iter().map(|(_, ratio)| *ratio).collect()).unwrap_or(f64::INFINITY);
    let (known, new): (Vec<_>, Vec<_>) =
        now.into_iter().partition(|(id, _)| before.contains_key(id));
    let growth = known.iter().map(|(id, now)| (*id, now / before[id]));
    let growth: Vec<(&BenchmarkId, f64)> = growth.collect();
    let usual_growth = median(growth.iter().map(|(_, growth)| *growth).collect())
        .filter(|_| growth.len() >= MIN_BENCHMARKS)
        .unwrap_or(1.0);
    let grew = growth
        .into_iter()
        .filter(|(_, growth)| *growth > MIN_SUSPICIOUS_GROWTH * usual_growth);
    let is_far_off = new
        .into_iter()
        .filter(|(_, ratio)| *ratio > MIN_SUSPICIOUS_RATIO * usual);
    grew.chain(is_far_off).map(|(id, _)| id).collect()
}

/// Returns the time per slot, in the launch that is `chosen` by its time.
fn time_per_slot_ns(
    benchmark: &Benchmark,
    chosen: impl Fn(Vec<f64>) -> Option<f64>,
) -> Option<f64> {
    let slots = benchmark.slots_launches().first()?.slots;
    let times = benchmark.times.launches.iter().map(|time| time.wall_ns);
    chosen(times.collect()).map(|ns| ns / slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use topdown_gate::scenario::{Launch, with_launches};
    use topdown_run::setting::SourceChoice;

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

    /// The names of those that lack launches after the first.
    fn needing_timing(suite: &[Benchmark], before: &[Benchmark]) -> Vec<String> {
        let NeedsTiming {
            inexact,
            suspicious,
        } = NeedsTiming::of(suite, before, 1);
        inexact
            .into_iter()
            .chain(suspicious)
            .map(|id| id.name)
            .collect()
    }

    #[test]
    fn inexact_benchmarks_get_all_timed_launches() {
        let time_alone = Benchmark {
            slots: None,
            ..modelled("time alone", 1, 10.0, [100.0; 2])
        };
        let suite = [
            modelled("exact", 1, 10.0, [100.0; 2]),
            modelled("inexact", 1, 10.0, [100.0, 101.0]),
            time_alone,
            modelled("timed in full", 10, 10.0, [100.0, 101.0]),
        ];
        assert_eq!(needing_timing(&suite, &[]), ["inexact", "time alone"]);
    }

    #[test]
    fn reason_covers_benchmarks_without_slots() {
        let time_alone = Benchmark {
            slots: None,
            ..modelled("time alone", 1, 10.0, [100.0; 2])
        };
        let needing_timing = NeedsTiming::of(&[time_alone], &[], 1);
        let lines = Vec::from_iter(needing_timing.lines());
        assert_eq!(lines, ["1 benchmark further: without exact slots"]);
    }

    #[test]
    fn unexplained_time_gets_all_timed_launches() {
        let suite = |waits_ns| {
            let waits = modelled("waits", 1, waits_ns, [100.0; 2]);
            let others = ["a", "b", "c"].map(|name| modelled(name, 1, 10.0, [100.0; 2]));
            Vec::from_iter(others.into_iter().chain([waits]))
        };
        assert_eq!(needing_timing(&suite(19.0), &[]), Vec::<String>::new());
        assert_eq!(needing_timing(&suite(21.0), &[]), ["waits"]);
        // It always took that long.
        assert_eq!(
            needing_timing(&suite(21.0), &suite(21.0)),
            Vec::<String>::new()
        );
        assert_eq!(needing_timing(&suite(21.0), &suite(19.0)), ["waits"]);
        // The machine is slower, and so are all.
        let mut slower = suite(30.0);
        for benchmark in &mut slower {
            for time in &mut benchmark.times.launches {
                time.wall_ns *= 1.3;
            }
        }
        assert_eq!(needing_timing(&slower, &suite(30.0)), Vec::<String>::new());
    }

    #[test]
    fn suspected_benchmarks_need_a_second_suspicion() {
        let target = BenchTarget::named("suite", "bench");
        let suite = |made| {
            let waits = modelled("waits", made, 21.0, [100.0; 2]);
            let inexact = modelled("inexact", made, 10.0, [100.0, 101.0]);
            let others = ["a", "b", "c"].map(|name| modelled(name, 1, 10.0, [100.0; 2]));
            Vec::from_iter(others.into_iter().chain([waits, inexact]))
        };
        let before = modelled("waits", 3, 19.0, [100.0; 2]);
        let further = |before: &[Benchmark], made| -> Vec<(String, u32)> {
            let needing_timing = NeedsTiming::of(&suite(made), before, made);
            let further = needing_timing.further(std::slice::from_ref(&target), made);
            let names = |t: &BenchTarget| t.benchmarks.clone().unwrap().concat();
            further
                .iter()
                .map(|t| (names(t), t.settings.launches))
                .collect()
        };
        let named = |name: &str, launches| (name.to_owned(), launches);
        let before = std::slice::from_ref(&before);
        assert_eq!(further(before, 1), [named("inexact", 9), named("waits", 2)]);
        assert_eq!(further(before, 3), [named("inexact", 7), named("waits", 7)]);
        assert_eq!(further(before, 10), []);
        // Without an earlier run there is nothing that it disagrees with.
        assert_eq!(further(&[], 1), [named("inexact", 9), named("waits", 2)]);
        assert_eq!(further(&[], 3), [named("inexact", 7)]);
    }

    #[test]
    fn one_fast_launch_of_three_ends_the_suspicion() {
        let before = [modelled("waits", 3, 10.0, [100.0; 2])];
        let suspicious = |times: [f64; 3]| {
            let mut waits = modelled("waits", 3, 10.0, [100.0; 2]);
            for (launch, wall_ns) in waits.times.launches.iter_mut().zip(times) {
                launch.wall_ns = wall_ns;
            }
            !NeedsTiming::of(&[waits], &before, 3).suspicious.is_empty()
        };
        assert!(suspicious([15.0, 15.0, 12.0]));
        assert!(!suspicious([15.0, 15.0, 10.5]));
    }

    #[test]
    fn launches_that_only_confirm_a_hint_are_brief() {
        let mut target = BenchTarget::named("suite", "bench");
        target.settings.source = SourceChoice::Model;
        let usual = target.settings.measurement_time;
        let times = |made| -> Vec<(String, Duration)> {
            let id = |name| modelled(name, made, 10.0, [100.0; 2]).id;
            let needing_timing = NeedsTiming {
                inexact: vec![id("inexact")],
                suspicious: vec![id("waits")],
            };
            let further = needing_timing.further(std::slice::from_ref(&target), made);
            let named = |target: &BenchTarget| target.benchmarks.clone().unwrap().concat();
            let length = |target: &BenchTarget| target.settings.measurement_time;
            further.iter().map(|t| (named(t), length(t))).collect()
        };
        let named = |name: &str, length| (name.to_owned(), length);
        for made in LOOKS {
            let further = times(made);
            assert_eq!(further[0], named("inexact", usual));
            assert_eq!(further[1].0, "waits");
            assert!(further[1].1 < usual / 10, "{further:?}");
        }
    }
}
