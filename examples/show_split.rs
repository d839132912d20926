//! Measures a loop without criterion and prints where its slots went.
//!
//! `cargo run --release --example show_split`

use std::hint::black_box;

use criterion_topdown::TopDown;
use criterion_topdown::sample::Sample;

fn main() {
    let topdown = match TopDown::open() {
        Ok(topdown) => topdown,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(101);
        }
    };
    println!(
        "source: {}, {} ({})",
        topdown.provenance().source,
        topdown.provenance().formula,
        topdown.provenance().reason
    );
    if let Some(empty_window) = topdown.provenance().empty_window {
        println!("an empty window takes {:?} slots", empty_window.slots);
    }
    let sample = topdown.measure(|| (0..1_000_000_u64).fold(0, |sum, n| sum ^ black_box(n)));
    print_split(&sample);
}

fn print_split(sample: &Sample) {
    println!("{:>16} ns", sample.wall_ns);
    let (Some(slots), Some(level1)) = (sample.slots, sample.level1) else {
        return;
    };
    println!("{slots:>16} slots, doubts: {}", sample.flags);
    let mut categories = vec![
        ("retiring", level1.retiring_slots),
        ("bad speculation", level1.bad_speculation_slots),
        ("frontend bound", level1.frontend_bound_slots),
        ("backend bound", level1.backend_bound_slots),
    ];
    if let Some(smt_contention_slots) = level1.smt_contention_slots {
        categories.push(("SMT contention", smt_contention_slots));
    }
    if let Some(level2) = sample.level2 {
        categories.extend([
            ("heavy operations", level2.heavy_operations_slots),
            ("mispredicts", level2.branch_mispredict_slots),
            ("fetch latency", level2.fetch_latency_slots),
            ("memory bound", level2.memory_bound_slots),
        ]);
    }
    for (category, category_slots) in categories {
        println!(
            "{:>16} {category:<16} {:6.2} %",
            category_slots.round(),
            100.0 * category_slots / slots as f64
        );
    }
    for (name, count) in [
        ("instructions", sample.instructions),
        ("cycles", sample.cycles),
    ] {
        if let Some(count) = count {
            println!("{count:>16} {name}");
        }
    }
    println!("{:>16} resolution", sample.resolution_slots.round());
}
