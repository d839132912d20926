//! Situations in which a gate may err although it keeps its rates otherwise: many changes at once,
//! sessions that drift, a launch that went wrong, a small suite with only time.

use super::machine::{Machine, QUIET_MACHINE, SHARED_MACHINE, SlotsDrift};
use super::{Design, Experiment, Kind, PlantedChange, Session, Subset, TimeOnly, WildLaunch};
use topdown_gate::metric::Metric;

/// Returns `machine` with this standard deviation, over benchmarks, of the difference between two
/// sessions.
pub const fn drifting(machine: Machine, deviation: f64) -> Machine {
    Machine {
        session_deviation: deviation,
        ..machine
    }
}

const TEN: Design = Design {
    baseline: 10,
    candidate: 10,
    second_look: None,
};

/// Many changes at once.
#[derive(Clone, Copy, Debug)]
pub struct Broad {
    pub name: &'static str,
    pub benchmarks: usize,
    pub planted: &'static [PlantedChange],
    /// See [`drifting`].
    pub drift: f64,
}

impl Broad {
    pub fn on(self, machine: Machine, seed: u64, suites: u64) -> Experiment<'static> {
        Experiment {
            seed,
            suites,
            benchmarks: self.benchmarks,
            machine: drifting(machine, self.drift),
            design: TEN,
            planted: self.planted,
            wild: None,
            kind: Kind::Counted,
            other_code_every: 0,
            earlier: 0,
        }
    }
}

const fn changed(of: usize, count: usize, sizes: [f64; 2]) -> PlantedChange {
    PlantedChange {
        metric: Metric::BackendBound,
        sizes,
        which: Subset {
            of,
            first: 0,
            count,
        },
        launches_fraction: 1.0,
    }
}

const ONE_BESIDE_IMPROVEMENTS: [PlantedChange; 2] = [
    PlantedChange::every(12, Metric::BackendBound, 0.20),
    changed(12, 8, [-0.05, -0.30]),
];
const THREE_IN_FIVE: [PlantedChange; 1] = [changed(5, 3, [0.05, 0.30])];
const ALL_BY_10: [PlantedChange; 1] = [changed(1, 1, [0.0, 0.10])];
const ONE_IN_TEN: [PlantedChange; 1] = [PlantedChange::every(10, Metric::BackendBound, 0.05)];

const fn broad(name: &'static str, benchmarks: usize, planted: &'static [PlantedChange]) -> Broad {
    Broad {
        name,
        benchmarks,
        planted,
        drift: 0.0,
    }
}

/// Suites in which much changed, and one in which little did, for comparison.
pub const BROAD: [Broad; 10] = [
    broad(
        "12, 7 slower by 5-30 %",
        12,
        &[changed(12, 7, [0.05, 0.30])],
    ),
    broad(
        "12, 7 faster by 5-30 %, one +20 %",
        12,
        &ONE_BESIDE_IMPROVEMENTS,
    ),
    broad(
        "12, all slower by 5-30 %",
        12,
        &[changed(1, 1, [0.05, 0.30])],
    ),
    broad("12, all slower by 0-10 %", 12, &ALL_BY_10),
    broad("200, 3 in 5 slower by 5-30 %", 200, &THREE_IN_FIVE),
    Broad {
        drift: 0.01,
        ..broad("200, the same, drift 1 %", 200, &THREE_IN_FIVE)
    },
    broad(
        "200, all slower by 0-40 %",
        200,
        &[changed(1, 1, [0.0, 0.40])],
    ),
    broad("200, all slower by 0-10 %", 200, &ALL_BY_10),
    broad("200, 1 in 10 slower by 5 %", 200, &ONE_IN_TEN),
    Broad {
        drift: 0.01,
        ..broad("200, the same, drift 1 %", 200, &ONE_IN_TEN)
    },
];

/// A wild launch in every benchmark.
pub const WILD: [(&str, Option<WildLaunch>); 5] = [
    ("none wild", None),
    ("base 2 x", wild(Session::Baseline, 2.0)),
    ("base 10 x", wild(Session::Baseline, 10.0)),
    ("candidate 2 x", wild(Session::Candidate, 2.0)),
    ("candidate 10 x", wild(Session::Candidate, 10.0)),
];
/// Additional changes.
pub const WILD_CHANGES: [(&str, &[PlantedChange]); 3] = [
    ("nothing changed", &[]),
    (
        "one in ten +20 %",
        &[PlantedChange::every(10, Metric::BackendBound, 0.2)],
    ),
    (
        "one in ten +100 %",
        &[PlantedChange::every(10, Metric::BackendBound, 1.0)],
    ),
];

