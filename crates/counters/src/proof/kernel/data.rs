//! Data: a walk that defeats caches and prefetchers, stores, and a source of random bits.

/// A permutation of cache lines that is a single cycle, so that a walk visits all of them.
pub struct Cycle {
    lines: Vec<Line>,
}

/// One cache line, holding the position of the next one.
#[repr(align(64))]
#[derive(Clone)]
struct Line(usize);

impl Cycle {
    /// Creates a random cycle through `count` lines (Sattolo's algorithm).
    pub fn random(count: usize) -> Cycle {
        let mut random = Random::seeded();
        let mut lines: Vec<Line> = (0..count).map(Line).collect();
        for last in (1..count).rev() {
            let other = (random.next() % last as u64) as usize;
            lines.swap(last, other);
        }
        Cycle { lines }
    }

    /// Returns the position `steps` after `position`. Every step depends on the one before.
    #[inline(never)]
    pub fn walk(&self, position: usize, steps: usize) -> usize {
        (0..steps).fold(position, |position, _| self.lines[position].0)
    }
}

/// Fills the buffer with `value`.
#[inline(never)]
pub fn fill(buffer: &mut [u64], value: u64) {
    buffer.fill(value);
}

/// xorshift64* (Vigna 2016), with a fixed seed.
pub struct Random(u64);

impl Random {
    pub fn seeded() -> Random {
        Random(0x9e37_79b9_7f4a_7c15)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}
