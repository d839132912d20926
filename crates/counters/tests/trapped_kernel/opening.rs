//! Opening the source: the group that is opened, and every way in which opening can fail.

use topdown_counters::Source;
use topdown_counters::cpu::{FORMULA_LEVEL1, FORMULA_LEVEL2};
use topdown_counters::error::OpenError;
use topdown_counters::hardware::Hardware;
use topdown_run::provenance::SourceKind;
use topdown_run::setting::Counters;
use topdown_skipped::{Need, skip};

use crate::machine::{CYCLES, Call, INSTRUCTIONS, RETIRING, SLOTS};
use crate::system::System;
use crate::trap::with;
use crate::{SLOTS_PER_LOOK_AT_OPEN, open, refusal, refusal_with};

#[test]
fn group_is_complete_then_running_then_reset() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    with(|machine| {
        let events = [SLOTS, RETIRING, INSTRUCTIONS, CYCLES];
        let opened: Vec<Call> = events.map(Call::Open).to_vec();
        let mapped: Vec<Call> = events.map(Call::Map).to_vec();
        assert_eq!(machine.calls[..4], opened);
        assert_eq!(machine.calls[4..8], mapped);
        assert_eq!(machine.calls[8..10], [Call::Enable, Call::Reset]);
        for config in events {
            let attributes = machine.attributes(config);
            assert_eq!(attributes.size as usize, size_of_val(&attributes));
            assert_eq!(attributes.read_format, 1 | 2 | 8);
            assert_eq!(attributes.exclude_kernel(), 1);
            assert_eq!(attributes.exclude_hv(), 1);
            assert_eq!(attributes.inherit(), 0);
            assert_eq!(attributes.pinned(), u64::from(config == SLOTS));
        }
    });
    let provenance = hardware.provenance();
    assert_eq!(provenance.source, SourceKind::Hardware);
    assert_eq!(provenance.formula, FORMULA_LEVEL2);
    assert_eq!(provenance.core_type, None);
    assert_eq!(provenance.slots_per_cycle, Some(6));
    assert_eq!(
        provenance.reason,
        "PERF_METRICS of PMU `cpu`, read with RDPMC"
    );
    let empty_window = provenance.empty_window.unwrap();
    assert_eq!(empty_window.slots, Some(SLOTS_PER_LOOK_AT_OPEN));
}

#[test]
fn four_fractions_give_level_1_only() {
    let Some(hardware) = open(&System::ice_lake(), |_| ()) else {
        return;
    };
    assert_eq!(hardware.provenance().formula, FORMULA_LEVEL1);
    assert_eq!(hardware.provenance().slots_per_cycle, Some(5));
}

#[test]
fn everything_is_closed_on_drop() {
    let Some(hardware) = open(&System::sapphire_rapids(), |_| ()) else {
        return;
    };
    assert_eq!(with(|machine| machine.open_events()), 4);
    drop(hardware);
    assert_eq!(with(|machine| machine.open_events()), 0);
}

#[test]
fn second_handle_of_a_thread_shares_the_group() {
    let system = System::sapphire_rapids();
    let Some(first) = open(&system, |_| ()) else {
        return;
    };
    let second = Hardware::open_in(&system.paths()).unwrap();
    assert_eq!(with(|machine| machine.open_events()), 4);
    drop(first);
    assert_eq!(with(|machine| machine.open_events()), 4);
    assert_eq!(second.provenance().formula, FORMULA_LEVEL2);
    drop(second);
    assert_eq!(with(|machine| machine.open_events()), 0);
}

#[test]
fn group_has_all_metrics_without_rdpmc() {
    let Some(hardware) = open(&System::sapphire_rapids(), |m| m.rdpmc_allowed = false) else {
        return;
    };
    with(|machine| {
        assert_eq!(machine.open_events(), 1 + 8 + 2);
        assert_eq!(machine.rdpmcs, 0);
    });
    // The same formula: the kernel computes the same as this library.
    assert_eq!(hardware.provenance().formula, FORMULA_LEVEL2);
    let reason = &hardware.provenance().reason;
    assert!(reason.contains("RDPMC is off"), "{reason}");
}

#[test]
fn host_with_guests_excludes_them() {
    let Some(hardware) = open(&System::sapphire_rapids(), |m| m.wants_exclude_guest = true) else {
        return;
    };
    assert_eq!(with(|m| m.attributes(CYCLES)).exclude_guest(), 1);
    drop(hardware);
}

