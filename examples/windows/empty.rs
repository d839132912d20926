//! Empty windows of the machine's counters.

use topdown_counters::hardware::Hardware;
use topdown_counters::{Reading, Source};
use topdown_run::sample::{Flags, Sample};

pub fn open() -> Result<Hardware, String> {
    Hardware::open().map_err(|error| error.to_string())
}

/// Returns a sample of one window.
pub fn window(hardware: &Hardware) -> Sample {
    end(hardware, &hardware.start())
}

/// Ends the only window of a sample.
pub fn end(hardware: &Hardware, start: &Reading) -> Sample {
    hardware.completed(&hardware.end(start))
}

/// Returns whether a sample is usable and its categories are its slots.
pub fn adds_up(sample: &Sample) -> bool {
    let slots = sample.slots.unwrap_or(0) as f64;
    let sum = sample.level1.map_or(0.0, |level1| level1.total_slots());
    !sample.flags.intersects(Flags::UNUSABLE) && slots > 0.0 && (sum / slots - 1.0).abs() < 0.1
}
