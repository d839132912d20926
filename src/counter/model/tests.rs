use std::hint::black_box;

use super::core::Fate;
use super::sampled::Sampled;
use super::*;
use crate::event::Event;
use crate::provenance::TOO_LONG;
use topdown_core_model::{Capacity, GROUPS};
use topdown_skipped::{Need, skip};

/// Returns a model of one core, or an error if code cannot be traced.
fn alone(core: &CoreParameters, seconds: f64) -> Result<Model, OpenError> {
    Model::of_cores(number(core), None, Budget::of_seconds(seconds)?)
}

fn number(core: &CoreParameters) -> usize {
    let mut cores = cores::ALL.iter();
    cores.position(|other| other.name == core.name).unwrap()
}

fn of_first<R>(model: &Model, work: impl FnOnce(&mut Core) -> R) -> R {
    let first = |observer: &mut Observer| work(&mut observer.cores[0]);
    model.tracer.with_consumer(first).unwrap()
}

/// Lets the benchmark have used up its budget.
fn spend_budget(model: &Model) {
    of_first(model, |core| {
        core.benchmark.cost_instructions = core.budget.instructions;
        core.benchmark.fate = Fate::Modelled;
    });
}

fn window(model: &Model, work: impl FnOnce()) -> Sample {
    let start = model.start();
    work();
    model.end(&start)
}

/// Executes four divisions per round, each waiting for the one before: in unoptimised builds a
/// round has too many instructions for one of them to be the bottleneck.
fn divisions(rounds: u64) {
    const LARGE: u64 = 1 << 63;
    let divisor = black_box(1_000_003);
    let mut dividend = black_box(u64::MAX);
    for _ in 0..rounds {
        dividend = (dividend / divisor) | LARGE;
        dividend = (dividend / divisor) | LARGE;
        dividend = (dividend / divisor) | LARGE;
        dividend = (dividend / divisor) | LARGE;
    }
    black_box(dividend);
}

#[test]
fn a_window_is_modelled_and_its_slots_add_up() {
    let Ok(model) = Model::open() else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    let sample = window(&model, || divisions(10_000));
    assert_eq!(sample.flags, Flags::NONE);
    let slots = sample.slots.unwrap();
    assert_eq!(sample.level1.unwrap().total_slots(), slots as f64);
    assert!(sample.instructions.unwrap() > 20_000, "{sample:?}");
    let level1 = sample.level1.unwrap();
    let not_retiring = slots as f64 - level1.slots.retiring;
    assert!(
        level1.slots.backend_bound > 0.5 * not_retiring,
        "{sample:?}"
    );
    assert_eq!(model.provenance().source, SourceKind::Model);
    let branches = sample.events.get(Event::Branches).unwrap();
    assert!((10_000..sample.instructions.unwrap()).contains(&branches));
    assert_eq!(sample.events.iter().count(), Event::ALL.len());
}

#[test]
fn the_blocks_of_the_last_kept_sample_have_its_slots() {
    let Ok(model) = Model::open() else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    let slots = |code: &CodeSlots, sample: usize| {
        let costs = code.samples[sample].iter();
        costs.map(|(_, counts)| counts.slots()).sum::<u64>()
    };
    // A warm-up, a sample of one window, one of two.
    model.sample_boundary();
    window(&model, || divisions(1000));
    model.sample_boundary();
    window(&model, || divisions(100));
    model.sample_kept();
    model.sample_boundary();
    let second = window(&model, || divisions(10)).plus(&window(&model, || divisions(20)));
    model.sample_kept();
    let code = model.take_code().unwrap();
    assert_eq!(code.samples.len(), 2);
    assert_eq!(slots(&code, 0), 0, "it warmed up");
    assert_eq!(Some(slots(&code, 1)), second.slots);
    let instructions = code.samples[1].iter().map(|(_, c)| c.instructions).sum();
    assert_eq!(second.instructions, Some(instructions));
    let here = std::env::current_exe().unwrap();
    assert!(code.modules.iter().any(|name| here == *name));
    // The next benchmark starts from scratch.
    assert_eq!(model.take_code(), None);
}

