//! A launch: a process of its own that executes a program with all threads traced.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use crate::programs::ALL;
use crate::programs::endless::{ALONE, ENDLESS, Parts};
use crate::programs::ends::ENDS;
use crate::programs::halted::{HALTED, Halves, Second};
use crate::programs::hundred::HUNDRED;
use crate::programs::prepared::PREPARED;
use topdown_tracer::{Address, Block, Config, Consumer, End, MAX_THREADS, TraceError, Tracer};

/// What a launch saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub result: String,
    pub end: String,
    /// Of each thread that executed some: its number, instructions, blocks and a hash of all blocks
    /// and addresses.
    pub threads: Vec<(u64, u64, u64, u64)>,
    /// Number of changes from one thread to another.
    pub switches: u64,
}

/// Counts of each thread.
struct Counts {
    current: usize,
    threads: [(u64, u64, u64); MAX_THREADS],
    switches: u64,
    /// Whether what is executed does not count.
    is_off: bool,
}

impl Consumer for Counts {
    fn switch_to(&mut self, thread: usize) {
        self.current = thread;
        self.switches += 1;
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        if self.is_off {
            return;
        }
        let (instructions, blocks, hash) = &mut self.threads[self.current];
        *instructions += block.instructions.len() as u64;
        *blocks += 1;
        let mut mix = |value: u64| {
            *hash = (*hash ^ value)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        mix(block.start_ip());
        for access in block.accesses {
            if !matches!(access.address, Address::Elements(_)) {
                mix(access.address.first(addresses).unwrap());
            }
        }
    }
}

/// The number of the program that a launched child executes.
const PROGRAM: &str = "TOPDOWN_TRACER_TEST_PROGRAM";

/// The schedule of its threads.
const SCHEDULE: &str = "TOPDOWN_TRACER_TEST_SCHEDULE";

/// Returns whether the addresses of every launch are the same.
pub fn addresses_are_fixed() -> bool {
    let mut command = Command::new("true");
    // SAFETY: makes a system call.
    unsafe {
        command.pre_exec(|| match libc::personality(libc::ADDR_NO_RANDOMIZE as _) {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    command.status().is_ok()
}

/// Executes a program of [`PREPARED`] in the same way.
pub fn launch_prepared(program: usize) -> Launch {
    launch(ALL.len() + program)
}

/// Executes a program of [`ENDS`] in the same way.
pub fn launch_end(program: usize) -> Launch {
    launch(ALL.len() + PREPARED.len() + program)
}

/// Executes a program of [`HUNDRED`] in the same way.
pub fn launch_of_hundred(program: usize) -> Launch {
    launch(ALL.len() + PREPARED.len() + ENDS.len() + program)
}

/// Executes a program of [`ENDLESS`] in the same way.
pub fn launch_endless(program: usize) -> Launch {
    launch(ALL.len() + PREPARED.len() + ENDS.len() + HUNDRED.len() + program)
}

/// Executes a program of [`HALTED`] in the same way.
pub fn launch_halted(program: usize) -> Launch {
    let before = ALL.len() + PREPARED.len() + ENDS.len() + HUNDRED.len();
    launch(before + ENDLESS.len() + program)
}

/// Executes a program of the table in a process of its own, with all threads traced.
///
/// Its addresses are the same in every launch, where that is possible.
pub fn launch(program: usize) -> Launch {
    launch_in(0, program)
}

/// The same, with the threads in this schedule.
pub fn launch_in(schedule: u32, program: usize) -> Launch {
    let variables = [
        (PROGRAM, program.to_string()),
        (SCHEDULE, schedule.to_string()),
    ];
    let output = launched_with(&variables);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program}: {:?} {text} {errors}",
        output.status
    );
    let mut lines = text.split('\u{1}').skip(1).map(str::to_owned);
    let mut line = || lines.next().unwrap_or_else(|| panic!("{text}"));
    let (result, end) = (line(), line());
    let switches = line().parse().unwrap();
    let threads = lines.map(|line| {
        let mut numbers = line.split(' ').map(|number| number.parse::<u64>().unwrap());
        let mut number = || numbers.next().unwrap();
        (number(), number(), number(), number())
    });
    Launch {
        result,
        end,
        threads: threads.collect(),
        switches,
    }
}

/// Executes this file with variables, at fixed addresses if possible.
pub fn launched_with(variables: &[(&str, String)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for (variable, value) in variables {
        command.env(variable, value);
    }
    // A hundred times as many instructions as the program that panics.
    command.env("RUST_BACKTRACE", "0");
    // SAFETY: makes two system calls.
    unsafe {
        command.pre_exec(|| {
            libc::personality(libc::ADDR_NO_RANDOMIZE as _);
            // Ends the child if it hangs.
            libc::alarm(60);
            Ok(())
        });
    }
    command.output().unwrap()
}

/// In a launched child, executes the program before the test harness starts threads of its own.
#[used]
#[unsafe(link_section = ".init_array")]
static EXECUTE: extern "C" fn() = {
    extern "C" fn execute() {
        if let Ok(program) = std::env::var(PROGRAM) {
            let number: usize = program.parse().unwrap();
            topdown_tracer::fix_system_values().unwrap();
            let prepared = ALL.len();
            let ends = prepared + PREPARED.len();
            let hundred = ends + ENDS.len();
            let endless = hundred + HUNDRED.len();
            let halted = endless + ENDLESS.len();
            match number {
                _ if number < prepared => trace(1, ALL[number].1),
                _ if number < ends => trace(WINDOWS, PREPARED[number - prepared].1()),
                _ if number < hundred => trace(2, ENDS[number - ends].1()),
                _ if number < endless => trace(1, || HUNDRED[number - hundred].1().to_string()),
                _ if number >= halted => trace_halves(number - halted),
                _ => {
                    let Parts { window, after } = ENDLESS[number - endless].1();
                    let windows = if number - endless < ALONE { WINDOWS } else { 4 };
                    trace_parts(windows, window, after);
                }
            }
            std::process::exit(0);
        }
    }
    execute
};

/// Number of traces of a program whose threads exist before.
pub const WINDOWS: usize = 20;

fn trace(windows: usize, program: impl FnMut() -> String) {
    trace_parts(windows, program, || {});
}

/// The same, with something natively `after` each trace.
fn trace_parts(windows: usize, mut program: impl FnMut() -> String, mut after: impl FnMut()) {
    let tracer = tracer();
    let (mut result, mut end) = tracer.trace(&mut program);
    for _ in 1..windows {
        after();
        let (again, ended) = tracer.trace(&mut program);
        assert!(again == result || ended.is_err());
        (result, end) = (again, end.and(ended));
    }
    print(tracer, &result, end);
}

/// Traces a program whose threads are halted between two parts, of which the second one counts.
fn trace_halves(number: usize) {
    let (_, program, how) = HALTED[number];
    let Halves {
        mut first,
        mut second,
    } = program();
    let tracer = tracer();
    let mut result = String::new();
    let mut end = Ok(End::Detach);
    for _ in 0..WINDOWS {
        tracer.with_consumer(|counts| counts.is_off = true);
        tracer.attach().unwrap();
        first();
        end = end.and(tracer.halt());
        tracer.with_consumer(|counts| counts.is_off = false);
        if how == Second::Traced {
            let (value, ended) = tracer.trace(&mut second);
            (result, end) = (value, end.and(ended));
        } else {
            if how == Second::Released {
                topdown_tracer::release_threads();
            }
            result = second();
        }
    }
    print(tracer, &result, end);
}

fn tracer() -> Tracer<Counts> {
    let config = Config {
        all_threads: true,
        schedule: std::env::var(SCHEDULE).unwrap().parse().unwrap(),
        ..Config::default()
    };
    let counts = Counts {
        current: 0,
        threads: [(0, 0, 0); MAX_THREADS],
        switches: 0,
        is_off: false,
    };
    Tracer::new(config, counts).unwrap()
}

fn print(mut tracer: Tracer<Counts>, result: &str, end: Result<End, TraceError>) {
    let counts = tracer.consumer_mut();
    print!("\u{1}{result}\u{1}{end:?}\u{1}{}", counts.switches);
    for (number, (instructions, blocks, hash)) in counts.threads.iter().enumerate() {
        if *instructions > 0 {
            print!("\u{1}{number} {instructions} {blocks} {hash}");
        }
    }
}
