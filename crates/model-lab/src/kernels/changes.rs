//! Twenty kernels as they were before three planted changes each, and after: what users gate is
//! the difference between two versions of code.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};
use std::hint::black_box;

use super::{Kernel, Random, change};

macro_rules! changes {
    ($($name:literal: $function:ident;)+) => {
        pub fn kernels() -> Vec<Kernel> {
            vec![$(
                change(concat!($name, "/0"), $function::<0>),
                change(concat!($name, "/1"), $function::<1>),
                change(concat!($name, "/2"), $function::<2>),
                change(concat!($name, "/3"), $function::<3>),
            )+]
        }
    };
}

changes! {
    "count-words": count_words;
    "sum-rows": sum_rows;
    "find-byte": find_byte;
    "unique": unique;
    "checksum": checksum;
    "parse-lines": parse_lines;
    "dot-product": dot_product;
    "lookup": lookup;
    "draw-lines": draw_lines;
    "reverse-words": reverse_words;
    "bit-count": bit_count;
    "tree-depth": tree_depth;
    "join-strings": join_strings;
    "clamp-pixels": clamp_pixels;
    "primes": primes;
    "state-machine": state_machine;
    "matrix-vector": matrix_vector;
    "events": events;
    "ring-buffer": ring_buffer;
    "hex-encode": hex_encode;
}

type Sip = BuildHasherDefault<DefaultHasher>;

#[derive(Default)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// 1: keys are copied. 2: another hash. 3: an ordered map.
fn count_words<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(601);
    let text: String = (0..1500)
        .map(|_| format!("w{} ", (random.next() >> 58) * 37))
        .collect();
    Box::new(move || match V {
        0 => {
            let mut counts: HashMap<&str, u32, Sip> = HashMap::default();
            text.split(' ')
                .for_each(|word| *counts.entry(word).or_default() += 1);
            black_box(counts);
        }
        1 => {
            let mut counts: HashMap<String, u32, Sip> = HashMap::default();
            text.split(' ')
                .for_each(|word| *counts.entry(word.to_owned()).or_default() += 1);
            black_box(counts);
        }
        2 => {
            let mut counts: HashMap<&str, u32, BuildHasherDefault<Fnv>> = HashMap::default();
            text.split(' ')
                .for_each(|word| *counts.entry(word).or_default() += 1);
            black_box(counts);
        }
        _ => {
            let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
            text.split(' ')
                .for_each(|word| *counts.entry(word).or_default() += 1);
            black_box(counts);
        }
    })
}

/// 1: by columns. 2: with a check of each index. 3: a remainder instead of nested loops.
fn sum_rows<const V: u8>() -> Box<dyn FnMut()> {
    const WIDTH: usize = 256;
    let mut random = Random(607);
    let values: Vec<u32> = (0..WIDTH * 128)
        .map(|_| (random.next() >> 50) as u32)
        .collect();
    let mut sums = vec![0_u32; 128];
    Box::new(move || {
        sums.fill(0);
        match V {
            0 => {
                for (sum, row) in sums.iter_mut().zip(values.chunks_exact(WIDTH)) {
                    for value in row {
                        *sum = black_box_register(sum.wrapping_add(*value));
                    }
                }
            }
            1 => {
                for column in 0..WIDTH {
                    for (row, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.wrapping_add(values[row * WIDTH + column]);
                    }
                }
            }
            2 => {
                for row in 0..128 {
                    for column in 0..black_box(WIDTH) {
                        sums[row] = sums[row].wrapping_add(values[row * WIDTH + column]);
                    }
                }
            }
            _ => {
                let width = black_box(WIDTH);
                for (at, value) in values.iter().enumerate() {
                    sums[at / width] = sums[at / width].wrapping_add(*value);
                }
            }
        }
        black_box(&sums);
    })
}

/// Keeps a value opaque without a trip through memory.
#[inline(always)]
fn black_box_register(mut value: u32) -> u32 {
    // SAFETY: no instruction.
    unsafe { std::arch::asm!("/* {0:e} */", inout(reg) value, options(nomem, nostack, pure)) };
    value
}

