//! Answers of the gate, and the error that all of them together may have.

use serde::{Deserialize, Serialize};
use topdown_gate::verdict::{BenchmarkVerdict, Method, Verdict};

/// A benchmark that is not decided is launched again until it had so many looks, each with twice
/// the launches of the one before.
pub const LOOKS: u32 = 3;

/// What is known of a benchmark at a point, compared with the good point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is not slower.
    Good,
    /// It regressed.
    Bad,
    /// All launches leave it open, or the two sides cannot be compared.
    Undecided,
    /// It could not be tried: the point does not build, or lacks the benchmark.
    Skipped,
}

impl Answer {
    /// Reads the verdict of a comparison with the good point, made with `alpha_of_look`. A wrong
    /// *good* leads as far astray as a wrong *bad*, so it must be as certain: the gate itself calls
    /// a benchmark unchanged at a fixed level.
    pub fn of(verdict: &BenchmarkVerdict, alpha_of_look: f64, benchmarks: usize) -> Answer {
        let alpha = alpha_of_look / benchmarks.max(1) as f64;
        let is_surely_good = verdict.evidence.is_some_and(|evidence| {
            evidence.method == Method::Exact || evidence.p_not_slower < alpha
        });
        match verdict.verdict {
            // Accepted or not, it is the commit that is asked for.
            Verdict::Regressed | Verdict::Accepted => Answer::Bad,
            Verdict::Improved | Verdict::Unchanged | Verdict::Shifted if is_surely_good => {
                Answer::Good
            }
            _ => Answer::Undecided,
        }
    }

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Good => "good",
            Answer::Bad => "bad",
            Answer::Undecided => "undecided",
            Answer::Skipped => "skipped",
        }
    }
}

/// Returns the number of decisions about one benchmark among `points` suspects: one about the last
/// of them, and one for each halving.
pub fn decisions(points: usize) -> u32 {
    1 + points.max(1).next_power_of_two().ilog2()
}

/// Returns the error probability of one look at one point, so that a search among `points` suspects
/// takes no wrong turn with probability `1 - alpha`: by Bonferroni, over its decisions and the
/// looks of each. So a whole search errs as rarely as one comparison gives a false alarm.
pub fn alpha_of_look(alpha: f64, points: usize) -> f64 {
    alpha / f64::from(decisions(points) * LOOKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_divided_among_decisions_and_looks() {
        assert_eq!([1, 2, 3, 64, 65].map(decisions), [1, 2, 3, 7, 8]);
        assert_eq!(alpha_of_look(0.042, 64), 0.002);
    }
}
