//! Sentences on many benchmarks: one on each, or one on all that changed for the same reason.

use super::names::Names;
use super::number::{percent_change, points};
use super::verdict_sentence::{function_name, main_part, predicate, size};
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{BenchmarkVerdict, CommonCause, FunctionName, common_causes};

/// At most this many benchmarks of a group are named.
const MAX_NAMES: usize = 10;

/// A sentence without its subject, and the benchmarks that it is about.
pub struct GroupSentence<'a> {
    /// The benchmarks.
    pub benchmarks: Vec<&'a BenchmarkVerdict>,
    /// The sentence without its subject, which is the benchmark's name or [`many`](Self::many).
    pub predicate: String,
}

impl<'a> GroupSentence<'a> {
    /// Returns the benchmark, if the sentence is about a single one.
    pub fn only(&self) -> Option<&'a BenchmarkVerdict> {
        match self.benchmarks[..] {
            [benchmark] => Some(benchmark),
            _ => None,
        }
    }

    /// `11 benchmarks`
    pub fn many(&self) -> String {
        format!("{} benchmarks", self.benchmarks.len())
    }
}

impl GroupSentence<'_> {
    /// `: a, b, c and 8 more`, for readers without a table; empty for a single benchmark.
    pub fn list(&self, names: Names) -> String {
        let named = self.benchmarks.iter().take(MAX_NAMES);
        let named: Vec<String> = named
            .map(|benchmark| format!("`{}`", names.name(&benchmark.id)))
            .collect();
        match self.benchmarks.len() - named.len() {
            _ if self.benchmarks.len() == 1 => String::new(),
            0 => format!(": {}", named.join(", ")),
            more => format!(": {} and {more} more", named.join(", ")),
        }
    }
}

/// Returns the sentences on `members`, in their order.
pub fn group_sentences<'a>(members: &[&'a BenchmarkVerdict]) -> Vec<GroupSentence<'a>> {
    let sentence = |cause: CommonCause<'a>| GroupSentence {
        predicate: match cause.benchmarks[..] {
            [benchmark] => predicate(benchmark),
            _ => predicate_of_many(&cause),
        },
        benchmarks: cause.benchmarks,
    };
    common_causes(members).into_iter().map(sentence).collect()
}

/// ``are 3.4 to 41.0 % slower: `Tree::add` changed, and `finish_grow` takes 3.1 to 38.5 points more
/// (backend bound)``
fn predicate_of_many(cause: &CommonCause<'_>) -> String {
    let benchmarks = &cause.benchmarks;
    let change = change_of_many(benchmarks);
    let spent = |name: &FunctionName| points_in(name, benchmarks);
    let why = match (cause.changed, cause.spent_in) {
        (Some(changed), Some(spent_in)) => match spent(spent_in) {
            Some((range, is_more)) => format!(
                "{} changed, and {} takes {range} points {}{}",
                function_name(changed),
                function_name(spent_in),
                if is_more { "more" } else { "less" },
                category_of_many(benchmarks)
            ),
            None => format!("{} changed", function_name(changed)),
        },
        (Some(name), None) | (None, Some(name)) => match spent(name) {
            Some((range, _)) => format!(
                "{range} points in {}{}",
                function_name(name),
                category_of_many(benchmarks)
            ),
            None => format!("{} changed", function_name(name)),
        },
        (None, None) => return change,
    };
    format!("{change}: {why}")
}

/// `are 3.4 to 41.0 % slower`
fn change_of_many(benchmarks: &[&BenchmarkVerdict]) -> String {
    let effects: Vec<_> = benchmarks.iter().filter_map(|b| b.main_effect()).collect();
    let sizes = effects.iter().map(|effect| effect.difference.abs());
    let range = match range(sizes) {
        Some((least, most)) if percent_change(least) != percent_change(most) => {
            let least = size(least);
            format!("{} to {}", least.trim_end_matches(" %"), size(most))
        }
        Some((least, _)) => size(least),
        None => String::new(),
    };
    let first = effects.first();
    let is_time = first.is_some_and(|effect| effect.metric == Metric::Wall);
    let is_worse = first.is_some_and(|effect| effect.difference > 0.0);
    match (is_time, is_worse) {
        (false, true) => format!("are {range} slower"),
        (false, false) => format!("are {range} faster"),
        (true, true) => format!("take {range} longer"),
        (true, false) => format!("take {range} less time"),
    }
}

/// Returns the points of the benchmarks that spend their difference in `name`, and whether they are
/// more than before.
fn points_in(name: &FunctionName, benchmarks: &[&BenchmarkVerdict]) -> Option<(String, bool)> {
    let parts = benchmarks.iter().flat_map(|b| b.explaining_parts());
    let parts = parts.filter(|part| part.functions.contains(name));
    let differences: Vec<f64> = parts.map(|part| part.difference).collect();
    let (least, most) = range(differences.iter().map(|difference| difference.abs()))?;
    let [least, most] =
        [least, most].map(|difference| points(difference).trim_start_matches('+').to_owned());
    let text = if least == most {
        most
    } else {
        format!("{least} to {most}")
    };
    Some((text, differences[0] > 0.0))
}

/// ` (backend bound)`, the category that grew most in most of them.
fn category_of_many(benchmarks: &[&BenchmarkVerdict]) -> String {
    let main = |benchmark: &&BenchmarkVerdict| Some(main_part(benchmark.cause.as_ref()?)?.category);
    let all: Vec<Metric> = benchmarks.iter().filter_map(main).collect();
    let count = |metric: &&Metric| all.iter().filter(|other| other == metric).count();
    // On a tie, the first.
    let most = all.iter().rev().max_by_key(count);
    most.map_or(String::new(), |category| format!(" ({})", category.name()))
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((least, most)) => Some((value.min(least), value.max(most))),
    })
}
