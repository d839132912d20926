//! `cargo topdown ci gate`: ends with the outcome's exit code, after everything else is kept.

use super::github::annotate;
use super::variables::Variables;
use crate::error::{CiError, Error};
use crate::exit::Exit;
use topdown_report::workflow_command::Level;

/// Runs the step.
///
/// # Errors
/// Returns an error if no exit code arrived.
pub fn run(variables: &Variables) -> Result<Exit, Error> {
    let code = variables.text("EXIT_CODE");
    let code: i32 = code.parse().map_err(|_| CiError::NoExitCode)?;
    if variables.text("INPUT_FAIL") == "false" && is_verdict(code) {
        let message = format!("the gate failed with {code}, and the input `fail` is false");
        annotate(Level::Warning, &message);
        return Ok(Exit::Success);
    }
    // A process on Windows may end with a larger number.
    Ok(u8::try_from(code).map_or(Exit::BenchFailed, Exit::AsEarlier))
}

/// Returns whether `code` judges the benchmarks. Everything else that fails prevented a judgement.
fn is_verdict(code: i32) -> bool {
    [Exit::Regressed, Exit::Inconclusive, Exit::NothingDecided]
        .iter()
        .any(|exit| i32::from(exit.code()) == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(code: &str, fail: &str) -> Result<u8, String> {
        let variables = Variables::of([("EXIT_CODE", code), ("INPUT_FAIL", fail)]);
        let ended = run(&variables).map(Exit::code);
        ended.map_err(|error| error.to_string())
    }

    #[test]
    fn step_exits_like_the_run() {
        for code in ["0", "2", "100", "101", "102", "103", "104", "130", "139"] {
            assert_eq!(ends(code, "true"), Ok(code.parse().unwrap()));
        }
        assert_eq!(
            ends("3221225477", "true"),
            Err("no exit code reached the gate".into())
        );
        assert_eq!(ends("-1073741819", "true"), Ok(101));
    }

    #[test]
    fn only_verdicts_become_warnings() {
        for (code, ended) in [
            ("100", 0),
            ("103", 0),
            ("104", 0),
            ("101", 101),
            ("102", 102),
            ("130", 130),
        ] {
            assert_eq!(ends(code, "false"), Ok(ended));
        }
    }

    #[test]
    fn missing_exit_code_never_passes() {
        for text in ["", "zero"] {
            for fail in ["true", "false"] {
                assert_eq!(
                    ends(text, fail),
                    Err("no exit code reached the gate".to_owned())
                );
            }
        }
    }
}