/// 1: byte by byte. 2: through characters. 3: with a closure that compares two bytes.
fn find_byte<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(613);
    let lines: Vec<String> = (0..200)
        .map(|_| "abcdefgh".repeat(1 + (random.next() >> 60) as usize) + ";tail")
        .collect();
    Box::new(move || {
        let mut sum = 0;
        for line in &lines {
            let found = match V {
                0 => memchr(line.as_bytes()),
                1 => line.bytes().position(|byte| byte == b';'),
                2 => line
                    .char_indices()
                    .find(|(_, c)| *c == ';')
                    .map(|(at, _)| at),
                _ => line.find(|c: char| c == ';' || c == 'ß'),
            };
            sum += found.unwrap_or(0);
        }
        black_box(sum);
    })
}

/// Eight bytes at a time.
fn memchr(bytes: &[u8]) -> Option<usize> {
    let mut chunks = bytes.chunks_exact(8);
    let mut at = 0;
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().ok()?) ^ 0x3b3b_3b3b_3b3b_3b3b;
        let zeros = word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080;
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    Some(at + chunks.remainder().iter().position(|&byte| byte == b';')?)
}

/// 1: with a copy before. 2: a stable sort. 3: through a map.
fn unique<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(617);
    let numbers: Vec<u32> = (0..2000).map(|_| (random.next() >> 54) as u32).collect();
    let mut scratch: Vec<u32> = Vec::with_capacity(numbers.len());
    Box::new(move || {
        scratch.clear();
        scratch.extend_from_slice(&numbers);
        match V {
            0 => {
                scratch.sort_unstable();
                scratch.dedup();
            }
            1 => {
                let mut copies: Vec<Vec<u32>> = scratch.chunks(8).map(<[u32]>::to_vec).collect();
                black_box(&mut copies);
                scratch.sort_unstable();
                scratch.dedup();
            }
            2 => {
                scratch.sort();
                scratch.dedup();
            }
            _ => {
                let mut seen: HashMap<u32, (), Sip> = HashMap::default();
                scratch.retain(|&number| seen.insert(number, ()).is_none());
                scratch.sort_unstable();
            }
        }
        black_box(&scratch);
    })
}

/// 1: a remainder each time. 2: one lane. 3: a table.
fn checksum<const V: u8>() -> Box<dyn FnMut()> {
    const MODULUS: u32 = 65_521;
    let mut random = Random(619);
    let data: Vec<u8> = (0..12_000).map(|_| (random.next() >> 56) as u8).collect();
    let table: Vec<u32> = (0..256).map(|_| (random.next() >> 32) as u32).collect();
    Box::new(move || {
        let (mut a, mut b) = (1_u32, 0_u32);
        match V {
            0 => {
                for chunk in data.chunks(3800) {
                    for &byte in chunk {
                        a += u32::from(byte);
                        b += a;
                    }
                    a %= MODULUS;
                    b %= MODULUS;
                }
            }
            1 => {
                for &byte in &data {
                    a = (a + u32::from(byte)) % MODULUS;
                    b = (b + a) % MODULUS;
                }
            }
            2 => {
                for &byte in &data {
                    a = (a ^ u32::from(byte)).wrapping_mul(0x0100_0193);
                }
            }
            _ => {
                for &byte in &data {
                    a = table[usize::from(a as u8 ^ byte)] ^ a >> 8;
                }
            }
        }
        black_box((a, b));
    })
}

/// 1: collects the fields. 2: owned fields. 3: parses by hand.
fn parse_lines<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(631);
    let text: String = (0..500)
        .map(|_| {
            format!(
                "{},{},{}\n",
                random.next() >> 48,
                random.next() >> 54,
                random.next() >> 44
            )
        })
        .collect();
    Box::new(move || {
        let mut sum = 0_u64;
        for line in text.lines() {
            match V {
                0 => {
                    for field in line.split(',') {
                        sum += field.parse::<u64>().unwrap_or(0);
                    }
                }
                1 => {
                    let fields: Vec<&str> = line.split(',').collect();
                    sum += fields
                        .iter()
                        .filter_map(|field| field.parse::<u64>().ok())
                        .sum::<u64>();
                }
                2 => {
                    let fields: Vec<String> = line.split(',').map(str::to_owned).collect();
                    sum += fields
                        .iter()
                        .filter_map(|field| field.parse::<u64>().ok())
                        .sum::<u64>();
                }
                _ => {
                    let mut number = 0;
                    for byte in line.bytes() {
                        if byte == b',' {
                            sum += number;
                            number = 0;
                        } else {
                            number = number * 10 + u64::from(byte - b'0');
                        }
                    }
                    sum += number;
                }
            }
        }
        black_box(sum);
    })
}

