//! A benchmark that both runs have, as numbers.

use serde::Serialize;
use topdown_run::activity::UncountedWork;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, SlotsValue};

use super::code_change;
use super::left_out::LeftOut;
use super::rules::Method;
use crate::comparability::{self, Difference};
use crate::metric::Metric;
use crate::physical::Impossible;
use crate::policy::{Margins, Policy, Rules};
use crate::schedules::CommonSchedules;
use crate::statistics::agreement::{is_exact, is_sampled, units_agree};
use crate::statistics::contrast::{Contrast, Launches};
use crate::statistics::mean;

/// Categories with a coarser resolution are not tested: a reset policy then makes 8-bit ratios
/// refer to far more slots than the sample has.
const COARSEST_RESOLUTION: f64 = 0.02;

/// Categories that are too coarse to be tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoarseCategories {
    /// The baseline's mean resolution, as a fraction of its slots.
    pub baseline_resolution: f64,
    /// The candidate's mean resolution, as a fraction of its slots.
    pub candidate_resolution: f64,
    /// The coarsest resolution that is tested.
    pub limit: f64,
}

/// A benchmark that both runs have, as numbers.
pub struct Measured<'a> {
    pub baseline: &'a Benchmark,
    pub candidate: &'a Benchmark,
    /// In the order of [`Metric::ALL`]; wall-clock time as measured.
    contrasts: [Option<Contrast>; Metric::ALL.len()],
    /// Maximum error of the difference of any category, however many launches there are.
    pub resolution: f64,
    pub coarse: Option<CoarseCategories>,
    /// How its slots are judged.
    pub method: Method,
    /// Its slots in the schedules of both sides, if there are several and each repeats.
    pub schedules: Option<CommonSchedules<'a>>,
    /// Whether it surely executed the same machine code on both sides.
    pub is_same_code: bool,
    /// Where its work is, if only time judges it.
    pub elsewhere: Option<UncountedWork>,
    /// The launches of both sides that are left out.
    left_out: [LeftOut; 2],
    /// The policy's rules for this benchmark.
    pub rules: Rules,
}

