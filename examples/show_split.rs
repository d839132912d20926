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
        "source: {} ({})",
        topdown.provenance().source,
        topdown.provenance().reason
    );
    let sample = topdown.measure(|| (0..1_000_000_u64).fold(0, |sum, n| sum ^ black_box(n)));
    print_split(&sample);
}

fn print_split(sample: &Sample) {
    println!("{:>16} ns", sample.wall_ns);
    let (Some(slots), Some(level1)) = (sample.slots, sample.level1) else {
        return;
    };
    println!("{slots:>16} slots, doubts: {}", sample.flags);
    for (category, category_slots) in [
        ("retiring", level1.retiring_slots),
        ("bad speculation", level1.bad_speculation_slots),
        ("frontend bound", level1.frontend_bound_slots),
        ("backend bound", level1.backend_bound_slots),
    ] {
        println!(
            "{:>16} {category:<16} {:5.1} %",
            category_slots.round(),
            100.0 * category_slots / slots as f64
        );
    }
    println!("{:>16} resolution", sample.resolution_slots.round());
}