#[test]
fn of_a_warm_up_no_blocks_are_kept() {
    let Ok(model) = Model::open() else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    let mut slots = Vec::new();
    for _ in 0..12 {
        model.sample_boundary();
        slots.push(window(&model, || divisions(10)).slots.unwrap());
        model.sample_kept();
    }
    // A window that does not fit the budget comes last, and takes no room from those that count.
    spend_budget(&model);
    model.sample_boundary();
    assert_eq!(window(&model, || divisions(10)).flags, Flags::NOT_COUNTING);
    model.sample_kept();
    let code = model.take_code().unwrap();
    let sums = code.samples.iter().map(|costs| {
        let slots = costs.iter().map(|(_, counts)| counts.slots());
        slots.sum::<u64>()
    });
    slots[..11].fill(0);
    slots.push(0);
    assert_eq!(sums.collect::<Vec<u64>>(), slots);
}

#[test]
fn a_benchmark_with_a_long_first_window_has_time_alone() {
    let Ok(model) = alone(&cores::GOLDEN_COVE, 0.1) else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    let sample = window(&model, || divisions(100_000));
    assert_eq!(sample.slots, None);
    assert!(sample.wall_ns > 0);
    assert_eq!(model.provenance().source, SourceKind::Time);
    let reason = &model.provenance().reason;
    assert!(reason.contains("more than 0.5 million"), "{reason}");
    assert_eq!(window(&model, || divisions(10)).slots, None);
    model.benchmark_boundary();
    assert!(window(&model, || divisions(10)).slots.is_some());
}

#[test]
fn an_iteration_that_is_traced_in_part_is_not_fingerprinted() {
    let Ok(model) = alone(&cores::GOLDEN_COVE, 0.1) else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    let first_samples = |rounds| {
        for _ in 0..FINGERPRINT_SAMPLES {
            model.sample_boundary();
            window(&model, || divisions(rounds));
            model.sample_kept();
        }
        // `take_code` clears them where other threads are, such as those of other tests.
        let code = model.tracer.with_consumer(|observer| {
            let Observer {
                cores, executed, ..
            } = observer;
            cores[0].take_code(executed, true)
        });
        model.benchmark_boundary();
        code.flatten().unwrap().first_samples
    };
    assert_eq!(first_samples(100_000), []);
    assert_ne!(first_samples(10), []);
}

/// Fills `bytes` with one instruction.
fn fill(bytes: &mut [u8]) {
    // SAFETY: it writes the bytes of the slice, upwards, and changes no other register.
    unsafe {
        std::arch::asm!(
            "rep stosb",
            inout("rcx") bytes.len() => _,
            inout("rdi") bytes.as_mut_ptr() => _,
            in("al") 1_u8,
            options(nostack, preserves_flags)
        );
    }
}

#[test]
fn issue_19_7_what_few_instructions_cost_is_bounded_too() {
    const ITERATION_BYTES: usize = 256 << 10;
    for core in cores::ALL {
        let Ok(model) = alone(core, 0.1) else {
            skip(Need::Model, "code cannot be traced on this machine");
            return;
        };
        let mut bytes = vec![0; 64 * ITERATION_BYTES];
        let mut samples = 0;
        model.sample_boundary();
        loop {
            let iterations = crate::doubling::iterations(samples);
            let sample = window(&model, || {
                (0..iterations).for_each(|_| fill(&mut bytes[..ITERATION_BYTES]));
            });
            assert_eq!(sample.flags, Flags::NONE, "{} {samples}", core.name);
            model.sample_kept();
            model.sample_boundary();
            samples += 1;
            if !model.wants_more_after(&sample) {
                break;
            }
        }
        assert!((3..8).contains(&samples), "{} {samples}", core.name);
        // One iteration that alone costs more than the budget.
        model.benchmark_boundary();
        model.sample_boundary();
        let sample = window(&model, || {
            fill(&mut bytes);
            divisions(10_000);
        });
        assert_eq!(sample.slots, None, "{}", core.name);
        let reason = &model.provenance().reason;
        assert!(
            reason.contains("as costly to model as 0.5 mill"),
            "{reason}"
        );
    }
}

