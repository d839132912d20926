//! All threads of a process are traced, one at a time: results are those of native execution, and
//! every launch executes the same instructions.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod launch;
#[path = "../support/own_cpu.rs"]
mod own_cpu;
mod programs;
#[path = "../support/ptraced.rs"]
mod ptraced;
#[allow(dead_code, reason = "another test uses the rest")]
#[path = "../support/record.rs"]
mod record;
mod schedules;
mod stepped;

use launch::{
    WINDOWS, launch, launch_end, launch_endless, launch_halted, launch_of_hundred, launch_prepared,
};
use programs::endless::{ALONE, ENDLESS};
use programs::ends::ENDS;
use programs::halted::{HALTED, TRACED, WORK_INSTRUCTIONS};
use programs::hundred::HUNDRED;
use programs::ordered::ORDERED;
use programs::prepared::PREPARED;
use stepped::{Comparison, Planted, compare};
use topdown_skipped::{Need, skip};

#[test]
fn results_equal_native_ones() {
    for (number, (name, program)) in programs::ALL.iter().enumerate() {
        let traced = launch(number);
        assert_eq!(traced.end, "Ok(Detach)", "{name}");
        assert_eq!(traced.result, program(), "{name}");
    }
}

#[test]
fn results_of_a_hundred_programs_are_native() {
    assert!(HUNDRED.len() >= 100);
    let mut wrong = Vec::new();
    for (number, (name, program)) in HUNDRED.iter().enumerate() {
        let traced = launch_of_hundred(number);
        let native = program().to_string();
        if traced.end != "Ok(Detach)" || traced.result != native || traced.threads.len() < 2 {
            wrong.push(format!("{name}: natively {native}, {traced:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn launches_execute_the_same_instructions() {
    if !launch::addresses_are_fixed() {
        skip(Need::FixedAddresses, "addresses are random here");
        return;
    }
    let mut differ = Vec::new();
    for (number, (name, _)) in programs::ALL.iter().enumerate() {
        if programs::ASK_FOR_TIME.contains(&name.split(' ').next().unwrap()) {
            continue;
        }
        let first = launch(number);
        let launches = if name.ends_with('3') { 10 } else { 3 };
        if let Some(again) = (1..launches)
            .map(|_| launch(number))
            .find(|again| *again != first)
        {
            differ.push(format!("{name}:\n{first:?}\n{again:?}"));
        }
    }
    assert!(differ.is_empty(), "{} {}", differ.len(), differ.join("\n"));
}

#[test]
fn existing_threads_are_taken_over() {
    for (number, (name, program)) in PREPARED.iter().enumerate() {
        let traced = launch_prepared(number);
        assert_eq!(traced.end, "Ok(Detach)", "{name}");
        assert_eq!(traced.result, program()(), "{name}");
        assert!(traced.threads.len() > 1, "{name}: {traced:?}");
    }
}

#[test]
fn traces_of_waiting_threads_repeat() {
    if !launch::addresses_are_fixed() {
        skip(Need::FixedAddresses, "addresses are random here");
        return;
    }
    for name in ["futex", "poll", "read"] {
        let number = PREPARED.iter().position(|it| it.0 == name).unwrap();
        let first = launch_prepared(number);
        for _ in 1..10 {
            assert_eq!(launch_prepared(number), first, "{name}");
        }
    }
}

#[test]
fn traces_beside_endless_threads_repeat() {
    if !launch::addresses_are_fixed() {
        skip(Need::FixedAddresses, "addresses are random here");
        return;
    }
    for (number, (name, _)) in ENDLESS.iter().enumerate().take(ALONE) {
        let first = launch_endless(number);
        assert_eq!(first.threads.len(), 3, "{name}: {first:?}");
        for _ in 1..10 {
            assert_eq!(launch_endless(number), first, "{name}");
        }
    }
}

#[test]
fn endless_threads_hold_nobody_up_after_a_trace() {
    for (number, (name, parts)) in ENDLESS.iter().enumerate() {
        let traced = launch_endless(number);
        assert_eq!(traced.end, "Ok(Detach)", "{name}");
        assert_eq!(traced.result, (parts().window)(), "{name}");
        assert_eq!(traced.threads.len(), 3, "{name}: {traced:?}");
    }
}

#[test]
fn halted_threads_do_nothing_until_the_next_trace() {
    for (number, (name, program, _)) in HALTED.iter().enumerate() {
        let traced = launch_halted(number);
        let mut natively = program();
        (natively.first)();
        assert_eq!(traced.end, "Ok(Detach)", "{name}");
        assert_eq!(traced.result, (natively.second)(), "{name}");
        if number < TRACED {
            let all = traced.threads.iter().map(|thread| thread.1);
            let work = traced.threads.iter().skip(1).map(|thread| thread.1);
            let per_window = work.clone().max().unwrap() / WINDOWS as u64;
            assert!(
                per_window > WORK_INSTRUCTIONS,
                "{name}: {:?}",
                all.collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn traces_of_halted_threads_repeat() {
    if !launch::addresses_are_fixed() {
        skip(Need::FixedAddresses, "addresses are random here");
        return;
    }
    for (number, (name, ..)) in HALTED.iter().enumerate().take(TRACED) {
        let first = launch_halted(number);
        for _ in 1..10 {
            assert_eq!(launch_halted(number), first, "{name}");
        }
    }
}

#[test]
fn results_are_right_however_the_trace_ends() {
    for (number, (name, program, end)) in ENDS.iter().enumerate() {
        let traced = launch_end(number);
        assert!(traced.end.starts_with(end), "{name}: {}", traced.end);
        assert_eq!(traced.result, program()(), "{name}");
    }
}

#[test]
fn every_thread_matches_single_stepping() {
    for (number, (name, _)) in ORDERED.iter().enumerate() {
        match compare(number, Planted::Nothing) {
            Comparison::Equal(size) => {
                println!("{name}: {size:?}");
                assert!(size.turns > 5 && size.threads > 1, "{name}: {size:?}");
            }
            Comparison::NotPermitted => {
                skip(Need::Ptrace, "ptrace is not permitted here");
                return;
            }
            Comparison::Different(what) => panic!("{name}: {what}"),
        }
    }
}

#[test]
fn stepping_finds_planted_errors() {
    for percent in [20, 50, 80] {
        for planted in [Planted::Lost { percent }, Planted::Exchanged { percent }] {
            match compare(0, planted) {
                Comparison::Different(what) => println!("{planted:?}: {what}"),
                Comparison::NotPermitted => {
                    skip(Need::Ptrace, "ptrace is not permitted here");
                    return;
                }
                Comparison::Equal(size) => panic!("{planted:?}: {size:?}"),
            }
        }
    }
}
