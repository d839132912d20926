//! Conditions of failure: margins, gated metrics, classes and budgets.
//!
//! [`Policy::default`] has the rules of `docs/gate.md`. Settings files add
//! [exceptions](Policy::except), and a command line [overrides](Policy::overridden_by) both. This
//! module also parses the words for them.

mod accepted;
mod words;

use topdown_run::run_file::BenchmarkId;

pub use accepted::{Accepted, AcceptedBenchmark, AcceptedChange};
pub use words::{
    Budget, BudgetBound, BudgetQuantity, FailOnClass, MarginScope, MarginSetting, Subject,
    checked_alarms_per_year, checked_alpha, percent,
};

use crate::metric::Metric;
use crate::pattern::Pattern;

/// The rules of the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The probability that an unchanged suite fails, over all its benchmarks and metrics.
    pub alpha: f64,
    /// Number of merges of an unchanged suite that may fail in a year; then each has its part of
    /// them as `alpha`, if that is less.
    pub false_alarms_per_year: Option<f64>,
    /// Which verdicts fail in addition to `regressed`.
    pub fail_on: FailOn,
    /// Whether benchmarks of the baseline may be missing in the candidate; otherwise this fails.
    pub allow_missing: bool,
    /// Whether a comparison passes that decided no benchmark; otherwise this fails.
    pub allow_nothing_decided: bool,
    /// Whether to compare runs of different rustc or RUSTFLAGS with a warning, rather than refuse.
    pub compare_across_builds: bool,
    /// Whether `compare` launches suspects again, unless its flag says otherwise.
    pub relaunch: bool,
    /// Changes that are expected.
    pub accepted: Accepted,
    /// What `cargo topdown check` judges, in the order of the manifest.
    pub budgets: Vec<(Pattern, Budget)>,
    rules: Rules,
    /// Later ones take precedence.
    exceptions: Vec<(Pattern, Exception)>,
}

/// The rules for one benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    margins: [Margins; Metric::ALL.len()],
    model_margins: Margins,
    gated: [bool; Metric::ALL.len()],
    gates_allocations: bool,
}

/// When a difference matters, as fractions of the baseline's total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// The true difference must surely be above this.
    pub sure: f64,
    /// The measured difference must be at least this.
    pub point: f64,
}

/// What fails a comparison although nothing regressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailOn {
    /// Some launches of a benchmark are far slower, as those of the baseline are not.
    pub sometimes_slower: bool,
    /// A category grew but the total did not.
    pub shifted: bool,
    /// A benchmark's time surely grew and its slots do not explain it, whatever the amount and the
    /// code.
    pub time_disagrees: bool,
    /// A benchmark is inconclusive.
    pub inconclusive: bool,
    /// The baseline's history shows that a benchmark became slower in small steps.
    pub slower_over_time: bool,
    /// A benchmark got worse although it executes the same machine code as before.
    pub same_code: bool,
}

/// Different rules for some benchmarks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exception {
    /// Replacement margins; later ones take precedence.
    pub margins: Vec<MarginSetting>,
    /// What can fail them; `None` to keep the general settings.
    pub gated: Option<Vec<Subject>>,
}

/// The command line's policy; the default overrides nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The probability that an unchanged suite fails.
    pub alpha: Option<f64>,
    /// Number of merges of an unchanged suite that may fail in a year.
    pub false_alarms_per_year: Option<f64>,
    /// The verdicts that fail in addition to `regressed`.
    pub fail_on: Option<Vec<FailOnClass>>,
    /// What can fail a benchmark.
    pub gate: Option<Vec<Subject>>,
    /// Margins; later ones take precedence.
    pub margins: Vec<MarginSetting>,
    /// Whether missing benchmarks pass.
    pub allow_missing: bool,
    /// Whether a comparison passes that decided no benchmark.
    pub allow_nothing_decided: bool,
    /// Whether to compare runs of different builds.
    pub across_builds: bool,
    /// Benchmarks whose change is expected, however large it is.
    pub accepted: Vec<AcceptedBenchmark>,
}

/// The point margins exclude the effects of recompilation on code alignment, 1 to 5 %, which
/// repeating one binary does not show; the sure margin is above one step of an 8-bit ratio.
/// Wall-clock time is noisier in every respect.
const SLOTS: Margins = Margins {
    sure: 0.01,
    point: 0.03,
};
const WALL: Margins = Margins {
    sure: 0.02,
    point: 0.05,
};
/// Modelled slots have no noise. The margin only needs to exclude that recompilation moves code,
/// which the model partly sees in its caches and branch predictors.
const MODEL_POINT: f64 = 0.02;

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            alpha: 0.05,
            false_alarms_per_year: None,
            fail_on: FailOn::default(),
            allow_missing: false,
            allow_nothing_decided: false,
            compare_across_builds: false,
            relaunch: false,
            accepted: Accepted::default(),
            budgets: Vec::new(),
            rules: Rules {
                margins: Metric::ALL.map(|metric| match metric {
                    Metric::Wall => WALL,
                    _ => SLOTS,
                }),
                model_margins: Margins::from_point(MODEL_POINT),
                gated: [true; Metric::ALL.len()],
                gates_allocations: false,
            },
            exceptions: Vec::new(),
        }
    }
}

impl Policy {
    /// Sets other rules for the benchmarks that `pattern` matches; later calls take precedence.
    pub fn except(&mut self, pattern: Pattern, exception: Exception) {
        self.exceptions.push((pattern, exception));
    }

