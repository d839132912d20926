//! The arguments that criterion gets from the user.

use super::MeasureError;

/// Flags of criterion that this program sets itself, with our flag to use instead, and flags under
/// which criterion measures nothing, or nothing that can be stored.
const REFUSED_FLAGS: [(&str, &str); 18] = [
    ("--bench", "it is always set"),
    ("--save-baseline", "use `--save NAME` before the `--`"),
    ("-s", "use `--save NAME` before the `--`"),
    ("--baseline", "use `cargo topdown compare NAME`"),
    ("-b", "use `cargo topdown compare NAME`"),
    ("--baseline-lenient", "use `cargo topdown compare NAME`"),
    ("--load-baseline", "use `cargo topdown compare`"),
    (
        "--discard-baseline",
        "runs become baselines only with `--save`",
    ),
    ("--profile-time", "it measures nothing"),
    ("--list", "it measures nothing"),
    ("--test", "it measures nothing"),
    ("--ignored", "it measures nothing"),
    ("--quick", "it leaves too few samples"),
    ("--sample-size", "use it before the `--`"),
    ("--warm-up-time", "use it before the `--`"),
    ("--measurement-time", "use it before the `--`"),
    ("--exact", "use it before the `--`"),
    ("--help", "use `cargo bench -- --help`"),
];

/// Refuses arguments that would break a launch, and says what to use instead.
///
/// # Errors
/// Returns an error that names the first one.
pub(super) fn check(arguments: &[String]) -> Result<(), MeasureError> {
    for argument in arguments {
        let flag = argument.split('=').next().unwrap_or(argument);
        if let Some((flag, instead)) = REFUSED_FLAGS.iter().find(|(refused, _)| *refused == flag) {
            return Err(MeasureError::CriterionArgument {
                flag: (*flag).to_owned(),
                instead,
            });
        }
    }
    Ok(())
}
