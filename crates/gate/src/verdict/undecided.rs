//! Reasons for an undecided benchmark, and the number of launches that would decide it.

use super::benchmark_verdict::{Undecided, UndecidedReason};
use super::effect::TestOutcome;
use super::measured::Measured;
use super::rules::Evidence;
use super::suite::SuiteTest;
use super::tested::{ONE_SIDED_ERROR, Tested};
use crate::metric::Metric;
use crate::statistics::margin::reaches;
use crate::statistics::outlook::{Advice, Obstacle, Outlook};
use crate::statistics::student::Quantiles;

/// The probabilities of a decision for which launches are advised. The second holds in 72 of 100
/// cases: benchmarks that were already decided do not ask for advice.
const HALF: f64 = 0.5;
const LIKELY: f64 = 0.8;

/// The outlooks of one suite's benchmarks.
pub struct Outlooks<'a> {
    test: &'a SuiteTest,
    one_sided: Quantiles,
    per_test: Quantiles,
}

impl<'a> Outlooks<'a> {
    pub fn new(test: &'a SuiteTest) -> Self {
        Outlooks {
            test,
            one_sided: Quantiles::for_tail(ONE_SIDED_ERROR),
            per_test: Quantiles::for_tail(test.alpha_per_test),
        }
    }

    /// Returns why a benchmark is undecided whose time may have grown.
    pub fn undecided_time(&self, measured: &Measured<'_>, wall: &Tested) -> Undecided {
        let min_launches = measured.min_launches(Metric::Wall);
        let deviation = self.launch_deviation(measured, Metric::Wall);
        let advice = self.advice(wall, deviation, min_launches);
        undecided_for(UndecidedReason::TimeLooksLonger, advice, deviation)
    }

    /// Returns why a benchmark is undecided whose total is `total`.
    pub fn undecided_total(
        &self,
        measured: &Measured<'_>,
        total: &Tested,
        evidence: &Evidence,
    ) -> Undecided {
        let min_launches = measured.min_launches(total.metric);
        let reason = if evidence.costly_windows {
            UndecidedReason::CostlyWindows
        } else if evidence.depends_on_order {
            UndecidedReason::DependsOnOrder
        } else if evidence.suite_wide_slowdown {
            UndecidedReason::MachineOrGlobalChange
        } else if evidence.may_be_sometimes_slower {
            UndecidedReason::SlowLaunches
        } else if total.effect.outcome == TestOutcome::OthersFaster {
            UndecidedReason::OthersFaster
        } else if min_launches == 1 {
            UndecidedReason::OneLaunch
        } else if !self.test.separates_drift(measured) {
            UndecidedReason::DriftUnknown
        } else if !total.effect.gated && total.looks_worse() {
            UndecidedReason::NotGated
        } else if self.is_doubt_of_assumed_drift(total) {
            UndecidedReason::DriftAssumed
        } else if measured.is_sampled() && total.metric != Metric::Wall {
            UndecidedReason::FewUnits
        } else {
            UndecidedReason::Noise
        };
        let deviation = self.launch_deviation(measured, total.metric);
        let advice = match reason {
            UndecidedReason::OneLaunch | UndecidedReason::Noise => {
                self.advice(total, deviation, min_launches)
            }
            // More launches say more about this machine, not about the other one.
            _ => None,
        };
        let reason = match (reason, advice) {
            (UndecidedReason::Noise, Some(Advice::Hopeless(Obstacle::Margin))) => {
                UndecidedReason::Margin
            }
            (UndecidedReason::Noise, Some(Advice::Hopeless(Obstacle::Drift))) => {
                UndecidedReason::Drift
            }
            _ => reason,
        };
        undecided_for(reason, advice, deviation)
    }

    /// Returns whether the benchmark would fail or be improved if the drift were not assumed.
    fn is_doubt_of_assumed_drift(&self, total: &Tested) -> bool {
        let Tested {
            estimate, effect, ..
        } = total;
        let change = estimate.difference.abs();
        let beyond_launches = change - effect.sure_margin;
        self.test.assumes_drift(total.metric)
            && effect.gated
            && reaches(change, effect.point_margin)
            && estimate.of_launches.p(beyond_launches) < self.test.alpha_per_test
    }

    /// Returns the typical standard deviation between launches, without the floor for few launches.
    fn launch_deviation(&self, measured: &Measured<'_>, metric: Metric) -> f64 {
        let (Some(noise), Some(contrast)) = (
            self.test.noise(metric),
            self.test.contrast(measured, metric),
        ) else {
            return 0.0;
        };
        let variances = [contrast.baseline, contrast.candidate].map(|s| noise.prior.moderate(s));
        ((variances[0] + variances[1]) / 2.0).sqrt()
    }

    /// Returns what more launches would do; `None` without noise.
    fn advice(&self, tested: &Tested, deviation: f64, min_launches: usize) -> Option<Advice> {
        let noise = self.test.noise(tested.metric)?;
        let outlook = Outlook {
            estimate: tested.estimate,
            launch_deviation: deviation,
            drift_deviation: match tested.estimate.drift_deviation() {
                0.0 => noise.drift.deviation,
                of_benchmark => of_benchmark,
            },
            prior_degrees_of_freedom: noise.prior.degrees_of_freedom,
            sure_margin: tested.effect.sure_margin,
            point_margin: tested.effect.point_margin,
            per_test: &self.per_test,
            one_sided: &self.one_sided,
        };
        let launches = u32::try_from(min_launches).unwrap_or(u32::MAX - 1);
        Some(outlook.advice([HALF, LIKELY], launches))
    }
}

fn undecided_for(
    reason: UndecidedReason,
    advice: Option<Advice>,
    launch_deviation: f64,
) -> Undecided {
    let (launches_needed, launches_enough) = match advice {
        Some(Advice::Launches(half, most)) => (Some(half), most),
        _ => (None, None),
    };
    Undecided {
        reason,
        launches_needed,
        launches_enough,
        decided_by_most_fraction: match advice {
            Some(Advice::Open(probability)) => Some(probability),
            _ => None,
        },
        launch_deviation,
    }
}
