//! How noisy a machine is: what the simulation assumes.
//!
//! The sizes are assumptions, not measurements: launch-to-launch noise of slots on many machines
//! has not been published. They are set so that the typical launch of a shared machine differs by
//! about 1 % of its slots, one in ten by more than 2 %, and times by three times as much; virtual
//! machines differ by far more in time. How the noise of a benchmark is spread over its categories is
//! in `suite`.

/// The noise of a machine. Fractions are of the slots per iteration, or of the time per slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// What reports call it.
    pub name: &'static str,
    /// The median over benchmarks of the standard deviation between launches, of slots.
    pub slots_deviation: f64,
    /// The same of the time per slot.
    pub time_deviation: f64,
    /// How much these deviations differ between benchmarks: the standard deviation of their
    /// logarithm. At least that of the slots which the shares alone make, 0.4.
    pub deviation_spread: f64,
    /// The standard deviation between the samples of a launch.
    pub sample_deviation: f64,
    /// One launch in this many is disturbed: it takes three of its deviations more.
    pub disturbed_one_in: u32,
    /// Whether each launch of each benchmark falls by chance into one of two modes (address
    /// layout), 2 to 8 % of its slots apart.
    pub bimodal: bool,
    /// How much of a launch's noise is that of the launch before (first-order autoregression).
    pub autocorrelation: f64,
    /// Time per slot on everything: candidate over baseline, less 1.
    pub session_time_shift: f64,
    /// The standard deviation over benchmarks of what differs between the two sessions and not
    /// between launches, of slots and of time per slot.
    pub session_deviation: f64,
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

/// A machine that does nothing else.
pub const QUIET_MACHINE: Machine = QUIET;

/// The machine on which planted changes are looked for.
pub const SHARED_MACHINE: Machine = SHARED;
