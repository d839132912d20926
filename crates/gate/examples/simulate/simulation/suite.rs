//! Suites of simulated benchmarks, run on simulated machines down to the single sample.
//!
//! Numbers pass through everything that real ones do: samples of linearly growing length, integer
//! counts, categories in steps of 1/255, and launch values by [`launch_value`].

use fastrand::Rng;
use topdown_gate::scenario::normal;
use topdown_run::category::PerCategory;
use topdown_run::machine::Machine as MachineIdentity;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{
    Benchmark, BenchmarkId, Build, IterationSample, LaunchSettings, LaunchValue, Run, Selection,
    SlotsValue,
};
use topdown_run::sample::{Level1, Sample};

use super::machine::{Machine, SlotsDrift, UNLUCKY_SLOWER};
use topdown_gate::metric::Metric;
use topdown_gate::statistics::launch::{Taken, launch_value};

/// Samples per launch, the default of `cargo topdown bench`.
const SAMPLES: u64 = 20;
/// Fewest slots of a sample: about ten microseconds.
const MIN_SAMPLE_SLOTS: f64 = 100_000.0;
/// Steps of the 8-bit ratios.
const STEPS: f64 = 255.0;
/// The noise of each category relative to its size. Retiring hardly varies; branch predictor and
/// frontend belong to the core and depend on the layout of a launch; caches and memory are shared
/// with everything that runs.
const CATEGORY_NOISE: [f64; 4] = [0.05, 0.5, 0.5, 1.0];
/// The effect of a drawn benchmark's shares on [`CATEGORY_NOISE`]: the median, and the standard
/// deviation of the logarithm. A test draws them.
const TYPICAL_NOISE: f64 = 0.296;
const NOISE_SPREAD: f64 = 0.40;

/// A change of some benchmarks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlantedChange {
    /// A category, or only wall-clock time.
    pub metric: Metric,
    /// The smallest and largest change, as fractions of the baseline's slots or time. Each
    /// benchmark has its own size in between.
    pub sizes: [f64; 2],
    /// The benchmarks.
    pub which: Subset,
    /// In how many of the candidate's launches, from 0 to 1.
    pub launches_fraction: f64,
}

impl PlantedChange {
    /// A change of `size` in every `every`-th benchmark.
    pub const fn every(every: usize, metric: Metric, size: f64) -> PlantedChange {
        PlantedChange {
            metric,
            sizes: [size; 2],
            which: Subset {
                of: every,
                first: 0,
                count: 1,
            },
            launches_fraction: 1.0,
        }
    }
}

/// `count` of every `of` benchmarks, starting with number `first`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subset {
    pub of: usize,
    pub first: usize,
    pub count: usize,
}

impl Subset {
    fn has(self, index: usize) -> bool {
        (self.first..self.first + self.count).contains(&(index % self.of))
    }
}

/// A launch that differs from the others because something went wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WildLaunch {
    /// The run that has one for every benchmark.
    pub session: Session,
    /// Its slowdown factor.
    pub factor: f64,
}

/// What is planted in a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub metric: Metric,
    pub size: f64,
    /// In how many of the candidate's launches, from 0 to 1.
    pub launches_fraction: f64,
}

/// Backend bound, in the arrays here.
const BACKEND: usize = 3;

/// Returns the metric's category index in the arrays here.
fn category_index(metric: Metric) -> Option<usize> {
    match metric {
        Metric::Retiring => Some(0),
        Metric::BadSpeculation => Some(1),
        Metric::FrontendBound => Some(2),
        Metric::BackendBound => Some(BACKEND),
        _ => None,
    }
}

/// A simulated benchmark.
struct Workload {
    slots: f64,
    shares: [f64; 4],
    slots_deviation: f64,
    time_deviation: f64,
    mode_distance: f64,
    ns_per_slot: f64,
    /// What the candidate's session adds.
    session: ([f64; 4], f64),
    /// The position of its change between the smallest and the largest.
    size: f64,
}

/// How a suite is run.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub session: Session,
    pub launches: u32,
    pub planted: &'a [PlantedChange],
    pub wild: Option<WildLaunch>,
    pub kind: Kind,
}

