//! The two runs as numbers, and what they show about the suite as a whole: how the machine moved,
//! how noisy each metric is, and how many tests there are.

use topdown_run::run_file::Run;

use super::earlier::{
    self, ASSUMED_DEVIATION, ASSUMED_WALL_DEVIATION, MIN_BENCHMARKS_WITH_MEDIAN,
    MIN_TIMED_BENCHMARKS,
};
use super::machine_part::{self, MIN_BENCHMARKS_WITH_SLOTS, MIN_SHIFT};
use super::measured::Measured;
use super::slow_launches::{self, SlowLaunches};
use super::suite_summary::{
    BackendBoundDrift, CommonPart, DriftBetween, MachineShift, MetricNoise, Suite, TimePerSlot,
};
use crate::metric::Metric;
use crate::policy::{Margins, Policy};
use crate::statistics::backend_drift::{BackendDrift, Weighted};
use crate::statistics::common_difference::CommonDifference;
use crate::statistics::contrast::{Contrast, Launches};
use crate::statistics::densest::Deviating;
use crate::statistics::drift::{Drift, Expected};
use crate::statistics::margin::reaches;
use crate::statistics::noise::{Estimate, Noise};
use crate::statistics::prior::Prior;
use crate::statistics::slow_launches::Tail;

/// Time that doubles did not drift, however few benchmarks there are.
const LARGEST_DRIFT_OF_TIME: f64 = 1.0;
/// Fewer benchmarks do not show how far their slots drift.
const MIN_BENCHMARKS_WITH_DRIFT: usize = 4;
/// Fewer do not show how far each category does, nor how far time per slot does.
const MIN_BENCHMARKS_WITH_CATEGORIES: usize = 10;
/// Slots drift by at most 3 %; a larger difference is a change. The cautious estimate for a suite
/// of 200 that drifts by 3 % is 3.2 %.
const SLOTS_DRIFT: Expected = Expected {
    min_benchmarks: MIN_BENCHMARKS_WITH_DRIFT,
    max_deviation: 0.0325,
    is_factor: false,
    centred: false,
    cautious: true,
    at_least: None,
};
/// Time per slot has no such limit.
const TIME_DRIFT: Expected = Expected {
    min_benchmarks: MIN_BENCHMARKS_WITH_CATEGORIES,
    max_deviation: f64::INFINITY,
    is_factor: true,
    cautious: false,
    ..SLOTS_DRIFT
};
/// With time alone, only the suite itself shows the drift: the fewer benchmarks, the less certain
/// it is.
const DRIFT_OF_TIME_ALONE: Expected = Expected {
    min_benchmarks: MIN_TIMED_BENCHMARKS,
    max_deviation: f64::INFINITY,
    is_factor: true,
    centred: true,
    cautious: true,
    at_least: None,
};
/// What is assumed of slots if neither the suite nor earlier runs show it. Judgement: no slots were
/// recorded. The recorded times of `tests/recorded/quiet-*.csv` differ between two runs by 1.7 %
/// (root mean square of the medians of 72 comparisons; by means 2.6 %).
const ASSUMED_SLOTS_DRIFT: Drift = Drift {
    deviation: 0.02,
    degrees_of_freedom: 20.0,
    is_factor: false,
    is_assumed: true,
    ..Drift::NONE
};
/// When the launches of the two sides were made.
#[derive(Clone, Copy, Debug)]
pub enum Sessions<'a> {
    /// In two sessions, between which machines drift.
    Apart {
        /// Earlier runs of the machine, oldest first, which show how far; may be empty.
        earlier: &'a [Run],
    },
    /// In turn, so drift affects both sides.
    RoundRobin,
}

/// How the suite is tested.
pub struct SuiteTest {
    alpha: f64,
    looks: u32,
    pub alpha_per_test: f64,
    tests: usize,
    shifts: Vec<MachineShift>,
    global_slots_difference: Option<CommonPart>,
    wall_beside_slots_is_gated: bool,
    pub time_per_slot: Option<TimePerSlot>,
    time_alone_is_gated: bool,
    noise: [Option<(Noise, usize)>; Metric::ALL.len()],
    backend_drift: Option<BackendDrift>,
    /// Probability that a launch of the suite is slow by accident.
    slow_launches: Tail,
    benchmarks: usize,
}