#[test]
fn every_modelled_core_can_be_chosen() {
    let nearest = nearest_core(&Machine::of_this_machine().vendor).name;
    assert_eq!(cores::ALL[number_of(ModelCore::Nearest)].name, nearest);
    let named: Vec<&str> = ModelCore::CHOICES[1..]
        .iter()
        .map(|core| core.name())
        .collect();
    let known: Vec<&str> = cores::ALL.iter().map(|core| core.name).collect();
    assert_eq!(named, known);
    for core in &ModelCore::CHOICES[1..] {
        assert_eq!(cores::ALL[number_of(*core)].name, core.name());
    }
}

#[test]
fn a_window_that_panicked_is_no_part_of_the_next() {
    let Ok(model) = Model::open() else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    let before = window(&model, || divisions(100));
    let panics = || {
        window(&model, || {
            divisions(10_000);
            panic!("planted");
        })
    };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
    assert!(caught.is_err() && model.tracer.is_attached());
    model.sample_boundary();
    let after = window(&model, || divisions(100));
    model.sample_kept();
    let code = model.take_code().unwrap();
    let slots = code.samples[0].iter().map(|(_, counts)| counts.slots());
    assert_eq!(after.slots, Some(slots.sum()));
    assert_eq!(after.flags, Flags::NONE);
    assert_eq!(after.instructions, before.instructions);
    assert!(!model.tracer.is_attached());
}

#[test]
fn a_window_around_another_is_not_counted() {
    let Ok(model) = Model::open() else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    let alone = window(&model, || divisions(100));
    let mut inner = None;
    let outer = window(&model, || {
        divisions(1000);
        inner = Some(window(&model, || divisions(100)));
    });
    assert_eq!(inner.unwrap().instructions, alone.instructions);
    assert_eq!(outer.flags, Flags::NOT_COUNTING);
}

#[test]
fn what_exceeds_the_budget_of_a_benchmark_is_not_counted() {
    let Ok(model) = Model::open() else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    assert_eq!(window(&model, || divisions(10)).flags, Flags::NONE);
    spend_budget(&model);
    assert_eq!(window(&model, || divisions(10)).flags, Flags::NOT_COUNTING);
}

/// Returns the slots of one of `iterations`, spread over this many windows. The cost of empty
/// windows is subtracted as for launch values.
fn slots_of_one(model: &Model, iterations: u64, windows: u64) -> f64 {
    let mut slots = 0;
    // The second run counts.
    for _ in 0..2 {
        model.benchmark_boundary();
        slots = (0..windows)
            .map(|_| {
                window(model, || {
                    (0..iterations / windows).for_each(|_| divisions(1))
                })
            })
            .map(|sample| sample.slots.unwrap())
            .sum();
    }
    let cost = model.provenance().empty_window.unwrap().slots.unwrap() * windows;
    (slots as f64 - cost as f64) / iterations as f64
}

/// The bias that remains after subtracting the windows' cost: less than a hundredth in windows of
/// many iterations, as `iter` and `SmallInput` have. Anything more in short windows is not cost,
/// but the iterations themselves, which do not overlap with those of another window.
#[test]
fn what_windows_cost_leaves_no_bias() {
    for core in cores::ALL {
        let Ok(model) = alone(core, 2.0) else {
            skip(Need::Model, "code cannot be traced on this machine");
            return;
        };
        let (few, many) = (slots_of_one(&model, 4096, 1), slots_of_one(&model, 8192, 1));
        // Windows of different length have the same cost.
        let slope = 2.0 * many - few;
        let bias = |windows| slots_of_one(&model, 4096, windows) / slope - 1.0;
        let biases = [1, 8, 64].map(bias);
        assert!(biases[..2].iter().all(|b| b.abs() < 0.01), "{biases:?}");
        assert!(biases[2].abs() < 0.02, "{biases:?}");
        assert!(bias(4096) > 0.0);
    }
}

