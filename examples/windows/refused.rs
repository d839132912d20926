//! Windows in which root forbids user code to read the counters, and some later ones.

use std::time::Duration;

use topdown_counters::Source;
use topdown_run::sample::Flags;

use crate::empty::{adds_up, end, open, window};

#[cfg(not(target_arch = "aarch64"))]
const SWITCH: &str = "/sys/bus/event_source/devices/cpu/rdpmc";
#[cfg(target_arch = "aarch64")]
const SWITCH: &str = "/proc/sys/kernel/perf_user_access";

/// Every window must be flagged or right, and right again once reading is allowed.
pub fn check() -> Result<(), String> {
    const ROUNDS: usize = 50;
    let hardware = open()?;
    let mut flagged = 0;
    for round in 0..ROUNDS {
        let start = hardware.start();
        allow(false)?;
        let outer = end(&hardware, &start);
        let forbidden = window(&hardware);
        allow(true)?;
        for sample in [outer, forbidden] {
            if sample.flags.intersects(Flags::UNUSABLE) {
                flagged += 1;
            } else if !adds_up(&sample) {
                return Err(format!("round {round}: {sample:?}"));
            }
        }
        let next = window(&hardware);
        if !adds_up(&next) {
            return Err(format!("round {round}, allowed again: {next:?}"));
        }
    }
    println!(
        "reading forbidden: {flagged} of {} windows flagged",
        2 * ROUNDS
    );
    Ok(())
}

/// The kernel lets a thread read, or not, when it switches to it.
fn allow(reads: bool) -> Result<(), String> {
    let value = if reads { "1" } else { "0" };
    std::fs::write(SWITCH, value).map_err(|error| format!("could not write {SWITCH}: {error}"))?;
    std::thread::sleep(Duration::from_millis(1));
    Ok(())
}