/// 1: one sum. 2: of f64. 3: with a branch.
fn dot_product<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(641);
    let mut number = || (random.next() >> 40) as f32 / 1e7 - 0.8;
    let a: Vec<f32> = (0..8192).map(|_| number()).collect();
    let b: Vec<f32> = (0..8192).map(|_| number()).collect();
    Box::new(move || match V {
        0 => {
            let mut sums = [0.0_f32; 8];
            for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
                for lane in 0..8 {
                    sums[lane] += a[lane] * b[lane];
                }
            }
            black_box(sums);
        }
        1 => {
            black_box(a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>());
        }
        2 => {
            let mut sums = [0.0_f64; 8];
            for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
                for lane in 0..8 {
                    sums[lane] += f64::from(a[lane]) * f64::from(b[lane]);
                }
            }
            black_box(sums);
        }
        _ => {
            let mut sum = 0.0_f32;
            for (a, b) in a.iter().zip(&b) {
                if black_box(*a) > 0.0 {
                    sum += a * b;
                }
            }
            black_box(sum);
        }
    })
}

/// 1: a linear search. 2: a hash map. 3: an ordered map.
fn lookup<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(643);
    let mut keys: Vec<u32> = (0..256).map(|_| (random.next() >> 40) as u32).collect();
    keys.sort_unstable();
    let queries: Vec<u32> = (0..1500)
        .map(|_| keys[(random.next() >> 56) as usize])
        .collect();
    let hashed: HashMap<u32, u32, Sip> = keys.iter().map(|&key| (key, key ^ 5)).collect();
    let ordered: BTreeMap<u32, u32> = keys.iter().map(|&key| (key, key ^ 5)).collect();
    Box::new(move || {
        let mut sum = 0_u32;
        for query in &queries {
            let found = match V {
                0 => keys.binary_search(query).map_or(0, |at| keys[at] ^ 5),
                1 => keys
                    .iter()
                    .find(|&key| key == query)
                    .map_or(0, |key| key ^ 5),
                2 => hashed.get(query).copied().unwrap_or(0),
                _ => ordered.get(query).copied().unwrap_or(0),
            };
            sum = sum.wrapping_add(found);
        }
        black_box(sum);
    })
}

/// 1: with divisions. 2: checked stores of two bytes. 3: of f32.
fn draw_lines<const V: u8>() -> Box<dyn FnMut()> {
    const SIZE: i32 = 128;
    let mut random = Random(647);
    let lines: Vec<[i32; 4]> = (0..150)
        .map(|_| std::array::from_fn(|_| (random.next() >> 57) as i32))
        .collect();
    let mut image = vec![0_u8; (SIZE * SIZE) as usize];
    Box::new(move || {
        for &[x0, y0, x1, y1] in &lines {
            let (dx, dy) = (x1 - x0, y1 - y0);
            let steps = dx.abs().max(dy.abs()).max(1);
            match V {
                0 | 2 => {
                    let (step_x, step_y) = ((dx << 16) / steps, (dy << 16) / steps);
                    let (mut x, mut y) = (x0 << 16, y0 << 16);
                    for _ in 0..steps {
                        let place = ((y >> 16) * SIZE + (x >> 16)) as usize;
                        image[place] = 255;
                        if V == 2 && place + 1 < image.len() {
                            image[place + 1] = image[place + 1].max(128);
                        }
                        x += step_x;
                        y += step_y;
                    }
                }
                1 => {
                    for step in 0..steps {
                        let (x, y) = (x0 + dx * step / steps, y0 + dy * step / steps);
                        image[(y * SIZE + x) as usize] = 255;
                    }
                }
                _ => {
                    let (step_x, step_y) = (dx as f32 / steps as f32, dy as f32 / steps as f32);
                    for step in 0..steps {
                        let x = (x0 as f32 + step_x * step as f32) as i32;
                        let y = (y0 as f32 + step_y * step as f32) as i32;
                        image[(y * SIZE + x) as usize & 16383] = 255;
                    }
                }
            }
        }
        black_box(&image);
    })
}