/// Executes as many different functions as the model has room for blocks, and more.
#[test]
fn issue_14_11_ever_new_code_does_not_cost_the_next_benchmark_its_slots() {
    let Ok(model) = alone(&cores::GOLDEN_COVE, 2.0) else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    const RETURN: u8 = 0xc3;
    let functions = Capacity::default().blocks + 1000;
    // SAFETY: a new mapping, filled before it is executed, and never given back.
    let code = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let code = libc::mmap(std::ptr::null_mut(), functions, protection, flags, -1, 0);
        assert_ne!(code, libc::MAP_FAILED);
        code.cast::<u8>().write_bytes(RETURN, functions);
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        assert_eq!(libc::mprotect(code, functions, protection), 0);
        code.cast::<u8>()
    };
    let sample = window(&model, || {
        for place in 0..functions {
            // SAFETY: a function that returns at once stands at each place.
            let function: extern "C" fn() = unsafe { std::mem::transmute(code.add(place)) };
            function();
        }
    });
    assert_eq!(sample.slots, None);
    let reason = &model.provenance().reason;
    assert!(reason.contains("more distinct code"), "{reason}");
    model.benchmark_boundary();
    assert!(window(&model, || divisions(10)).slots.is_some());
}

/// Executes rounds of divisions, and of additions that need fewer slots each, in turn.
fn long(rounds: u64) {
    for round in 0..rounds {
        divisions(200);
        let sum: u64 = (0..500).fold(round, |sum, n| sum.wrapping_add(black_box(n)));
        black_box(sum);
    }
}

/// Returns a model that samples what costs more than 2.5 million instructions, up to 2250 million.
fn sampling(core: &'static CoreParameters) -> Option<Model> {
    let Ok(model) = alone(core, 0.5) else {
        skip(Need::Model, "code cannot be traced on this machine");
        return None;
    };
    of_first(&model, |core| core.budget.samples_long = true);
    Some(model)
}

#[test]
fn issue_19_5_what_is_too_long_to_be_modelled_as_a_whole_is_sampled() {
    const ROUNDS: u64 = 500;
    for core in cores::ALL {
        let (Some(model), Ok(whole)) = (sampling(core), alone(core, 100.0)) else {
            return;
        };
        let whole = window(&whole, || long(ROUNDS));
        let mut estimates = Vec::new();
        for iterations in [1, 2] {
            model.sample_boundary();
            let first = window(&model, || long(ROUNDS));
            let sum =
                (1..iterations).fold(first, |sum, _| sum.plus(&window(&model, || long(ROUNDS))));
            let sample = model.completed(&sum);
            model.sample_kept();
            assert_eq!((sample.windows, sample.flags), (iterations, Flags::NONE));
            let groups = of_first(&model, |core| core.groups).unwrap();
            let of_groups: u64 = groups.iter().map(|group| group.slots.unwrap()).sum();
            let mean = of_groups as f64 / GROUPS as f64;
            assert!((mean - sample.slots.unwrap() as f64).abs() < 10.0);
            for group in groups {
                let total = group.level1.unwrap().total_slots();
                assert!((total - group.slots.unwrap() as f64).abs() < 10.0);
            }
            let of_one = |count: Option<u64>| count.unwrap() as f64 / iterations as f64;
            let ratio = of_one(sample.instructions) / whole.instructions.unwrap() as f64;
            assert!((ratio - 1.0).abs() < 1e-3, "{} {ratio}", core.name);
            let ratio = of_one(sample.slots) / whole.slots.unwrap() as f64;
            assert!((ratio - 1.0).abs() < 0.02, "{} {ratio}", core.name);
            estimates.push(sample);
            assert_eq!(model.wants_more_after(&sample), iterations == 1);
        }
        // Iterations after those that are sampled run as they are.
        let after = window(&model, || long(10));
        assert_eq!(after.flags, Flags::NOT_COUNTING);
        assert_eq!(model.completed(&after).flags, Flags::NOT_COUNTING);
        let provenance = model.provenance();
        assert!(provenance.sampled_units > Some(50), "{provenance:?}");
        assert!(
            provenance.reason.ends_with(", iterations sampled"),
            "{provenance:?}"
        );
        let code = model.take_code().unwrap();
        let of_blocks = code.samples[1].iter().map(|(_, counts)| counts.slots());
        assert_eq!(Some(of_blocks.sum()), estimates[1].slots);
        assert_eq!(code.first_samples, []);
        assert_eq!(model.take_groups().len(), GROUPS);
        // The next benchmark is short and exact again.
        model.benchmark_boundary();
        model.sample_boundary();
        let short = window(&model, || divisions(100));
        assert_eq!(model.completed(&short), short);
        assert_eq!(model.provenance().sampled_units, None);
        assert_eq!(model.take_groups(), []);
    }
}

