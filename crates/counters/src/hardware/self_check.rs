//! Proves that a group counts: a successful open is not proof.

use std::hint::black_box;

use super::metrics_shape::RETIRING;
use super::opener::Opener;
use super::ratios::Registers;
use super::syscalls::Event;
use crate::error::OpenError;

/// Each turn is at least two instructions, and each takes a slot.
pub(super) const SPIN_TURNS: u64 = 200_000;

/// Room for a group read: three words and the largest number of events in a group.
const READ_WORDS: usize = 3 + 13;

/// Does a few hundred thousand slots of work.
pub(super) fn spin() {
    for turn in 0..SPIN_TURNS {
        black_box(turn);
    }
}

/// Checks that a counter advanced over [`spin`] by at least one per turn.
pub(super) fn counted(
    opener: &Opener<'_>,
    name: &'static str,
    before: u64,
    after: u64,
) -> Result<(), OpenError> {
    advanced(opener, name, after.saturating_sub(before), SPIN_TURNS)
}

/// Checks that a counter advanced over [`spin`] by at least `least`.
pub(super) fn advanced(
    opener: &Opener<'_>,
    name: &'static str,
    advance: u64,
    least: u64,
) -> Result<(), OpenError> {
    if advance >= least {
        return Ok(());
    }
    Err(OpenError::SelfCheck {
        location: opener.location(name),
        problem: format!("a loop of {SPIN_TURNS} turns moved the counter by {advance}"),
    })
}

/// Checks that the level-1 fractions add up.
pub(super) fn adds_up(opener: &Opener<'_>, registers: Registers) -> Result<(), OpenError> {
    if registers.adds_up() {
        return Ok(());
    }
    Err(OpenError::SelfCheck {
        location: opener.location(RETIRING.0),
        problem: format!(
            "the four categories add up to {}/255 after {} slots; expected 253 to 257",
            registers.level1_sum(),
            registers.slots
        ),
    })
}

/// Reads the group with read(), which also clears the registers of a TopDown group, and checks that
/// it was on the PMU all the time. Returns the counts, leader first.
pub(super) fn group_times(
    opener: &Opener<'_>,
    name: &'static str,
    leader: &Event,
) -> Result<[u64; READ_WORDS], OpenError> {
    let mut words = [0; READ_WORDS];
    let filled = leader
        .read_group(&mut words)
        .map_err(opener.control(name, "read"))?;
    let [_, enabled_ns, running_ns, ..] = words;
    if filled < 3 || running_ns == 0 {
        return Err(opener.never_scheduled(name));
    }
    if enabled_ns != running_ns {
        return Err(OpenError::Multiplexed {
            location: opener.location(name),
            enabled_ns,
            running_ns,
        });
    }
    Ok(words)
}
