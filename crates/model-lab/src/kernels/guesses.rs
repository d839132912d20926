//! Independent random loads, each before a branch on its data that nothing predicts: the core has
//! begun the next ones before it knows that it went the wrong way.
//!
//! In assembly, because a compiler may replace such a branch by a `cmov`.

use std::arch::asm;

use super::{Kernel, Random, tuned};

const ITERATIONS: u64 = 10_000;

pub fn kernels() -> Vec<Kernel> {
    vec![
        tuned("guess-512k", || guesses(512 << 10)),
        tuned("guess-4m", || guesses(4 << 20)),
    ]
}

/// Adds the odd ones among numbers in random order; `bytes` is a power of two.
fn guesses(bytes: usize) -> Box<dyn FnMut()> {
    let mut random = Random(1);
    let count = bytes / size_of::<u64>();
    let numbers: Vec<u64> = (0..count).map(|_| random.next()).collect();
    let mut state = 7_u64;
    Box::new(move || {
        // SAFETY: reads `numbers` only: the mask is one less than their number, a power of two.
        unsafe {
            asm!(
                "2:",
                "mov {t}, {x}", "shl {t}, 13", "xor {x}, {t}",
                "mov {t}, {x}", "shr {t}, 7", "xor {x}, {t}",
                "mov {t}, {x}", "shl {t}, 17", "xor {x}, {t}",
                "mov {t}, {x}", "and {t}, {mask}",
                "mov {t}, [{numbers} + {t} * 8]",
                "test {t}, 1",
                "jz 3f",
                "add {sum}, {t}",
                "3:",
                "dec {left}",
                "jnz 2b",
                x = inout(reg) state,
                t = out(reg) _,
                mask = in(reg) numbers.len() as u64 - 1,
                numbers = in(reg) numbers.as_ptr(),
                sum = inout(reg) 0_u64 => _,
                left = inout(reg) ITERATIONS => _,
                options(readonly, nostack)
            );
        }
    })
}
