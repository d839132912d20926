//! System calls of empty windows.

use topdown_counters::Source;
use topdown_counters::hardware::Hardware;
use topdown_run::sample::{Flags, Sample};

use crate::empty::open;
use crate::system_calls;

pub const WINDOWS: u64 = 10_000;

/// Most windows must make none. Where every reading is a system call, each must make some: this
/// shows that they are counted. Six of each millisecond are for the times of the threads; traced
/// windows take longer, so these count more than they should.
pub fn check() -> Result<(), String> {
    let hardware = open()?;
    let reason = hardware.provenance().reason.clone();
    drop(hardware);
    let calls = of_windows()?;
    println!("{reason}: {calls} system calls in {WINDOWS} windows");
    let reads_by_calls = reason.contains("read()") || reason.contains("with system calls");
    match reads_by_calls {
        true if calls < WINDOWS => Err("the calls were not counted".to_owned()),
        false if calls > WINDOWS / 4 => Err("most windows must make none".to_owned()),
        _ => Ok(()),
    }
}

/// Returns the system calls of empty windows.
pub fn of_windows() -> Result<u64, String> {
    system_calls::of(open, |hardware| {
        let sum = windows(&hardware, WINDOWS);
        // Nothing is shown by windows that count nothing.
        match sum.slots {
            Some(slots) if slots > 0 && !sum.flags.intersects(Flags::UNUSABLE) => Ok(()),
            _ => Err(format!("the windows did not count: {sum:?}")),
        }
    })
}

/// Returns a sample of many windows.
pub fn windows(hardware: &Hardware, windows: u64) -> Sample {
    hardware.sample_boundary();
    let mut sum = Sample::EMPTY;
    for _ in 0..windows {
        sum.add(&hardware.end(&hardware.start()));
    }
    hardware.completed(&sum)
}
