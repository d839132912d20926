//! Code: unpredictable branches, and more code than the instruction caches hold.

use std::hint::black_box;

use super::Random;

/// Executes `count` branches on random bits, new in every call, because predictors learn sequences
/// of thousands. A mispredict is noticed so soon that little work is thrown away: most of its cost
/// is the restart of the frontend.
#[inline(never)]
pub fn random_branches(random: &mut Random, count: usize) -> u64 {
    let mut taken = 0_u64;
    for _ in 0..count / 64 {
        let mut bits = random.next();
        for _ in 0..64 {
            // black_box on both sides keeps this a branch; a conditional move would not mispredict.
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

/// Number of functions that [`LargeCode`] calls.
pub const LARGE_CODE_FUNCTIONS: usize = 2048;

/// Functions per row of [`FUNCTIONS`].
const COLUMNS: usize = 64;

type Function = fn(u64) -> u64;

/// From the address of a call to that of the next one, in functions: odd, so that all are called.
const STRIDE: usize = 797;

/// 2048 different functions of about 256 bytes each. At half a megabyte, this is more code than the
/// uop cache, the first-level instruction cache and most branch target buffers hold.
pub struct LargeCode {
    /// In the order of the calls, which follows the addresses: the linker orders functions by
    /// hashes of their names, on which the misses of any other order would depend.
    functions: Vec<Function>,
}

impl LargeCode {
    pub fn in_order_of_addresses() -> Self {
        let mut by_address = FUNCTIONS.as_flattened().to_vec();
        by_address.sort_unstable_by_key(|&function| function as usize);
        let order = (0..LARGE_CODE_FUNCTIONS).map(|call| call * STRIDE % LARGE_CODE_FUNCTIONS);
        LargeCode {
            functions: order.map(|location| by_address[location]).collect(),
        }
    }

    /// Calls all of them.
    #[inline(never)]
    pub fn call(&self, seed: u64) -> u64 {
        self.functions
            .iter()
            .fold(seed, |value, function| function(value))
    }
}

/// Cheap and independent work with different constants, so that no two instances are merged.
#[inline(never)]
fn body<const ROW: u64, const COLUMN: u64>(value: u64) -> u64 {
    let n = ROW * COLUMNS as u64 + COLUMN;
    let mut parts = [value, value ^ n, value.rotate_left(7), !value];
    // Unrolled by hand, since a loop would make the code small.
    macro_rules! step {
        ($($k:literal)*) => { $(
            parts[$k % 4] = parts[$k % 4].wrapping_add((n << 8) ^ (0x0123_4567 * ($k + 1)));
        )* };
    }
    step!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    parts[0] ^ parts[1] ^ parts[2] ^ parts[3]
}

/// An instance of [`body`] for each row and column. One constant expression per instance would take
/// a minute to compile.
static FUNCTIONS: [[Function; COLUMNS]; LARGE_CODE_FUNCTIONS / COLUMNS] = {
    macro_rules! rows {
        ($($row:literal)*) => { [$(row::<$row>()),*] };
    }
    rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
};

const fn row<const ROW: u64>() -> [Function; COLUMNS] {
    macro_rules! columns {
        ($($column:literal)*) => { [$(body::<ROW, $column>),*] };
    }
    columns!(
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62
        63
    )
}
