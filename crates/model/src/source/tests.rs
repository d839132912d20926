//! A model in the test's own process, and the loops that it models.

mod budget;
mod code;
mod cold;
mod repeated;
mod sampled;
mod threads;
mod warmed;
mod windows;

use std::hint::black_box;

use topdown_skipped::{Need, skip};

use topdown_core_model::cores;

use super::core::{Core, ModelDecision};
use super::*;

impl Model {
    /// Opens a model whose threads take turns in the first order.
    fn for_core(
        core: &'static CoreParameters,
        budget: ModelBudget,
        detail: CodeDetail,
        all_threads: bool,
    ) -> Result<Model, OpenError> {
        let config = Config {
            all_threads,
            ..Config::default()
        };
        Model::with_config(core, budget, detail, config)
    }
}

/// Returns the model as users open it, but for this thread alone: the others are those of other
/// tests. Skips the test if code cannot be traced.
fn opened() -> Option<Model> {
    alone(chosen_core(ModelCore::Nearest), DEFAULT_BUDGET_SECONDS)
}

/// Returns a model of one core. Skips the test if code cannot be traced.
fn alone(core: &'static CoreParameters, seconds: f64) -> Option<Model> {
    let budget = ModelBudget::from_seconds(seconds).unwrap();
    or_skip(Model::for_core(core, budget, CodeDetail::Blocks, false))
}

/// Returns a model that counts each instruction by itself.
fn by_instruction() -> Option<Model> {
    let budget = ModelBudget::from_seconds(DEFAULT_BUDGET_SECONDS).unwrap();
    let core = &cores::GOLDEN_COVE;
    or_skip(Model::for_core(
        core,
        budget,
        CodeDetail::Instructions,
        false,
    ))
}

/// Returns a model of one core that samples what is too long: with 0.5 seconds, what costs more
/// than 2.5 million instructions, up to 2250 million.
fn sampling(core: &'static CoreParameters, seconds: f64) -> Option<Model> {
    let model = alone(core, seconds)?;
    of_core(&model, |core| core.budget.samples_long = true);
    Some(model)
}

fn or_skip(model: Result<Model, OpenError>) -> Option<Model> {
    if model.is_err() {
        skip(Need::Model, "code cannot be traced on this machine");
    }
    model.ok()
}

fn of_core<R>(model: &Model, work: impl FnOnce(&mut Core) -> R) -> R {
    let first = |observer: &mut Observer| work(&mut observer.core);
    model.tracer.with_consumer(first).unwrap()
}

/// Uses up the benchmark's budget.
fn spend_budget(model: &Model) {
    of_core(model, |core| {
        core.benchmark.cost_instructions = core.budget.instructions;
        core.benchmark.fate = ModelDecision::Modelled;
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

/// Executes rounds of divisions, and of additions that need fewer slots each, in turn.
fn long(rounds: u64) {
    for round in 0..rounds {
        divisions(200);
        let sum: u64 = (0..500).fold(round, |sum, n| sum.wrapping_add(black_box(n)));
        black_box(sum);
    }
}

/// Makes a launch of a benchmark, as criterion does. Returns the iterations of each sample, and
/// what it says.
fn launch(model: &Model, iteration: impl FnMut()) -> Vec<(u64, Sample)> {
    launch_with(model, || {}, iteration)
}

/// The same. `begin` is called before the window of each sample, as criterion calls the closure of
/// `bench_function`.
fn launch_with(model: &Model, begin: impl Fn(), mut iteration: impl FnMut()) -> Vec<(u64, Sample)> {
    let mut samples = Vec::new();
    model.benchmark_boundary();
    loop {
        let iterations = topdown_run::doubling::iterations(samples.len());
        model.sample_boundary();
        model.between_windows();
        begin();
        let sample = window(model, || (0..iterations).for_each(|_| iteration()));
        model.between_windows();
        let sample = model.completed(&sample);
        model.sample_kept();
        model.sample_boundary();
        samples.push((iterations, sample));
        if !model.wants_more(&sample) {
            return samples;
        }
    }
}

/// Returns the last sample that counts, and its iterations.
fn that_counts(samples: &[(u64, Sample)]) -> (u64, Sample) {
    let is_usable = |of: &&(u64, Sample)| !of.1.flags.intersects(Flags::UNUSABLE);
    *samples.iter().rev().find(is_usable).unwrap()
}