/// 1: a string for each word. 2: by characters. 3: two passes.
fn reverse_words<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(653);
    let text: String = (0..1200)
        .map(|_| "reversed words "[(random.next() >> 62) as usize..].to_owned())
        .collect();
    let mut out = String::with_capacity(text.len() + 16);
    Box::new(move || {
        out.clear();
        match V {
            0 => text.rsplit(' ').for_each(|word| {
                out.push_str(word);
                out.push(' ');
            }),
            1 => text.rsplit(' ').for_each(|word| out += &format!("{word} ")),
            2 => text.rsplit(' ').for_each(|word| {
                word.chars().for_each(|c| out.push(c));
                out.push(' ');
            }),
            _ => {
                let words: Vec<&str> = text.split(' ').collect();
                words.iter().rev().for_each(|word| {
                    out.push_str(word);
                    out.push(' ');
                });
            }
        }
        black_box(&out);
    })
}

/// 1: bit by bit. 2: a table of bytes. 3: clears the lowest bit.
fn bit_count<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(659);
    let words: Vec<u64> = (0..1500).map(|_| random.next() & random.next()).collect();
    let table: Vec<u8> = (0..=255_u8).map(|byte| byte.count_ones() as u8).collect();
    Box::new(move || {
        let mut sum = 0_u32;
        for &word in &words {
            sum += match V {
                0 => {
                    let word = word - (word >> 1 & 0x5555_5555_5555_5555);
                    let word = (word & 0x3333_3333_3333_3333) + (word >> 2 & 0x3333_3333_3333_3333);
                    let word = (word + (word >> 4)) & 0x0f0f_0f0f_0f0f_0f0f;
                    (word.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
                }
                1 => (0..black_box(64)).map(|bit| (word >> bit & 1) as u32).sum(),
                2 => word
                    .to_le_bytes()
                    .iter()
                    .map(|&byte| u32::from(table[usize::from(byte)]))
                    .sum(),
                _ => {
                    let (mut rest, mut count) = (word, 0);
                    while rest != 0 {
                        rest &= rest - 1;
                        count += 1;
                    }
                    count
                }
            };
        }
        black_box(sum);
    })
}

/// 1: with a stack of its own. 2: nodes far apart. 3: with reference counts.
fn tree_depth<const V: u8>() -> Box<dyn FnMut()> {
    struct Node {
        children: [Option<usize>; 2],
        padding: usize,
    }
    fn depth(nodes: &[Node], at: Option<usize>, scale: usize) -> usize {
        at.map_or(0, |at| {
            let children = nodes[at * scale].children;
            1 + depth(nodes, children[0], scale).max(depth(nodes, children[1], scale))
        })
    }
    fn counted_depth(nodes: &[Node], shared: &std::sync::Arc<u32>, at: Option<usize>) -> usize {
        at.map_or(0, |at| {
            let shared = std::sync::Arc::clone(shared);
            let [left, right] = nodes[at].children;
            1 + counted_depth(nodes, &shared, left).max(counted_depth(nodes, &shared, right))
        })
    }
    let mut random = Random(661);
    let scale = if V == 2 { 40 } else { 1 };
    let mut nodes: Vec<Node> = Vec::new();
    let empty = || Node {
        children: [None; 2],
        padding: 0,
    };
    nodes.resize_with(2000 * scale, empty);
    for new in 1..2000 {
        let mut at = 0;
        loop {
            let side = (random.next() >> 63) as usize;
            match nodes[at * scale].children[side] {
                Some(next) => at = next,
                None => {
                    nodes[at * scale].children[side] = Some(new);
                    break;
                }
            }
        }
    }
    let shared = std::sync::Arc::new(1);
    let mut stack: Vec<(usize, usize)> = Vec::with_capacity(4000);
    Box::new(move || match V {
        0 | 2 => {
            black_box(depth(&nodes, Some(0), scale) + nodes[0].padding);
        }
        1 => {
            let mut most = 0;
            stack.push((0, 1));
            while let Some((at, level)) = stack.pop() {
                most = most.max(level);
                stack.extend(
                    nodes[at]
                        .children
                        .iter()
                        .flatten()
                        .map(|&next| (next, level + 1)),
                );
            }
            black_box(most);
        }
        _ => {
            black_box(counted_depth(&nodes, &shared, Some(0)));
        }
    })
}

