//! The noise of machines, as the simulation assumes it.
//!
//! The sizes are assumptions, not measurements: no launch-to-launch noise of slots on many machines
//! has been published. They are set so that the typical launch on a shared machine differs by about
//! 1 % of its slots, one in ten by more than 2 %, and times by three times as much; on virtual
//! machines, times differ by far more. `suite` spreads a benchmark's noise over its categories.

/// The noise of a machine, in fractions of the slots per iteration or of the time per slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Its name in reports.
    pub name: &'static str,
    /// The median, over benchmarks, of the standard deviation of slots between launches.
    pub slots_deviation: f64,
    /// The same for the time per slot.
    pub time_deviation: f64,
    /// Variation of these deviations between benchmarks: the standard deviation of their
    /// logarithm. For slots at least 0.4, which the shares alone cause.
    pub deviation_spread: f64,
    /// The standard deviation between the samples of a launch.
    pub sample_deviation: f64,
    /// One launch in this many is disturbed: three of its deviations are added.
    pub disturbed_one_in: u32,
    /// Whether each launch of each benchmark randomly falls into one of two modes (address layout),
    /// which differ by 2 to 8 % of its slots.
    pub bimodal: bool,
    /// Fraction of a launch's noise that carries over from the previous launch (first-order
    /// autoregression).
    pub autocorrelation: f64,
    /// The change of time per slot for all benchmarks: candidate over baseline, minus 1.
    pub session_time_shift: f64,
    /// The standard deviation, over benchmarks, of differences between the two sessions but not
    /// between launches, for slots and time per slot.
    pub session_deviation: f64,
    /// Where that of slots is.
    pub drift: SlotsDrift,
    /// Fraction of its variance that all benchmarks have in common.
    pub drift_in_common: f64,
    /// One launch in this many takes an unlucky path on either side, and [`UNLUCKY_SLOWER`] more
    /// slots; 0 for none.
    pub unlucky_one_in: u32,
    /// One benchmark in this many takes it in one launch of [`OLD_PATH_ONE_IN`] instead, on either
    /// side; 0 for none.
    pub old_path_every: usize,
}

/// Slowdown of an unlucky launch.
pub const UNLUCKY_SLOWER: f64 = 0.6;

/// Probability that a benchmark takes a slow path that is not new.
pub const OLD_PATH_ONE_IN: u32 = 8;

/// Slots that drift between two sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotsDrift {
    /// As much in every benchmark, whatever its slots are. Each category by itself; what retires
    /// does not drift.
    Even,
    /// All slots of a benchmark, by one factor.
    Proportional,
    /// Backend-bound slots by a factor, as beside a neighbour on the shared cache. Benchmarks drift
    /// more the more backend bound they are; the deviation is the root mean square over them.
    BackendBound,
}

impl Machine {
    /// Returns how rarely the benchmark with this number takes an unlucky path.
    pub fn unlucky_one_in_of(&self, index: usize) -> u32 {
        match self.old_path_every {
            every @ 1.. if index % every == every - 1 => OLD_PATH_ONE_IN,
            _ => self.unlucky_one_in,
        }
    }
}

const QUIET: Machine = Machine {
    name: "quiet",
    slots_deviation: 0.003,
    time_deviation: 0.005,
    deviation_spread: 0.6,
    sample_deviation: 0.005,
    disturbed_one_in: 50,
    bimodal: false,
    autocorrelation: 0.0,
    session_time_shift: 0.0,
    session_deviation: 0.0,
    drift: SlotsDrift::Even,
    drift_in_common: 0.0,
    unlucky_one_in: 0,
    old_path_every: 0,
};

const SHARED: Machine = Machine {
    name: "shared",
    // With the disturbed launches 0.85 and 2.5 %.
    slots_deviation: 0.0075,
    time_deviation: 0.022,
    deviation_spread: 0.7,
    sample_deviation: 0.02,
    disturbed_one_in: 30,
    ..QUIET
};

/// The machines of the tables.
pub const MACHINES: [Machine; 5] = [
    QUIET,
    SHARED,
    Machine {
        name: "bimodal",
        bimodal: true,
        ..SHARED
    },
    Machine {
        name: "noisy",
        slots_deviation: 0.03,
        time_deviation: 0.08,
        sample_deviation: 0.06,
        disturbed_one_in: 10,
        ..SHARED
    },
    Machine {
        name: "drifting",
        autocorrelation: 0.4,
        session_time_shift: 0.06,
        session_deviation: 0.005,
        ..SHARED
    },
];

/// A machine without other load.
pub const QUIET_MACHINE: Machine = QUIET;

/// The machine for planted changes.
pub const SHARED_MACHINE: Machine = SHARED;
