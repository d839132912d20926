//! Reasons for not modelling a benchmark.

use topdown_tracer::{ThreadsError, TraceError};

use super::budget::ModelBudget;
use topdown_run::provenance::TOO_LONG;

/// The reason why a benchmark is not modelled. It becomes text when the benchmark ends: an
/// allocation before could move the benchmark's data.
#[derive(Clone, Copy)]
pub(super) enum NotModelled {
    /// It fills the translation space. The next one has the space to itself, unless traced code has
    /// started threads.
    TooMuchCode,
    /// Its first window could not be traced to the end.
    Trace(TraceError),
    /// Its first window was not traced.
    NotTraced,
    /// It is too long for a launch that only takes fingerprints.
    TooLongForFingerprint,
    /// It is too long even to be sampled.
    TooLongToSample,
    /// It is too long to be modelled as a whole.
    TooLong,
    /// Its instructions are few, but costly to model.
    TooCostly,
    /// Its windows spend too long outside of their own instructions.
    Waits,
    /// Other threads work for it, which cannot be traced.
    OthersNotTraced(ThreadsError),
    /// Each of its samples initialises something, which is a large part of the sample.
    InitialisesEachSample,
}

impl NotModelled {
    pub(super) fn reason(self, budget: &ModelBudget) -> String {
        let why = match self {
            NotModelled::TooMuchCode => "this benchmark, or those before it, executed more \
                                         distinct code than the model has room for; move it to its \
                                         own bench target"
                .to_owned(),
            NotModelled::Trace(error) => error.to_string(),
            NotModelled::NotTraced => "its window was not traced: another lies inside it, or it \
                                       ran on another thread or in another process"
                .to_owned(),
            NotModelled::TooLongForFingerprint => {
                return "no fingerprint: an iteration is too long to be modelled as a whole"
                    .to_owned();
            }
            NotModelled::TooLongToSample => {
                return too_long("more than", budget.max_sampled_instructions());
            }
            NotModelled::TooLong => return too_long("more than", budget.largest_window()),
            NotModelled::TooCostly => {
                return too_long("as costly to model as", budget.largest_window());
            }
            NotModelled::Waits => format!(
                "it spends more than {} s waiting or in the kernel; raise the limit with \
                 `--model-budget`",
                budget.max_outside_ns / 1_000_000_000
            ),
            NotModelled::OthersNotTraced(error) => format!("other threads not traced: {error}"),
            NotModelled::InitialisesEachSample => {
                "each sample initialises something in its first iteration, which would count as \
                 the benchmark; initialise it before `b.iter`"
                    .to_owned()
            }
        };
        format!("not modelled: {why}")
    }
}

fn too_long(than: &str, instructions: u64) -> String {
    format!(
        "{TOO_LONG} {than} {} million instructions; raise the limit with `--model-budget`",
        instructions as f64 / 1e6
    )
}