const fn wild(session: Session, factor: f64) -> Option<WildLaunch> {
    Some(WildLaunch { session, factor })
}

/// The wild launch `wild` and the change `planted` in a suite of thirty.
pub fn with_wild(
    wild: Option<WildLaunch>,
    planted: &'static [PlantedChange],
    machine: Machine,
    seed: u64,
    suites: u64,
) -> Experiment<'static> {
    Experiment {
        wild,
        ..broad("", 30, planted).on(machine, seed, suites)
    }
}

/// How times drift between two sessions.
#[derive(Clone, Copy, Debug)]
pub struct TimeDrift {
    /// The standard deviation of each benchmark.
    pub deviation: f64,
    /// That of the machine as a whole.
    pub shift: f64,
}

/// From no drift to that of a machine under other load.
pub const DRIFTS_OF_TIME: [TimeDrift; 3] = [
    TimeDrift {
        deviation: 0.0,
        shift: 0.0,
    },
    TimeDrift {
        deviation: 0.04,
        shift: 0.12,
    },
    TimeDrift {
        deviation: 0.12,
        shift: -0.12,
    },
];
/// From suites of one benchmark to large ones.
pub const SIZES_OF_TIME: [usize; 13] = [1, 2, 3, 5, 7, 8, 9, 10, 12, 16, 30, 100, 200];
/// Runs of a history, including the baseline.
pub const EARLIER_RUNS: usize = 10;
/// One benchmark of the suite takes 30 % longer.
pub const ONE_SLOWER_IN_TIME: [PlantedChange; 1] = [PlantedChange {
    metric: Metric::Wall,
    sizes: [0.3; 2],
    which: Subset {
        of: usize::MAX,
        first: 0,
        count: 1,
    },
    launches_fraction: 1.0,
}];

/// One benchmark in ten takes 8 % longer.
pub const LONGER_AT_FLAT_SLOTS: [PlantedChange; 1] = [PlantedChange::every(10, Metric::Wall, 0.08)];
/// One benchmark in ten takes 2.2 times as long.
pub const DOUBLED_TIME: [PlantedChange; 1] = [PlantedChange::every(10, Metric::Wall, 1.2)];

impl TimeDrift {
    /// Suites with only time.
    pub fn experiment(
        self,
        benchmarks: usize,
        planted: &'static [PlantedChange],
        seed: u64,
        suites: u64,
    ) -> Experiment<'static> {
        let machine = Machine {
            session_time_shift: self.shift,
            ..drifting(SHARED_MACHINE, self.deviation)
        };
        Experiment {
            kind: Kind::TimeAlone,
            machine,
            ..broad("", benchmarks, planted).on(machine, seed, suites)
        }
    }

    /// The same beside 60 benchmarks with modelled slots, which the machine affects less.
    pub fn beside_modelled(
        self,
        of_time: TimeOnly,
        planted: &'static [PlantedChange],
        seed: u64,
        suites: u64,
    ) -> Experiment<'static> {
        Experiment {
            kind: Kind::TimeBesideModelled(of_time),
            ..self.experiment(of_time.benchmarks + MODELLED_BESIDE, planted, seed, suites)
        }
    }
}

const MODELLED_BESIDE: usize = 60;
/// Numbers of benchmarks with only time, where others have slots.
pub const SIZES_BESIDE_MODELLED: [usize; 6] = [1, 2, 3, 5, 12, 39];
/// Additional effect of the machine on these, in percent.
pub const LONGER_BESIDE_MODELLED: [i32; 3] = [0, 30, -30];

/// Sizes of suites whose sessions differ by each kind of drift.
pub const SIZES_OF_DRIFT_KINDS: [usize; 4] = [4, 8, 30, 200];
/// Sizes of suites in which only the sessions differ.
pub const SIZES_OF_DRIFT: [usize; 3] = [12, 30, 200];

/// An unchanged suite that drifts.
pub fn unchanged(machine: Machine, benchmarks: usize, drift: f64) -> Experiment<'static> {
    Broad {
        drift,
        ..broad("", benchmarks, &[])
    }
    .on(machine, 1, 1)
}

/// How slots drift between two sessions.
#[derive(Clone, Copy, Debug)]
pub struct Drifting {
    pub name: &'static str,
    pub of_slots: SlotsDrift,
    /// Fraction of its variance that all benchmarks have in common.
    pub in_common: f64,
}

const fn drifts(name: &'static str, of_slots: SlotsDrift, in_common: f64) -> Drifting {
    Drifting {
        name,
        of_slots,
        in_common,
    }
}

