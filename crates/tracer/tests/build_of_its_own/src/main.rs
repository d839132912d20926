//! Traces work of its own and compares results; with the argument `panic`, work that panics.

use std::collections::BTreeMap;
use std::hint::black_box;

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

fn sort() -> u64 {
    let mut values: Vec<u64> = (0..black_box(2000_u64))
        .map(|n| n.wrapping_mul(0x9e37_79b9) % 1009)
        .collect();
    values.sort();
    values.iter().zip(0..).map(|(value, n)| value * n).sum()
}

fn text() -> u64 {
    let words: Vec<String> = (0..black_box(200))
        .map(|n| format!("{:.3}", f64::from(n) / 7.0))
        .collect();
    let mut lengths = BTreeMap::new();
    for word in &words {
        *lengths.entry(word.len()).or_insert(0.0) += word.parse::<f64>().expect("a number");
    }
    lengths.values().sum::<f64>() as u64
}

fn threads() -> u64 {
    let handles: Vec<_> = (0..4).map(|_| std::thread::spawn(sort)).collect();
    handles
        .into_iter()
        .map(|handle| handle.join().expect("a sum") % 1000)
        .sum()
}

fn files() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    u64::from(maps.contains("[stack]"))
}

fn panic() -> u64 {
    panic!("the work panics");
}

fn main() {
    let mut tracer = Tracer::new(Config::default(), Count::default()).expect("a tracer");
    if std::env::args().nth(1).as_deref() == Some("panic") {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tracer.trace(panic)));
        assert!(caught.is_err());
        println!("caught");
    }
    for work in [sort, text, threads, files] {
        let native = work();
        assert_eq!(tracer.trace(work), (native, Ok(End::Detach)));
    }
    println!("{} instructions", tracer.consumer_mut().instructions);
}
