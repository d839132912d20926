//! Prints how fast tracing alone is: compute-bound kernels, with a consumer that only counts,
//! in processor time of the thread.
//!
//! `cargo run --release --package topdown-tracer --example trace_speed`; with the argument
//! `waiting` in a process with another thread that waits for this one, with `checked` in one with a
//! thread that may run at any time, where every block checks its code, with `handler` in one that
//! catches a signal.

use std::hint::black_box;
use std::time::Duration;

use topdown_tracer::{Block, Config, Consumer, Tracer};

#[derive(Default)]
struct Count {
    blocks: u64,
    instructions: u64,
    values: u64,
}

impl Consumer for Count {
    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        self.blocks += 1;
        self.instructions += block.instructions.len() as u64;
        self.values += addresses.len() as u64;
    }
}

/// A name and what to run.
type Kernel = (&'static str, fn() -> u64);

fn numbers(count: usize) -> Vec<u64> {
    let mut state = 0x1234_5678_9abc_def1_u64;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        })
        .collect()
}

fn sort() -> u64 {
    let mut values = numbers(10_000);
    values.sort_unstable();
    values[5_000]
}

fn hash_map() -> u64 {
    let mut map = std::collections::HashMap::new();
    for number in numbers(10_000) {
        *map.entry(number % 5_000).or_insert(0) += 1_u64;
    }
    (0..5_000).filter_map(|key| map.get(&key)).sum()
}

fn matrix_product() -> u64 {
    const N: usize = 64;
    let a: Vec<f64> = (0..N * N).map(|n| n as f64).collect();
    let mut c = vec![0.0; N * N];
    for i in 0..N {
        for k in 0..N {
            for j in 0..N {
                c[i * N + j] += a[i * N + k] * a[k * N + j];
            }
        }
    }
    c[100] as u64
}

fn parser() -> u64 {
    let text: String = numbers(4_000).iter().map(|n| format!("{n},")).collect();
    text.split(',')
        .filter_map(|word| word.parse::<u64>().ok())
        .fold(0, u64::wrapping_add)
}

fn divisions() -> u64 {
    let mut value = u64::MAX;
    for n in 1..50_000_u64 {
        value = (value / black_box(3)) ^ (n << 32);
    }
    value
}

fn calls() -> u64 {
    fn fibonacci(n: u64) -> u64 {
        if n < 2 {
            n
        } else {
            fibonacci(n - 1) + fibonacci(n - 2)
        }
    }
    fibonacci(black_box(22))
}

/// Processor time of this thread: what other processes take is not in it.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes one timespec to the place it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn best(mut run: impl FnMut() -> u64) -> Duration {
    (0..8)
        .map(|_| {
            let start = thread_time();
            black_box(run());
            thread_time() - start
        })
        .min()
        .unwrap_or_default()
}

/// For as long as the process.
fn surround(with: Option<&str>) {
    extern "C" fn nothing(_signal: i32) {}
    match with {
        Some("waiting") => {
            std::thread::spawn(|| {
                loop {
                    std::thread::park();
                }
            });
        }
        Some("checked") => {
            std::thread::spawn(|| {
                loop {
                    std::thread::sleep(Duration::from_secs(1));
                }
            });
        }
        // SAFETY: the handler does nothing.
        Some("handler") => unsafe {
            libc::signal(libc::SIGUSR1, nothing as *const () as usize);
        },
        _ => {}
    }
    // Until the thread waits.
    std::thread::sleep(Duration::from_millis(20));
}

fn main() {
    let kernels: [Kernel; 6] = [
        ("sort", sort),
        ("hash map", hash_map),
        ("matrix product", matrix_product),
        ("format and parse", parser),
        ("division chain", divisions),
        ("recursive calls", calls),
    ];
    surround(std::env::args().nth(1).as_deref());
    println!("kernel             instructions  per block  values/instr  M instr/s  slow-down");
    for (name, kernel) in kernels {
        let mut tracer = match Tracer::new(Config::default(), Count::default()) {
            Ok(tracer) => tracer,
            Err(error) => {
                println!("no tracing here: {error}");
                return;
            }
        };
        let native = best(kernel);
        let traced = best(|| {
            *tracer.consumer_mut() = Count::default();
            let (result, end) = tracer.trace(kernel);
            if let Err(error) = end {
                println!("{name}: {error}");
            }
            result
        });
        let count = tracer.consumer_mut();
        println!(
            "{name:<18} {:>12} {:>10.1} {:>13.2} {:>10.0} {:>9.1}x",
            count.instructions,
            count.instructions as f64 / count.blocks as f64,
            count.values as f64 / count.instructions as f64,
            count.instructions as f64 / traced.as_secs_f64() / 1e6,
            traced.as_secs_f64() / native.as_secs_f64(),
        );
    }
}