/// Where the numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Counters.
    Counted,
    /// A model, whose slots have no noise; time keeps its own.
    Modelled,
    /// Only time.
    TimeAlone,
    /// As many of the first benchmarks have only time; the others are modelled.
    TimeBesideModelled(TimeOnly),
}

/// Benchmarks without slots, in a suite where others have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOnly {
    /// How many.
    pub benchmarks: usize,
    /// Additional time of all of them in the candidate's session, since the machine affects them
    /// more than others.
    pub longer_percent: i32,
}

impl Kind {
    /// Returns the kind of the benchmark with this number, and how many times as long it takes in
    /// the candidate's session.
    fn of_benchmark(self, index: usize) -> (Kind, f64) {
        match self {
            Kind::TimeBesideModelled(of_time) if index < of_time.benchmarks => (
                Kind::TimeAlone,
                1.0 + f64::from(of_time.longer_percent) / 100.0,
            ),
            Kind::TimeBesideModelled(_) => (Kind::Modelled, 1.0),
            kind => (kind, 1.0),
        }
    }
}

/// Simulated benchmarks on a machine.
pub struct Suite {
    machine: Machine,
    workloads: Vec<Workload>,
}

/// One of the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session {
    /// The run that is compared with.
    Baseline,
    /// The run that is judged.
    Candidate,
}

impl Suite {
    /// Draws `size` benchmarks from `rng`.
    pub fn draw(machine: Machine, size: usize, rng: &mut Rng) -> Suite {
        // The sizes of changes have their own generator: planting must not change the suite.
        let mut sizes = Rng::with_seed(!rng.get_seed());
        let common = common_drift(&machine, rng);
        let workloads = (0..size)
            .map(|_| Workload {
                size: sizes.f64(),
                ..Workload::draw(&machine, common, rng)
            })
            .collect();
        Suite { machine, workloads }
    }

    /// Starts another session of the candidate.
    pub fn begin_session(&mut self, rng: &mut Rng) {
        let common = common_drift(&self.machine, rng);
        for workload in &mut self.workloads {
            workload.session = session(&self.machine, workload.shares, common, rng);
        }
    }

    /// Starts another session for all further runs, as before each earlier one: any two sessions
    /// differ as far as baseline and candidate of the machine do.
    pub fn begin_other_session(&mut self, rng: &mut Rng) {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let machine = Machine {
            session_time_shift: half * self.machine.session_time_shift * normal(rng),
            session_deviation: half * self.machine.session_deviation,
            ..self.machine
        };
        let common = common_drift(&machine, rng);
        for workload in &mut self.workloads {
            workload.session = session(&machine, workload.shares, common, rng);
        }
    }

    /// Returns which metric of the benchmark with this number `planted` changes, and by how much.
    pub fn change(&self, index: usize, planted: &[PlantedChange]) -> Option<Change> {
        let planted = planted.iter().find(|planted| planted.which.has(index))?;
        let [least, largest] = planted.sizes;
        Some(Change {
            metric: planted.metric,
            size: least + (largest - least) * self.workloads[index].size,
            launches_fraction: planted.launches_fraction,
        })
    }

    /// Returns whether the benchmark with this number is among the third that is most backend
    /// bound.
    pub fn is_backend_heavy(&self, index: usize) -> bool {
        let share = self.workloads[index].shares[BACKEND];
        let larger = self.workloads.iter().filter(|w| w.shares[BACKEND] > share);
        3 * larger.count() < self.workloads.len()
    }