/// 1: grows by itself. 2: `format!`. 3: `write!`.
fn join_strings<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(673);
    let parts: Vec<String> = (0..600)
        .map(|_| format!("part{}", random.next() >> 50))
        .collect();
    Box::new(move || {
        let mut out = if V == 1 {
            String::new()
        } else {
            String::with_capacity(16 << 10)
        };
        for part in &parts {
            match V {
                0 => {
                    out.push_str(part);
                    out.push(',');
                }
                1 => out = out[..].to_owned().split_off(out.len().saturating_sub(64)) + part + ",",
                2 => out += &format!("{part},"),
                _ => drop(write!(out, "{part},")),
            }
        }
        black_box(out);
    })
}

/// 1: of i32. 2: with branches. 3: rounded through f32.
fn clamp_pixels<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(677);
    let pixels: Vec<i16> = (0..16_384)
        .map(|_| (random.next() >> 54) as i16 - 300)
        .collect();
    let wide: Vec<i32> = pixels.iter().map(|&pixel| pixel.into()).collect();
    let mut out = vec![0_u8; pixels.len()];
    Box::new(move || {
        match V {
            0 => out
                .iter_mut()
                .zip(&pixels)
                .for_each(|(out, pixel)| *out = (*pixel).clamp(0, 255) as u8),
            1 => out
                .iter_mut()
                .zip(&wide)
                .for_each(|(out, pixel)| *out = (*pixel).clamp(0, 255) as u8),
            2 => {
                for (out, pixel) in out.iter_mut().zip(&pixels) {
                    let pixel = black_box(*pixel);
                    *out = if pixel < 0 {
                        0
                    } else if pixel > 255 {
                        255
                    } else {
                        black_box(pixel as u8)
                    };
                }
            }
            _ => out.iter_mut().zip(&pixels).for_each(|(out, pixel)| {
                *out = (f32::from(*pixel) * 0.98 + 0.5) as u8;
            }),
        }
        black_box(&out);
    })
}

/// 1: all divisors. 2: without the square root. 3: of u64.
fn primes<const V: u8>() -> Box<dyn FnMut()> {
    Box::new(move || {
        let limit = black_box(1500_u32);
        let mut count = 0;
        for number in 3..limit {
            let is_prime = match V {
                0 => (2..)
                    .take_while(|d| d * d <= number)
                    .all(|d| number % d != 0),
                1 => (2..number / 4).all(|d| number % d != 0),
                2 => {
                    number % 2 != 0
                        && (3..)
                            .step_by(2)
                            .take_while(|d| d * d <= number)
                            .all(|d| number % d != 0)
                }
                _ => (2..)
                    .take_while(|d| d * d <= u64::from(number))
                    .all(|d| black_box(1 << 40 | u64::from(number)) % d != 0),
            };
            count += u32::from(is_prime);
        }
        black_box(count);
    })
}