impl<'a> Measured<'a> {
    /// Returns the numbers, or why they cannot be compared. `cpus` has the differences of the
    /// machines' CPUs.
    pub fn new(
        baseline: &'a Benchmark,
        candidate: &'a Benchmark,
        policy: &Policy,
        cpus: &[Difference],
    ) -> Result<Measured<'a>, Vec<Difference>> {
        let differences =
            comparability::of_benchmark(baseline.provenance(), candidate.provenance(), cpus);
        if !differences.is_empty() {
            return Err(differences);
        }
        let differs = |field: &str, a: String, b: String| {
            Err(vec![Difference {
                field: field.to_owned(),
                baseline: a,
                candidate: b,
            }])
        };
        if baseline.launches() == 0 || candidate.launches() == 0 {
            let usable = |b: &Benchmark| format!("{} usable", b.launches());
            return differs("launches", usable(baseline), usable(candidate));
        }
        let impossible = [baseline, candidate].map(Impossible::of);
        if impossible.iter().any(Option::is_some) {
            let [a, b] = impossible.map(|side| match side {
                Some(impossible) => impossible.reason(candidate.provenance().source),
                None => "possible".to_owned(),
            });
            return differs("slots", a, b);
        }
        let sets = [baseline, candidate].map(metrics_of);
        let elsewhere =
            comparability::uncounted_work(baseline.provenance(), candidate.provenance());
        if elsewhere.is_none() && sets[0] != sets[1] {
            let [a, b] = sets.map(|set| set.map(Metric::name).join(", "));
            return differs("metrics", a, b);
        }
        let one_stands_for_all = is_exact(baseline) && is_exact(candidate);
        let method = if one_stands_for_all || units_agree(baseline, candidate) {
            Method::Exact
        } else {
            Method::Statistics
        };
        let left_out = [baseline, candidate].map(LeftOut::new);
        let kept = |metric| {
            let values = [
                left_out[0].kept(baseline, metric)?,
                left_out[1].kept(candidate, metric)?,
            ];
            Some(values.map(|mut values| {
                // The mean of equal numbers can differ from them in the last bit.
                if one_stands_for_all && metric != Metric::Wall {
                    values.truncate(1);
                }
                values
            }))
        };
        let slots = kept(Metric::Slots);
        let contrast = |metric: Metric| {
            let values = match metric {
                Metric::Slots => slots.clone(),
                metric => kept(metric),
            };
            let [baseline, candidate] = values?;
            let baseline_total = match metric {
                Metric::Wall => &baseline,
                _ => &slots.as_ref()?[0],
            };
            Contrast::new(Launches {
                baseline: &baseline,
                baseline_total,
                candidate: &candidate,
            })
        };
        let contrasts = Metric::ALL.map(|metric| {
            // Times of different CPUs are different things, even next to modelled slots.
            let is_comparable = match metric {
                Metric::Wall => cpus.is_empty(),
                _ => elsewhere.is_none(),
            };
            is_comparable.then(|| contrast(metric)).flatten()
        });
        let measured = Measured {
            baseline,
            candidate,
            contrasts,
            resolution: 0.0,
            coarse: None,
            method,
            schedules: CommonSchedules::new(baseline, candidate).filter(|_| one_stands_for_all),
            is_same_code: code_change::is_proven_same(baseline, candidate),
            elsewhere,
            left_out,
            rules: policy.rules_of(&baseline.id),
        };
        // A program without slots or time was not measured.
        if measured
            .main()
            .is_none_or(|main| main.candidate_mean <= 0.0)
        {
            let total = |b: &Benchmark| {
                let metric = match elsewhere {
                    Some(_) => Metric::Wall,
                    None => main_metric(b),
                };
                format!(
                    "{} per iteration",
                    mean(&metric.values(b).unwrap_or_default())
                )
            };
            return differs("total", total(baseline), total(candidate));
        }
        Ok(measured.with_resolution())
    }

    fn with_resolution(mut self) -> Measured<'a> {
        let Some(slots) = self.raw(Metric::Slots) else {
            return self;
        };
        let ratio = slots.candidate_mean / slots.baseline_mean;
        let [a, b] = [self.baseline, self.candidate].map(|benchmark| {
            let launches = benchmark.slots_launches().iter();
            mean(
                &launches
                    .map(|launch| launch.resolution_fraction)
                    .collect::<Vec<f64>>(),
            )
        });
        self.resolution = 0.5 * (a + b * ratio);
        self.coarse = (a.max(b) > COARSEST_RESOLUTION).then_some(CoarseCategories {
            baseline_resolution: a,
            candidate_resolution: b,
            limit: COARSEST_RESOLUTION,
        });
        self
    }

    /// Returns the contrast of the metric that decides whether the benchmark got slower.
    fn main(&self) -> Option<Contrast> {
        self.raw(self.main_metric())
    }

    pub fn main_metric(&self) -> Metric {
        match self.elsewhere {
            Some(_) => Metric::Wall,
            None => main_metric(self.baseline),
        }
    }

    pub fn has_slots(&self) -> bool {
        self.main_metric() == Metric::Slots
    }

    /// Returns whether its slots are those of a model.
    pub fn is_modelled(&self) -> bool {
        self.candidate.provenance().source == SourceKind::Model
    }

    /// Returns whether its slots are those of a model that sampled at least one side.
    pub fn is_sampled(&self) -> bool {
        let sides = [self.baseline, self.candidate];
        self.is_modelled() && sides.into_iter().any(is_sampled)
    }

    /// Returns whether the difference in `metric` has no noise; time always has some.
    pub fn is_exact(&self, metric: Metric) -> bool {
        self.method == Method::Exact && metric != Metric::Wall
    }

    /// Returns whether a `difference` of `metric` shows in all schedules.
    pub fn shows_in_all_schedules(&self, metric: Metric, difference: f64) -> bool {
        let sure = self.margins(metric).sure;
        (self.schedules.as_ref()).is_none_or(|all| all.show(metric, difference, sure))
    }

    /// Returns the margins of `metric`.
    pub fn margins(&self, metric: Metric) -> Margins {
        let is_sampled = self.is_sampled() && metric != Metric::Wall;
        if self.is_exact(metric) || is_sampled {
            self.rules.model_margins()
        } else {
            self.rules.margins(metric)
        }
    }

    /// Returns the values of both sides by which `metric` is judged.
    pub fn kept(&self, metric: Metric) -> Option<[Vec<f64>; 2]> {
        let [baseline, candidate] = &self.left_out;
        Some([
            baseline.kept(self.baseline, metric)?,
            candidate.kept(self.candidate, metric)?,
        ])
    }

    /// Returns the launches of both sides by which slots are judged.
    pub fn kept_slots(&self) -> [Vec<&SlotsValue>; 2] {
        let [baseline, candidate] = &self.left_out;
        [
            baseline.kept_slots(self.baseline).collect(),
            candidate.kept_slots(self.candidate).collect(),
        ]
    }

    /// Returns the number of launches with `metric`, on the side with fewer.
    pub fn min_launches(&self, metric: Metric) -> usize {
        let launches = |side: &Benchmark| match metric {
            Metric::Wall => side.times.launches.len(),
            _ => side.slots_launches().len(),
        };
        launches(self.baseline).min(launches(self.candidate))
    }

    /// Returns the contrast as measured.
    pub fn raw(&self, metric: Metric) -> Option<Contrast> {
        self.contrasts[metric as usize]
    }
}

fn main_metric(benchmark: &Benchmark) -> Metric {
    match benchmark.slots {
        Some(_) => Metric::Slots,
        None => Metric::Wall,
    }
}

/// Returns the metrics that every launch has.
fn metrics_of(benchmark: &Benchmark) -> Metrics {
    let all = Metric::ALL.into_iter();
    Metrics(all.filter(|metric| metric.is_known(benchmark)).collect())
}

#[derive(PartialEq)]
struct Metrics(Vec<Metric>);

impl Metrics {
    fn map(self, name: fn(Metric) -> &'static str) -> Vec<&'static str> {
        self.0.into_iter().map(name).collect()
    }
}
