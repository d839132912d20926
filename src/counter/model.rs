//! Where slots would go on a modelled core: for machines without a PMU.
//!
//! The window's instructions are traced while they execute ([`topdown_tracer`]) and run through a
//! model of a core ([`topdown_core_model`]). Tracing is some hundred times slower than the code
//! itself, so the time that a modelled window takes means nothing: whoever wants both measures time
//! in launches of its own.
//!
//! Which windows are traced does not depend on the clock: all of them, until the benchmark has used
//! up [`BENCHMARK_INSTRUCTIONS`]. A benchmark whose first window alone exceeds
//! [`WINDOW_INSTRUCTIONS`] is not modelled; its samples have time alone, and its provenance says so.

use std::cell::Cell;
use std::time::Instant;

use topdown_core_model::{Capacity, CoreParameters, Counts, cores};
use topdown_tracer::{Block, Config, Consumer, End, Tracer};

use super::{Provenance, Reading, Source, empty_window_of};
use crate::error::OpenError;
use crate::event::{Event, Events};
use crate::machine::Machine;
use crate::provenance::SourceKind;
use crate::sample::{Flags, Level1, Level2, Sample};

/// How many instructions a window may have; at the model's speed about a second.
pub const WINDOW_INSTRUCTIONS: u64 = 10_000_000;

/// How many instructions of a benchmark are modelled. Room for the warm-up and for five windows of
/// the largest size: one more than a launch needs for its value.
pub const BENCHMARK_INSTRUCTIONS: u64 = 6 * WINDOW_INSTRUCTIONS;

/// The version of the model in the formula's name: to be raised whenever a change of the model or
/// of a core's parameters changes its counts.
const MODEL_VERSION: u32 = 2;

/// The modelled core of the thread that opened it.
pub struct Model {
    tracer: Tracer<Budgeted>,
    core: &'static CoreParameters,
    /// What the consumer had counted when the open window began.
    before: Cell<Counts>,
    benchmark: Cell<Benchmark>,
    modelled: Provenance,
    /// For a benchmark that is not modelled.
    timed: Provenance,
}

/// What is known about the benchmark that is running.
#[derive(Clone, Copy, Default)]
struct Benchmark {
    instructions: u64,
    /// Set by its first window.
    is_modelled: Option<bool>,
}

/// The model, and how much of a window it still takes.
struct Budgeted {
    model: topdown_core_model::Model,
    window_end: u64,
}

impl Consumer for Budgeted {
    fn translated(&mut self, block: &Block<'_>) {
        self.model.translated(block);
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        self.model.block(block, addresses);
    }

    fn keep_tracing(&self) -> bool {
        self.model.keep_tracing() && self.model.counts().events.instructions < self.window_end
    }
}

impl Model {
    /// Opens a tracer for the calling thread, and the model that is nearest to this machine's core.
    ///
    /// # Errors
    /// [`OpenError::Model`] where code cannot be traced.
    pub fn open() -> Result<Model, OpenError> {
        let core = nearest_core(&Machine::of_this_machine());
        let budgeted = Budgeted {
            model: topdown_core_model::Model::new(core, Capacity::default()),
            window_end: u64::MAX,
        };
        let tracer =
            Tracer::new(Config::default(), budgeted).map_err(|error| OpenError::Model {
                reason: error.to_string(),
            })?;
        let provenance = |source, formula, reason| Provenance {
            source,
            formula,
            core_type: None,
            slots_per_cycle: None,
            reason,
            empty_window: None,
        };
        let mut model = Model {
            tracer,
            core,
            before: Cell::default(),
            benchmark: Cell::default(),
            modelled: Provenance {
                slots_per_cycle: Some(core.width),
                ..provenance(
                    SourceKind::Model,
                    format!("model-{}/{MODEL_VERSION}", core.name),
                    format!(
                        "a model of the core {}, fed with every executed instruction",
                        core.name
                    ),
                )
            },
            timed: provenance(
                SourceKind::Time,
                "time/1".to_owned(),
                format!(
                    "an iteration has more than {WINDOW_INSTRUCTIONS} instructions, or code that cannot be traced"
                ),
            ),
        };
        model.modelled.empty_window = Some(empty_window_of(&model));
        model.benchmark_boundary();
        Ok(model)
    }

    /// The sample of a window that was traced to its end.
    fn sample(&self, counts: &Counts) -> Sample {
        let slots = &counts.slots;
        Sample {
            slots: Some(slots.total()),
            level1: Some(Level1 {
                retiring_slots: slots.retiring() as f64,
                bad_speculation_slots: slots.bad_speculation() as f64,
                frontend_bound_slots: slots.frontend_bound() as f64,
                backend_bound_slots: slots.backend_bound() as f64,
                smt_contention_slots: None,
            }),
            level2: Some(Level2 {
                heavy_operations_slots: slots.heavy_operations as f64,
                branch_mispredict_slots: slots.branch_mispredicts as f64,
                fetch_latency_slots: slots.fetch_latency as f64,
                memory_bound_slots: slots.memory_bound as f64,
            }),
            instructions: Some(counts.events.instructions),
            cycles: Some(counts.cycles),
            events: events(&counts.events),
            ..Sample::EMPTY
        }
    }
}

