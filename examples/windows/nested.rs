//! A window around another one: it is flagged, and the inner one is right.

use topdown_counters::Source;
use topdown_run::sample::{Flags, Sample};

use crate::empty::{end, open, window};

pub fn check() -> Result<(), String> {
    let hardware = open()?;
    let work = || (0..200_000_u64).fold(0, |sum, turn| sum ^ std::hint::black_box(turn));
    let count_one = || {
        let start = hardware.start();
        work();
        end(&hardware, &start)
    };
    let alone = count_one();
    let start = hardware.start();
    let inner = count_one();
    work();
    let outer = end(&hardware, &start);
    println!(
        "{}: around another window: {}",
        hardware.provenance().reason,
        outer.flags
    );
    if !outer.flags.intersects(Flags::UNUSABLE) {
        return Err(format!("an outer window is not flagged: {outer:?}"));
    }
    let slots = |sample: &Sample| sample.slots.unwrap_or(0) as f64;
    // A switch costs some slots in user code.
    let is_as_alone = (slots(&inner) / slots(&alone) - 1.0).abs() < 0.01;
    if inner.flags.intersects(Flags::UNUSABLE) || !is_as_alone {
        return Err(format!(
            "an inner window is not as alone: {inner:?}, {alone:?}"
        ));
    }
    if window(&hardware).flags.intersects(Flags::UNUSABLE) {
        return Err("the window afterwards is flagged".to_owned());
    }
    Ok(())
}