/// 1: a table of transitions. 2: one more state. 3: without a state.
fn state_machine<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(683);
    let bytes: Vec<u8> = (0..12_000)
        .map(|_| b"ab \"c1,2"[(random.next() >> 61) as usize])
        .collect();
    let table: [[u8; 256]; 3] = std::array::from_fn(|state| {
        std::array::from_fn(|byte| match (state, byte as u8) {
            (0, b'"') => 1,
            (0, b'0'..=b'9') => 2,
            (1, b'"') | (2, b' ' | b',') => 0,
            _ => state as u8,
        })
    });
    Box::new(move || {
        let (mut state, mut changes, mut quoted) = (0_u8, 0_u32, 0_u32);
        for &byte in &bytes {
            let next = match V {
                0 | 2 => match (state, byte) {
                    (0, b'"') => 1,
                    (0, b'0'..=b'9') => 2,
                    (3, b'a') if V == 2 => 0,
                    (1, b'"') => {
                        if V == 2 {
                            3
                        } else {
                            0
                        }
                    }
                    (2, b' ' | b',') => 0,
                    _ => state,
                },
                1 => table[usize::from(state)][usize::from(byte)],
                _ => byte & 1,
            };
            changes += u32::from(next != state);
            quoted += u32::from(next == 1);
            state = next;
        }
        black_box((changes, quoted));
    })
}

/// 1: the other way round. 2: of f64. 3: rows in boxes, with indices.
fn matrix_vector<const V: u8>() -> Box<dyn FnMut()> {
    const SIZE: usize = 96;
    let mut random = Random(691);
    let matrix: Vec<f32> = (0..SIZE * SIZE)
        .map(|_| (random.next() >> 44) as f32)
        .collect();
    let doubles: Vec<f64> = matrix.iter().map(|&value| value.into()).collect();
    let rows: Vec<Vec<f32>> = matrix.chunks(SIZE).map(<[f32]>::to_vec).collect();
    let vector: Vec<f32> = matrix[..SIZE].to_vec();
    let mut out = vec![0.0_f32; SIZE];
    Box::new(move || {
        out.fill(0.0);
        match V {
            0 => {
                for (column, x) in vector.iter().enumerate() {
                    let values = &matrix[column * SIZE..(column + 1) * SIZE];
                    out.iter_mut()
                        .zip(values)
                        .for_each(|(sum, value)| *sum += value * x);
                }
            }
            1 => {
                for (row, sum) in out.iter_mut().enumerate() {
                    let values = matrix.iter().skip(row).step_by(SIZE);
                    *sum = values.zip(&vector).map(|(value, x)| value * x).sum();
                }
            }
            2 => {
                let mut sums = [0.0_f64; SIZE];
                for (column, x) in vector.iter().enumerate() {
                    let values = &doubles[column * SIZE..(column + 1) * SIZE];
                    sums.iter_mut()
                        .zip(values)
                        .for_each(|(sum, value)| *sum += value * f64::from(*x));
                }
                black_box(sums);
            }
            _ => {
                for row in 0..SIZE {
                    for column in 0..black_box(SIZE) {
                        out[row] += rows[row][column] * vector[column];
                    }
                }
            }
        }
        black_box(&out);
    })
}