/// The model's events under the names that all sources share.
fn events(counts: &topdown_core_model::Events) -> Events<u64> {
    [
        (Event::Branches, counts.branches),
        (Event::BranchMispredicts, counts.mispredicted_branches),
        (Event::MachineClears, counts.machine_clears),
        (Event::L1iMisses, counts.l1i_misses),
        (Event::L1dMisses, counts.l1d_misses),
        (Event::L2Misses, counts.l2_misses),
        (Event::L3Misses, counts.l3_misses),
        (Event::DtlbWalks, counts.dtlb_walks),
        (Event::ItlbWalks, counts.itlb_walks),
        (Event::MemoryReadBytes, counts.memory_read_bytes),
        (Event::MemoryWriteBytes, counts.memory_write_bytes),
        (Event::UnknownInstructions, counts.unknown_instructions),
    ]
    .into_iter()
    .collect()
}

/// The core of `machine`, or the one that is described best.
fn nearest_core(machine: &Machine) -> &'static CoreParameters {
    if machine.vendor == "AuthenticAMD" {
        &cores::ZEN_5
    } else {
        &cores::GOLDEN_COVE
    }
}

impl Source for Model {
    fn provenance(&self) -> &Provenance {
        match self.benchmark.get().is_modelled {
            Some(false) => &self.timed,
            _ => &self.modelled,
        }
    }

    fn benchmark_boundary(&self) {
        self.benchmark.take();
    }

    #[inline(never)]
    fn start(&self) -> Reading {
        let benchmark = self.benchmark.get();
        let wanted =
            benchmark.is_modelled != Some(false) && benchmark.instructions < BENCHMARK_INSTRUCTIONS;
        if wanted {
            self.tracer.with_consumer(|consumer| {
                let counts = consumer.model.counts();
                consumer.window_end = counts.events.instructions + WINDOW_INSTRUCTIONS;
                self.before.set(counts);
            });
        }
        let reading = Reading::of_clock();
        if wanted {
            // A window inside a window is not traced; `end` sees that by the missing trace.
            let _ = self.tracer.attach();
        }
        reading
    }

    #[inline(never)]
    fn end(&self, start: &Reading) -> Sample {
        let end = self.tracer.is_attached().then(|| self.tracer.detach());
        let wall_ns = Instant::now().duration_since(start.at).as_nanos() as u64;
        let mut benchmark = self.benchmark.get();
        let counts = self.tracer.with_consumer(|consumer| {
            consumer.model.drain();
            consumer.model.counts() - self.before.get()
        });
        let whole = matches!(end, Some(Ok(End::Detach)));
        let sample = match counts {
            _ if benchmark.is_modelled == Some(false) => Sample::EMPTY,
            Some(counts) if whole => {
                benchmark.instructions += counts.events.instructions;
                benchmark.is_modelled = Some(true);
                self.sample(&counts)
            }
            // The first window decides for the benchmark.
            _ if benchmark.is_modelled.is_none() => {
                benchmark.is_modelled = Some(false);
                Sample::EMPTY
            }
            _ => Sample {
                flags: Flags::NOT_COUNTING,
                ..self.sample(&Counts::default())
            },
        };
        self.benchmark.set(benchmark);
        Sample {
            windows: 1,
            wall_ns,
            ..sample
        }
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("core", &self.core.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    fn window(model: &Model, work: impl FnOnce()) -> Sample {
        let start = model.start();
        work();
        model.end(&start)
    }

    /// Four divisions per round, each waiting for the one before: without optimisation a round has
    /// too many instructions for one of them to be what it waits for.
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
            eprintln!("skipped: code cannot be traced on this machine");
            return;
        };
        let sample = window(&model, || divisions(10_000));
        assert_eq!(sample.flags, Flags::NONE);
        let slots = sample.slots.unwrap();
        assert_eq!(sample.level1.unwrap().total_slots(), slots as f64);
        assert!(sample.instructions.unwrap() > 20_000, "{sample:?}");
        let level1 = sample.level1.unwrap();
        let not_retiring = slots as f64 - level1.retiring_slots;
        assert!(
            level1.backend_bound_slots > 0.5 * not_retiring,
            "{sample:?}"
        );
        assert_eq!(model.provenance().source, SourceKind::Model);
        let branches = sample.events.get(Event::Branches).unwrap();
        assert!((10_000..sample.instructions.unwrap()).contains(&branches));
        assert_eq!(sample.events.iter().count(), Event::ALL.len());
    }

    #[test]
    fn a_benchmark_with_a_long_first_window_has_time_alone() {
        let Ok(model) = Model::open() else {
            eprintln!("skipped: code cannot be traced on this machine");
            return;
        };
        let sample = window(&model, || divisions(WINDOW_INSTRUCTIONS));
        assert_eq!(sample.slots, None);
        assert!(sample.wall_ns > 0);
        assert_eq!(model.provenance().source, SourceKind::Time);
        assert_eq!(window(&model, || divisions(10)).slots, None);
        model.benchmark_boundary();
        assert!(window(&model, || divisions(10)).slots.is_some());
    }

    #[test]
    fn what_exceeds_the_budget_of_a_benchmark_is_not_counted() {
        let Ok(model) = Model::open() else {
            eprintln!("skipped: code cannot be traced on this machine");
            return;
        };
        assert_eq!(window(&model, || divisions(10)).flags, Flags::NONE);
        model.benchmark.set(Benchmark {
            instructions: BENCHMARK_INSTRUCTIONS,
            is_modelled: Some(true),
        });
        assert_eq!(window(&model, || divisions(10)).flags, Flags::NOT_COUNTING);
    }
}