impl SuiteTest {
    /// Takes `suite` in the order of ids.
    pub fn new<'a>(
        suite: impl Iterator<Item = &'a Measured<'a>> + Clone,
        policy: &Policy,
        looks: u32,
        sessions: Sessions<'_>,
    ) -> SuiteTest {
        let (apart, earlier_runs) = match sessions {
            Sessions::Apart { earlier } => (true, earlier),
            Sessions::RoundRobin => (false, &[][..]),
        };
        let known = earlier::drift_of_time(suite.clone(), earlier_runs, policy);
        let counted = |m: &&Measured<'_>| m.has_slots() && !m.is_modelled();
        let with_counted_slots = suite.clone().filter(counted).count();
        let of_time = suite.clone().filter(|m| !m.has_slots()).count();
        let min_of_time = match known {
            Some(_) => MIN_BENCHMARKS_WITH_MEDIAN,
            None => MIN_TIMED_BENCHMARKS,
        };
        let mut test = SuiteTest {
            alpha: policy.alpha,
            looks,
            alpha_per_test: policy.alpha,
            tests: 0,
            shifts: if apart {
                let per_slot = machine_part::shift_per_slot(suite.clone());
                let of_time = machine_part::shift_of_time_alone(suite.clone(), min_of_time);
                per_slot.into_iter().chain(of_time).collect()
            } else {
                Vec::new()
            },
            time_alone_is_gated: !apart || known.is_some() || of_time >= MIN_TIMED_BENCHMARKS,
            global_slots_difference: global_slots_difference(suite.clone()),
            wall_beside_slots_is_gated: with_counted_slots >= MIN_BENCHMARKS_WITH_SLOTS,
            time_per_slot: machine_part::time_per_slot(suite.clone()),
            noise: [None; Metric::ALL.len()],
            backend_drift: None,
            slow_launches: slow_launches::of_suite(suite.clone()),
            benchmarks: suite.clone().count(),
        };
        for metric in Metric::ALL {
            let (tests, learned_from) = test.learned_from(suite.clone(), metric);
            test.tests += tests;
            if learned_from.is_empty() {
                continue;
            }
            let is_small = learned_from.len() < MIN_BENCHMARKS_WITH_CATEGORIES;
            let assumed = match metric {
                Metric::Wall => ASSUMED_WALL_DEVIATION,
                _ => ASSUMED_DEVIATION,
            };
            let is_of_time_alone =
                metric == Metric::Wall && of_time > 0 && !test.wall_beside_slots_is_gated;
            let drift = apart.then(|| match metric {
                Metric::Wall if is_of_time_alone => Expected {
                    min_benchmarks: min_of_time,
                    at_least: machine_part::drift_per_slot(suite.clone(), &TIME_DRIFT),
                    ..DRIFT_OF_TIME_ALONE
                },
                Metric::Wall => TIME_DRIFT,
                _ => SLOTS_DRIFT,
            });
            let known = match metric {
                Metric::Wall => known.filter(|_| is_of_time_alone),
                Metric::Slots if apart && is_small => {
                    let earlier = earlier::drift_of_slots(suite.clone(), earlier_runs, policy);
                    let shows_itself = learned_from.len() >= MIN_BENCHMARKS_WITH_DRIFT;
                    earlier.or((!shows_itself).then_some(ASSUMED_SLOTS_DRIFT))
                }
                _ => None,
            };
            let contrasts: Vec<Contrast> = learned_from.iter().map(|(_, c)| *c).collect();
            let mut noise = Noise::new(&contrasts, assumed, drift, known);
            if apart && metric != Metric::Wall {
                noise = noise.with_drift_of_unchanged(&of_same_code(&learned_from, policy));
            }
            test.noise[metric as usize] = Some((noise, contrasts.len()));
        }
        if apart {
            test.backend_drift = test.learn_backend_drift(suite.clone());
            test.learn_slots_drift_again(suite.clone(), policy);
        }
        test.alpha_per_test = test.alpha / f64::from(looks) / test.tests.max(1) as f64;
        test
    }

    /// Returns how many benchmarks `metric` can fail, and those from which its noise is learned.
    fn learned_from<'a>(
        &self,
        suite: impl Iterator<Item = &'a Measured<'a>>,
        metric: Metric,
    ) -> (usize, Vec<(&'a Measured<'a>, Contrast)>) {
        let (gated, others): (Vec<_>, Vec<_>) = suite
            // Benchmarks without noise need no test and show nothing about noise.
            .filter(|m| !m.is_exact(metric))
            .filter_map(|m| Some((m, self.contrast(m, metric)?)))
            .partition(|(m, _)| self.is_gated(m, metric));
        let tests = gated.len();
        // Metrics that cannot fail must not decide how noisy those are that can.
        let learned_from = if gated.is_empty() { others } else { gated };
        (tests, learned_from)
    }

    /// Learns the drift of slots again from what the neighbour does not explain, which would
    /// otherwise count twice.
    fn learn_slots_drift_again<'a>(
        &mut self,
        suite: impl Iterator<Item = &'a Measured<'a>> + Clone,
        policy: &Policy,
    ) {
        let Some(backend) = self.backend_drift else {
            return;
        };
        for metric in [Metric::Slots, Metric::BackendBound] {
            let (_, mut rest) = self.learned_from(suite.clone(), metric);
            for (measured, contrast) in &mut rest {
                contrast.difference -= backend.slope * backend_share(measured).unwrap_or(0.0);
            }
            let contrasts: Vec<Contrast> = rest.iter().map(|(_, c)| *c).collect();
            let noise = Noise::new(&contrasts, ASSUMED_DEVIATION, Some(SLOTS_DRIFT), None)
                .with_drift_of_unchanged(&of_same_code(&rest, policy));
            if let Some((learned, _)) = &mut self.noise[metric as usize] {
                learned.drift = noise.drift;
            }
        }
        self.backend_drift = self.learn_backend_drift(suite);
    }

    fn learn_backend_drift<'a>(
        &self,
        suite: impl Iterator<Item = &'a Measured<'a>>,
    ) -> Option<BackendDrift> {
        let noise = self.noise(Metric::Slots)?;
        let weighted: Vec<Weighted> = suite
            .filter(|measured| !measured.is_exact(Metric::Slots) && !measured.is_sampled())
            .filter_map(|measured| {
                let contrast = self.contrast(measured, Metric::Slots)?;
                Some(Weighted {
                    deviating: Deviating {
                        difference: contrast.difference,
                        standard_error: noise.estimate(&contrast).whole.standard_error,
                    },
                    share: backend_share(measured)?,
                })
            })
            .collect();
        BackendDrift::new(&weighted, &SLOTS_DRIFT)
    }

    /// Returns the test of the second look. Everything learned from the whole suite stays as the
    /// first look found it, since the second only has the suspects.
    pub fn second_look(first: &Suite) -> SuiteTest {
        let mut noise = [None; Metric::ALL.len()];
        for found in &first.noise {
            let prior = Prior {
                degrees_of_freedom: found.prior_degrees_of_freedom,
                variance: found.prior_deviation.powi(2),
                fitted: found.prior_fitted,
            };
            let drift = found.drift.map_or(Drift::NONE, |drift| Drift {
                deviation: drift.deviation,
                degrees_of_freedom: drift.degrees_of_freedom,
                is_factor: drift.is_factor,
                earlier_runs: drift.earlier_runs,
                is_assumed: drift.is_assumed,
                unchanged_benchmarks: drift.unchanged_benchmarks,
            });
            let common = found.common.map(|common| CommonDifference {
                median: common.difference,
                low: common.low,
                high: common.high,
                densest: common.densest,
            });
            let found_noise = Noise {
                prior,
                autocorrelation: found.autocorrelation,
                drift,
                common,
            };
            noise[found.metric as usize] = Some((found_noise, found.benchmarks));
        }
        SuiteTest {
            alpha: first.alpha,
            looks: first.looks,
            alpha_per_test: first.alpha_per_test,
            tests: first.tests,
            shifts: first.machine_shifts.clone(),
            global_slots_difference: first.global_slots_difference,
            wall_beside_slots_is_gated: first.wall_beside_slots_is_gated,
            time_per_slot: first.time_per_slot,
            time_alone_is_gated: first.time_alone_is_gated,
            noise,
            backend_drift: first.backend_drift.map(BackendDrift::from),
            slow_launches: Tail {
                slow: first.slow_launches,
                launches: first.launches,
            },
            benchmarks: first.benchmarks,
        }
    }

    /// Returns whether the drift of the machine can be distinguished from a change of this
    /// benchmark.
    pub fn separates_drift(&self, measured: &Measured<'_>) -> bool {
        measured.has_slots()
            || self.time_alone_is_gated
            || measured
                .raw(Metric::Wall)
                .is_some_and(|wall| reaches(wall.difference, LARGEST_DRIFT_OF_TIME))
    }

    /// Returns whether `metric` can fail this benchmark.
    pub fn is_gated(&self, measured: &Measured<'_>, metric: Metric) -> bool {
        let wanted = |metric| measured.rules.gates(metric);
        match metric {
            // If there is only time, it replaces the slots.
            Metric::Wall if !measured.has_slots() => {
                self.separates_drift(measured) && (wanted(Metric::Wall) || wanted(Metric::Slots))
            }
            // A model is used where the clock is too noisy to gate.
            Metric::Wall => {
                wanted(Metric::Wall) && self.wall_beside_slots_is_gated && !measured.is_modelled()
            }
            Metric::Slots => wanted(Metric::Slots),
            category => wanted(category) && measured.coarse.is_none(),
        }
    }

    /// Returns the contrast to test: wall-clock time without the machine shift.
    pub fn contrast(&self, measured: &Measured<'_>, metric: Metric) -> Option<Contrast> {
        if metric != Metric::Wall {
            return measured.raw(metric);
        }
        let Some(shift) = self.shift_of(measured) else {
            return measured.raw(metric);
        };
        let [baseline, mut candidate] = measured.kept(metric)?;
        for wall_ns in &mut candidate {
            *wall_ns /= 1.0 + shift;
        }
        Contrast::new(Launches {
            baseline: &baseline,
            baseline_total: &baseline,
            candidate: &candidate,
        })
    }

    /// Returns the machine shift that is taken out of this benchmark's times.
    pub fn shift_of(&self, measured: &Measured<'_>) -> Option<f64> {
        MachineShift::removed_from(&self.shifts, measured.has_slots())
    }

    /// Returns the p-value below which ungated time is mentioned. This is not a test, but must not
    /// raise false alarms about the benchmarks of an unchanged suite either.
    pub fn alpha_per_time(&self) -> f64 {
        let times = self.noise[Metric::Wall as usize].map_or(1, |(_, benchmarks)| benchmarks);
        self.alpha / f64::from(self.looks) / self.tests.max(times) as f64
    }

    /// Compares the slow launches of both sides.
    pub fn slow_launches(&self, measured: &Measured<'_>) -> Option<SlowLaunches> {
        let alpha = self.alpha / f64::from(self.looks) / self.benchmarks.max(1) as f64;
        SlowLaunches::new(measured, self.slow_launches, alpha)
    }

    /// Returns the noise of `metric`; `None` if no benchmark has it.
    pub fn noise(&self, metric: Metric) -> Option<&Noise> {
        self.noise[metric as usize].as_ref().map(|(noise, _)| noise)
    }

    /// Estimates the difference of a benchmark that is not exact.
    pub fn estimate(
        &self,
        measured: &Measured<'_>,
        metric: Metric,
        contrast: &Contrast,
    ) -> Option<Estimate> {
        let noise = *self.noise(metric)?;
        if metric == Metric::Wall {
            return Some(noise.estimate(contrast));
        }
        // A model does not drift; only what it sampled is uncertain.
        if measured.is_sampled() {
            return Some(noise.of_values_alone().estimate(contrast));
        }
        // What all benchmarks have in common is a change of the code for slots.
        let Margins { point, sure } = measured.margins(metric);
        let mut noise = noise;
        if noise.moved(contrast.difference, point, sure) {
            noise.drift = Drift::NONE;
            return Some(noise.estimate(contrast));
        }
        if metric.is_category() {
            let of_slots = self.noise(Metric::Slots)?.drift;
            // A factor on all slots moves each category by its share of them. A suite too small to
            // show its drift does not show that it is such a factor either, and any category may
            // have all of it, except for work that is retired.
            let part = if metric == Metric::Retiring || self.shows_drift(metric) {
                let share = contrast.baseline_mean / measured.raw(Metric::Slots)?.baseline_mean;
                share.max(0.0)
            } else {
                1.0
            };
            noise.drift = noise.drift.at_least(of_slots.scaled(part));
        }
        let mut of_neighbour = 0.0;
        if let Some(backend) = &self.backend_drift
            && matches!(metric, Metric::Slots | Metric::BackendBound)
        {
            let share = backend_share(measured)?;
            noise.drift = noise.drift.plus(backend.drift_at(share));
            of_neighbour = backend.slope * share;
        }
        Some(Estimate {
            of_neighbour,
            is_drift_assumed: self.assumes_drift(metric),
            ..noise.estimate(contrast)
        })
    }

    /// Returns whether the suite is large enough to show how far `metric` drifts.
    fn shows_drift(&self, metric: Metric) -> bool {
        let learned_from = self.noise[metric as usize].map_or(0, |(_, benchmarks)| benchmarks);
        learned_from >= MIN_BENCHMARKS_WITH_CATEGORIES
    }

    /// Returns whether the drift that this metric is judged by was assumed, so that a change which
    /// its launches show may still be drift.
    pub fn assumes_drift(&self, metric: Metric) -> bool {
        metric != Metric::Wall
            && self
                .noise(Metric::Slots)
                .is_some_and(|noise| noise.drift.is_assumed)
    }

    /// Returns the findings for the report.
    pub fn findings(&self) -> Suite {
        Suite {
            alpha: self.alpha,
            tests: self.tests,
            looks: self.looks,
            alpha_per_test: self.alpha_per_test,
            wall_beside_slots_is_gated: self.wall_beside_slots_is_gated,
            time_alone_is_gated: self.time_alone_is_gated,
            machine_shifts: self.shifts.clone(),
            global_slots_difference: self.global_slots_difference,
            time_per_slot: self.time_per_slot,
            backend_drift: self.backend_drift.map(BackendBoundDrift::from),
            benchmarks: self.benchmarks,
            launches: self.slow_launches.launches,
            slow_launches: self.slow_launches.slow,
            noise: Metric::ALL
                .into_iter()
                .filter_map(|metric| {
                    let (noise, benchmarks) = self.noise[metric as usize]?;
                    Some(MetricNoise {
                        metric,
                        benchmarks,
                        prior_deviation: noise.prior.variance.sqrt(),
                        prior_degrees_of_freedom: noise.prior.degrees_of_freedom,
                        prior_fitted: noise.prior.fitted,
                        autocorrelation: noise.autocorrelation,
                        drift: (noise.drift != Drift::NONE).then_some(DriftBetween {
                            deviation: noise.drift.deviation,
                            degrees_of_freedom: noise.drift.degrees_of_freedom,
                            is_factor: noise.drift.is_factor,
                            earlier_runs: noise.drift.earlier_runs,
                            is_assumed: noise.drift.is_assumed,
                            unchanged_benchmarks: noise.drift.unchanged_benchmarks,
                        }),
                        common: noise.common.map(CommonPart::from),
                    })
                })
                .collect(),
        }
    }
}

