//! Two cores that receive one trace.

use super::*;

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
    for iterations in (0..).map(topdown_run::doubling::iterations) {
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
fn two_cores_see_what_each_sees_alone() {
    let bytes = own_mapping(4 << 20);
    let mut run = |first: usize, second: Option<usize>| -> Option<Vec<Vec<OnOneCore>>> {
        let model = of_cores(first, second, 0.1)?;
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
            let is_usable = |of: &&Sample| !of.flags.intersects(Flags::UNUSABLE);
            let slots = |of: &OnOneCore| of.samples.iter().rev().find(is_usable).unwrap().slots;
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
