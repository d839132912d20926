//! Orders of threads other than that of their seats.

use crate::launch::{addresses_are_fixed, launch, launch_in};
use crate::programs;
use topdown_skipped::{Need, skip};

/// The number of the program with this name.
fn number_of(name: &str) -> usize {
    let mut all = programs::ALL.iter();
    all.position(|(known, _)| *known == name).unwrap()
}

#[test]
fn results_do_not_depend_on_the_schedule() {
    for (number, (name, program)) in programs::ALL.iter().enumerate() {
        let schedule = 1 + number as u32 % 5;
        let traced = launch_in(schedule, number);
        assert_eq!(traced.end, "Ok(Detach)", "{name} in {schedule}");
        assert_eq!(traced.result, program(), "{name} in {schedule}");
    }
}

#[test]
fn schedules_differ_and_each_repeats() {
    if !addresses_are_fixed() {
        skip(Need::FixedAddresses, "addresses are random here");
        return;
    }
    for name in ["mutex 3", "channel 3", "work_stealing 3", "spin_lock 3"] {
        let number = number_of(name);
        let schedules = [0, 1, 2].map(|schedule| launch_in(schedule, number));
        assert_eq!(schedules[0], launch(number), "{name}");
        assert_eq!(schedules[1], launch_in(1, number), "{name}");
        assert_eq!(schedules[2], launch_in(2, number), "{name}");
        for (one, other) in [(0, 1), (1, 2), (0, 2)] {
            assert_ne!(schedules[one], schedules[other], "{name}");
        }
    }
}

/// Without a choice there is one order.
#[test]
fn one_thread_is_the_same_in_all_schedules() {
    if !addresses_are_fixed() {
        skip(Need::FixedAddresses, "addresses are random here");
        return;
    }
    let number = number_of("joined 1");
    let threads = |schedule| launch_in(schedule, number).threads;
    assert_eq!(threads(0), threads(3));
}
