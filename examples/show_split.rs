//! Measures a loop without criterion and prints where its slots went.
//!
//! `cargo run --release --example show_split`

use std::hint::black_box;

use criterion_topdown::TopDown;
use topdown_run::sample::Sample;

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
    let sample = topdown.sample(|| (0..1_000_000_u64).fold(0, |sum, n| sum ^ black_box(n)));
    print_split(&sample);
}

fn print_split(sample: &Sample) {
    println!("{:>16} ns", sample.wall_ns);
    let (Some(slots), Some(level1)) = (sample.slots, sample.level1) else {
        return;
    };
    println!("{slots:>16} slots, doubts: {}", sample.flags);
    let of_level1 = level1.slots.iter();
    let mut categories: Vec<(&str, f64)> = of_level1
        .map(|(category, slots)| (category.name(), *slots))
        .collect();
    if let Some(smt_contention_slots) = level1.smt_contention_slots {
        categories.push(("SMT contention", smt_contention_slots));
    }
    if let Some(level2) = sample.level2 {
        let parts = level2.iter();
        categories.extend(parts.map(|(category, slots)| (category.measured_part().name(), *slots)));
    }
    for (category, category_slots) in categories {
        println!(
            "{:>16} {category:<18} {:6.2} %",
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
