//! Says which command names the functions of a regression, where the hardware counted and the runs
//! do not know them.

use topdown_gate::verdict::{BenchmarkVerdict, Comparison, Verdict};
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, Run};

use super::second_look::ComparedRun;
use topdown_run::run_file::COMMANDS;

/// Number of digits of a commit's hash that git needs.
const COMMIT_DIGITS: usize = 12;

/// Returns the sentence for the first regression whose functions are unknown, although nobody has
/// tried in vain to sample them; `None` if there is none.
pub fn functions_hint(
    baseline: &ComparedRun,
    candidate: &ComparedRun,
    comparison: &Comparison,
) -> Option<String> {
    let mut benchmarks = comparison.benchmarks.iter();
    benchmarks.find_map(|verdict| functions_hint_for(verdict, baseline, candidate))
}

/// As [`functions_hint`], for one benchmark.
pub fn functions_hint_for(
    verdict: &BenchmarkVerdict,
    baseline: &ComparedRun,
    candidate: &ComparedRun,
) -> Option<String> {
    let tried_in = |side: &ComparedRun| {
        let mut tried = side.without_functions.iter();
        tried.any(|(id, _)| *id == verdict.id)
    };
    if verdict.verdict != Verdict::Regressed || tried_in(baseline) || tried_in(candidate) {
        return None;
    }
    let before = counted(&baseline.run, verdict)?;
    let after = counted(&candidate.run, verdict)?;
    let missing = match (&before.functions, &after.functions) {
        (Some(_), Some(_)) => return None,
        (None, None) => Missing::Both,
        (None, Some(_)) => Missing::Baseline,
        (Some(_), None) => Missing::Candidate,
    };
    Some(sentence(verdict, &baseline.run, missing))
}

enum Missing {
    Both,
    Baseline,
    Candidate,
}

fn counted<'a>(run: &'a Run, verdict: &BenchmarkVerdict) -> Option<&'a Benchmark> {
    let is_it = |b: &&Benchmark| b.id == verdict.id && b.slots.is_some();
    let benchmark = run.benchmarks.iter().find(is_it)?;
    (benchmark.provenance().source == SourceKind::Hardware).then_some(benchmark)
}

fn sentence(verdict: &BenchmarkVerdict, baseline: &Run, missing: Missing) -> String {
    let name = &verdict.id.name;
    let side = match missing {
        Missing::Both => "these runs do",
        Missing::Baseline => "the baseline does",
        Missing::Candidate => "the candidate does",
    };
    let unknown = format!("{side} not know the functions of `{name}`");
    if (&*verdict.id.package, &*verdict.id.target) == COMMANDS {
        return format!(
            "{unknown}: execute it with `cargo topdown exec --functions` on both sides"
        );
    }
    let quoted = format!("'{}'", name.replace('\'', "'\\''"));
    match (missing, &baseline.build.git_commit) {
        (Missing::Candidate, _) => {
            format!("{unknown}: measure it with `cargo topdown bench --functions --exact {quoted}`")
        }
        (_, Some(commit)) if baseline.build.git_dirty != Some(true) => {
            let commit: String = commit.chars().take(COMMIT_DIGITS).collect();
            format!(
                "{unknown}: `cargo topdown bench --functions --against {commit} --exact {quoted}` \
                 builds both sides and samples them"
            )
        }
        _ => format!(
            "{unknown}: `cargo topdown bench --functions --against BASE --exact {quoted}`, with \
             the directory or commit of the baseline's sources, builds both sides and samples them"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use topdown_gate::policy::Policy;
    use topdown_gate::scenario::{self, Planted, benchmark, modelled, with_functions};
    use topdown_gate::verdict::{LabelledRun, compare};
    use topdown_run::category::PerCategory;

    fn hint_of(before: Benchmark, after: Benchmark, commit: Option<&str>) -> Option<String> {
        let mut base = scenario::run(vec![before]);
        base.build.git_commit = commit.map(str::to_owned);
        base.build.git_dirty = Some(false);
        let new = scenario::run(vec![after]);
        let labelled = |run| LabelledRun { label: "main", run };
        let comparison = compare(labelled(&base), labelled(&new), &Policy::default());
        let compared = |run| ComparedRun::new("main", Path::new("."), run);
        functions_hint(&compared(base), &compared(new), &comparison)
    }

    fn slower() -> Planted {
        Planted {
            categories: PerCategory {
                backend_bound: 0.3,
                ..PerCategory::default()
            },
            ..Planted::default()
        }
    }

    const FUNCTION: [(Option<&str>, Option<&str>, [u64; 4]); 1] =
        [(Some("f"), None, [400, 100, 150, 344])];

    #[test]
    fn suggested_command_depends_on_missing_data() {
        let counted = |planted| benchmark("it's", planted);
        let hint = |before, after, commit| hint_of(before, after, commit).unwrap();
        let commit = "0123456789abcdef";
        let both = hint(counted(Planted::default()), counted(slower()), Some(commit));
        assert_eq!(
            both,
            "these runs do not know the functions of `it's`: `cargo topdown bench --functions \
             --against 0123456789ab --exact 'it'\\''s'` builds both sides and samples them"
        );
        let unknown = hint(counted(Planted::default()), counted(slower()), None);
        assert!(unknown.contains("--against BASE "), "{unknown}");
        let with = |planted| with_functions(counted(planted), &FUNCTION);
        let candidate = hint(with(Planted::default()), counted(slower()), Some(commit));
        assert!(
            candidate.starts_with("the candidate does not know")
                && candidate.ends_with(
                    "measure it with `cargo topdown bench --functions --exact 'it'\\''s'`"
                ),
            "{candidate}"
        );
        let baseline = hint(counted(Planted::default()), with(slower()), Some(commit));
        assert!(
            baseline.starts_with("the baseline does not know"),
            "{baseline}"
        );
        let command = |planted| {
            let mut command = counted(planted);
            (command.id.package, command.id.target) = (COMMANDS.0.into(), COMMANDS.1.into());
            command
        };
        let command = hint(command(Planted::default()), command(slower()), Some(commit));
        assert!(
            command.ends_with("`cargo topdown exec --functions` on both sides"),
            "{command}"
        );
    }

    #[test]
    fn no_hint_without_need() {
        let counted = |planted| benchmark("b", planted);
        let same = hint_of(
            counted(Planted::default()),
            counted(Planted::default()),
            None,
        );
        assert_eq!(same, None);
        let with = |planted| with_functions(counted(planted), &FUNCTION);
        assert_eq!(
            hint_of(with(Planted::default()), with(slower()), None),
            None
        );
        let model = |planted| modelled("b", planted);
        assert_eq!(
            hint_of(model(Planted::default()), model(slower()), None),
            None
        );
    }
}
