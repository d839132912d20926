//! The kernels: small, varied programs, each with its data prepared in advance.

mod algorithms;
mod application;
#[allow(clippy::all, reason = "its text is frozen")]
mod changes;
mod fresh;
mod guesses;
mod heap;
mod later;
mod loops;
pub mod microscopic;
#[allow(clippy::all, reason = "its text is frozen")]
mod patterns;
mod questions;
pub mod sets;
#[allow(clippy::all, reason = "its text is frozen")]
mod unseen_1;
#[allow(clippy::all, reason = "its text is frozen")]
mod unseen_2;

/// How a kernel relates to a core's calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The cores were calibrated on it.
    Tuned,
    /// Nothing was calibrated on it, but its ratios were seen between calibrations.
    HeldOut,
    /// Written before version 4, and not run on the model before that was done.
    Fresh,
    /// Written before version 10 of Zen 5, and not run on the model before that was done.
    Later,
    /// Thirty kernels, frozen with their native cycles before any core ran them.
    Unseen1,
    /// Twelve kernels, frozen with their native cycles before golden-cove 18 was begun.
    Unseen2,
    /// A loop of one pattern, which may be looked at.
    Pattern,
    /// The other half of them, which only the last validation of a version shows.
    KeptBack,
    /// A version of a kernel with a planted change.
    Change,
    /// A loop of a few instructions, for nanosecond benchmarks.
    Loop,
    /// A loop that asks one question about a core.
    Question,
}

/// A program to run repeatedly.
pub struct Kernel {
    /// As printed, and as in the files of native cycles.
    pub name: &'static str,
    /// How it relates to the calibration.
    pub group: Group,
    /// Prepares the data and returns the code to run.
    pub prepare: fn() -> Box<dyn FnMut()>,
}

macro_rules! group {
    ($name:ident, $group:ident) => {
        const fn $name(name: &'static str, prepare: fn() -> Box<dyn FnMut()>) -> Kernel {
            Kernel {
                name,
                group: Group::$group,
                prepare,
            }
        }
    };
}

group!(tuned, Tuned);
group!(held_out, HeldOut);
group!(fresh, Fresh);
group!(later, Later);
group!(unseen_1, Unseen1);
group!(unseen_2, Unseen2);
group!(change, Change);

/// All kernels, without loops of one pattern and versions with planted changes.
pub fn all() -> Vec<Kernel> {
    let mut kernels = microscopic::kernels();
    kernels.extend(application::kernels());
    kernels.extend(algorithms::kernels());
    kernels.extend(fresh::kernels());
    kernels.extend(later::kernels());
    kernels.extend(guesses::kernels());
    kernels.extend(loops::kernels());
    kernels.extend(unseen_1::kernels());
    kernels.extend(unseen_2::kernels());
    kernels
}

/// What `validate` compares with native cycles.
pub fn validated() -> Vec<Kernel> {
    let mut kernels = all();
    kernels.extend(patterns::kernels());
    kernels.extend(changes::kernels());
    kernels
}

/// The kernels of `benches/side-by-side.sh`: 42 on which no core was calibrated.
pub fn side_by_side() -> Vec<Kernel> {
    let is_uncalibrated = |kernel: &Kernel| matches!(kernel.group, Group::HeldOut | Group::Fresh);
    // It needs the allocator of the C library, which Valgrind replaces.
    let needs_own_heap = |kernel: &Kernel| kernel.name == "push-strings";
    let kernels = all().into_iter();
    let chosen = kernels.filter(|kernel| is_uncalibrated(kernel) && !needs_own_heap(kernel));
    chosen.take(42).collect()
}

/// Loops that each ask one question about a core.
pub fn questions() -> Vec<Kernel> {
    questions::kernels()
}

/// A fixed sequence of pseudo-random numbers.
pub(crate) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}