/// Returns the benchmarks that surely did not change, if the policy lets their code prove that.
fn of_same_code(benchmarks: &[(&Measured<'_>, Contrast)], policy: &Policy) -> Vec<Contrast> {
    let is_proof = |measured: &Measured<'_>| measured.is_same_code && !policy.fail_on.same_code;
    let same = benchmarks.iter().filter(|(measured, _)| is_proof(measured));
    same.map(|(_, contrast)| *contrast).collect()
}

/// Returns the backend-bound share of the baseline.
fn backend_share(measured: &Measured<'_>) -> Option<f64> {
    let backend = measured.raw(Metric::BackendBound)?.baseline_mean;
    Some((backend / measured.raw(Metric::Slots)?.baseline_mean).max(0.0))
}

fn global_slots_difference<'a>(
    suite: impl Iterator<Item = &'a Measured<'a>>,
) -> Option<CommonPart> {
    let differences = suite
        .filter_map(|m| Some(m.raw(Metric::Slots)?.difference))
        .collect();
    CommonDifference::new(differences)
        .map(CommonPart::from)
        .filter(|common| reaches(common.difference.abs(), MIN_SHIFT))
}

impl From<BackendDrift> for BackendBoundDrift {
    fn from(backend: BackendDrift) -> BackendBoundDrift {
        BackendBoundDrift {
            slope: backend.slope,
            slope_error: backend.slope_error,
            deviation: backend.drift.deviation,
            degrees_of_freedom: backend.drift.degrees_of_freedom,
        }
    }
}

impl From<BackendBoundDrift> for BackendDrift {
    fn from(found: BackendBoundDrift) -> BackendDrift {
        BackendDrift {
            slope: found.slope,
            slope_error: found.slope_error,
            drift: Drift {
                deviation: found.deviation,
                degrees_of_freedom: found.degrees_of_freedom,
                ..Drift::NONE
            },
        }
    }
}

impl From<CommonDifference> for CommonPart {
    fn from(common: CommonDifference) -> CommonPart {
        CommonPart {
            difference: common.median,
            low: common.low,
            high: common.high,
            densest: common.densest,
        }
    }
}
