//! Executes a program with several threads twice from the same state of the process: traced in one
//! forked child, and single-stepped in another, thread by thread, in the order of turns that the
//! trace has.
//!
//! The stepped threads are real ones, and their system calls the kernel's: a thread that waits in
//! one is left there while the others take their turns, as long as the trace says. So this also
//! shows that who waits, and who is woken, is what the kernel would do, in this order.
//!
//! Three things are the tracer's own, so no program here asks for them: the clock, which is held
//! while threads take turns; who reads first if several wait for one descriptor; and the numbers
//! that the kernel gives to threads.

mod child;
mod stepper;

use std::hash::{DefaultHasher, Hash, Hasher};

use self::child::{Way, Writer, fork_child};
use self::stepper::step;
use crate::launch::launched_with;
use crate::own_cpu::stay_on_this_cpu;
use crate::programs::Program;
use crate::programs::ordered::ORDERED;
use crate::ptraced::wait;
use crate::record::{DONE, RESULT, Record, STATUS};
use topdown_tracer::{Config, Tracer};

/// What the tracer is said to have done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    Nothing,
    /// It lost an instruction of a thread, about this far into the trace.
    Lost {
        percent: u64,
    },
    /// It exchanged two turns, about this far into the trace.
    Exchanged {
        percent: u64,
    },
}

/// How the two executions compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal(Size),
    /// Single-stepping is not permitted here.
    NotPermitted,
    Different(String),
}

/// What was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub instructions: usize,
    pub turns: usize,
    pub threads: usize,
}

/// The variable with the program that a launched process compares, and what is planted.
const COMPARED: &str = "TOPDOWN_TRACER_TEST_COMPARED";

/// Traces the program and steps it, in children of a process of its own.
pub fn compare(program: usize, planted: Planted) -> Comparison {
    let (kind, percent) = match planted {
        Planted::Nothing => (0, 0),
        Planted::Lost { percent } => (1, percent),
        Planted::Exchanged { percent } => (2, percent),
    };
    let output = launched_with(&[(COMPARED, format!("{program} {kind} {percent}"))]);
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{:?} {text} {errors}",
        output.status
    );
    let (word, rest) = text.split_once('\u{1}').unwrap();
    match word {
        "equal" => {
            let sizes: Vec<usize> = rest.split(' ').map(|it| it.parse().unwrap()).collect();
            Comparison::Equal(Size {
                instructions: sizes[0],
                turns: sizes[1],
                threads: sizes[2],
            })
        }
        "not permitted" => Comparison::NotPermitted,
        _ => Comparison::Different(rest.to_owned()),
    }
}

/// In a launched process, compares before the test harness starts threads of its own.
#[used]
#[unsafe(link_section = ".init_array")]
static COMPARE: extern "C" fn() = {
    extern "C" fn compare() {
        let Ok(asked) = std::env::var(COMPARED) else {
            return;
        };
        let asked: Vec<u64> = asked.split(' ').map(|it| it.parse().unwrap()).collect();
        let planted = match asked[1] {
            0 => Planted::Nothing,
            1 => Planted::Lost { percent: asked[2] },
            _ => Planted::Exchanged { percent: asked[2] },
        };
        match compare_here(asked[0] as usize, planted) {
            Comparison::Equal(size) => {
                let (instructions, turns, threads) = (size.instructions, size.turns, size.threads);
                print!("equal\u{1}{instructions} {turns} {threads}");
            }
            Comparison::NotPermitted => print!("not permitted\u{1}"),
            Comparison::Different(what) => print!("different\u{1}{what}"),
        }
        std::process::exit(0);
    }
    compare
};

fn compare_here(number: usize, planted: Planted) -> Comparison {
    let program = ORDERED[number].1;
    // Whatever a first execution initialises is initialised now.
    let native = run(program);
    let (values, turns) = (Record::new(), Record::new());
    let config = Config {
        all_threads: true,
        // Each program in one of several orders.
        schedule: number as u32 % 3,
        ..Config::default()
    };
    let tracer = Tracer::new(config, Writer::new(values, turns)).unwrap();
    // The tracer provides for as many threads as there were at most: from now on that changes no
    // mappings.
    tracer.trace(program).1.unwrap();
    wait_for_threads();
    stay_on_this_cpu();
    // Both first: whatever this process does in between could change its heap.
    let traced = fork_child(Way::Traced, &tracer, values, program);
    let stepped = fork_child(Way::Stepped, &tracer, values, program);
    let status = wait(traced);
    if status != 0 || values.get(STATUS) != DONE {
        return Comparison::Different(format!("the traced child ended with {status:#x}"));
    }
    if values.get(RESULT) != native {
        return Comparison::Different("the result is not the native one".to_owned());
    }
    let mut turns = Turn::all(&turns.values(), &values.values());
    plant(planted, &mut turns);
    step(stepped, &turns)
}

/// What one thread executed while no other did.
pub struct Turn {
    pub thread: usize,
    /// For each instruction its address, and the addresses of its data accesses.
    pub instructions: Vec<(u64, Vec<u64>)>,
}

impl Turn {
    /// Reads what a [`Writer`] has recorded.
    fn all(turns: &[u64], values: &[u64]) -> Vec<Turn> {
        let mut values = values.iter().copied();
        let read = |pair: &[u64]| {
            let instructions = (0..pair[1]).map(|_| {
                let (ip, count) = (values.next().unwrap(), values.next().unwrap());
                (ip, values.by_ref().take(count as usize).collect())
            });
            Turn {
                thread: pair[0] as usize,
                instructions: instructions.collect(),
            }
        };
        turns.chunks(2).map(read).collect()
    }
}

fn plant(planted: Planted, turns: &mut [Turn]) {
    let place = |percent: u64| (turns.len() - 1) * percent as usize / 100;
    match planted {
        Planted::Nothing => {}
        Planted::Lost { percent } => {
            let instructions = &mut turns[place(percent)].instructions;
            instructions.remove(instructions.len() / 2);
        }
        Planted::Exchanged { percent } => {
            let first = place(percent);
            turns.swap(first, first + 1);
        }
    }
}

fn wait_for_threads() {
    while std::fs::read_dir("/proc/self/task").unwrap().count() > 1 {
        std::thread::yield_now();
    }
}

/// Executes the program, and returns a hash of its result.
fn run(program: Program) -> u64 {
    let mut hasher = DefaultHasher::new();
    program().hash(&mut hasher);
    hasher.finish()
}