#[test]
fn what_is_too_long_to_be_sampled_has_only_time_and_says_why() {
    let Some(model) = sampling(&cores::GOLDEN_COVE) else {
        return;
    };
    of_first(&model, |core| core.sampled = Sampled::new(250));
    model.sample_boundary();
    let sample = window(&model, || long(2000));
    assert_eq!(sample.slots, None);
    let sample = model.completed(&sample);
    assert_eq!(sample.slots, None);
    let reason = &model.provenance().reason;
    assert!(reason.starts_with(TOO_LONG), "{reason}");
    assert_eq!(model.take_groups(), []);
}

/// Only launches whose samples double are sampled.
#[test]
fn what_is_too_long_for_a_fingerprint_has_none_and_can_be_modelled_all_the_same() {
    let Some(model) = sampling(&cores::ZEN_5) else {
        return;
    };
    of_first(&model, |core| {
        core.budget.samples_long = false;
        core.budget.ends_with_fingerprint = true;
    });
    model.sample_boundary();
    let sample = window(&model, || long(2000));
    assert_eq!(sample.slots, None);
    let reason = &model.provenance().reason;
    assert!(!reason.starts_with(TOO_LONG), "{reason}");
}

/// A benchmark on one core: its samples until the core has enough of it, and what else is known.
struct OnOneCore {
    samples: Vec<Sample>,
    provenance: Provenance,
    groups: Vec<Sample>,
    code: Option<CodeSlots>,
}

impl OnOneCore {
    /// What follows from the instructions that the core looked at.
    fn extent(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let of = |samples: &[Sample]| -> Vec<_> {
            let samples = samples.iter();
            samples
                .map(|s| (s.windows, s.flags, s.instructions.is_some()))
                .collect()
        };
        let whole = self.groups.is_empty();
        let instructions = self
            .samples
            .iter()
            .filter(|_| whole)
            .map(|s| s.instructions);
        let provenance = &self.provenance;
        (
            provenance.formula.clone(),
            provenance.reason.clone(),
            of(&self.samples),
            instructions.collect::<Vec<_>>(),
            of(&self.groups),
            self.code.is_some(),
        )
    }
}

/// Runs a benchmark whose samples double, and returns what each core makes of it.
fn benchmark(model: &Model, iteration: &mut dyn FnMut()) -> Vec<OnOneCore> {
    let mut samples = [Vec::new(), Vec::new()];
    model.sample_boundary();
    for iterations in (0..).map(crate::doubling::iterations) {
        let enough = model.tracer.with_consumer(|observer| {
            let cores = observer.cores.iter();
            cores.map(Core::has_enough).collect::<Vec<_>>()
        });
        let sample = window(model, || (0..iterations).for_each(|_| iteration()));
        let sample = model.completed(&sample);
        model.sample_kept();
        let of_cores = [sample, sample.of_second_core()];
        for ((samples, of_core), had_enough) in
            samples.iter_mut().zip(of_cores).zip(enough.unwrap())
        {
            match had_enough {
                true if of_core.slots.is_some() => assert_eq!(of_core.flags, Flags::NOT_COUNTING),
                true => {}
                false => samples.push(of_core),
            }
        }
        model.sample_boundary();
        if !model.wants_more_after(&sample) {
            break;
        }
    }
    let [of_first, of_second] = samples;
    let mut of_cores = vec![OnOneCore {
        samples: of_first,
        provenance: model.provenance().clone(),
        groups: model.take_groups(),
        code: model.take_code(),
    }];
    if let Some(second) = model.take_on_second_core() {
        of_cores.push(OnOneCore {
            samples: of_second,
            provenance: second.provenance,
            groups: second.groups,
            code: second.code,
        });
    }
    model.benchmark_boundary();
    of_cores
}

