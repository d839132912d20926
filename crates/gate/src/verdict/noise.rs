//! The A/A control: differences between launches of one program, and the smallest change that the
//! gate can find despite them.

use serde::Serialize;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, BenchmarkId, LaunchSettings, Run, Series};

use super::benchmark_verdict::BenchmarkVerdict;
use super::comparison::{COMPARISON_SCHEMA_VERSION, Comparison, RunSummary};
use super::measured::Measured;
use super::rules::Verdict;
use super::suite::{Sessions, SuiteTest};
use super::{LabelledRun, compare_in_turn, summary};
use crate::metric::Metric;
use crate::policy::Policy;
use crate::statistics::agreement::is_exact;
use crate::statistics::power::{POWER, Plan, Planned};

/// The noise of a run. The JSON of `cargo topdown doctor --noise --json` is this type.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoiseReport {
    /// The version of this format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = super::COMPARISON_SCHEMA_VERSION)))]
    pub schema_version: u32,
    /// The run whose launches are compared.
    pub run: RunSummary,
    /// Launches on each side of the comparison that `smallest_change` refers to.
    pub launches: u32,
    /// Gated metrics times benchmarks in such a comparison.
    pub tests: usize,
    /// The error probability of that comparison.
    pub alpha: f64,
    /// The probability of finding a smallest change.
    pub power: f64,
    /// One entry per benchmark, in the order of the run.
    pub benchmarks: Vec<BenchmarkNoise>,
    /// One half of the launches judged against the other; absent with fewer than two launches per
    /// half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<Comparison>,
}

/// The noise of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchmarkNoise {
    /// The benchmark.
    pub id: BenchmarkId,
    /// Where its numbers come from.
    pub source: SourceKind,
    /// Launches with a value.
    pub launches: usize,
    /// One entry per metric that it has; empty if it has no numbers at all.
    pub metrics: Vec<MetricNoiseLevel>,
}

/// The noise of one metric of one benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricNoiseLevel {
    /// The metric.
    pub metric: Metric,
    /// The standard deviation between launches, as a fraction of the benchmark's slots (for
    /// wall-clock time: of its time); absent for a single launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// The smallest change that the gate can find, as a fraction of the same; absent if there is
    /// none, for example because the metric cannot fail the benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_change: Option<f64>,
}

impl NoiseReport {
    /// Returns the benchmarks that failed although they were compared with themselves.
    pub fn alarms(&self) -> Vec<&BenchmarkVerdict> {
        let Some(control) = &self.control else {
            return Vec::new();
        };
        let is_alarm = |b: &&BenchmarkVerdict| {
            matches!(b.verdict, Verdict::Regressed | Verdict::Shifted)
                && control.failing.contains(&b.verdict)
        };
        control.benchmarks.iter().filter(is_alarm).collect()
    }
}

/// Returns the noise of `run`, and what a comparison with `launches` on each side can find. Drift
/// between two sessions comes on top: launches of one run do not show it.
pub fn noise_of(run: LabelledRun<'_>, policy: &Policy, launches: u32) -> NoiseReport {
    // As if it were compared with itself, so that it supplies its own noise.
    let measured: Vec<Option<Measured<'_>>> = run
        .run
        .benchmarks
        .iter()
        .map(|benchmark| Measured::new(benchmark, benchmark, policy, &[]).ok())
        .collect();
    let test = SuiteTest::new(measured.iter().flatten(), policy, 1, Sessions::RoundRobin);
    let plan = Plan::new(launches as usize, test.alpha_per_test);
    let benchmarks = run
        .run
        .benchmarks
        .iter()
        .zip(&measured)
        .map(|(benchmark, measured)| BenchmarkNoise {
            id: benchmark.id.clone(),
            source: benchmark.provenance().source,
            launches: benchmark.launches(),
            metrics: measured
                .iter()
                .flat_map(|measured| levels(measured, &test, plan.as_ref()))
                .collect(),
        })
        .collect();
    NoiseReport {
        schema_version: COMPARISON_SCHEMA_VERSION,
        run: summary(run),
        launches,
        tests: test.findings().tests,
        alpha: policy.alpha,
        power: POWER,
        benchmarks,
        control: control(run, policy),
    }
}

fn levels(measured: &Measured<'_>, test: &SuiteTest, plan: Option<&Plan>) -> Vec<MetricNoiseLevel> {
    Metric::ALL
        .into_iter()
        .filter_map(|metric| {
            let spread = measured.raw(metric)?.baseline;
            let total = measured.raw(match metric {
                Metric::Wall => Metric::Wall,
                _ => Metric::Slots,
            })?;
            let margins = measured.margins(metric);
            if measured.is_exact(metric) {
                return Some(MetricNoiseLevel {
                    metric,
                    deviation: Some(0.0),
                    smallest_change: test.is_gated(measured, metric).then_some(margins.point),
                });
            }
            let noise = test.noise(metric)?;
            let resolution = if metric.is_category() {
                measured.resolution
            } else {
                0.0
            };
            let planned = Planned {
                deviation: noise.prior.moderate(spread).sqrt(),
                total_deviation: total.baseline.variance.sqrt(),
                noise,
                sure_margin: margins.sure + resolution,
                point_margin: margins.point,
            };
            let plan = plan.filter(|_| test.is_gated(measured, metric));
            Some(MetricNoiseLevel {
                metric,
                deviation: (spread.launches > 1).then(|| spread.variance.sqrt()),
                smallest_change: plan.and_then(|plan| plan.smallest_change(planned)),
            })
        })
        .collect()
}

/// Judges one half of the launches against the other.
fn control(run: LabelledRun<'_>, policy: &Policy) -> Option<Comparison> {
    let [a, b] = halves(run.run)?;
    let side = |label, run| LabelledRun { label, run };
    Some(compare_in_turn(
        side("one half of the launches", &a),
        side("the other half", &b),
        policy,
    ))
}

