//! Messages about failed launches.

use topdown_runner::OtherMeasurement;
use topdown_runner::Outcome;
use topdown_runner::gathering::benchmark_error::BenchmarkError;
use topdown_runner::launching::launch_error::LaunchError;
use topdown_terminal::terminal::{message, print_text};

/// Prints what was left out and what failed.
pub fn report(outcome: &Outcome) {
    for target in &outcome.not_criterion {
        let why = match topdown_adoption::has_own_harness(&target.package_root, &target.name) {
            Ok(false) => "it has no `harness = false` in its [[bench]] section, so libtest runs it",
            _ => "it does not use criterion",
        };
        message!("note: bench target `{target}` is left out: {why}");
    }
    for target in &outcome.not_connected {
        message!(
            "note: bench target `{target}` is left out: it has criterion, but exited without \
             connecting to cargo topdown (it needs `harness = false` in its [[bench]] section and \
             a `main` that runs its groups; and `localhost` must resolve to 127.0.0.1)"
        );
    }
    for OtherMeasurement { id, one } in &outcome.other_measurements {
        message!(
            "warning: benchmark `{id}` is left out: it uses its own measurement, which prints 1 \
             as `{one}`; only criterion_topdown::TopDown and wall-clock time can be stored \
             (`leave-out` in the settings silences this warning)"
        );
    }
    for failure in &outcome.not_modelled {
        let remedy = match failure.error {
            LaunchError::IgnoresArguments(_) => "",
            _ => "; please report this",
        };
        message!("warning: not modelled, so there is only time: {failure}{remedy}");
    }
    for lost in &outcome.collected.lost_launches {
        message!(
            "warning: launch {} of `{}` has too few usable samples and does not count",
            lost.launch,
            lost.id
        );
    }
    for residual in &outcome.collected.residuals {
        message!("warning: {residual}");
    }
    let is_same_name = |error: &&_| matches!(error, BenchmarkError::SameName { .. });
    let (same_names, others): (Vec<&BenchmarkError>, Vec<_>) =
        outcome.collected.errors.iter().partition(is_same_name);
    match &same_names[..] {
        [] => {}
        [one] => message!("error: {one}"),
        several => {
            let names: Vec<String> = several.iter().map(|e| e.id().to_string()).collect();
            message!(
                "error: {} names have more than one benchmark each; give each benchmark a name of \
                 its own, or leave them out (`--leave-out PATTERN`):\n  {}",
                names.len(),
                names.join("\n  ")
            );
        }
    }
    for error in others {
        message!("error: {error}");
    }
    for failure in &outcome.failures {
        message!("error: {failure}");
        if !failure.output.is_empty() {
            print_text(&format!("--- its output ---\n{}---\n", failure.output));
        }
    }
}

/// Returns how many bench targets and benchmarks failed.
pub fn count(outcome: &Outcome) -> usize {
    outcome.failures.len() + outcome.collected.errors.len()
}

/// Lists what failed, by name.
pub fn names(outcome: &Outcome) -> Vec<String> {
    let targets = outcome
        .failures
        .iter()
        .map(|failure| failure.target.clone());
    let benchmarks = outcome.collected.errors.iter();
    targets
        .chain(benchmarks.map(|error| error.id().to_string()))
        .collect()
}
