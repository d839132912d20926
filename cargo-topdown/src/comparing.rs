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
///
/// # Errors
/// Returns the ids that contain it, and the nearest name, if it is not exactly one.
pub fn wanted_id<'a>(
    wanted: &str,
    ids: impl Iterator<Item = &'a BenchmarkId> + Clone,
) -> Result<&'a BenchmarkId, (Vec<String>, Suggestion)> {
    let matching = |matches: &dyn Fn(&BenchmarkId) -> bool| -> Vec<&'a BenchmarkId> {
        ids.clone().filter(|id| matches(id)).collect()
    };
    let exact = matching(&|id| id.name == wanted || id.to_string() == wanted);
    let like = matching(&|id| id.to_string().contains(wanted));
    match (exact.as_slice(), like.as_slice()) {
        ([id], _) | ([], [id]) => Ok(id),
        _ => {
            let nearest = Suggestion(match like[..] {
                [] => nearest(wanted, ids.map(|id| &id.name)),
                _ => None,
            });
            Err((like.iter().map(ToString::to_string).collect(), nearest))
        }
    }
}

/// Finds the verdict on the benchmark that [`wanted_id`] finds.
pub fn wanted_verdict<'a>(
    wanted: &str,
    comparison: &'a Comparison,
) -> Result<&'a BenchmarkVerdict, Error> {
    let verdicts = &comparison.benchmarks;
    let id = wanted_id(wanted, verdicts.iter().map(|verdict| &verdict.id));
    let id = id.map_err(|(like, nearest)| Error::NoSuchBenchmark {
        wanted: wanted.to_owned(),
        like,
        nearest,
    })?;
    let found = verdicts.iter().find(|verdict| verdict.id == *id);
    Ok(found.expect("the id is that of a verdict"))
}
