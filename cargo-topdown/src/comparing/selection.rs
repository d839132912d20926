//! The part of stored runs that `-E` and `--skip` select.

use topdown_gate::filter_expression::{ExpressionError, FilterExpression};
use topdown_run::run_file::Run;

use crate::config::Config;
use crate::error::Error;
use topdown_terminal::terminal::message;

/// Understands a filter expression with the tags of `config`.
///
/// # Errors
/// Returns an error if it is not one.
pub fn expression(text: &str, config: &Config) -> Result<FilterExpression, ExpressionError> {
    FilterExpression::parse(text, &config.tags())
}

/// Takes the benchmarks out of `run` that `expression` does not let through, and reports it.
///
/// # Errors
/// Returns an error if nothing remains.
pub fn restrict(run: &mut Run, label: &str, expression: &FilterExpression) -> Result<(), Error> {
    let all = run.benchmarks.len();
    run.benchmarks
        .retain(|benchmark| expression.matches(&benchmark.id));
    let text = &expression.stored().text;
    if run.benchmarks.is_empty() {
        return Err(Error::NothingSelected {
            run: label.to_owned(),
            expression: text.clone(),
        });
    }
    let selected = run.benchmarks.len();
    message!("note: `{label}`: {selected} of {all} benchmarks match `{text}`");
    Ok(())
}
