//! Sampling: the units say what all of the execution costs, and nothing else changes.

mod program;

use iced_x86::code_asm::*;
use program::{Program, Random};
use topdown_core_model::cores::ALL;
use topdown_core_model::{Counts, Effort, Estimate, GROUPS, Model, Plan, Sampling};

const PLAN: Plan = Plan {
    unit: 1000,
    lead: 500,
    warming: 2000,
    long_period: u64::MAX,
    following: 0,
    units_per_stage: 4 * GROUPS as u64,
};

/// Block 0: 8 instructions, a load among them. Block 1: 6, a chain of multiplications. Each ends
/// with a branch.
fn program() -> Program {
    Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.mov(rax, ptr(rdi)).unwrap();
        for _ in 0..5 {
            a.add(rcx, rax).unwrap();
        }
        a.test(rcx, rcx).unwrap();
        a.je(top).unwrap();
        for _ in 0..5 {
            a.imul_2(rbx, rbx).unwrap();
        }
        a.jne(top).unwrap();
    })
}

/// Pairs of block and address. The first half loads from 1 MiB in no order, the second multiplies
/// for the most part.
fn path() -> Vec<(usize, u64)> {
    let mut random = Random(7);
    (0..400_000)
        .map(|step| {
            let address = 0x1000_0000 + random.next() % (1 << 20);
            let multiplies = step > 200_000 && !random.next().is_multiple_of(4);
            (usize::from(multiplies), address)
        })
        .collect()
}

fn instructions(block: usize) -> u64 {
    [8, 6][block]
}

fn sampled(model: &mut Model, plan: Plan, expected: Option<u64>) -> Estimate {
    let (program, mut sampling) = (program(), Sampling::new(plan));
    sampling.begin(model, expected);
    let mut all = 0;
    for (block, address) in path() {
        program.step(model, block, address);
        sampling.advance(model, instructions(block));
        all += instructions(block);
    }
    sampling.end(model);
    assert_eq!(sampling.instructions(), all);
    sampling.estimate().unwrap()
}

fn whole(model: &mut Model) -> Counts {
    let program = program();
    for (block, address) in path() {
        program.step(model, block, address);
    }
    model.drain();
    model.counts()
}

#[test]
fn mean_of_units_matches_whole_execution() {
    let plan = Plan {
        units_per_stage: 2 * PLAN.units_per_stage,
        ..PLAN
    };
    for core in ALL {
        let whole = whole(&mut program().model(core));
        for expected in [None, Some(whole.events.instructions)] {
            let estimate = sampled(&mut program().model(core), plan, expected);
            let mean = |count: fn(&Counts) -> u64| {
                let groups = estimate.groups.iter();
                groups.map(|group| count(group) as f64).sum::<f64>() / GROUPS as f64
            };
            let close = |count: fn(&Counts) -> u64, most: f64| {
                let off = (mean(count) - count(&whole) as f64) / whole.slots.total() as f64;
                assert!(off.abs() < most, "{} {expected:?} {off}", core.name);
            };
            close(|counts| counts.slots.total(), 0.04);
            close(|counts| counts.slots.memory_bound, 0.04);
            close(|counts| counts.slots.core_bound, 0.04);
            close(|counts| counts.events.instructions, 1e-6);
            close(|counts| counts.events.branches, 0.01);
        }
    }
}

/// The loads of the program go to 64 KiB, which move on through memory: all that a period needs was
/// accessed in the 100 000 instructions before.
#[test]
fn only_the_end_of_a_long_period_is_followed() {
    const STEPS: u64 = 400_000;
    let program = program();
    for core in ALL {
        let step = |model: &mut Model, random: &mut Random, step| {
            let line = step / 12 + random.next() % 1024;
            program.step(model, 0, 0x1000_0000 + line * 64);
        };
        let (mut model, mut random) = (program.model(core), Random(7));
        (0..STEPS).for_each(|n| step(&mut model, &mut random, n));
        let whole = model.counts().slots.total() as f64;
        let off = |following| {
            // Periods have 224 000 instructions.
            let mut sampling = Sampling::new(Plan {
                unit: 8000,
                lead: 4000,
                units_per_stage: GROUPS as u64 / 2,
                long_period: 223_999,
                following,
                ..PLAN
            });
            let (mut model, mut random) = (program.model(core), Random(7));
            sampling.begin(&mut model, Some(STEPS * instructions(0)));
            for n in 0..STEPS {
                step(&mut model, &mut random, n);
                sampling.advance(&mut model, instructions(0));
            }
            sampling.end(&mut model);
            let estimate = sampling.estimate().unwrap();
            assert!(estimate.units.abs_diff(14) <= 1, "{}", estimate.units);
            let groups = estimate.groups.iter();
            let sum: u64 = groups.map(|group| group.slots.total()).sum();
            sum as f64 / GROUPS as f64 / whole - 1.0
        };
        assert!(off(110_000).abs() < 0.03, "{} {}", core.name, off(110_000));
        assert!(off(0) > 0.08, "{} {}", core.name, off(0));
    }
}

#[test]
fn known_length_has_equal_periods_else_stages() {
    let units = |expected| sampled(&mut program().model(ALL[0]), PLAN, expected).units;
    let instructions: u64 = path().iter().map(|&(block, _)| instructions(block)).sum();
    let period = 3500_u64;
    let mut left = instructions;
    let mut stages = 0;
    for length in (0..).map(|stage| 40 * (period << stage)) {
        if left < length {
            break;
        }
        left -= length;
        stages += 1;
    }
    let last = left / (period << stages);
    assert!((40 * stages + last).abs_diff(units(None)) <= 1);
    // 2.8 million instructions in periods of 28 000.
    assert!((instructions / 28_000).abs_diff(units(Some(instructions))) <= 1);
}

#[test]
fn same_execution_has_same_units() {
    for core in ALL {
        let sample = || sampled(&mut program().model(core), PLAN, None);
        assert_eq!(sample(), sample());
    }
}

#[test]
fn cheap_modes_count_nothing_and_warm_caches() {
    for core in ALL {
        for effort in [Effort::Warming, Effort::Skimming, Effort::Following] {
            let program = program();
            let mut model = program.model(core);
            model.set_effort(effort);
            let lines = (0..1000_u64).map(|line| 0x1000_0000 + line * 64);
            for address in lines.clone() {
                program.step(&mut model, 0, address);
            }
            assert_eq!(model.counts(), Counts::default());
            model.set_effort(Effort::Detail);
            for address in lines {
                program.step(&mut model, 0, address);
            }
            let events = model.counts().events;
            assert_eq!((events.l2_misses, events.dtlb_walks), (0, 0), "{effort:?}");
        }
    }
}

#[test]
fn execution_shorter_than_a_unit_has_no_result() {
    let program = program();
    let mut model = program.model(ALL[0]);
    let mut sampling = Sampling::new(PLAN);
    sampling.begin(&mut model, None);
    for _ in 0..300 {
        program.step(&mut model, 1, 0);
        sampling.advance(&mut model, instructions(1));
    }
    sampling.end(&mut model);
    assert_eq!(sampling.instructions(), 1800);
    assert_eq!(sampling.estimate(), None);
}
