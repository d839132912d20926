//! A history is searched in proportion to its runs. Instructions are counted: they do not depend on
//! what else the machine does.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use topdown_gate::scenario::{self, Planted, benchmark};
use topdown_gate::trend::trend;
use topdown_run::run_file::Run;
use topdown_skipped::{Need, skip};
use topdown_tracer::{Block, Config, Consumer, End, Tracer};

#[derive(Default)]
struct Count {
    instructions: u64,
}

impl Consumer for Count {
    fn block(&mut self, block: &Block<'_>, _addresses: &[u64]) {
        self.instructions += block.instructions.len() as u64;
    }
}

/// Returns this many runs of a benchmark whose level moves between every hundred. Several
/// benchmarks would be searched on several threads, and one thread is counted.
fn runs(count: usize) -> Vec<Run> {
    let run = |number: usize| {
        let mut planted = Planted {
            launches: 2,
            seed: number as u64,
            ..Planted::default()
        };
        planted.categories.backend_bound = 0.2 * (number / 100 % 2) as f64;
        Run {
            id: format!("run-{number}"),
            ..scenario::run(vec![benchmark("a", planted)])
        }
    };
    (0..count).map(run).collect()
}

/// Returns how many instructions it takes to search a history of this many runs.
fn instructions(count: usize) -> Option<u64> {
    let runs = runs(count);
    let Ok(tracer) = Tracer::new(Config::default(), Count::default()) else {
        skip(Need::Model, "code cannot be traced on this machine");
        return None;
    };
    let (found, end) = tracer.trace(|| trend("main", &runs, Vec::new(), 0.05).unwrap());
    assert_eq!(end, Ok(End::Detach));
    assert_eq!(found.runs.len(), count);
    let changes = found.benchmarks.iter().map(|b| b.changes.len());
    assert!(changes.sum::<usize>() >= count / 100 - 1, "{count}");
    tracer.with_consumer(|count| count.instructions)
}

/// In proportion to the square of the runs, it would be 16 times the work.
#[test]
fn four_times_the_runs_take_four_times_the_work() {
    let (Some(short), Some(long)) = (instructions(1024), instructions(4096)) else {
        return;
    };
    let factor = long as f64 / short as f64;
    assert!(
        factor < 1.2 * 4.0,
        "{factor:.2} times the work: {short} and {long} instructions"
    );
}