/// Checks that the message names the place and says what to do next.
fn assert_message(error: &OpenError, words: &[&str]) {
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
    assert!(!message.ends_with('.'), "{message}");
}

#[test]
fn every_open_errno_has_error_and_advice() {
    let system = System::sapphire_rapids();
    system.set("perf_event_paranoid", "3");
    type Check = fn(&OpenError) -> bool;
    let cases: [(i32, Check, &str); 12] = [
        (
            libc::EACCES,
            |e| {
                matches!(
                    e,
                    OpenError::PermissionDenied {
                        paranoid: Some(3),
                        ..
                    }
                )
            },
            "sudo sysctl kernel.perf_event_paranoid=2",
        ),
        (
            libc::EPERM,
            |e| matches!(e, OpenError::Forbidden { .. }),
            "--cap-add=PERFMON",
        ),
        (
            libc::ENOSYS,
            |e| matches!(e, OpenError::Forbidden { .. }),
            "seccomp",
        ),
        (
            libc::ENOENT,
            |e| matches!(e, OpenError::NoSuchEvent { .. }),
            "ENOENT",
        ),
        (
            libc::EINVAL,
            |e| matches!(e, OpenError::Rejected { .. }),
            "Linux 5.10",
        ),
        (
            libc::E2BIG,
            |e| matches!(e, OpenError::Rejected { .. }),
            "update the kernel",
        ),
        (
            libc::ENODEV,
            |e| matches!(e, OpenError::PmuUnavailable { .. }),
            "virtual machine",
        ),
        (
            libc::EOPNOTSUPP,
            |e| matches!(e, OpenError::PmuUnavailable { .. }),
            "PMU",
        ),
        (
            libc::EMFILE,
            |e| matches!(e, OpenError::LimitReached { .. }),
            "ulimit -n",
        ),
        (
            libc::ENFILE,
            |e| matches!(e, OpenError::LimitReached { .. }),
            "ulimit -n",
        ),
        (
            libc::ENOSPC,
            |e| matches!(e, OpenError::LimitReached { .. }),
            "ulimit -n",
        ),
        (
            libc::EIO,
            |e| matches!(e, OpenError::Open { .. }),
            "cargo topdown doctor",
        ),
    ];
    for config in [SLOTS, RETIRING] {
        for (errno, is_right, advice) in cases {
            let Some(error) = refusal(&system, |m| m.refuse_open = Some((config, errno))) else {
                return;
            };
            assert!(is_right(&error), "{errno}: {error:?}");
            let event = if config == SLOTS {
                "`slots`"
            } else {
                "`topdown-retiring`"
            };
            assert_message(&error, &[event, "PMU `cpu`", advice]);
        }
    }
}

#[test]
fn denied_permission_at_allowed_level_is_explained() {
    let system = System::sapphire_rapids();
    let Some(error) = refusal(&system, |m| m.refuse_open = Some((SLOTS, libc::EACCES))) else {
        return;
    };
    assert_message(
        &error,
        &["kernel.perf_event_paranoid is 2", "security policy"],
    );
}

#[test]
fn exhausted_page_budget_is_named() {
    let system = System::sapphire_rapids();
    let Some(error) = refusal(&system, |m| m.refuse_map = Some(libc::EPERM)) else {
        return;
    };
    assert!(
        matches!(
            error,
            OpenError::LockedMemory {
                mlock_kb: Some(516),
                ..
            }
        ),
        "{error:?}"
    );
    assert_message(&error, &["`slots`", "kernel.perf_event_mlock_kb is 516"]);
}

