//! Code: branches that cannot be predicted, and more of it than the caches for code hold.

use std::hint::black_box;

use super::Random;

/// `count` branches on random bits. Fresh bits every call: predictors learn sequences of
/// thousands.
#[inline(never)]
pub fn random_branches(random: &mut Random, count: usize) -> u64 {
    let mut taken = 0_u64;
    for _ in 0..count / 64 {
        let mut bits = random.next();
        for _ in 0..64 {
            // black_box on both sides keeps this a branch; a conditional move would not
            // mispredict.
            if bits & 1 == 1 {
                taken = black_box(taken.wrapping_add(bits));
            } else {
                taken = black_box(taken ^ 1);
            }
            bits >>= 1;
        }
    }
    taken
}

/// How many functions [`large_code`] calls.
pub const LARGE_CODE_FUNCTIONS: usize = 2048;

type Function = fn(u64) -> u64;

/// Calls 2048 different functions of about 256 bytes each, half a megabyte of code: more than the
/// uop cache, the first-level instruction cache and most branch target buffers hold.
#[inline(never)]
pub fn large_code(seed: u64) -> u64 {
    FUNCTIONS
        .iter()
        .fold(seed, |value, function| function(value))
}

/// Cheap and independent work that differs in its constants, so that no two instances are merged.
#[inline(never)]
fn body<const N: u64>(value: u64) -> u64 {
    let mut parts = [value, value ^ N, value.rotate_left(7), !value];
    // Unrolled by hand: a loop would make the code small.
    macro_rules! step {
        ($($k:literal)*) => { $(
            parts[$k % 4] = parts[$k % 4].wrapping_add((N << 8) ^ (0x0123_4567 * ($k + 1)));
        )* };
    }
    step!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    parts[0] ^ parts[1] ^ parts[2] ^ parts[3]
}

/// `body::<N>` for the 2048 numbers N that eleven bits can spell.
static FUNCTIONS: [Function; LARGE_CODE_FUNCTIONS] = {
    let mut functions: [Function; LARGE_CODE_FUNCTIONS] = [body::<0>; LARGE_CODE_FUNCTIONS];
    macro_rules! instances {
        ($n:expr;) => { functions[($n) as usize] = body::<{ $n }>; };
        ($n:expr; $bit:literal $($rest:literal)*) => {
            instances!($n; $($rest)*);
            instances!($n + $bit; $($rest)*);
        };
    }
    instances!(0; 1 2 4 8 16 32 64 128 256 512 1024);
    functions
};
