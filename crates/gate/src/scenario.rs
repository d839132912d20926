//! Runs for tests of this crate and its users: benchmarks with known means and a known spread
//! between launches.

use topdown_run::category::PerCategory;
use topdown_run::code::CodeCounts;
use topdown_run::event::{Event, Events};
use topdown_run::machine::Machine;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{
    Benchmark, BenchmarkId, Build, CallPath, CallPaths, CalledFunction, Fingerprint, Function,
    FunctionFingerprint, Functions, Hash, LaunchSettings, LaunchValue, OtherFunctions, Run,
    Selection, Series, SlotsValue, SourceLine, TimeValue,
};
use topdown_run::sample::Level1;

/// Mean slots per iteration of the four categories in every scenario.
pub const SPLIT: PerCategory<f64> = PerCategory::in_order([400.0, 100.0, 150.0, 350.0]);

/// The properties of one benchmark.
#[derive(Clone, Copy)]
pub struct Planted {
    /// Added to each category's slots, as fractions of all slots.
    pub categories: PerCategory<f64>,
    /// A factor on the time per slot.
    pub time_per_slot: f64,
    /// The standard deviation between launches, as a fraction of the slots.
    pub deviation: f64,
    /// The number of launches.
    pub launches: u32,
    /// Selects the noise.
    pub seed: u64,
}

impl Default for Planted {
    fn default() -> Planted {
        Planted {
            categories: PerCategory::default(),
            time_per_slot: 1.0,
            deviation: 0.004,
            launches: 10,
            seed: 1,
        }
    }
}

/// A benchmark of the hardware source, with level 2.
pub fn benchmark(name: &str, planted: Planted) -> Benchmark {
    let total = SPLIT.sum();
    let mut noise = NormalNumbers(planted.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash(name));
    let launches = (0..planted.launches)
        .map(|launch| {
            // Retiring is nearly free of noise on real machines.
            let weight = PerCategory::in_order([0.1, 0.5, 0.5, 1.0]);
            let split = PerCategory::from_fn(|c| {
                let noise = weight[c] * planted.deviation * noise.next();
                SPLIT[c] + total * (planted.categories[c] + noise)
            });
            let slots = split.sum();
            Launch {
                launch,
                samples_used: 20,
                samples_dropped: 0,
                wall_ns: slots / 24.0
                    * planted.time_per_slot
                    * (1.0 + planted.deviation * noise.next()),
                slots: Some(slots),
                level1: Some(Level1 {
                    slots: split,
                    smt_contention_slots: None,
                }),
                level2: Some(PerCategory {
                    retiring: 0.1 * split.retiring,
                    bad_speculation: 0.9 * split.bad_speculation,
                    frontend_bound: 0.6 * split.frontend_bound,
                    backend_bound: 100.0 + 0.9 * (split.backend_bound - 350.0),
                }),
                instructions: Some(split.retiring * 0.9),
                cycles: Some(slots / 6.0),
                events: Events::NONE,
                resolution_fraction: 1.0 / 255.0,
                window_fraction: None,
            }
        })
        .collect();
    with_launches(name, SourceKind::Hardware, launches)
}

/// Like [`benchmark`], with only time.
pub fn timed(name: &str, planted: Planted) -> Benchmark {
    Benchmark {
        times: Series {
            provenance: provenance(SourceKind::Time).into(),
            launches: benchmark(name, planted).times.launches,
        },
        slots: None,
        ..benchmark(name, planted)
    }
}

/// Like [`benchmark`], on a modelled core whose launches agree bit for bit: at most two, in
/// addition to those of the clock.
pub fn modelled(name: &str, planted: Planted) -> Benchmark {
    let quiet = Planted {
        deviation: 0.0,
        launches: planted.launches.min(2),
        ..planted
    };
    let modelled = |slots: &SlotsValue| SlotsValue {
        resolution_fraction: 0.0,
        ..slots.clone()
    };
    let slots = benchmark(name, quiet);
    Benchmark {
        slots: Some(Series {
            provenance: provenance(SourceKind::Model).into(),
            launches: slots.slots_launches().iter().map(modelled).collect(),
        }),
        ..timed(name, planted)
    }
}

