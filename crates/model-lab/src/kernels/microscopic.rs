//! Kernels with one known bottleneck each.

use std::hint::black_box;

use super::{Kernel, Random, held_out, tuned};

/// Returns all of them.
pub fn kernels() -> Vec<Kernel> {
    vec![
        tuned("alu", alu),
        tuned("add-chain", add_chain),
        tuned("mul-chain", mul_chain),
        tuned("fp-add-chain", fp_add_chain),
        tuned("div-chain", div_chain),
        held_out("fp-div-chain", fp_div_chain),
        tuned("chase-16k", || chase(16 << 10)),
        tuned("chase-256k", || chase(256 << 10)),
        tuned("chase-2m", || chase(2 << 20)),
        tuned("chase-64m", || chase(64 << 20)),
        tuned("stream-32m", stream),
        held_out("stream-512k", stream_small),
        tuned("fill-1m", fill),
        tuned("memcpy-1m", memcpy),
        tuned("memcpy-16k", memcpy_small),
        tuned("random-branch", random_branch),
        tuned("indirect", indirect),
        tuned("calls", calls),
        tuned("code-footprint", code_footprint),
        tuned("transpose", transpose),
    ]
}

fn alu() -> Box<dyn FnMut()> {
    Box::new(|| {
        let (mut a, mut b, mut c) = (1_u64, 2_u64, 3_u64);
        for step in 0..black_box(20_000_u64) {
            a = a.wrapping_add(step ^ 5);
            b ^= step << 3;
            c = c.wrapping_sub(step & 7);
            black_box((a, b, c));
        }
    })
}

fn add_chain() -> Box<dyn FnMut()> {
    Box::new(|| {
        let mut sum = black_box(1_u64);
        for _ in 0..10_000 {
            for _ in 0..8 {
                sum = black_box_register(sum.wrapping_add(sum));
            }
        }
        black_box(sum);
    })
}

/// Keeps a value opaque without a trip through memory.
#[inline(always)]
fn black_box_register(value: u64) -> u64 {
    let mut value = value;
    // SAFETY: no instruction at all; the compiler only loses track of the value.
    unsafe { std::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack, pure)) };
    value
}

fn mul_chain() -> Box<dyn FnMut()> {
    Box::new(|| {
        let mut product = black_box(3_u64);
        for _ in 0..40_000 {
            product = black_box_register(product.wrapping_mul(product));
        }
        black_box(product);
    })
}

fn fp_add_chain() -> Box<dyn FnMut()> {
    let data: Vec<f64> = (0..40_000).map(f64::from).collect();
    Box::new(move || {
        let mut sum = 0.0;
        for &value in &data {
            sum += value;
        }
        black_box(sum);
    })
}

fn div_chain() -> Box<dyn FnMut()> {
    Box::new(|| {
        let mut value = black_box(u64::MAX);
        let divisor = black_box(3_u64);
        for _ in 0..10_000 {
            value = (value / divisor) | 1 << 63;
        }
        black_box(value);
    })
}

fn fp_div_chain() -> Box<dyn FnMut()> {
    Box::new(|| {
        let mut value = black_box(1e300_f64);
        let divisor = black_box(1.000_1_f64);
        for _ in 0..10_000 {
            value /= divisor;
        }
        black_box(value);
    })
}

/// Walks through a random cycle of cache lines.
fn chase(bytes: usize) -> Box<dyn FnMut()> {
    let lines = bytes / 64;
    let mut order: Vec<usize> = (0..lines).collect();
    let mut random = Random(7);
    for at in (1..lines).rev() {
        order.swap(at, random.next() as usize % (at + 1));
    }
    let mut next = vec![0_usize; lines * 8];
    for at in 0..lines {
        next[order[at] * 8] = order[(at + 1) % lines] * 8;
    }
    // Up to 4 MiB, a run visits every line; larger cycles are visited in part.
    let steps = if bytes <= 4 << 20 {
        lines.max(20_000)
    } else {
        20_000
    };
    let mut place = 0;
    Box::new(move || {
        for _ in 0..steps {
            place = next[place];
        }
        black_box(place);
    })
}

fn stream() -> Box<dyn FnMut()> {
    let data = vec![1_u64; 4 << 20];
    Box::new(move || {
        black_box(
            data.iter()
                .fold(0_u64, |sum, &value| sum.wrapping_add(value)),
        );
    })
}