/// Returns memory in a mapping of its own. The model places mappings, and otherwise this one would
/// be joined with memory of the models, of which a process has another number each time.
fn own_mapping(bytes: usize) -> &'static mut [u8] {
    const GUARD_BYTES: usize = 1 << 16;
    let whole = bytes + 2 * GUARD_BYTES;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, which nothing else knows of. What lies between its inaccessible ends
    // is readable, writable and 0, and stays until the process ends.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), whole, libc::PROT_NONE, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        let start = start.cast::<u8>().add(GUARD_BYTES);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        assert_eq!(libc::mprotect(start.cast(), bytes, protection), 0);
        std::slice::from_raw_parts_mut(start, bytes)
    }
}

/// The two do not agree bit for bit only because another `Model` in the same process has its memory
/// at other addresses: `cargo-topdown/tests/bench/cores.rs` compares processes.
#[test]
fn issue_19_6_each_of_two_cores_looks_at_what_it_would_look_at_alone() {
    let bytes = own_mapping(4 << 20);
    let mut run = |first: usize, second: Option<usize>| -> Option<Vec<Vec<OnOneCore>>> {
        let model = Model::of_cores(first, second, Budget::of_seconds(0.1).unwrap());
        let Ok(model) = model else {
            skip(Need::Model, "code cannot be traced on this machine");
            return None;
        };
        for core in 0..=usize::from(second.is_some()) {
            model.tracer.with_consumer(|observer| {
                observer.cores[core].budget.samples_long = true;
            });
        }
        let mut all = vec![
            benchmark(&model, &mut || divisions(10)),
            benchmark(&model, &mut || long(200)),
        ];
        // What it costs to model these differs between the cores.
        for size in (16..=22).flat_map(|power| [2 << power, 3 << power]) {
            let bytes = &mut bytes[..(size as usize).min(4 << 20)];
            all.push(benchmark(&model, &mut || fill(bytes)));
        }
        Some(all)
    };
    let [one, other] = [&cores::GOLDEN_COVE, &cores::ZEN_5].map(number);
    let (Some(of_one), Some(of_other)) = (run(one, None), run(other, None)) else {
        return;
    };
    let Some(of_both) = run(one, Some(other)) else {
        return;
    };
    let mut differently_long = 0;
    let mut sampled = 0;
    for ((both, one), other) in of_both.iter().zip(&of_one).zip(&of_other) {
        for (beside, alone) in [(&both[0], &one[0]), (&both[1], &other[0])] {
            assert_eq!(beside.extent(), alone.extent());
            let slots = |of: &OnOneCore| of.samples.last().unwrap().slots;
            if let (Some(beside), Some(alone)) = (slots(beside), slots(alone)) {
                let ratio = beside as f64 / alone as f64;
                assert!((ratio - 1.0).abs() < 0.02, "{beside} slots, alone {alone}");
            }
        }
        differently_long += usize::from(one[0].samples.len() != other[0].samples.len());
        sampled += usize::from(!one[0].groups.is_empty());
    }
    assert!(differently_long > 0 && sampled > 0);
}

/// Makes a launch of a benchmark, as criterion does. Returns the iterations of each sample, and
/// what it says.
fn launch(model: &Model, mut iteration: impl FnMut()) -> Vec<(u64, Sample)> {
    let mut samples = Vec::new();
    model.benchmark_boundary();
    loop {
        let iterations = crate::doubling::iterations(samples.len());
        model.sample_boundary();
        let sample = window(model, || (0..iterations).for_each(|_| iteration()));
        let sample = model.completed(&sample);
        model.sample_kept();
        model.sample_boundary();
        samples.push((iterations, sample));
        if !model.wants_more_after(&sample) {
            return samples;
        }
    }
}