/// The kinds of drift.
pub const DRIFTING: [Drifting; 6] = [
    drifts("even", SlotsDrift::Even, 0.0),
    drifts("even, half in common", SlotsDrift::Even, 0.5),
    drifts("proportional", SlotsDrift::Proportional, 0.0),
    drifts("backend bound", SlotsDrift::BackendBound, 0.0),
    drifts(
        "backend bound, half in common",
        SlotsDrift::BackendBound,
        0.5,
    ),
    drifts("backend bound, in common", SlotsDrift::BackendBound, 0.9),
];

impl Drifting {
    /// Returns `machine` with this drift.
    pub const fn on(self, machine: Machine, deviation: f64) -> Machine {
        Machine {
            session_deviation: deviation,
            drift: self.of_slots,
            drift_in_common: self.in_common,
            ..machine
        }
    }
}

/// Sizes of suites that are too small to show their drift well.
pub const SMALL_SUITES: [usize; 5] = [1, 2, 4, 6, 8];

/// Known drift of a small suite.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub name: &'static str,
    /// Earlier runs, including the baseline.
    pub earlier: usize,
    /// See [`Experiment::other_code_every`].
    pub other_code_every: usize,
}

const fn known(name: &'static str, earlier: usize, other_code_every: usize) -> Known {
    Known {
        name,
        earlier,
        other_code_every,
    }
}

pub const KNOWN: [Known; 5] = [
    known("two runs", 0, 0),
    known("6 earlier runs", 6, 0),
    known("10 earlier runs", 10, 0),
    known("1 in 2 changed", 0, 2),
    known("1 in 8 changed", 0, 8),
];

/// One benchmark in ten has 5 % more backend-bound slots.
pub const SLOWER_BACKEND: [PlantedChange; 1] = ONE_IN_TEN;
/// One benchmark in ten retires 5 % more.
pub const SLOWER_RETIRING: [PlantedChange; 1] = [PlantedChange::every(10, Metric::Retiring, 0.05)];

/// Correlations of consecutive launches.
pub const AUTOCORRELATIONS: [f64; 3] = [0.3, 0.6, 0.9];

/// A slow path that only some launches of one benchmark in ten take: in how many, and by how much.
pub const SLOW_PATHS: [(f64, f64); 5] =
    [(0.1, 1.0), (0.2, 1.0), (0.3, 0.5), (0.5, 0.3), (0.3, 0.1)];

/// Sizes of the suites whose years are simulated.
pub const SIZES_OF_YEARS: [usize; 4] = [1, 3, 8, 30];
/// Differences between their sessions.
pub const DRIFTS_OF_YEARS_PERCENT: [u32; 2] = [1, 4];
/// The false alarms that a year may have.
pub const YEARLY: [Option<f64>; 3] = [None, Some(2.0), Some(0.5)];

/// Sizes of suites in which single launches are slow.
pub const SIZES_OF_SLOW_PATHS: [usize; 2] = [8, 50];

/// Machines on which launches are slow by accident, or by a path that is not new.
pub const UNLUCKY: [(&str, u32, usize); 3] =
    [("", 0, 0), (", 1 in 50", 50, 0), (", old paths", 0, 10)];

/// Returns one benchmark in ten with such a path.
pub const fn slow_path(launches_fraction: f64, size: f64) -> PlantedChange {
    PlantedChange {
        launches_fraction,
        ..PlantedChange::every(10, Metric::BackendBound, size)
    }
}

/// The machines for these simulations.
pub const SCENARIO_MACHINES: [Machine; 2] = [QUIET_MACHINE, SHARED_MACHINE];

#[cfg(test)]
mod tests {
    use super::*;

    /// Large suites take long in a debug build; the example itself runs them.
    fn small() -> impl Iterator<Item = Broad> {
        BROAD.into_iter().map(|broad| Broad {
            benchmarks: broad.benchmarks.min(60),
            ..broad
        })
    }

    #[test]
    fn suite_with_many_changes_fails_and_names_them() {
        // Of changes between 0 and 10 %, seven in ten are at least 3 %.
        let least = [0.9, 1.0, 0.95, 0.55, 0.7, 0.5, 0.85, 0.6, 0.9, 0.1];
        for (broad, least) in small().zip(least) {
            let suites = 480 / broad.benchmarks as u64 / 2;
            let tally = broad.on(QUIET_MACHINE, 20261122, suites).run();
            assert!(tally.power() >= least, "{}: {tally:?}", broad.name);
            assert!(
                broad.drift > 0.0 || 10 * tally.suites_failing >= 9 * tally.suites,
                "{}: {tally:?}",
                broad.name
            );
            assert_eq!(tally.false_alarms, 0, "{}: {tally:?}", broad.name);
        }
    }