/// Like [`modelled`], but sampled: each launch is a group of units.
pub fn sampled(name: &str, planted: Planted) -> Benchmark {
    let mut sampled = modelled(name, planted);
    sampled.provenance_mut().sampled_units = Some(100 * u64::from(planted.launches));
    if let Some(slots) = &mut sampled.slots {
        slots.launches = benchmark(name, planted).slots_launches().to_vec();
        for group in &mut slots.launches {
            group.resolution_fraction = 0.0;
        }
    }
    sampled
}

fn provenance(source: SourceKind) -> Provenance {
    let (formula, slots_per_cycle) = match source {
        SourceKind::Hardware => ("intel-perf-metrics/1", Some(6)),
        SourceKind::Model => ("model-golden-cove/1", Some(6)),
        SourceKind::Time => ("time/1", None),
    };
    Provenance {
        slots_per_cycle,
        ..Provenance::new(source, formula, "a test")
    }
}

/// Values of one launch; [`LaunchValue`] without its two parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launch {
    /// Which launch.
    pub launch: u32,
    /// Samples used.
    pub samples_used: u32,
    /// Samples dropped.
    pub samples_dropped: u32,
    /// Time per iteration.
    pub wall_ns: f64,
    /// Slots per iteration.
    pub slots: Option<f64>,
    /// By category.
    pub level1: Option<Level1>,
    /// The measured part of each.
    pub level2: Option<PerCategory<f64>>,
    /// Retired.
    pub instructions: Option<f64>,
    /// Unhalted.
    pub cycles: Option<f64>,
    /// Other counts.
    pub events: Events<f64>,
    /// Of the slots.
    pub resolution_fraction: f64,
    /// Of the slots.
    pub window_fraction: Option<f64>,
}

impl From<Launch> for LaunchValue {
    fn from(launch: Launch) -> LaunchValue {
        LaunchValue {
            time: TimeValue {
                launch: launch.launch,
                samples_used: launch.samples_used,
                samples_dropped: launch.samples_dropped,
                wall_ns: launch.wall_ns,
            },
            slots: launch.slots.map(|slots| SlotsValue {
                launch: launch.launch,
                samples_used: launch.samples_used,
                samples_dropped: launch.samples_dropped,
                slots,
                level1: launch.level1,
                level2: launch.level2,
                instructions: launch.instructions,
                cycles: launch.cycles,
                events: launch.events.into(),
                resolution_fraction: launch.resolution_fraction,
                window_fraction: launch.window_fraction,
            }),
        }
    }
}

/// A benchmark with these values, whatever they are.
pub fn with_launches(name: &str, source: SourceKind, launches: Vec<Launch>) -> Benchmark {
    let launches = launches.into_iter().map(LaunchValue::from);
    Benchmark::of_launches(id(name), provenance(source), launches)
}

/// The benchmark with these slots in its schedules, as multiples of its own slots.
pub fn in_schedules(mut benchmark: Benchmark, slots: &[f64]) -> Benchmark {
    let Some(own) = benchmark.slots.clone() else {
        return benchmark;
    };
    let schedule = |(launch, factor): (u32, &f64)| {
        let mut schedule = own.launches[0].clone();
        schedule.launch = launch;
        schedule.slots *= factor;
        schedule.level1 = schedule.level1.map(|level1| Level1 {
            slots: level1.slots.map(|slots| slots * factor),
            ..level1
        });
        schedule
    };
    benchmark.schedules = Some(Series {
        launches: (0..).zip(slots).map(schedule).collect(),
        ..own
    });
    benchmark
}

/// A benchmark that executed these functions, each with a hash of its code.
pub fn with_fingerprint(benchmark: Benchmark, data: u64, functions: &[(&str, u64)]) -> Benchmark {
    let code = functions.iter().map(|(_, code)| code).sum();
    let functions = functions.iter().map(|(name, code)| FunctionFingerprint {
        name: Some((*name).to_owned()),
        module: None,
        code: Hash(*code),
    });
    Benchmark {
        fingerprint: Some(Fingerprint {
            code: Hash(code),
            data: Hash(data),
            functions: functions.collect(),
        }),
        ..benchmark
    }
}

