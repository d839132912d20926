//! The words of a policy, as flags and manifests spell them.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Margins;
use crate::metric::Metric;

/// A class that can fail a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailOnClass {
    /// Always fails; may be listed.
    Regressed,
    /// Some launches are far slower, as those of the baseline are not.
    SometimesSlower,
    /// A category grew but the total did not.
    Shifted,
    /// The time surely grew and the slots do not explain it. With modelled slots, this fails anyway
    /// if the time is far longer and other code ran.
    TimeDisagrees,
    /// Inconclusive.
    Inconclusive,
    /// The baseline's history shows that it became slower in small steps.
    SlowerOverTime,
    /// It got worse although it executes the same machine code as before: that proof is ignored.
    SameCode,
}

impl FailOnClass {
    /// Every class, in the order of help texts.
    pub const ALL: [FailOnClass; 7] = [
        FailOnClass::Regressed,
        FailOnClass::SometimesSlower,
        FailOnClass::Shifted,
        FailOnClass::TimeDisagrees,
        FailOnClass::Inconclusive,
        FailOnClass::SlowerOverTime,
        FailOnClass::SameCode,
    ];

    /// Returns the word that flags and manifests use.
    pub fn name(self) -> &'static str {
        match self {
            FailOnClass::Regressed => "regressed",
            FailOnClass::SometimesSlower => "sometimes-slower",
            FailOnClass::Shifted => "shifted",
            FailOnClass::TimeDisagrees => "time-disagrees",
            FailOnClass::Inconclusive => "inconclusive",
            FailOnClass::SlowerOverTime => "slower-over-time",
            FailOnClass::SameCode => "same-code",
        }
    }

    /// Returns its description for help texts.
    pub fn meaning(self) -> &'static str {
        match self {
            FailOnClass::Regressed => "Always fails; may be listed",
            FailOnClass::SometimesSlower => "Some launches are far slower, the others are not",
            FailOnClass::Shifted => "A category grew, but the total did not",
            FailOnClass::TimeDisagrees => {
                "The time surely grew and the slots do not explain it; far longer time of changed \
                 code always fails with modelled slots"
            }
            FailOnClass::Inconclusive => "The measurements could not decide",
            FailOnClass::SlowerOverTime => {
                "The baseline's history shows that it became slower in small steps"
            }
            FailOnClass::SameCode => "Slower although the same machine code ran",
        }
    }
}

/// What a gate or a budget is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A metric.
    Metric(Metric),
    /// Allocations, reallocations included.
    Allocations,
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(word: &str) -> Result<Subject, String> {
        match word.trim().to_lowercase().as_str() {
            "allocations" => Ok(Subject::Allocations),
            _ => match word.parse() {
                Ok(metric) => Ok(Subject::Metric(metric)),
                Err(error) => Err(format!("{error}; `allocations` is possible too")),
            },
        }
    }
}

/// The margins of one metric, of all categories, or of modelled slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarginSetting {
    /// What they apply to.
    pub of: MarginScope,
    /// The margins.
    pub margins: Margins,
}

/// What margins apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarginScope {
    /// One metric, where launches are tested.
    Metric(Metric),
    /// Every category, where launches are tested.
    Categories,
    /// Slots and every category, where a model is compared exactly.
    Model,
}

impl MarginScope {
    /// Returns whether setting this completely replaces `other`.
    fn covers(self, other: MarginScope) -> bool {
        self == other
            || self == MarginScope::Categories
                && matches!(other, MarginScope::Metric(metric) if metric.is_category())
    }
}

impl FromStr for MarginScope {
    type Err = String;

    fn from_str(word: &str) -> Result<MarginScope, String> {
        match word {
            "categories" => Ok(MarginScope::Categories),
            "model" => Ok(MarginScope::Model),
            word => word
                .parse()
                .map(MarginScope::Metric)
                .map_err(|error: String| {
                    format!("{error}; margins also have categories and model")
                }),
        }
    }
}

impl MarginSetting {
    /// Makes the margins for `word`: a metric, `categories`, or `model`.
    pub fn new(word: &str, margins: Margins) -> Result<MarginSetting, String> {
        let scope = word.parse()?;
        let Margins { sure, point } = margins;
        if !(sure >= 0.0 && point > 0.0 && point >= sure && point.is_finite()) {
            return Err(format!(
                "the margins of {word} are {} % sure and {} % measured; neither may be negative, \
                 and the measured one must be at least the sure one",
                sure * 100.0,
                point * 100.0
            ));
        }
        Ok(MarginSetting { of: scope, margins })
    }

