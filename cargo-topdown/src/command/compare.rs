//! `cargo topdown compare`: judges two stored runs.

use std::io::Write;

use topdown_run::run_file::Run;

use super::{comparison_output, second_core};
use crate::cli::CompareArgs;
use crate::comparing::functions_hint::functions_hint;
use crate::comparing::judged::{Asked, Judged, JudgedCore, judged};
use crate::comparing::output::{Output, Sides};
use crate::comparing::sampled_functions::Sampled;
use crate::comparing::second_look::{self, Relaunch};
use crate::comparing::{history, wanted_verdict};
use crate::error::Error;
use crate::exit::Exit;
use topdown_gate::verdict::Comparison;
use topdown_report::cores::OnCore;
use topdown_report::explanation::{self, Explanation};
use topdown_report::function_table;
use topdown_report::request::of_second_core;
use topdown_report::style::{self, Look};
use topdown_terminal::terminal::tell;

/// Runs the subcommand; its exit code is the gate.
pub fn run(args: CompareArgs) -> Result<Exit, Error> {
    if !has_second_core(&args) {
        let asked = asked(&args, JudgedCore::Only);
        return judged(asked, |judged| {
            report(&args, judged, JudgedCore::Only, &mut None)
        });
    }
    // The judgements are independent: each core has its own baseline, history and margins.
    let (mut first, mut second) = (None, None);
    let judge = |core, on_core: &mut Option<OnCore>| {
        judged(asked(&args, core), |judged| {
            report(&args, judged, core, on_core)
        })
    };
    let exit = judge(JudgedCore::First, &mut first)?;
    let exit_of_second = judge(JudgedCore::Second, &mut second)?;
    if let (Some(first), Some(second), false) = (first, second, args.comparison.json) {
        second_core::write_summary(&[first, second], args.output.color)?;
    }
    Ok(exit.or(exit_of_second))
}

/// Returns whether the run to judge was taken with another one, on a second modelled core, and the
/// baseline is a stored one, which there can be for each core.
fn has_second_core(args: &CompareArgs) -> bool {
    let Ok(store) = args.store.place().store() else {
        return false;
    };
    if args.candidate.is_some() || store.newest_on_second_core().is_none() {
        return false;
    }
    let base = match &args.base {
        Some(base) => Some(base.clone()),
        None => store.default_one().ok().map(|base| base.name.to_string()),
    };
    base.is_some_and(|base| {
        let stored = store.resolve(&base);
        let newest = store.newest_for(&base);
        stored.is_ok_and(|stored| stored.starts_with(store.directory()))
            && newest.is_ok_and(|newest| newest == store.newest_directory())
    })
}

fn asked(args: &CompareArgs, core: JudgedCore) -> Asked<'_> {
    Asked {
        base: args.base.as_deref(),
        candidate: args.candidate.as_deref(),
        core,
        selection: args.selection.text(),
        overrides: args.policy.overrides(),
        relaunch: match core {
            JudgedCore::Second => Some(false),
            JudgedCore::Only | JudgedCore::First => args.relaunch,
        },
        launches: Relaunch::Allowed,
        sampled: Sampled::asked(args.functions),
        store: args.store.place(),
    }
}

/// Reports the judgement on one of the cores, and says in `on_core` what it was.
fn report(
    args: &CompareArgs,
    judged: Judged<'_>,
    core: JudgedCore,
    on_core: &mut Option<OnCore>,
) -> Result<Exit, Error> {
    let Judged {
        baseline,
        candidate,
        comparison,
        base: (name, path),
        relaunched,
        config,
    } = judged;
    let comparison = if args.becomes_baseline {
        comparison.of_next_baseline()
    } else {
        comparison
    };
    let history = args
        .comparison
        .shows_history()
        .then(|| history::beside(name, path, config.renames()))
        .flatten();
    let sides = Sides {
        baseline: &baseline.run,
        candidate: &candidate.run,
        history: history.as_ref(),
    };
    let is_second = core == JudgedCore::Second;
    let reports = if is_second {
        of_second_core(&args.comparison.reports, &candidate.run)
    } else {
        args.comparison.reports.clone()
    };
    let output = Output {
        reports: &reports,
        ..comparison_output::asked(&args.comparison, args.verbose, args.output.color)
    };
    *on_core = Some(OnCore::new(&candidate.run, &comparison));
    if core != JudgedCore::Only && !args.comparison.json {
        second_core::write_heading(&candidate.run, is_second, args.output.color)?;
    }
    match &args.explain {
        Some(wanted) => {
            explain(args, wanted, &comparison, sides)?;
            output.write_reports(&comparison, sides)?;
        }
        None => output.report(&comparison, sides)?,
    }
    if args.relaunch.is_none() && !relaunched && !is_second {
        second_look::hint(&baseline, &candidate, &comparison);
    }
    if !args.comparison.json {
        let mut text = Vec::new();
        let runs = (&baseline.run, &candidate.run);
        let look = Look::of_environment();
        function_table::write_where_only_candidate_has(&mut text, &comparison, runs, look)?;
        style::stdout(args.output.color).write_all(&text)?;
    }
    if !args.comparison.json
        && let Some(hint) = functions_hint(&baseline, &candidate, &comparison)
    {
        tell!("note: {hint}");
    }
    let exit = Exit::from(&comparison);
    // The process ends: freeing millions of small parts one by one would take a tenth of its time.
    std::mem::forget((baseline, candidate, comparison));
    Ok(exit)
}

fn explain(
    args: &CompareArgs,
    wanted: &str,
    comparison: &Comparison,
    sides: Sides<'_>,
) -> Result<(), Error> {
    let verdict = wanted_verdict(wanted, comparison)?;
    let of = |run: &Run| run.benchmarks.iter().position(|b| b.id == verdict.id);
    // A verdict is about a benchmark that both runs have.
    if let (Some(a), Some(b)) = (of(sides.baseline), of(sides.candidate)) {
        let explanation = Explanation {
            verdict,
            suite: &comparison.suite,
            baseline: &sides.baseline.benchmarks[a],
            candidate: &sides.candidate.benchmarks[b],
        };
        let mut text = Vec::new();
        explanation::write(&explanation, Look::of_environment(), &mut text)?;
        style::stdout(args.output.color).write_all(&text)?;
    }
    Ok(())
}
