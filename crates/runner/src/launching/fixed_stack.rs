//! Makes the stack begin at the same address in every launch, regardless of the environment.
//!
//! The system puts arguments and environment at the upper end of a process's stack, and the stack
//! of
//! `main` below them. With fixed addresses the end is always the same, so a variable that pads
//! arguments and environment to a fixed size fixes the beginning of `main`'s stack, too.

use std::ffi::{OsStr, OsString};

use crate::targets::environment::Variables;

/// The padding variable.
const PADDING_VARIABLE: &str = "CARGO_TOPDOWN_PADDING";
/// Set if the number of pointers would be odd: the stack is aligned to two of them.
const PARITY_VARIABLE: &str = "CARGO_TOPDOWN_PADDING_PARITY";

/// Arguments and environment are padded to a multiple of this; the system allows a variable four
/// times as long.
const SIZE_BYTES: usize = 32 * 1024;
const POINTER_BYTES: usize = size_of::<usize>();

/// Pads the `environment` of a program with these `arguments`, which include its own name.
pub fn pad(environment: &mut Variables, arguments: &[OsString]) {
    environment.remove(OsStr::new(PADDING_VARIABLE));
    environment.remove(OsStr::new(PARITY_VARIABLE));
    let program_bytes = arguments.first().map_or(0, |program| program.len() + 1);
    let pointers = arguments.len() + environment.len() + 1;
    let strings = arguments.iter().map(|argument| argument.len() + 1);
    let variables = environment.iter().map(variable_bytes);
    let mut used = program_bytes
        + strings.sum::<usize>()
        + variables.sum::<usize>()
        + pointers * POINTER_BYTES;
    used += variable_bytes((&PADDING_VARIABLE.into(), &OsString::new()));
    if pointers % 2 == 1 {
        environment.insert(PARITY_VARIABLE.into(), OsString::new());
        used += POINTER_BYTES + variable_bytes((&PARITY_VARIABLE.into(), &OsString::new()));
    }
    let rest = used.next_multiple_of(SIZE_BYTES) - used;
    environment.insert(PADDING_VARIABLE.into(), "x".repeat(rest).into());
}

/// `name=value` and a zero byte.
fn variable_bytes((name, value): (&OsString, &OsString)) -> usize {
    name.len() + value.len() + 2
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;
    use topdown_system::tracing::fixed_addresses;

    /// Returns where the stack begins in a program with these arguments and this variable.
    fn stack_of(through: &[&str], arguments: &[&str], variable: Option<(&str, &str)>) -> String {
        let own = ["/bin/cat", "/proc/self/stat"].iter().chain(arguments);
        let own: Vec<OsString> = own.map(OsString::from).collect();
        let mut environment: Variables = std::env::vars_os().collect();
        environment.extend(variable.map(|(name, value)| (name.into(), value.into())));
        pad(&mut environment, &own);
        let mut command = Command::new(through[0]);
        command.args(&through[1..]).args(&own);
        let output = command.env_clear().envs(environment).output().unwrap();
        let stat = String::from_utf8(output.stdout).unwrap();
        // proc_pid_stat(5): the second field is in brackets, the 28th is `startstack`.
        let fields = stat.rsplit_once(')').unwrap().1;
        fields.split_whitespace().nth(25).unwrap().to_owned()
    }

    #[test]
    fn stack_address_ignores_environment() {
        let Some(through) = fixed_addresses() else {
            topdown_skipped::skip(
                topdown_skipped::Need::FixedAddresses,
                "addresses cannot be fixed here",
            );
            return;
        };
        let first = stack_of(through, &[], None);
        for variable in [
            ("A", "1"),
            ("B", "22"),
            ("SOMETHING_LONGER", "with a value"),
        ] {
            assert_eq!(
                stack_of(through, &[], Some(variable)),
                first,
                "{variable:?}"
            );
        }
        let arguments = ["/dev/null", "/dev/../dev/null"];
        assert_eq!(stack_of(through, &arguments, Some(("A", "1"))), first);
    }
}