    /// Launches every benchmark whose number `wanted` accepts `launches` times; the others have no
    /// launches.
    pub fn run(&self, plan: &Plan<'_>, wanted: impl Fn(usize) -> bool, rng: &mut Rng) -> Run {
        let Plan {
            session, launches, ..
        } = *plan;
        let benchmarks = self
            .workloads
            .iter()
            .enumerate()
            .map(|(index, workload)| {
                let (kind, longer) = plan.kind.of_benchmark(index);
                let mut process = Process {
                    longer,
                    machine: &self.machine,
                    workload,
                    session,
                    planted: self.change(index, plan.planted),
                    wild: plan.wild.filter(|wild| wild.session == session),
                    unlucky_one_in: self.machine.unlucky_one_in_of(index),
                    state: [0.0; 5],
                };
                let launches = if wanted(index) { launches } else { 0 };
                let launches: Vec<LaunchValue> = (0..launches)
                    .filter_map(|launch| process.launch(launch, rng))
                    .collect();
                match kind {
                    Kind::Counted => benchmark(index, SourceKind::Hardware, launches),
                    Kind::Modelled => {
                        let launches = workload.modelled(launches, process.planted);
                        benchmark(index, SourceKind::Model, launches)
                    }
                    Kind::TimeAlone | Kind::TimeBesideModelled(_) => {
                        benchmark(index, SourceKind::Time, timed(launches))
                    }
                }
            })
            .collect();
        run(benchmarks, launches)
    }
}

/// Drift of each category between two sessions, relative to that of the slots. Retiring does not
/// drift.
const CATEGORY_DRIFT: [f64; 4] = [0.0, 0.3, 0.3, 1.0];
/// The root mean square of the backend-bound share of drawn benchmarks. A test draws them.
const TYPICAL_BACKEND: f64 = 0.320;

/// Draws what all benchmarks of a suite have in common of a session, in deviations.
fn common_drift(machine: &Machine, rng: &mut Rng) -> f64 {
    if machine.drift_in_common > 0.0 {
        normal(rng)
    } else {
        0.0
    }
}

/// Draws what a session adds to a benchmark with these shares: to each category, and to the time
/// per slot.
fn session(machine: &Machine, shares: [f64; 4], common: f64, rng: &mut Rng) -> ([f64; 4], f64) {
    let in_common = machine.drift_in_common;
    let mut drawn = || in_common.sqrt() * common + (1.0 - in_common).sqrt() * normal(rng);
    let deviation = machine.session_deviation;
    let categories = match machine.drift {
        SlotsDrift::Even => {
            // The squares of the categories' deviations add up to that of the slots.
            let whole: f64 = CATEGORY_DRIFT.iter().map(|weight| weight * weight).sum();
            CATEGORY_DRIFT.map(|weight| weight * deviation / whole.sqrt() * drawn())
        }
        SlotsDrift::Proportional => {
            let factor = deviation * drawn();
            shares.map(|share| share * factor)
        }
        SlotsDrift::BackendBound => {
            let backend = shares[BACKEND] / TYPICAL_BACKEND * deviation * drawn();
            [0.0, 0.0, 0.0, backend]
        }
    };
    let time = 1.0 + machine.session_deviation * normal(rng);
    (categories, (1.0 + machine.session_time_shift) * time)
}

impl Workload {
    /// Returns the launches as if their slots were modelled: those of the workload with what is
    /// planted, without noise. The time stays as measured.
    fn modelled(
        &self,
        mut launches: Vec<LaunchValue>,
        planted: Option<Change>,
    ) -> Vec<LaunchValue> {
        let mut categories = self.shares;
        if let Some(change) = planted
            && let Some(category) = category_index(change.metric)
        {
            categories[category] += change.size;
        }
        let categories = PerCategory::from(categories.map(|fraction| self.slots * fraction));
        for launch in &mut launches {
            launch.slots = Some(SlotsValue {
                launch: launch.time.launch,
                samples_used: launch.time.samples_used,
                slots: categories.sum(),
                level1: Some(Level1 {
                    slots: categories,
                    smt_contention_slots: None,
                }),
                ..SlotsValue::default()
            });
        }
        launches
    }

