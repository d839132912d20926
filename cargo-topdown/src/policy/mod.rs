//! What the user wants to fail on: margins, gated metrics, classes and budgets.
//!
//! [`Policy::default`] are the rules of `docs/gate.md`; `table` reads what `Cargo.toml` changes,
//! `words` the values that are written there and in flags.

mod accepted;
mod table;
mod words;

use cargo_metadata::Metadata;
use criterion_topdown::run_file::BenchmarkId;

#[cfg(test)]
pub use accepted::{ACCEPTED_SCHEMA_VERSION, AcceptedFile};
pub use accepted::{Accepted, AcceptedChange, AcceptedError, Found};
pub use table::{PolicyError, checked_alpha};
pub use words::{Budget, BudgetBound, BudgetQuantity, FailOnClass, MarginSetting, MarginsOf};

use crate::cli::PolicyArgs;
use crate::pattern::Pattern;
use crate::verdict::Metric;

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
}

/// Rules that differ for some benchmarks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Exception {
    margins: Vec<MarginSetting>,
    gated: Option<Vec<Metric>>,
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
    /// The default, changed by `policy` in the metadata tables of the workspace and its packages,
    /// changed by flags.
    ///
    /// # Errors
    /// When a key or value makes no sense.
    pub fn resolve(
        workspace: Option<&Metadata>,
        flags: &PolicyArgs,
    ) -> Result<Policy, PolicyError> {
        let mut policy = Policy::default();
        if let Some(metadata) = workspace {
            table::apply(metadata, &mut policy)?;
        }
        if let Some(alpha) = flags.alpha {
            policy.alpha = alpha;
        }
        if let Some(classes) = &flags.fail_on {
            policy.fail_on = FailOn::of(classes);
        }
        policy.compare_across_builds |= flags.across_builds;
        policy.allow_missing |= flags.allow_missing;
        // Flags are for everything: exceptions of the manifest do not outlive them.
        if let Some(gated) = &flags.gate {
            policy.rules.gate(gated);
            for (_, exception) in &mut policy.exceptions {
                exception.gated = None;
            }
        }
        for setting in &flags.margins {
            policy.rules.set(*setting);
            for (_, exception) in &mut policy.exceptions {
                exception.margins.retain(|m| !setting.covers(m));
            }
        }
        Ok(policy)
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
    fn of(classes: &[FailOnClass]) -> FailOn {
        FailOn {
            shifted: classes.contains(&FailOnClass::Shifted),
            time_disagrees: classes.contains(&FailOnClass::TimeDisagrees),
            inconclusive: classes.contains(&FailOnClass::Inconclusive),
            slower_over_time: classes.contains(&FailOnClass::SlowerOverTime),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::scenario::id;

    #[test]
    fn flags_prevail_over_exceptions_of_the_manifest() {
        let mut policy = Policy::default();
        policy.exceptions.push((
            Pattern::new("*"),
            Exception {
                margins: vec!["slots=9%".parse().unwrap(), "wall=9%".parse().unwrap()],
                gated: Some(vec![Metric::Slots]),
            },
        ));
        let rules = policy.rules_of(&id("a"));
        assert_eq!(rules.margins(Metric::Slots).point, 0.09);
        assert!(!rules.gates(Metric::Wall));
        let setting: MarginSetting = "slots=4%".parse().unwrap();
        assert!(setting.covers(&"slots=9%".parse().unwrap()));
        assert!(!setting.covers(&"wall=9%".parse().unwrap()));
    }
}
