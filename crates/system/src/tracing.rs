//! Support of this system for tracing benches.

use std::process::Command;

use crate::waits;

/// Whether benches can be traced on this system.
pub const CAN_TRACE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Returns the command that starts a program with the same addresses every time; `None` if this
/// system lacks it or, like many container runtimes, forbids it.
pub fn fixed_addresses() -> Option<&'static [&'static str]> {
    const SETARCH: &[&str] = &["setarch", "-R"];
    let mut command = Command::new(SETARCH[0]);
    command.args(&SETARCH[1..]).arg("true");
    let works = waits::TOOL.output(&mut command);
    let works = works.is_ok_and(|output| output.status.success());
    works.then_some(SETARCH)
}