    /// Returns whether this completely replaces `other`.
    pub fn covers(&self, other: &MarginSetting) -> bool {
        self.of.covers(other.of)
    }
}

impl FromStr for MarginSetting {
    type Err = String;

    /// Parses `backend-bound=2%`.
    fn from_str(text: &str) -> Result<MarginSetting, String> {
        let (metric, margin) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is not METRIC=PERCENT, such as backend-bound=2%"))?;
        MarginSetting::new(metric.trim(), Margins::from_point(percent(margin)?))
    }
}

/// Parses `2 %` as a fraction.
pub fn percent(text: &str) -> Result<f64, String> {
    text.trim()
        .strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok())
        .filter(|number| number.is_finite())
        .map(|number| number / 100.0)
        .ok_or_else(|| format!("`{text}` is not a percentage such as 2 %"))
}

/// Checks a number of false alarms per year.
///
/// # Errors
/// Returns an error if it is not above 0, or not finite.
pub fn checked_alarms_per_year(alarms: f64) -> Result<f64, String> {
    if alarms > 0.0 && alarms.is_finite() {
        Ok(alarms)
    } else {
        Err(format!(
            "{alarms} false alarms per year; it must be above 0"
        ))
    }
}

/// Returns `alpha` if it is a valid error probability for a test.
pub fn checked_alpha(alpha: f64) -> Result<f64, String> {
    if alpha > 0.0 && alpha < 0.5 {
        Ok(alpha)
    } else {
        Err(format!(
            "alpha is {alpha}; it must be above 0 and below 0.5"
        ))
    }
}

/// A limit that needs no baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    /// What is limited.
    pub quantity: BudgetQuantity,
    /// The side of the limit.
    pub bound: BudgetBound,
    /// The limit, in the quantity's unit.
    pub limit: f64,
}

/// The quantity that a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetQuantity {
    /// Slots per iteration: all of them, or those of a category.
    Slots(Metric),
    /// A category's fraction of the slots.
    Share(Metric),
    /// Nanoseconds per iteration.
    WallNs,
    /// Allocations per iteration, reallocations included.
    Allocations,
    /// The bytes that they ask for.
    AllocatedBytes,
}

/// The side of the limit on which a benchmark must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetBound {
    /// Not below the limit.
    AtLeast,
    /// Not above the limit.
    AtMost,
}