/// A modelled benchmark with these functions: each with a name, a module and its slots per
/// iteration by category.
pub fn with_functions(
    benchmark: Benchmark,
    functions: &[(Option<&str>, Option<&str>, [u64; 4])],
) -> Benchmark {
    const ITERATIONS: u64 = 10;
    let counts = |[ret, bad, fe, be]: [u64; 4]| CodeCounts {
        instructions: ret * ITERATIONS * 9 / 10,
        level1_slots: PerCategory::in_order([ret, bad, fe, be]).map(|slots| slots * ITERATIONS),
        level2_slots: PerCategory::in_order([ret, bad * ITERATIONS, fe * 6, be * 3]),
    };
    Benchmark {
        functions: Some(Box::new(Functions {
            iterations: ITERATIONS,
            largest: functions
                .iter()
                .map(|(name, module, slots)| Function {
                    name: name.map(str::to_owned),
                    module: module.map(str::to_owned),
                    counts: counts(*slots),
                    category_hits: None,
                    category_margin: None,
                })
                .collect(),
            others: Some(OtherFunctions {
                functions: 12,
                counts: counts([4, 0, 1, 1]),
            }),
            sampled: None,
            lock: None,
        })),
        ..benchmark
    }
}

/// A modelled benchmark whose functions have all kinds of names.
pub fn with_some_functions(name: &str) -> Benchmark {
    let very_long = "<core::iter::adapters::filter_map::FilterMap<\
        core::slice::iter::Iter<suite::record::Record>, suite::parse::{{closure}}> as \
        core::iter::traits::iterator::Iterator>::next";
    with_functions(
        modelled(name, Planted::default()),
        &[
            (Some("suite::parse::number"), None, [200, 90, 20, 40]),
            (Some(very_long), None, [100, 10, 100, 100]),
            (None, Some("libc.so.6"), [30, 0, 9, 150]),
            (Some("malloc"), Some("libc.so.6"), [60, 0, 20, 20]),
            (None, None, [4, 0, 0, 20]),
            (None, Some("[vdso]"), [2, 0, 0, 19]),
        ],
    )
}

/// A modelled benchmark whose slots have call paths: criterion's loop, which calls `scan` in two
/// ways, with `more` backend bound slots per iteration in the function that `scan` calls.
pub fn with_call_paths(name: &str, more: u64) -> Benchmark {
    const ITERATIONS: u64 = 10;
    let counts = |[ret, bad, fe, be]: [u64; 4]| CodeCounts {
        instructions: ret * ITERATIONS,
        level1_slots: PerCategory::in_order([ret, bad, fe, be]).map(|slots| slots * ITERATIONS),
        level2_slots: PerCategory::default(),
    };
    let function = |name: &str, module: Option<&str>| CalledFunction {
        name: Some(name.to_owned()),
        module: module.map(str::to_owned),
    };
    let path = |caller, function, line: u32, slots| CallPath {
        caller,
        function,
        called_at: (line > 0).then(|| SourceLine {
            file: "src/parse.rs".to_owned(),
            line,
            in_workspace: true,
        }),
        counts: counts(slots),
    };
    let planted = Planted {
        categories: PerCategory {
            backend_bound: more as f64 / 1000.0,
            ..PerCategory::default()
        },
        ..Planted::default()
    };
    let benchmark = with_functions(
        modelled(name, planted),
        &[
            (Some("suite::parse::scan"), None, [200, 40, 60, 100]),
            (Some("memcpy"), Some("libc.so.6"), [100, 0, 50, 150 + more]),
            (Some("suite::parse::number"), None, [150, 50, 20, 10]),
            (
                Some("criterion::bencher::Bencher<M>::iter"),
                None,
                [50, 0, 10, 4],
            ),
        ],
    );
    Benchmark {
        call_paths: Some(CallPaths {
            iterations: ITERATIONS,
            functions: vec![
                function("criterion::bencher::Bencher<M>::iter", None),
                function("suite::parse::scan", None),
                function("memcpy", Some("libc.so.6")),
                function("suite::parse::number", None),
            ],
            paths: vec![
                path(None, 0, 0, [54, 0, 11, 5]),
                path(Some(0), 1, 12, [200, 40, 60, 100]),
                path(Some(1), 2, 40, [100, 0, 50, 150 + more]),
                path(Some(0), 3, 13, [150, 50, 20, 10]),
            ],
        }),
        ..benchmark
    }
}

