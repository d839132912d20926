//! Measures the same work on one thread and on others, and prints how the slots compare.
//!
//! `CARGO_TOPDOWN_THREADS=all cargo run --release --example count_threads`
//!
//! Exits with code 1 if the slots of two threads do not match their work.

use std::hint::black_box;
use std::sync::mpsc;
use std::thread;

use criterion_topdown::TopDown;
use topdown_run::provenance::CountedThreads;
use topdown_run::sample::Sample;

/// Maximum deviation of two threads from twice the work of one.
const TOLERANCE: f64 = 0.01;

fn work() {
    for turn in 0..2_000_000_u64 {
        black_box(turn);
    }
}

/// A thread that waits for work.
struct Worker {
    tasks: mpsc::Sender<()>,
    results: mpsc::Receiver<()>,
}

impl Worker {
    fn spawn() -> Worker {
        let (tasks, received_tasks) = mpsc::channel();
        let (send_result, results) = mpsc::channel();
        thread::spawn(move || {
            for () in received_tasks {
                work();
                send_result.send(()).expect("somebody waits");
            }
        });
        Worker { tasks, results }
    }
}

fn main() {
    // The threads exist before the counters do.
    let workers = [Worker::spawn(), Worker::spawn()];
    let topdown = match TopDown::open() {
        Ok(topdown) => topdown,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(101);
        }
    };
    let provenance = topdown.provenance();
    println!(
        "source: {}, {} ({}), threads: {}",
        provenance.source,
        provenance.formula,
        provenance.reason,
        provenance.threads.name()
    );
    let one = topdown.sample(work);
    let cases = [
        ("pool", topdown.sample(|| in_pool(&workers))),
        ("scope", topdown.sample(in_scope)),
        ("own and scope", topdown.sample(own_and_scope)),
    ];
    println!("one thread: {:?} slots, doubts: {}", one.slots, one.flags);
    let mut right = true;
    for (name, sample) in &cases {
        let factor = slots(sample) / slots(&one);
        println!(
            "{name}: {:?} slots, {factor:.4} times those of one, retiring {:.2} %, \
             instructions {:?}, resolution {:.4}, doubts: {}",
            sample.slots,
            100.0 * sample.level1.unwrap_or_default().slots.retiring / slots(sample),
            sample.instructions,
            sample.resolution_fraction().unwrap_or(0.0),
            sample.flags
        );
        right &= (factor / 2.0 - 1.0).abs() < TOLERANCE;
    }
    let expects_two = provenance.threads == CountedThreads::All;
    if right != expects_two {
        eprintln!("error: the slots are not those of the work");
        std::process::exit(1);
    }
}

fn slots(sample: &Sample) -> f64 {
    sample.slots.unwrap_or(0) as f64
}

fn in_pool(workers: &[Worker]) {
    for worker in workers {
        worker.tasks.send(()).expect("a worker");
    }
    for worker in workers {
        worker.results.recv().expect("a worker");
    }
}

fn in_scope() {
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
}

fn own_and_scope() {
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
}
