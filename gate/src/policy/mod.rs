//! What the user wants to fail on: margins, gated metrics, classes and budgets.
//!
//! [`Policy::default`] are the rules of `docs/gate.md`. Settings files add [exceptions](Policy::except),
//! and a command line [overrides](Policy::overridden_by) both; the words that they are written in are
//! parsed here.

mod accepted;
mod words;

use criterion_topdown::run_file::BenchmarkId;

pub use accepted::{Accepted, AcceptedChange};
pub use words::{
    Budget, BudgetBound, BudgetQuantity, FailOnClass, MarginSetting, MarginsOf, checked_alpha,
    percent,
};

use crate::metric::Metric;
use crate::pattern::Pattern;

/// The rules of the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The probability that an unchanged suite fails, over all its benchmarks and metrics.
    pub alpha: f64,
    /// Which verdicts fail beside `regressed`.
    pub fail_on: FailOn,
    /// Whether a benchmark of the baseline may be missing in the candidate, which fails otherwise.
    pub allow_missing: bool,
    /// Whether runs of different rustc or RUSTFLAGS are compared, with a warning, rather than
    /// refused.
    pub compare_across_builds: bool,
    /// Whether `compare` launches suspects again, unless its flag says otherwise.
    pub relaunch: bool,
    /// Changes that are expected.
    pub accepted: Accepted,
    /// What `cargo topdown check` judges, in the order of the manifest.
    pub budgets: Vec<(Pattern, Budget)>,
    rules: Rules,
    /// Later ones prevail.
    exceptions: Vec<(Pattern, Exception)>,
}

/// What holds for one benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    margins: [Margins; Metric::ALL.len()],
    model_margins: Margins,
    gated: [bool; Metric::ALL.len()],
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
    /// A category grew and the total did not.
    pub shifted: bool,
    /// The time of a benchmark surely grew and its slots do not explain it, whatever its size and
    /// the code.
    pub time_disagrees: bool,
    /// Nothing could be decided about a benchmark.
    pub inconclusive: bool,
    /// The history of the baseline shows that a benchmark became slower in small steps.
    pub slower_over_time: bool,
    /// A benchmark got worse that executes the same machine code as before.
    pub same_code: bool,
}

/// Rules that differ for some benchmarks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exception {
    /// Margins in place of the others'; later ones prevail.
    pub margins: Vec<MarginSetting>,
    /// The metrics that can fail them; `None` for those of the others.
    pub gated: Option<Vec<Metric>>,
}

/// What a command line says about the policy; the default says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The probability that an unchanged suite fails.
    pub alpha: Option<f64>,
    /// The verdicts that fail, beside `regressed`.
    pub fail_on: Option<Vec<FailOnClass>>,
    /// The metrics that can fail a benchmark.
    pub gate: Option<Vec<Metric>>,
    /// Margins; later ones prevail.
    pub margins: Vec<MarginSetting>,
    /// Whether missing benchmarks pass.
    pub allow_missing: bool,
    /// Whether runs of different builds are compared.
    pub across_builds: bool,
}

/// The point margins keep out what a recompilation does to code alignment, 1 to 5 %, which no
/// repetition of one binary shows; the sure margin is above one step of an 8-bit ratio. Wall-clock
/// time has more of everything.
const SLOTS: Margins = Margins {
    sure: 0.01,
    point: 0.03,
};
const WALL: Margins = Margins {
    sure: 0.02,
    point: 0.05,
};
/// Modelled slots have no noise. What is left to keep out is that a recompilation moves code, of
/// which the model sees the part in its caches and branch predictors.
const MODEL_POINT: f64 = 0.02;

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            alpha: 0.05,
            fail_on: FailOn::default(),
            allow_missing: false,
            compare_across_builds: false,
            relaunch: false,
            accepted: Accepted::default(),
            budgets: Vec::new(),
            rules: Rules {
                margins: Metric::ALL.map(|metric| match metric {
                    Metric::Wall => WALL,
                    _ => SLOTS,
                }),
                model_margins: Margins::of_point(MODEL_POINT),
                gated: [true; Metric::ALL.len()],
            },
            exceptions: Vec::new(),
        }
    }
}

impl Policy {
    /// Lets other rules hold for the benchmarks that `pattern` matches; later ones prevail.
    pub fn except(&mut self, pattern: Pattern, exception: Exception) {
        self.exceptions.push((pattern, exception));
    }

    /// This policy with what a command line says. That is for everything: exceptions do not
    /// outlive it.
    #[must_use]
    pub fn overridden_by(mut self, overrides: &Overrides) -> Policy {
        if let Some(alpha) = overrides.alpha {
            self.alpha = alpha;
        }
        if let Some(classes) = &overrides.fail_on {
            self.fail_on = FailOn::of(classes);
        }
        self.compare_across_builds |= overrides.across_builds;
        self.allow_missing |= overrides.allow_missing;
        if let Some(gated) = &overrides.gate {
            self.rules.gate(gated);
            for (_, exception) in &mut self.exceptions {
                exception.gated = None;
            }
        }
        for setting in &overrides.margins {
            self.rules.set(*setting);
            for (_, exception) in &mut self.exceptions {
                exception.margins.retain(|m| !setting.covers(m));
            }
        }
        self
    }

    /// The rules for one benchmark.
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
    /// The margins of a metric.
    pub fn margins(&self, metric: Metric) -> Margins {
        self.margins[metric as usize]
    }

    /// The margins of slots and of every category where a model is compared exactly. `sure` is what
    /// the total must have grown by for a category alone to fail.
    pub fn model_margins(&self) -> Margins {
        self.model_margins
    }

    /// Whether the policy lets this metric fail a benchmark.
    pub fn gates(&self, metric: Metric) -> bool {
        self.gated[metric as usize]
    }

    fn set(&mut self, setting: MarginSetting) {
        let categories = Metric::ALL
            .into_iter()
            .filter(|metric| metric.is_category());
        match setting.of {
            MarginsOf::Metric(metric) => self.margins[metric as usize] = setting.margins,
            MarginsOf::Categories => {
                categories.for_each(|metric| self.margins[metric as usize] = setting.margins);
            }
            MarginsOf::Model => self.model_margins = setting.margins,
        }
    }

    fn gate(&mut self, metrics: &[Metric]) {
        self.gated = Metric::ALL.map(|metric| metrics.contains(&metric));
    }
}

impl Margins {
    /// A single number sets the measured difference that matters; a third of it must be sure, as
    /// in the default for slots.
    pub fn of_point(point: f64) -> Margins {
        Margins {
            sure: point / 3.0,
            point,
        }
    }
}

impl FailOn {
    /// What `classes` name.
    pub fn of(classes: &[FailOnClass]) -> FailOn {
        FailOn {
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
    fn flags_prevail_over_exceptions_of_the_manifest() {
        let mut policy = Policy::default();
        policy.except(
            Pattern::new("*"),
            Exception {
                margins: vec!["slots=9%".parse().unwrap(), "wall=9%".parse().unwrap()],
                gated: Some(vec![Metric::Slots]),
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