/// The launches at these places of every four.
fn half_of<V: Clone>(series: &Series<V>, wanted: [usize; 2]) -> Series<V> {
    let places = series.launches.iter().enumerate();
    let kept = places.filter(|(index, _)| wanted.contains(&(index % 4)));
    Series {
        provenance: series.provenance.clone(),
        launches: kept.map(|(_, launch)| launch.clone()).collect(),
    }
}

/// Splits the launches in turn, ABBA, so that steady drift favours neither half.
fn halves(run: &Run) -> Option<[Run; 2]> {
    let most = run
        .benchmarks
        .iter()
        .map(|b| b.times.launches.len())
        .max()?;
    if most < 4 {
        return None;
    }
    let half = |wanted: [usize; 2]| Run {
        benchmarks: run
            .benchmarks
            .iter()
            .map(|benchmark| Benchmark {
                times: half_of(&benchmark.times, wanted),
                slots: benchmark.slots.as_ref().map(|slots| {
                    if is_exact(benchmark) {
                        // Slots that agree bit for bit are those of every launch.
                        slots.clone()
                    } else {
                        half_of(slots, wanted)
                    }
                }),
                ..benchmark.clone()
            })
            .collect(),
        launch_settings: LaunchSettings {
            launches: run.launch_settings.launches / 2,
            ..run.launch_settings
        },
        ..run.clone()
    };
    Some([half([0, 3]), half([1, 2])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{self, Planted, benchmark, modelled, timed};

    fn report(benchmarks: Vec<Benchmark>, launches: u32) -> NoiseReport {
        let run = scenario::run(benchmarks);
        let run = LabelledRun {
            label: "main",
            run: &run,
        };
        noise_of(run, &Policy::default(), launches)
    }

    fn suite(deviation: f64) -> Vec<Benchmark> {
        (0..24)
            .map(|n| {
                let planted = Planted {
                    deviation,
                    launches: 20,
                    ..Planted::default()
                };
                benchmark(&format!("b{n:02}"), planted)
            })
            .collect()
    }

    fn typical(
        report: &NoiseReport,
        metric: Metric,
        quantity: fn(&MetricNoiseLevel) -> f64,
    ) -> f64 {
        let values: Vec<f64> = report
            .benchmarks
            .iter()
            .flat_map(|b| &b.metrics)
            .filter(|level| level.metric == metric)
            .map(quantity)
            .collect();
        crate::statistics::median(values).unwrap()
    }

    #[test]
    fn planted_noise_is_measured_and_limits_detection() {
        let deviation = |level: &MetricNoiseLevel| level.deviation.unwrap();
        let change = |level: &MetricNoiseLevel| level.smallest_change.unwrap();
        let (quiet, loud) = (report(suite(0.004), 10), report(suite(0.04), 10));
        // Retiring has a tenth of it; the slots are the sum of four categories.
        let retiring = typical(&quiet, Metric::Retiring, deviation);
        assert!((retiring / 0.0004 - 1.0).abs() < 0.1, "{retiring}");
        let slots = typical(&loud, Metric::Slots, deviation);
        let sum = (0.01_f64 + 0.25 + 0.25 + 1.0).sqrt() * 0.04;
        assert!((slots / sum - 1.0).abs() < 0.1, "{slots}");
        assert!(typical(&quiet, Metric::Slots, change) < 0.04);
        assert!(typical(&loud, Metric::Slots, change) > 0.1);
        assert_eq!(quiet.tests, 24 * 6);
    }

    #[test]
    fn exact_model_has_no_noise_and_finds_its_margin() {
        let benchmarks = vec![modelled("m", Planted::default())];
        let report = report(benchmarks, 2);
        let levels = &report.benchmarks[0].metrics;
        let slots = levels.iter().find(|l| l.metric == Metric::Slots).unwrap();
        assert_eq!(slots.deviation, Some(0.0));
        assert_eq!(slots.smallest_change, Some(0.02));
        let wall = levels.iter().find(|l| l.metric == Metric::Wall).unwrap();
        assert!(wall.deviation > Some(0.0));
        assert_eq!(wall.smallest_change, None);
    }

    #[test]
    fn self_comparison_raises_no_alarm() {
        let report = report(suite(0.01), 10);
        let control = report.control.as_ref().unwrap();
        assert_eq!(control.benchmarks[0].baseline_launches.used(), 10);
        assert_eq!(control.benchmarks[0].candidate_launches.used(), 10);
        assert!(report.alarms().is_empty());
    }

    #[test]
    fn differing_halves_are_an_alarm() {
        let mut benchmarks = suite(0.004);
        for (index, launch) in benchmarks[3].slots_launches_mut().iter_mut().enumerate() {
            if [1, 2].contains(&(index % 4)) {
                launch.slots *= 1.2;
            }
        }
        let report = report(benchmarks, 10);
        assert_eq!(report.alarms()[0].id.name, "b03");
    }

    #[test]
    fn ungated_metric_has_no_smallest_change() {
        // Time next to slots is gated only in large suites, and nothing is with a single launch.
        let few = report(suite(0.004).split_off(12), 10);
        for level in &few.benchmarks[0].metrics {
            assert_eq!(
                level.smallest_change.is_none(),
                level.metric == Metric::Wall
            );
        }
        assert!(few.benchmarks[0].metrics[0].deviation.is_some());
        let one = Planted {
            launches: 1,
            ..Planted::default()
        };
        let one = report(vec![timed("t", one)], 1);
        let level = one.benchmarks[0].metrics[0];
        assert_eq!((level.deviation, level.smallest_change), (None, None));
        assert_eq!(one.control, None);
    }
}
