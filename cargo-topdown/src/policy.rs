//! What the user wants to fail on: margins, gated metrics and classes.

use crate::verdict::Metric;

/// The rules of the gate that a project may set; [`Policy::default`] are those of
/// `docs/gate.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The probability that an unchanged suite fails, over all its benchmarks and metrics.
    pub alpha: f64,
    /// For the total of slots.
    pub slots: Margins,
    /// For wall-clock time.
    pub wall: Margins,
    /// For every category, in units of the total.
    pub categories: Margins,
    /// The metrics that can fail a benchmark.
    pub gated: Vec<Metric>,
    /// Which verdicts fail beside `regressed`.
    pub fail_on: FailOn,
    /// Whether runs of different rustc or RUSTFLAGS are compared, with a warning, rather than
    /// refused.
    pub compare_across_builds: bool,
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
    /// Nothing could be decided about a benchmark.
    pub inconclusive: bool,
    /// A benchmark of the baseline is missing in the candidate.
    pub removed: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        // The point margin keeps out what a recompilation does to code alignment, 1 to 5 %, which
        // no repetition of one binary shows. The sure margin is above one step of an 8-bit ratio.
        let slots = Margins {
            sure: 0.01,
            point: 0.03,
        };
        Policy {
            alpha: 0.05,
            slots,
            wall: Margins {
                sure: 0.02,
                point: 0.05,
            },
            categories: slots,
            gated: Metric::ALL.to_vec(),
            fail_on: FailOn::default(),
            compare_across_builds: false,
        }
    }
}

impl Policy {
    /// The margins of a metric.
    pub fn margins(&self, metric: Metric) -> Margins {
        match metric {
            Metric::Slots => self.slots,
            Metric::Wall => self.wall,
            _ => self.categories,
        }
    }
}