/// Returns `benchmark` with this many allocations per iteration, of this many bytes in total.
pub fn allocating(mut benchmark: Benchmark, times: f64, bytes: f64) -> Benchmark {
    for launch in benchmark.slots_launches_mut() {
        launch.events = launch
            .events
            .with(Event::Allocations, times)
            .with(Event::AllocatedBytes, bytes)
            .with(Event::Reallocations, 0.0)
            .with(Event::ReallocatedBytes, 0.0)
            .with(Event::Frees, times)
            .into();
    }
    benchmark
}

/// A modelled benchmark before and after: one function has 100 of 1000 slots more, one disappeared
/// and one is new.
pub fn with_a_grown_function(name: &str) -> [Benchmark; 2] {
    let side = |backend_bound, functions: &[(Option<&str>, Option<&str>, [u64; 4])]| {
        let planted = Planted {
            categories: PerCategory {
                backend_bound,
                ..PerCategory::default()
            },
            ..Planted::default()
        };
        with_functions(modelled(name, planted), functions)
    };
    let (scan, copy) = (Some("suite::parse::scan"), Some("memcpy"));
    let before = [
        (scan, None, [200, 90, 80, 200]),
        (Some("suite::parse::old_number"), None, [100, 10, 50, 104]),
        (copy, Some("libc.so.6"), [96, 0, 19, 45]),
    ];
    let after = [
        (scan, None, [200, 90, 80, 300]),
        (Some("suite::parse::new_number"), None, [100, 10, 50, 104]),
        (copy, Some("libc.so.6"), [96, 0, 19, 45]),
    ];
    [side(0.0, &before), side(0.1, &after)]
}

/// `suite::bench::name`.
pub fn id(name: &str) -> BenchmarkId {
    BenchmarkId {
        package: "suite".to_owned(),
        target: "bench".to_owned(),
        name: name.to_owned(),
    }
}

/// A run of these benchmarks.
pub fn run(benchmarks: Vec<Benchmark>) -> Run {
    Run {
        id: "20261120-1".to_owned(),
        started_at: "2026-11-20T10:00:00Z".to_owned(),
        tool_version: "0.1.0".to_owned(),
        machine: Machine {
            architecture: "x86_64".to_owned(),
            vendor: "GenuineIntel".to_owned(),
            family: 6,
            model: 143,
            stepping: 8,
            name: "Intel(R) Xeon(R) Platinum 8481C".to_owned(),
            smt_active: Some(true),
            cpus: 8,
            kernel: Some("6.12.1".to_owned()),
            ..Machine::default()
        },
        build: Build {
            rustc: "rustc 1.91.0".to_owned(),
            profile: "bench".to_owned(),
            target: "x86_64-unknown-linux-gnu".to_owned(),
            debug_information: Some(false),
            git_commit: Some("8c5b1f0e2d4a69b7c3e1f5a8d2b4c6e8f0a1b3c5".to_owned()),
            git_dirty: Some(false),
            ..Build::default()
        },
        launch_settings: LaunchSettings {
            launches: 10,
            sample_size: 20,
            warm_up_ms: 100,
            measurement_ms: 400,
        },
        competing_threads: None,
        shard: None,
        failed: Vec::new(),
        selection: Selection::default(),
        benchmarks,
    }
}

/// Normal-looking numbers: sums of twelve from a linear congruential generator.
struct NormalNumbers(u64);

impl NormalNumbers {
    fn next(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Draws a standard normal value by Box–Muller.
pub fn normal(rng: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}