    fn draw(machine: &Machine, common: f64, rng: &mut Rng) -> Workload {
        let retiring = 0.2 + 0.5 * rng.f64();
        // Exponential weights: some benchmarks are bound by one thing, some by several.
        let weights = [0.5, 1.0, 2.0].map(|typical| 0.05 - typical * (1.0 - rng.f64()).ln());
        let rest: f64 = weights.iter().sum();
        let [bad, fe, be] = weights.map(|weight| (1.0 - retiring) * weight / rest);
        let shares = [retiring, bad, fe, be];
        let deviation =
            |median: f64, spread: f64, rng: &mut Rng| median * (spread * normal(rng)).exp();
        let typical = machine.slots_deviation / TYPICAL_NOISE;
        // The shares cause part of the spread; the rest is drawn.
        let rest_of_spread = (machine.deviation_spread.powi(2) - NOISE_SPREAD.powi(2)).sqrt();
        Workload {
            slots: 10_f64.powf(3.0 + 4.0 * rng.f64()),
            shares,
            slots_deviation: deviation(typical, rest_of_spread, rng) * noise_of(shares),
            time_deviation: deviation(machine.time_deviation, machine.deviation_spread, rng),
            mode_distance: if machine.bimodal {
                0.02 + 0.06 * rng.f64()
            } else {
                0.0
            },
            ns_per_slot: 1.0 / 24.0,
            session: session(machine, shares, common, rng),
            size: 0.0,
        }
    }

    /// Returns how much of the launch noise is in each category; the squares add up to 1.
    fn noise_weights(&self) -> [f64; 4] {
        let whole = noise_of(self.shares);
        std::array::from_fn(|c| CATEGORY_NOISE[c] * self.shares[c] / whole)
    }
}

/// Returns how noisy a benchmark with these shares is, by [`CATEGORY_NOISE`].
fn noise_of(shares: [f64; 4]) -> f64 {
    let noise = shares.iter().zip(CATEGORY_NOISE);
    let variance: f64 = noise.map(|(share, noise)| (share * noise).powi(2)).sum();
    variance.sqrt()
}

/// The launches of a benchmark, one after the other.
struct Process<'a> {
    machine: &'a Machine,
    workload: &'a Workload,
    session: Session,
    planted: Option<Change>,
    wild: Option<WildLaunch>,
    /// One launch in this many takes an unlucky path; 0 for none.
    unlucky_one_in: u32,
    /// Factor on the time of the candidate's session, since the benchmark is of a kind that
    /// the machine affects more.
    longer: f64,
    /// The previous launch's noise: of each category, and of the time.
    state: [f64; 5],
}

impl Process<'_> {
    fn launch(&mut self, launch: u32, rng: &mut Rng) -> Option<LaunchValue> {
        let Workload {
            slots,
            slots_deviation,
            time_deviation,
            mode_distance,
            ..
        } = *self.workload;
        let rho = self.machine.autocorrelation;
        for value in &mut self.state {
            *value = rho * *value + (1.0 - rho * rho).sqrt() * normal(rng);
        }
        let weights = self.workload.noise_weights();
        // Fractions of the mean slots.
        let mut categories: [f64; 4] = std::array::from_fn(|c| {
            self.workload.shares[c] + slots_deviation * weights[c] * self.state[c]
        });
        let mut ns_per_slot =
            self.workload.ns_per_slot * (1.0 + time_deviation * self.state[4]).max(0.1);
        if rng.u32(..self.machine.disturbed_one_in) == 0 {
            categories[3] += 3.0 * slots_deviation;
            ns_per_slot *= 1.0 + 3.0 * time_deviation;
        }
        if rng.bool() {
            categories[3] += mode_distance;
        }
        if self.session == Session::Candidate {
            for (category, drift) in categories.iter_mut().zip(self.workload.session.0) {
                *category += drift;
            }
            ns_per_slot *= self.workload.session.1 * self.longer;
        }
        let happens = |fraction: f64, rng: &mut Rng| fraction >= 1.0 || rng.f64() < fraction;
        if let Some(change) = self.planted
            && happens(change.launches_fraction, rng)
        {
            match category_index(change.metric) {
                Some(index) => categories[index] += change.size,
                None => ns_per_slot *= 1.0 + change.size,
            }
        }
        if self.unlucky_one_in > 0 && rng.u32(..self.unlucky_one_in) == 0 {
            categories[BACKEND] += UNLUCKY_SLOWER;
        }
        if let Some(wild) = self.wild.filter(|_| launch == 0) {
            categories = categories.map(|category| category * wild.factor);
        }
        let unit = (MIN_SAMPLE_SLOTS / slots).ceil().max(1.0) as u64;
        let samples: Vec<IterationSample> = (1..=SAMPLES)
            .map(|n| {
                self.sample(
                    n * unit,
                    categories.map(|fraction| slots * fraction.max(0.0)),
                    ns_per_slot,
                    rng,
                )
            })
            .collect();
        launch_value(launch, &samples, Taken::OnTheMachine, None)
    }

    fn sample(
        &self,
        iterations: u64,
        mut categories: [f64; 4],
        ns_per_slot: f64,
        rng: &mut Rng,
    ) -> IterationSample {
        let noise = self.machine.sample_deviation;
        categories[3] *= (1.0 + noise * normal(rng)).max(0.0);
        // Something else disturbs one sample in thirty.
        if rng.u32(..30) == 0 {
            categories[3] += categories.iter().sum::<f64>() * (0.1 + rng.f64());
        }
        let slots_per_iteration: f64 = categories.iter().sum();
        let slots = (slots_per_iteration * iterations as f64).round();
        let categories = PerCategory::from(categories)
            .map(|category| (category / slots_per_iteration * STEPS).round() / STEPS * slots);
        IterationSample {
            iterations,
            sample: Sample {
                windows: 1,
                wall_ns: (slots * ns_per_slot * (1.0 + noise * normal(rng)).max(0.1)) as u64,
                slots: Some(slots as u64),
                level1: Some(Level1 {
                    slots: categories,
                    smt_contention_slots: None,
                }),
                resolution_slots: slots / STEPS,
                ..Sample::EMPTY
            },
        }
    }
}