fn stream_small() -> Box<dyn FnMut()> {
    let data = vec![1_u64; 64 << 10];
    Box::new(move || {
        black_box(
            data.iter()
                .fold(0_u64, |sum, &value| sum.wrapping_add(value)),
        );
    })
}

fn fill() -> Box<dyn FnMut()> {
    let mut data = vec![0_u64; 128 << 10];
    let mut value = 0;
    Box::new(move || {
        value += 1;
        for place in data.chunks_exact_mut(8) {
            place[0] = black_box(value);
        }
        black_box(&data);
    })
}

fn memcpy() -> Box<dyn FnMut()> {
    let from = vec![1_u8; 1 << 20];
    let mut to = vec![2_u8; 1 << 20];
    Box::new(move || {
        to.copy_from_slice(black_box(&from));
        black_box(&to);
    })
}

fn memcpy_small() -> Box<dyn FnMut()> {
    let from = vec![1_u8; 16 << 10];
    let mut to = vec![2_u8; 16 << 10];
    Box::new(move || {
        for _ in 0..20 {
            to.copy_from_slice(black_box(&from));
            black_box(&to);
        }
    })
}

fn random_branch() -> Box<dyn FnMut()> {
    let mut random = Random(1);
    Box::new(move || {
        let mut sum = 0_u64;
        for _ in 0..20_000 {
            let value = random.next();
            if value >> 40 & 1 == 1 {
                sum = black_box(sum.wrapping_add(value));
            }
        }
        black_box(sum);
    })
}

fn indirect() -> Box<dyn FnMut()> {
    let functions: [fn(u64) -> u64; 4] = [
        |value| value + 1,
        |value| value ^ 5,
        |value| value << 1,
        |value| value.wrapping_mul(3),
    ];
    let mut random = Random(3);
    let order: Vec<u8> = (0..512).map(|_| (random.next() >> 60 & 3) as u8).collect();
    Box::new(move || {
        let mut value = 1;
        for _ in 0..20 {
            for &choice in &order {
                value = black_box(functions[usize::from(choice)])(value);
            }
        }
        black_box(value);
    })
}

fn calls() -> Box<dyn FnMut()> {
    #[inline(never)]
    fn fibonacci(n: u64) -> u64 {
        if black_box(n) < 2 {
            n
        } else {
            fibonacci(n - 1) + fibonacci(n - 2)
        }
    }
    Box::new(|| {
        black_box(fibonacci(17));
    })
}

macro_rules! functions {
    ($($hundreds:literal)*) => {
        [$(
            functions!(@ten $hundreds 0), functions!(@ten $hundreds 1),
            functions!(@ten $hundreds 2), functions!(@ten $hundreds 3),
            functions!(@ten $hundreds 4), functions!(@ten $hundreds 5),
            functions!(@ten $hundreds 6), functions!(@ten $hundreds 7),
            functions!(@ten $hundreds 8), functions!(@ten $hundreds 9),
        )*]
    };
    (@ten $a:literal $b:literal) => {
        {
            #[inline(never)]
            fn work(value: u64) -> u64 {
                let mut value = value;
                for salt in [$a * 1000 + $b * 10 + 1_u64, $a * 77 + $b, $a * 31 + 7] {
                    if value & 1 == 0 {
                        value = value.wrapping_add(salt);
                    } else {
                        value ^= salt << 3;
                    }
                    value = value.rotate_left(5).wrapping_mul(salt | 1);
                }
                black_box(value)
            }
            work as fn(u64) -> u64
        }
    };
}

fn code_footprint() -> Box<dyn FnMut()> {
    let functions = functions!(
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33
        34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60
    );
    Box::new(move || {
        let mut value = 1;
        for round in 0..4 {
            for function in &functions {
                value = function(value ^ round);
            }
        }
        black_box(value);
    })
}

fn transpose() -> Box<dyn FnMut()> {
    const SIDE: usize = 256;
    let from = vec![1.5_f32; SIDE * SIDE];
    let mut to = vec![0_f32; SIDE * SIDE];
    Box::new(move || {
        for row in 0..SIDE {
            for column in 0..SIDE {
                to[column * SIDE + row] = from[row * SIDE + column];
            }
        }
        black_box(&to);
    })
}