    #[test]
    fn unchanged_drifting_suites_pass() {
        for (benchmarks, suites) in [(12, 20), (60, 4)] {
            for drift in [0.01, 0.03] {
                let tally = Experiment {
                    seed: 20261122,
                    suites,
                    ..unchanged(QUIET_MACHINE, benchmarks, drift)
                }
                .run();
                assert!(
                    tally.suites_failing <= 1,
                    "{benchmarks}, {drift}: {tally:?}"
                );
            }
        }
    }

    #[test]
    fn one_wild_launch_hides_nothing_and_fails_nothing() {
        for (name, wild) in WILD {
            for (change, planted) in WILD_CHANGES {
                let tally = with_wild(wild, planted, SHARED_MACHINE, 20261122, 4).run();
                assert_eq!(tally.found, tally.planted, "{name}, {change}: {tally:?}");
                assert_eq!(tally.false_alarms, 0, "{name}, {change}: {tally:?}");
            }
        }
    }

    #[test]
    fn time_only_false_alarms_are_at_most_5_percent() {
        for drift in DRIFTS_OF_TIME {
            let (mut suites, mut failing) = (0, 0);
            for benchmarks in SIZES_OF_TIME.into_iter().filter(|&size| size <= 30) {
                let number = 60 / benchmarks.max(6) as u64;
                let tally = drift.experiment(benchmarks, &[], 20261122, number).run();
                suites += tally.suites;
                failing += tally.suites_failing;
            }
            assert!(20 * failing <= suites, "{drift:?}: {failing} of {suites}");
        }
    }

    #[test]
    fn drift_of_time_only_benchmarks_fails_none() {
        for drift in DRIFTS_OF_TIME {
            let (mut suites, mut failing) = (0, 0);
            for benchmarks in [2, 5, 12] {
                let of_time = TimeOnly {
                    benchmarks,
                    longer_percent: 30,
                };
                let tally = drift.beside_modelled(of_time, &[], 20261124, 12).run();
                suites += tally.suites;
                failing += tally.suites_failing;
            }
            assert!(20 * failing <= suites, "{drift:?}: {failing} of {suites}");
        }
        let of_time = TimeOnly {
            benchmarks: 12,
            longer_percent: 30,
        };
        let tally = DRIFTS_OF_TIME[0]
            .beside_modelled(of_time, &ONE_SLOWER_IN_TIME, 20261124, 20)
            .run();
        assert!(tally.found >= 10, "{tally:?}");
    }

    /// If drift were even in differences rather than ratios, 5 to 13 of 100 suites of more than
    /// thirty benchmarks would fail.
    #[test]
    fn large_time_only_suite_fails_no_more_than_small() {
        let tally = DRIFTS_OF_TIME[2].experiment(200, &[], 20261122, 24).run();
        assert!(tally.suites_failing <= 1, "{tally:?}");
    }

    /// Suites of five find the fewest, 88 of 100: of 30, fewer than 20 are found by chance once in
    /// 500 times.
    #[test]
    fn earlier_runs_let_one_time_only_benchmark_fail() {
        for drift in DRIFTS_OF_TIME {
            for benchmarks in [1, 2, 3, 4, 5, 12] {
                let experiment = |planted| Experiment {
                    earlier: EARLIER_RUNS,
                    ..drift.experiment(benchmarks, planted, 20261122, 30)
                };
                let unchanged = experiment(&[]).run();
                assert!(
                    unchanged.suites_failing <= 3,
                    "{drift:?}, {benchmarks}: {unchanged:?}"
                );
                let slower = experiment(&ONE_SLOWER_IN_TIME).run();
                assert!(
                    drift.deviation > 0.0 || slower.found >= 20,
                    "{drift:?}, {benchmarks}: {slower:?}"
                );
            }
        }
    }

    #[test]
    fn larger_time_only_suites_find_more() {
        let found = |benchmarks| {
            let drift = DRIFTS_OF_TIME[0];
            let suites = 20;
            drift
                .experiment(benchmarks, &ONE_SLOWER_IN_TIME, 20261122, suites)
                .run()
                .found
        };
        let (two, eight, sixteen) = (found(2), found(8), found(16));
        assert_eq!(two, 0);
        assert!(eight >= 10 && sixteen >= 18, "{eight}, {sixteen}");
    }
}