impl Budget {
    /// Parses the budget `text` for `subject`: `>= 40 %` of the slots, or per iteration
    /// `<= 1200 slots`, `<= 3.5 us`, `<= 3 allocations`, `<= 96 bytes`.
    pub fn parse(subject: Subject, text: &str) -> Result<Budget, String> {
        use Subject::{Allocations, Metric as Of};
        let refused = || {
            let (name, unit) = match subject {
                Of(metric @ Metric::Wall) => {
                    (metric.name(), "`<= 3.5 us` (ns, us, ms or s per iteration)")
                }
                Of(metric @ Metric::Slots) => (metric.name(), "`<= 5000 slots` (per iteration)"),
                Of(metric) => (
                    metric.name(),
                    "`>= 40 %` (of the slots) or `<= 1200 slots` (per iteration)",
                ),
                Allocations => (
                    "allocations",
                    "`<= 3 allocations` or `<= 96 bytes` (per iteration)",
                ),
            };
            format!("`{text}` is not a budget for {name}; write {unit}")
        };
        let text = text.trim();
        let (bound, rest) = match (text.strip_prefix(">="), text.strip_prefix("<=")) {
            (Some(rest), _) => (BudgetBound::AtLeast, rest.trim()),
            (_, Some(rest)) => (BudgetBound::AtMost, rest.trim()),
            _ => return Err(refused()),
        };
        let number_end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .ok_or_else(refused)?;
        let (number, unit) = rest.split_at(number_end);
        let number: f64 = number.parse().map_err(|_| refused())?;
        let (quantity, scale) = match (subject, unit.trim()) {
            (Of(Metric::Wall), "ns") => (BudgetQuantity::WallNs, 1.0),
            (Of(Metric::Wall), "us" | "µs") => (BudgetQuantity::WallNs, 1e3),
            (Of(Metric::Wall), "ms") => (BudgetQuantity::WallNs, 1e6),
            (Of(Metric::Wall), "s") => (BudgetQuantity::WallNs, 1e9),
            (Of(metric), "slots") if metric != Metric::Wall => (BudgetQuantity::Slots(metric), 1.0),
            (Of(metric), "%") if metric.is_category() => (BudgetQuantity::Share(metric), 0.01),
            (Allocations, "allocation" | "allocations") => (BudgetQuantity::Allocations, 1.0),
            (Allocations, "byte" | "bytes") => (BudgetQuantity::AllocatedBytes, 1.0),
            (Allocations, "KiB") => (BudgetQuantity::AllocatedBytes, 1024.0),
            (Allocations, "MiB") => (BudgetQuantity::AllocatedBytes, 1024.0 * 1024.0),
            _ => return Err(refused()),
        };
        Ok(Budget {
            quantity,
            bound,
            limit: number * scale,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_margin_is_the_measured_one() {
        let setting: MarginSetting = "backend-bound=2.5 %".parse().unwrap();
        assert!((setting.margins.point - 0.025).abs() < 1e-12);
        assert!((setting.margins.sure - 0.025 / 3.0).abs() < 1e-12);
        assert_eq!(setting.of, MarginScope::Metric(Metric::BackendBound));
        let all: MarginSetting = "categories=6%".parse().unwrap();
        assert!(all.covers(&setting) && !setting.covers(&all));
        assert!(!all.covers(&"slots=6%".parse().unwrap()));
        let model: MarginSetting = "model=1%".parse().unwrap();
        assert!(model.covers(&model) && !all.covers(&model) && !model.covers(&setting));
    }

    #[test]
    fn invalid_margins_are_refused_with_example() {
        for (text, words) in [
            ("backend-bound", "METRIC=PERCENT"),
            ("backend=2%", "`backend` is not a metric"),
            ("slots=0.02", "not a percentage"),
            ("slots=-2%", "may be negative"),
            ("slots=inf%", "not a percentage"),
        ] {
            let error = text.parse::<MarginSetting>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn budgets_have_a_side_a_number_and_a_unit() {
        let budget = |metric, text| Budget::parse(Subject::Metric(metric), text).unwrap();
        assert_eq!(
            budget(Metric::Retiring, ">= 40 %"),
            Budget {
                quantity: BudgetQuantity::Share(Metric::Retiring),
                bound: BudgetBound::AtLeast,
                limit: 0.4,
            }
        );
        let slots = budget(Metric::BackendBound, "<=1200slots");
        assert_eq!(slots.quantity, BudgetQuantity::Slots(Metric::BackendBound));
        assert_eq!(slots.limit, 1200.0);
        assert_eq!(budget(Metric::Wall, "<= 3.5 us").limit, 3500.0);
        for (metric, text) in [
            (Metric::Retiring, "40 %"),
            (Metric::Retiring, ">= 40"),
            (Metric::Retiring, ">= %"),
            (Metric::Slots, "<= 40 %"),
            (Metric::Wall, "<= 40 slots"),
            (Metric::Wall, "<= 1.2.3 ns"),
        ] {
            let subject = Subject::Metric(metric);
            assert!(Budget::parse(subject, text).is_err(), "{text}");
        }
    }

    #[test]
    fn allocations_have_a_number_and_bytes() {
        let allocations: Subject = "allocations".parse().unwrap();
        let budget = |text| Budget::parse(allocations, text);
        let limit = |text| budget(text).map(|b| (b.quantity, b.limit)).unwrap();
        assert_eq!(
            limit("<= 0 allocations"),
            (BudgetQuantity::Allocations, 0.0)
        );
        assert_eq!(limit("<= 1 allocation"), (BudgetQuantity::Allocations, 1.0));
        assert_eq!(limit("<= 2 KiB"), (BudgetQuantity::AllocatedBytes, 2048.0));
        assert_eq!(limit("<= 96 bytes"), (BudgetQuantity::AllocatedBytes, 96.0));
        let error = budget("<= 3").unwrap_err();
        assert!(error.contains("`<= 3 allocations`"), "{error}");
        let error = "allocation".parse::<Subject>().unwrap_err();
        assert!(error.contains("`allocations`"), "{error}");
    }
}
