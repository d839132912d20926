//! Measures a loop without criterion and prints where its slots went.
//!
//! `cargo run --release --example show_split`

use std::hint::black_box;

use criterion_topdown::TopDown;

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
    println!("{sample:#?}");
}
