//! Counters that go away, at every instruction of an empty window.
//!
//! `moves`: the thread moves to a core of another kind, and there and back. `forbidden`: root
//! forbids RDPMC. `offline`: root takes the thread's CPU offline; there, some instructions are
//! passed over, because each takes milliseconds.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

use topdown_counters::Source;
use topdown_counters::hardware::Hardware;
use topdown_run::sample::Flags;

use crate::empty::{adds_up, open, window};
use crate::stepping;

/// What an act needs, which has no allocation, because it comes at any instruction.
struct Scene {
    home: usize,
    away: usize,
    file: Option<File>,
}

thread_local! {
    static SCENE: RefCell<Scene> =
        const { RefCell::new(Scene { home: 0, away: 0, file: None }) };
}

pub fn moves() -> Result<(), String> {
    let all = allowed();
    let hardware = open()?;
    let counted = allowed();
    let other = all.iter().find(|cpu| !counted.contains(cpu));
    let away = *other.ok_or("this machine has one kind of core, or the thread may not leave it")?;
    SCENE.set(Scene {
        home: counted[0],
        away,
        file: None,
    });
    let come_home = || SCENE.with_borrow(|scene| run_on(scene.home));
    let go_away: fn() = || SCENE.with_borrow(|scene| run_on(scene.away));
    at_every_instruction(&hardware, "a move", 1, go_away, come_home)?;
    let go_and_come: fn() = || {
        SCENE.with_borrow(|scene| {
            run_on(scene.away);
            run_on(scene.home);
        });
    };
    at_every_instruction(
        &hardware,
        "a move there and back",
        1,
        go_and_come,
        come_home,
    )
}

pub fn forbidden() -> Result<(), String> {
    let hardware = open()?;
    let path = "/sys/bus/event_source/devices/cpu/rdpmc";
    SCENE.set(Scene {
        home: 0,
        away: 0,
        file: Some(writable(path)?),
    });
    let forbid: fn() = || write(b"0");
    at_every_instruction(&hardware, "RDPMC forbidden", 1, forbid, || write(b"1"))
}

pub fn offline() -> Result<(), String> {
    let home = *allowed().last().ok_or("no CPU")?;
    run_on(home);
    let hardware = open()?;
    let path = format!("/sys/devices/system/cpu/cpu{home}/online");
    SCENE.set(Scene {
        home,
        away: 0,
        file: Some(writable(&path)?),
    });
    let come_back = || {
        write(b"1");
        SCENE.with_borrow(|scene| run_on(scene.home));
    };
    at_every_instruction(&hardware, "CPU offline", 11, || write(b"0"), come_back)
}

/// Acts at every `stride`th instruction of an empty window. The window must be flagged or right,
/// and so must the next one, after `undo`, be right.
fn at_every_instruction(
    hardware: &Hardware,
    name: &str,
    stride: usize,
    act: fn(),
    undo: impl Fn(),
) -> Result<(), String> {
    let mut flagged = 0;
    for steps in (0..).step_by(stride) {
        undo();
        let empty_window = || hardware.end(&hardware.start());
        let (ended, is_done) = stepping::after_steps(steps, act, empty_window);
        undo();
        let sample = hardware.completed(&ended);
        if !is_done {
            println!(
                "{name} at {} instructions of a window: {flagged} flagged",
                steps / stride as u64
            );
            return match flagged {
                0 => Err("no window noticed it".to_owned()),
                _ => Ok(()),
            };
        }
        let is_flagged = sample.flags.intersects(Flags::UNUSABLE);
        // Counters move with the thread to a CPU of the same kind.
        let is_noticed = is_flagged || sample.flags.intersects(Flags::MIGRATED);
        flagged += u64::from(is_noticed);
        let next = window(hardware);
        if !is_flagged && !adds_up(&sample) || !adds_up(&next) {
            return Err(format!(
                "{name} after {steps} instructions: {sample:?}, then {next:?}"
            ));
        }
    }
    Ok(())
}

fn writable(path: &str) -> Result<File, String> {
    let file = OpenOptions::new().write(true).open(path);
    file.map_err(|error| format!("could not open {path}: {error}"))
}

fn write(text: &[u8]) {
    SCENE.with_borrow(|scene| {
        if let Some(file) = &scene.file {
            let _ = file.write_at(text, 0);
        }
    });
}

fn allowed() -> Vec<usize> {
    // SAFETY: the set is valid for writes of its size, and CPU_ISSET only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        (0..libc::CPU_SETSIZE as usize)
            .filter(|cpu| libc::CPU_ISSET(*cpu, &set))
            .collect()
    }
}

fn run_on(cpu: usize) {
    // SAFETY: the set is valid for reads of its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}