    /// Applies a command line to this policy. It applies to all benchmarks, overriding exceptions.
    #[must_use]
    pub fn overridden_by(mut self, overrides: &Overrides) -> Policy {
        if let Some(alpha) = overrides.alpha {
            self.alpha = alpha;
            self.false_alarms_per_year = None;
        }
        if overrides.false_alarms_per_year.is_some() {
            self.false_alarms_per_year = overrides.false_alarms_per_year;
        }
        if let Some(classes) = &overrides.fail_on {
            self.fail_on = FailOn::new(classes);
        }
        self.compare_across_builds |= overrides.across_builds;
        self.allow_missing |= overrides.allow_missing;
        self.allow_nothing_decided |= overrides.allow_nothing_decided;
        if let Some(gated) = &overrides.gate {
            self.rules.gate(gated);
            for (_, exception) in &mut self.exceptions {
                exception.gated = None;
            }
        }
        self.accepted.add_benchmarks(&overrides.accepted);
        for setting in &overrides.margins {
            self.rules.set(*setting);
            for (_, exception) in &mut self.exceptions {
                exception.margins.retain(|m| !setting.covers(m));
            }
        }
        self
    }

    /// Spends the false alarms of a year over this many comparisons.
    #[must_use]
    pub fn spent_over(mut self, merges_per_year: f64) -> Policy {
        if let Some(alarms) = self.false_alarms_per_year {
            self.alpha = self.alpha.min(alarms / merges_per_year.max(1.0));
        }
        self
    }

    /// Returns the rules for one benchmark.
    pub fn rules_of(&self, id: &BenchmarkId) -> Rules {
        let mut rules = self.rules;
        for (_, exception) in self.exceptions.iter().filter(|(p, _)| p.matches(id)) {
            exception.margins.iter().for_each(|m| rules.set(*m));
            if let Some(gated) = &exception.gated {
                rules.gate(gated);
            }
        }
        rules
    }
}

impl Rules {
    /// Returns the margins of a metric.
    pub fn margins(&self, metric: Metric) -> Margins {
        self.margins[metric as usize]
    }

    /// Returns the margins of slots and of every category where a model is compared exactly or was
    /// sampled. A category alone only fails if the total grew by at least `sure`.
    pub fn model_margins(&self) -> Margins {
        self.model_margins
    }

    /// Returns whether the policy lets this metric fail a benchmark.
    pub fn gates(&self, metric: Metric) -> bool {
        self.gated[metric as usize]
    }

    /// Returns whether the policy lets grown allocations fail a benchmark.
    pub fn gates_allocations(&self) -> bool {
        self.gates_allocations
    }

    fn set(&mut self, setting: MarginSetting) {
        let categories = Metric::ALL
            .into_iter()
            .filter(|metric| metric.is_category());
        match setting.of {
            MarginScope::Metric(metric) => self.margins[metric as usize] = setting.margins,
            MarginScope::Categories => {
                categories.for_each(|metric| self.margins[metric as usize] = setting.margins);
            }
            MarginScope::Model => self.model_margins = setting.margins,
        }
    }

    fn gate(&mut self, subjects: &[Subject]) {
        self.gated = Metric::ALL.map(|metric| subjects.contains(&Subject::Metric(metric)));
        self.gates_allocations = subjects.contains(&Subject::Allocations);
    }
}

impl Margins {
    /// Makes margins from the measured difference that matters; a third of it must be sure, as in
    /// the default for slots.
    pub fn from_point(point: f64) -> Margins {
        Margins {
            sure: point / 3.0,
            point,
        }
    }
}

impl FailOn {
    /// Makes the set of `classes`.
    pub fn new(classes: &[FailOnClass]) -> FailOn {
        FailOn {
            sometimes_slower: classes.contains(&FailOnClass::SometimesSlower),
            shifted: classes.contains(&FailOnClass::Shifted),
            time_disagrees: classes.contains(&FailOnClass::TimeDisagrees),
            inconclusive: classes.contains(&FailOnClass::Inconclusive),
            slower_over_time: classes.contains(&FailOnClass::SlowerOverTime),
            same_code: classes.contains(&FailOnClass::SameCode),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::id;

    #[test]
    fn alarms_of_a_year_are_spent_over_its_merges() {
        let yearly = |alarms| Policy {
            false_alarms_per_year: alarms,
            ..Policy::default()
        };
        assert_eq!(yearly(None).spent_over(250.0).alpha, 0.05);
        assert_eq!(yearly(Some(2.0)).spent_over(250.0).alpha, 0.008);
        assert_eq!(yearly(Some(2.0)).spent_over(20.0).alpha, 0.05);
        assert_eq!(yearly(Some(0.01)).spent_over(0.0).alpha, 0.01);
        let flags = Overrides {
            alpha: Some(0.1),
            ..Overrides::default()
        };
        let overridden = yearly(Some(2.0)).overridden_by(&flags).spent_over(250.0);
        assert_eq!(overridden.alpha, 0.1);
    }

    #[test]
    fn flags_override_manifest_exceptions() {
        let mut policy = Policy::default();
        policy.except(
            Pattern::new("*"),
            Exception {
                margins: vec!["slots=9%".parse().unwrap(), "wall=9%".parse().unwrap()],
                gated: Some(vec![Subject::Metric(Metric::Slots)]),
            },
        );
        let rules = policy.rules_of(&id("a"));
        assert_eq!(rules.margins(Metric::Slots).point, 0.09);
        assert!(!rules.gates(Metric::Wall));
        let setting: MarginSetting = "slots=4%".parse().unwrap();
        assert!(setting.covers(&"slots=9%".parse().unwrap()));
        assert!(!setting.covers(&"wall=9%".parse().unwrap()));
    }
}
