//! Wall time in core cycles. The clock is a chain of dependent additions.

use std::arch::asm;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time spent on each kernel on a calm machine, and how much longer one that is not may take.
pub const CALM_TIME: Duration = Duration::from_millis(300);
const MAX_CALM_TIMES: u32 = 10;
/// Calm runs that are required, that suffice after that time, and before.
const MIN_CALM_RUNS: usize = 10;
const CALM_RUNS: usize = 50;
const MAX_CALM_RUNS: usize = 500;
/// Pause for the core's other users.
const PAUSE: Duration = Duration::from_millis(2);
/// Additions per reading of the clock: about 7 µs.
const ADDITIONS: u32 = 20_000;

/// Launches that must agree on a native time before it counts...
const MIN_LAUNCHES: usize = 3;
/// ... and how far from the best a launch may be to agree with it.
const AGREEMENT_FRACTION: f64 = 0.2;

/// What launches of this program measured for one kernel: one value each, in cycles.
#[derive(Clone, Default)]
pub struct Launches(Vec<f64>);

impl Launches {
    /// Returns the fewest cycles of all launches.
    pub fn best_cycles(&self) -> Option<f64> {
        self.0.iter().copied().min_by(f64::total_cmp)
    }

    /// Returns whether "best case" is meaningful: half of the launches, but at least three, came
    /// within 20 % of the best. `None` if there were fewer than three.
    ///
    /// The time of a kernel that depends on caches beyond the L1 varies with the physical pages
    /// that a launch got and with the machine's neighbours. A model can be held to such a time only
    /// if it recurs.
    pub fn are_repeatable(&self) -> Option<bool> {
        let limit = self.best_cycles()? * (1.0 + AGREEMENT_FRACTION);
        let agree = self.0.iter().filter(|&&cycles| cycles <= limit).count();
        let enough = self.0.len() >= MIN_LAUNCHES;
        enough.then_some(agree >= MIN_LAUNCHES && agree * 2 >= self.0.len())
    }
}

/// Native cycles by kernel: a file with one line per kernel, containing its name and one number per
/// launch.
#[derive(Default)]
pub struct Measurements {
    file: Option<PathBuf>,
    kernels: BTreeMap<String, Launches>,
}

impl Measurements {
    /// Reads `file`, which need not exist yet.
    pub fn open(file: Option<PathBuf>) -> io::Result<Self> {
        let text = match &file {
            Some(path) if path.exists() => std::fs::read_to_string(path)?,
            _ => String::new(),
        };
        let parse = |line: &str| {
            let (name, launches) = line.split_once(' ')?;
            let launches: Result<_, _> = launches.split_whitespace().map(str::parse).collect();
            Some((name.to_owned(), Launches(launches.ok()?)))
        };
        let kernels = text
            .lines()
            .map(|line| {
                parse(line).ok_or_else(|| io::Error::other(format!("not `NAME CYCLES…`: {line}")))
            })
            .collect::<io::Result<_>>()?;
        Ok(Measurements { file, kernels })
    }

    /// Returns what is known of a kernel.
    pub fn get(&self, name: &str) -> Launches {
        self.kernels.get(name).cloned().unwrap_or_default()
    }

    /// Adds this launch's measurement.
    pub fn add(&mut self, name: &str, cycles: f64) -> io::Result<()> {
        let launches = self.kernels.entry(name.to_owned()).or_default();
        launches.0.push(cycles);
        match &self.file {
            Some(file) => self.write(file),
            None => Ok(()),
        }
    }

    fn write(&self, file: &Path) -> io::Result<()> {
        let line = |(name, launches): (&String, &Launches)| {
            let cycles = launches.0.iter().map(|cycles| format!(" {cycles:.0}"));
            format!("{name}{}\n", cycles.collect::<String>())
        };
        let text: String = self.kernels.iter().map(line).collect();
        let temporary = file.with_extension("new");
        std::fs::write(&temporary, text)?;
        std::fs::rename(temporary, file)
    }
}

/// Makes the allocator keep freed memory, so that page faults of one run do not recur in the next.
pub fn keep_pages() {
    // SAFETY: mallopt only changes parameters of the allocator; no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_MMAP_MAX, 0);
    }
}

/// Returns the cycles of the fastest runs: the 2nd percentile of those during which the clock kept
/// its pace and this core had no other user. `None` if there are not enough of these.
pub fn best_case_cycles(run: &mut dyn FnMut(), calm_time: Duration) -> Option<f64> {
    run();
    let mut calm = Vec::new();
    let start = Instant::now();
    let needs_more = |calm_runs: usize| match start.elapsed() {
        elapsed if elapsed < calm_time => calm_runs < MAX_CALM_RUNS,
        elapsed => elapsed < calm_time * MAX_CALM_TIMES && calm_runs < CALM_RUNS,
    };
    while needs_more(calm.len()) {
        let before = Pace::now();
        let began = Instant::now();
        run();
        let elapsed_ns = began.elapsed().as_nanos() as f64;
        let after = Pace::now();
        let steady = (before.cycle_ns / after.cycle_ns - 1.0).abs() < 0.03;
        if steady && before.is_alone() && after.is_alone() {
            calm.push(elapsed_ns / before.cycle_ns.min(after.cycle_ns));
        } else if !after.is_alone() {
            std::thread::sleep(PAUSE);
        }
    }
    calm.sort_by(f64::total_cmp);
    (calm.len() >= MIN_CALM_RUNS).then(|| calm[calm.len() / 50])
}

/// The current speed of this core.
struct Pace {
    /// Nanoseconds per cycle, timed as one addition of a chain. Neighbours do not change that.
    cycle_ns: f64,
    /// Independent additions per cycle. There are fewer while this core's other hardware thread
    /// works, which a virtual machine cannot query.
    additions_per_cycle: f64,
}

impl Pace {
    fn now() -> Pace {
        let cycle_ns = nanoseconds_of(chained_additions) / f64::from(ADDITIONS);
        let independent_ns = nanoseconds_of(independent_additions) / f64::from(ADDITIONS);
        Pace {
            cycle_ns,
            additions_per_cycle: cycle_ns / independent_ns,
        }
    }

    /// Every core of the table has at least four ports for additions.
    fn is_alone(&self) -> bool {
        self.additions_per_cycle > 3.7
    }
}

fn nanoseconds_of(work: fn()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

fn chained_additions() {
    let mut sum = 1_u64;
    for _ in 0..ADDITIONS / 50 {
        // SAFETY: adds a register to itself; touches neither memory nor the stack.
        unsafe {
            asm!(
                ".rept 50",
                "add {0}, {0}",
                ".endr",
                inout(reg) sum,
                options(nomem, nostack)
            );
        }
    }
    std::hint::black_box(sum);
}

fn independent_additions() {
    let mut sums = [1_u64; 5];
    let [a, b, c, d, e] = &mut sums;
    for _ in 0..ADDITIONS / 50 {
        // SAFETY: adds registers to themselves; touches neither memory nor the stack.
        unsafe {
            asm!(
                ".rept 10",
                "add {0}, {0}",
                "add {1}, {1}",
                "add {2}, {2}",
                "add {3}, {3}",
                "add {4}, {4}",
                ".endr",
                inout(reg) * a,
                inout(reg) * b,
                inout(reg) * c,
                inout(reg) * d,
                inout(reg) * e,
                options(nomem, nostack)
            );
        }
    }
    std::hint::black_box(sums);
}