/// 1: boxed closures. 2: trait objects. 3: sorted by kind first.
fn events<const V: u8>() -> Box<dyn FnMut()> {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Move(i32, i32),
        Click(u32),
        Key(u8),
        Tick,
    }
    trait Handler {
        fn handle(&self, total: &mut i64);
    }
    struct Moved(i32, i32);
    struct Clicked(u32);
    struct Pressed(u8);
    struct Ticked;
    impl Handler for Moved {
        fn handle(&self, total: &mut i64) {
            *total += i64::from(self.0 * 3 - self.1);
        }
    }
    impl Handler for Clicked {
        fn handle(&self, total: &mut i64) {
            *total ^= i64::from(self.0);
        }
    }
    impl Handler for Pressed {
        fn handle(&self, total: &mut i64) {
            *total = total.rotate_left(u32::from(self.0 & 7));
        }
    }
    impl Handler for Ticked {
        fn handle(&self, total: &mut i64) {
            *total += 1;
        }
    }
    fn handle(event: Event, total: &mut i64) {
        match event {
            Event::Move(x, y) => *total += i64::from(x * 3 - y),
            Event::Click(button) => *total ^= i64::from(button),
            Event::Key(key) => *total = total.rotate_left(u32::from(key & 7)),
            Event::Tick => *total += 1,
        }
    }
    let mut random = Random(701);
    let list: Vec<Event> = (0..3000)
        .map(|_| {
            let number = random.next();
            match number >> 62 {
                0 => Event::Move((number >> 30) as u8 as i32, 4),
                1 => Event::Click((number >> 40) as u8 as u32),
                2 => Event::Key((number >> 40) as u8),
                _ => Event::Tick,
            }
        })
        .collect();
    let closures: Vec<Box<dyn Fn(&mut i64)>> = list
        .iter()
        .map(|&event| {
            Box::new(move |total: &mut i64| handle(event, total)) as Box<dyn Fn(&mut i64)>
        })
        .collect();
    let objects: Vec<Box<dyn Handler>> = list
        .iter()
        .map(|&event| match event {
            Event::Move(x, y) => Box::new(Moved(x, y)) as Box<dyn Handler>,
            Event::Click(button) => Box::new(Clicked(button)),
            Event::Key(key) => Box::new(Pressed(key)),
            Event::Tick => Box::new(Ticked),
        })
        .collect();
    let mut sorted = list.clone();
    sorted.sort_unstable();
    Box::new(move || {
        let mut total = 0;
        match V {
            0 => list.iter().for_each(|&event| handle(event, &mut total)),
            1 => closures.iter().for_each(|closure| closure(&mut total)),
            2 => objects.iter().for_each(|object| object.handle(&mut total)),
            _ => sorted.iter().for_each(|&event| handle(event, &mut total)),
        }
        black_box(total);
    })
}

/// 1: a remainder by a number that is not constant. 2: moves what is left. 3: `VecDeque`.
fn ring_buffer<const V: u8>() -> Box<dyn FnMut()> {
    let mut random = Random(709);
    let actions: Vec<u8> = (0..6000).map(|_| (random.next() >> 61) as u8).collect();
    let mut ring = vec![0_u32; 64];
    let mut deque: std::collections::VecDeque<u32> = std::collections::VecDeque::with_capacity(64);
    Box::new(move || {
        let (mut begin, mut used, mut sum) = (0, 0, 0_u32);
        let size = if V == 1 { black_box(63) } else { 64 };
        deque.clear();
        for (number, &action) in actions.iter().enumerate() {
            if V == 3 {
                if action < 4 && deque.len() < 60 {
                    deque.push_back(number as u32);
                } else {
                    sum = sum.wrapping_add(deque.pop_front().unwrap_or(1));
                }
            } else if action < 4 && used < 60 {
                ring[(begin + used) % size] = number as u32;
                used += 1;
            } else if used == 0 {
                sum = sum.wrapping_add(1);
            } else {
                sum = sum.wrapping_add(ring[begin]);
                if V == 2 {
                    ring.copy_within(1..used, 0);
                } else {
                    begin = (begin + 1) % size;
                }
                used -= 1;
            }
        }
        black_box(sum);
    })
}

/// 1: `format!`. 2: digits by arithmetic. 3: two tables of bytes.
fn hex_encode<const V: u8>() -> Box<dyn FnMut()> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut random = Random(719);
    let bytes: Vec<u8> = (0..2000).map(|_| (random.next() >> 56) as u8).collect();
    let high: Vec<u8> = (0..=255_u8)
        .map(|byte| DIGITS[usize::from(byte >> 4)])
        .collect();
    let low: Vec<u8> = (0..=255_u8)
        .map(|byte| DIGITS[usize::from(byte & 15)])
        .collect();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len() * 2);
    Box::new(move || {
        out.clear();
        let digit = |nibble: u8| {
            if nibble < 10 {
                b'0' + nibble
            } else {
                b'a' + nibble - 10
            }
        };
        for &byte in &bytes {
            match V {
                0 => out.extend([
                    DIGITS[usize::from(byte >> 4)],
                    DIGITS[usize::from(byte & 15)],
                ]),
                1 => out.extend(format!("{byte:02x}").bytes()),
                2 => {
                    out.push(digit(byte >> 4));
                    out.push(digit(byte & 15));
                }
                _ => {
                    out.push(high[usize::from(byte)]);
                    out.push(low[usize::from(byte)]);
                }
            }
        }
        black_box(&out);
    })
}
