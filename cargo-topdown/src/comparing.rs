//! Comparing two runs beyond the verdict: further launches, the history, and the reports.

pub mod functions_hint;
pub mod history;
pub mod judged;
pub mod output;
pub mod sampled_functions;
pub mod second_look;
pub mod selection;

use topdown_gate::verdict::{BenchmarkVerdict, Comparison};
use topdown_run::run_file::BenchmarkId;

use crate::error::Error;
use topdown_terminal::nearest::{Suggestion, nearest};

/// Finds the benchmark whose id or name is `wanted`, or else the only one whose id contains it.
pub fn wanted_verdict<'a>(
    wanted: &str,
    comparison: &'a Comparison,
) -> Result<&'a BenchmarkVerdict, Error> {
    let matching = |matches: &dyn Fn(&BenchmarkId) -> bool| -> Vec<&BenchmarkVerdict> {
        let all = comparison.benchmarks.iter();
        all.filter(|verdict| matches(&verdict.id)).collect()
    };
    let exact = matching(&|id| id.name == wanted || id.to_string() == wanted);
    let like = matching(&|id| id.to_string().contains(wanted));
    match (exact.as_slice(), like.as_slice()) {
        ([verdict], _) | ([], [verdict]) => Ok(verdict),
        _ => Err(Error::NoSuchBenchmark {
            wanted: wanted.to_owned(),
            like: like.iter().map(|verdict| verdict.id.to_string()).collect(),
            nearest: Suggestion(match like[..] {
                [] => nearest(wanted, comparison.benchmarks.iter().map(|v| &v.id.name)),
                _ => None,
            }),
        }),
    }
}