#[test]
fn other_map_and_control_failures_are_reported() {
    let system = System::sapphire_rapids();
    let Some(error) = refusal(&system, |m| m.refuse_map = Some(libc::EINVAL)) else {
        return;
    };
    assert!(matches!(error, OpenError::Map { .. }), "{error:?}");
    let error = refusal(&system, |m| m.refuse_control = Some(libc::EIO)).unwrap();
    assert!(
        matches!(
            error,
            OpenError::Control {
                action: "enable",
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn group_never_scheduled_names_other_users() {
    let system = System::sapphire_rapids();
    for rdpmc_allowed in [true, false] {
        let taken = |m: &mut crate::machine::Machine| {
            m.pmu_is_taken = true;
            m.rdpmc_allowed = rdpmc_allowed;
        };
        system.set("nmi_watchdog", "0");
        let Some(error) = refusal(&system, taken) else {
            return;
        };
        assert!(
            matches!(
                error,
                OpenError::NeverScheduled {
                    nmi_watchdog: Some(false),
                    ..
                }
            ),
            "{error:?}"
        );
        assert_message(&error, &["never ran", "`perf`"]);
        system.set("nmi_watchdog", "1");
        let error = refusal(&system, taken).unwrap();
        assert_message(&error, &["sudo sysctl kernel.nmi_watchdog=0"]);
    }
}

#[test]
fn multiplexed_group_is_refused() {
    let system = System::sapphire_rapids();
    for rdpmc_allowed in [true, false] {
        let Some(error) = refusal(&system, |m| {
            m.half_time = true;
            m.rdpmc_allowed = rdpmc_allowed;
        }) else {
            return;
        };
        let OpenError::Multiplexed {
            enabled_ns,
            running_ns,
            ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert!(running_ns < enabled_ns);
    }
}

#[test]
fn event_on_another_counter_is_never_read() {
    // The kernel takes the codes for general events, as on a Skylake with a newer CPU's files.
    let Some(error) = refusal(&System::sapphire_rapids(), |m| m.has_metrics = false) else {
        return;
    };
    let OpenError::WrongCounter {
        index: 1,
        expected: 0x4000_0004,
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    with(|machine| assert_eq!(machine.rdpmcs, 0));
}

#[test]
fn stuck_slots_fail_self_check() {
    for rdpmc_allowed in [true, false] {
        let Some(error) = refusal(&System::sapphire_rapids(), |m| {
            m.slots_per_look = 0;
            m.rdpmc_allowed = rdpmc_allowed;
        }) else {
            return;
        };
        assert!(matches!(error, OpenError::SelfCheck { .. }), "{error:?}");
        assert_message(&error, &["`slots`", "200000 turns"]);
    }
}

#[test]
fn wrong_ratio_sum_fails_self_check() {
    let Some(error) = refusal(&System::sapphire_rapids(), |m| {
        m.stuck_ratios = Some(0x1010_1010);
    }) else {
        return;
    };
    assert!(matches!(error, OpenError::SelfCheck { .. }), "{error:?}");
    assert_message(&error, &["`topdown-retiring`", "64/255"]);
}

#[test]
fn hybrid_thread_stays_on_performance_cores() {
    // CPU 0 must be one that this thread may use; otherwise there is nothing to confine.
    let system = System::hybrid("0", "1-4000");
    let mut two = false;
    let Some(opened) = crate::try_open(&system, |_| {
        two = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    }) else {
        return;
    };
    let hardware = match opened {
        Ok(hardware) => hardware,
        Err(OpenError::EfficiencyCores { allowed, .. }) => {
            skip(
                Need::Cpus,
                format!("this thread may run on CPUs {allowed} only"),
            );
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let provenance = hardware.provenance();
    assert_eq!(provenance.core_type.as_deref(), Some("cpu_core"));
    let says_so = provenance.reason.contains("kept on CPUs 0");
    assert_eq!(says_so, two, "{}", provenance.reason);
    assert!(std::thread::available_parallelism().is_ok_and(|count| count.get() == 1));
}

#[test]
fn efficiency_cores_have_no_perf_metrics() {
    let system = System::hybrid("4000-4003", "0-3999");
    let Some(error) = refusal_with(&system, Counters::Metrics, |_| ()) else {
        return;
    };
    assert!(
        matches!(error, OpenError::EfficiencyCores { .. }),
        "{error:?}"
    );
    assert_message(&error, &["4000-4003", "taskset", "`cpu_core`"]);
    with(|machine| assert_eq!(machine.calls, []));
}

#[test]
fn immovable_thread_is_refused() {
    let system = System::hybrid("0", "1-4000");
    let allowed = crate::allowed_cpus();
    if !allowed.contains(&0) || allowed.len() == 1 {
        skip(
            Need::Cpus,
            format!("this thread may run on CPUs {allowed:?} only"),
        );
        return;
    }
    if let Err(reason) = crate::trap::refuse_affinity() {
        skip(Need::Trap, reason);
        return;
    }
    let error = Hardware::open_in(&system.paths()).unwrap_err();
    assert!(matches!(error, OpenError::Pinning { .. }), "{error:?}");
    assert_message(&error, &["CPUs 0", "`cpu_core`", "cpuset"]);
}
