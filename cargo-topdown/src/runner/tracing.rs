//! What this system lets benches be traced with.

use std::process::{Command, Stdio};

/// Whether benches can be traced on this system.
pub const CAN_TRACE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Returns the command that starts a program with the same addresses every time; `None` if this
/// system lacks it or, like many container runtimes, forbids it.
pub fn fixed_addresses() -> Option<&'static [&'static str]> {
    const SETARCH: &[&str] = &["setarch", "-R"];
    let works = Command::new(SETARCH[0])
        .args(&SETARCH[1..])
        .arg("true")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    works.then_some(SETARCH)
}