/// Returns the same launches on a machine that can only measure time.
fn timed(launches: Vec<LaunchValue>) -> Vec<LaunchValue> {
    let timed = |launch: LaunchValue| LaunchValue {
        slots: None,
        ..launch
    };
    launches.into_iter().map(timed).collect()
}

fn benchmark(index: usize, source: SourceKind, launches: Vec<LaunchValue>) -> Benchmark {
    Benchmark::of_launches(
        BenchmarkId {
            package: "simulated".to_owned(),
            target: "suite".to_owned(),
            name: format!("{index:05}"),
        },
        Provenance {
            slots_per_cycle: (source != SourceKind::Time).then_some(6),
            ..Provenance::new(source, "simulated/1", "simulated")
        },
        launches,
    )
}

fn run(benchmarks: Vec<Benchmark>, launches: u32) -> Run {
    Run {
        id: "simulated".to_owned(),
        started_at: "1970-01-01T00:00:00Z".to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: MachineIdentity::default(),
        build: Build::default(),
        launch_settings: LaunchSettings {
            launches,
            sample_size: 20,
            warm_up_ms: 0,
            measurement_ms: 0,
        },
        competing_threads: None,
        shard: None,
        failed: Vec::new(),
        selection: Selection::default(),
        benchmarks,
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::SHARED_MACHINE;
    use super::*;

    #[test]
    fn noise_follows_machine_and_shares() {
        let mut rng = Rng::with_seed(1);
        let suite = Suite::draw(SHARED_MACHINE, 20_000, &mut rng);
        let median = |quantity: fn(&Workload) -> f64| {
            topdown_gate::statistics::median(suite.workloads.iter().map(quantity).collect())
                .unwrap()
        };
        let noise = median(|workload| noise_of(workload.shares));
        assert!((noise / TYPICAL_NOISE - 1.0).abs() < 0.02, "{noise}");
        let squares = suite.workloads.iter().map(|w| w.shares[BACKEND].powi(2));
        let backend = (squares.sum::<f64>() / suite.workloads.len() as f64).sqrt();
        assert!((backend / TYPICAL_BACKEND - 1.0).abs() < 0.02, "{backend}");
        let slots = median(|workload| workload.slots_deviation);
        assert!(
            (slots / SHARED_MACHINE.slots_deviation - 1.0).abs() < 0.05,
            "{slots}"
        );
        let logarithms: Vec<f64> = suite
            .workloads
            .iter()
            .map(|workload| workload.slots_deviation.ln())
            .collect();
        let spread = topdown_gate::statistics::variance(&logarithms).sqrt();
        assert!(
            (spread / SHARED_MACHINE.deviation_spread - 1.0).abs() < 0.05,
            "{spread}"
        );
    }
}