/// Returns the last sample that counts, and its iterations.
fn that_counts(samples: &[(u64, Sample)]) -> (u64, Sample) {
    let is_usable = |of: &&(u64, Sample)| !of.1.flags.intersects(Flags::UNUSABLE);
    *samples.iter().rev().find(is_usable).unwrap()
}

/// Looks up numbers in a table that was filled before, and does some work after each.
fn lookups(table: &[u64], count: u64, work: u64) -> impl FnMut() {
    let mut state = 0x1234_5678_9abc_def1_u64;
    move || {
        for _ in 0..count {
            let number = table[(state >> 20) as usize % table.len()];
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ (number | 1);
            for _ in 0..work {
                black_box(number);
            }
        }
        black_box(state);
    }
}

/// The iterations have 1 to 2 million instructions, more than a fifteenth of the budget.
#[test]
fn issue_19_4_data_that_fits_a_cache_is_warm_although_few_iterations_count() {
    const WORDS_PER_KIB: usize = 128;
    let cases = [
        (512, 2_000, 10, Event::L2Misses, 0.0..0.01),
        (4096, 20_000, 0, Event::L3Misses, 0.0..0.01),
        (256 * 1024, 20_000, 0, Event::L3Misses, 0.7..1.0),
    ];
    for core in cores::ALL {
        for (kib, count, work, event, expected) in cases.clone() {
            let table: Vec<u64> = (0..(kib * WORDS_PER_KIB) as u64).collect();
            let Ok(model) = alone(core, 1.0) else {
                skip(Need::Model, "code cannot be traced on this machine");
                return;
            };
            of_first(&model, |core| core.budget.samples_long = true);
            let (iterations, sample) = that_counts(&launch(&model, lookups(&table, count, work)));
            let misses = sample.events.get(event).unwrap() as f64;
            let per_lookup = misses / (count * iterations) as f64;
            assert!(
                expected.contains(&per_lookup),
                "{} {kib} {per_lookup}",
                core.name
            );
            let provenance = model.provenance();
            assert!(provenance.warmed_iterations > Some(25), "{provenance:?}");
            assert_eq!(provenance.cold_fraction, None);
            // Its blocks stand for all iterations, too.
            let code = model.take_code().unwrap();
            let of_blocks = code.samples.last().unwrap().iter();
            let slots: u64 = of_blocks.map(|(_, counts)| counts.slots()).sum();
            assert_eq!(Some(slots), sample.slots);
            assert_eq!(
                Some(sample.level1.unwrap().total_slots() as u64),
                sample.slots
            );
        }
    }
}

/// Its windows end where no iteration does.
#[test]
fn issue_19_4_what_does_not_repeat_as_often_as_expected_counts_as_before() {
    let Ok(model) = alone(&cores::ZEN_5, 0.5) else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    of_first(&model, |core| core.budget.samples_long = true);
    let mut calls = 0;
    let samples = launch(&model, || {
        calls += 1;
        divisions(if calls > 3 { 80_000 } else { 20_000 });
    });
    let (iterations, sample) = that_counts(&samples);
    assert!(sample.slots > Some(0), "{samples:?}");
    assert!(iterations >= 2, "{samples:?}");
}

/// As `iter_batched` does with its outputs: stores to lines that nothing touched before, for which
/// nothing waits.
#[test]
fn what_hides_the_latency_of_new_lines_is_hardly_cold() {
    for core in cores::ALL {
        let Ok(model) = alone(core, 0.5) else {
            skip(Need::Model, "code cannot be traced on this machine");
            return;
        };
        of_first(&model, |core| core.budget.samples_long = true);
        let mut outputs = vec![0_u64; 1 << 20];
        let mut next = 0;
        let samples = launch(&model, || {
            outputs[next % (1 << 20)] = next as u64;
            next += 1;
        });
        let (_, sample) = that_counts(&samples);
        let (level2, slots) = (sample.level2.unwrap(), sample.slots.unwrap() as f64);
        let waiting = level2.sum() - level2.retiring;
        let cold = model.provenance().cold_fraction.unwrap_or(0.0);
        assert!(
            cold <= waiting / slots,
            "{}: {cold}, {waiting} of {slots}",
            core.name
        );
    }
}
