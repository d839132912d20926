//! Various algorithms, written before Golden Cove was calibrated and first run on its model
//! afterwards.

use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::hint::black_box;

use super::{Kernel, Random, held_out, tuned};

pub fn kernels() -> Vec<Kernel> {
    vec![
        held_out("dijkstra-grid", dijkstra),
        tuned("lz-decode", lz_decode),
        held_out("bit-pack", bit_pack),
        held_out("fft-1k", fft),
        held_out("bigint-mul", big_multiplication),
        held_out("blur-u8", blur),
        held_out("csv-parse", csv),
        held_out("bfs-graph", breadth_first),
        held_out("queens-8", queens),
        held_out("bytecode", bytecode),
        held_out("chacha", chacha),
        tuned("box-tree", box_tree),
        held_out("radix-sort", radix_sort),
        tuned("life", life),
        held_out("word-count", word_count),
        held_out("gather-4m", gather),
        held_out("triad-768k", triad),
        held_out("small-copies", small_copies),
    ]
}

fn dijkstra() -> Box<dyn FnMut()> {
    const SIDE: usize = 48;
    let mut random = Random(31);
    let costs: Vec<u32> = (0..SIDE * SIDE)
        .map(|_| 1 + (random.next() >> 60) as u32)
        .collect();
    let mut best = vec![u32::MAX; SIDE * SIDE];
    let mut open = BinaryHeap::new();
    Box::new(move || {
        best.fill(u32::MAX);
        best[0] = 0;
        open.push((std::cmp::Reverse(0_u32), 0_usize));
        while let Some((std::cmp::Reverse(cost), at)) = open.pop() {
            if cost > best[at] {
                continue;
            }
            let (row, column) = (at / SIDE, at % SIDE);
            let mut visit = |next: usize| {
                let through = cost + costs[next];
                if through < best[next] {
                    best[next] = through;
                    open.push((std::cmp::Reverse(through), next));
                }
            };
            if row > 0 {
                visit(at - SIDE);
            }
            if row + 1 < SIDE {
                visit(at + SIDE);
            }
            if column > 0 {
                visit(at - 1);
            }
            if column + 1 < SIDE {
                visit(at + 1);
            }
        }
        black_box(&best);
    })
}

/// Literals and copies of decoded data, as in LZ4.
fn lz_decode() -> Box<dyn FnMut()> {
    let mut random = Random(37);
    let mut packed = Vec::new();
    let mut produced = 0_usize;
    while produced < 48 << 10 {
        let literals = 1 + random.next() as usize % 9;
        packed.push(literals as u8);
        packed.extend((0..literals).map(|_| (random.next() >> 33) as u8));
        produced += literals;
        let length = 4 + random.next() as usize % 20;
        let distance = 1 + random.next() as usize % produced.min(4000);
        packed.push(length as u8);
        packed.extend((distance as u16).to_le_bytes());
        produced += length;
    }
    let mut text: Vec<u8> = Vec::with_capacity(produced + 64);
    Box::new(move || {
        text.clear();
        let mut at = 0;
        while at < packed.len() {
            let literals = usize::from(packed[at]);
            text.extend_from_slice(&packed[at + 1..at + 1 + literals]);
            at += 1 + literals;
            let length = usize::from(packed[at]);
            let distance = usize::from(u16::from_le_bytes([packed[at + 1], packed[at + 2]]));
            at += 3;
            let from = text.len() - distance;
            if distance >= length {
                text.extend_from_within(from..from + length);
            } else {
                for step in 0..length {
                    text.push(text[from + step]);
                }
            }
        }
        black_box(&text);
    })
}

/// Packs codes of different lengths into a bit stream, like an entropy coder.
fn bit_pack() -> Box<dyn FnMut()> {
    let mut random = Random(41);
    let codes: Vec<(u32, u32)> = (0..256)
        .map(|_| {
            let length = 3 + (random.next() >> 40) as u32 % 12;
            ((random.next() >> 30) as u32 & ((1 << length) - 1), length)
        })
        .collect();
    let data: Vec<u8> = (0..20_000).map(|_| (random.next() >> 50) as u8).collect();
    let mut packed = Vec::with_capacity(64 << 10);
    Box::new(move || {
        packed.clear();
        let (mut bits, mut held) = (0_u64, 0);
        for &byte in &data {
            let (code, length) = codes[usize::from(byte)];
            bits |= u64::from(code) << held;
            held += length;
            while held >= 8 {
                packed.push(bits as u8);
                bits >>= 8;
                held -= 8;
            }
        }
        packed.push(bits as u8);
        black_box(&packed);
    })
}

fn fft() -> Box<dyn FnMut()> {
    const POINTS: usize = 1024;
    let roots: Vec<(f64, f64)> = (0..POINTS / 2)
        .map(|step| {
            let angle = -2.0 * std::f64::consts::PI * step as f64 / POINTS as f64;
            (angle.cos(), angle.sin())
        })
        .collect();
    let signal: Vec<(f64, f64)> = (0..POINTS).map(|at| ((at % 17) as f64, 0.0)).collect();
    let mut points = signal.clone();
    Box::new(move || {
        for (at, &value) in signal.iter().enumerate() {
            points[at.reverse_bits() >> (usize::BITS - POINTS.trailing_zeros())] = value;
        }
        let mut half = 1;
        while half < POINTS {
            let step = POINTS / (2 * half);
            for first in (0..POINTS).step_by(2 * half) {
                for offset in 0..half {
                    let (cos, sin) = roots[offset * step];
                    let (re, im) = points[first + offset + half];
                    let turned = (re * cos - im * sin, re * sin + im * cos);
                    let kept = points[first + offset];
                    points[first + offset] = (kept.0 + turned.0, kept.1 + turned.1);
                    points[first + offset + half] = (kept.0 - turned.0, kept.1 - turned.1);
                }
            }
            half *= 2;
        }
        black_box(&points);
    })
}

fn big_multiplication() -> Box<dyn FnMut()> {
    let mut random = Random(43);
    let a: Vec<u64> = (0..96).map(|_| random.next()).collect();
    let b: Vec<u64> = (0..96).map(|_| random.next()).collect();
    let mut product = vec![0_u64; 192];
    Box::new(move || {
        product.fill(0);
        for (place_queens, &factor) in a.iter().enumerate() {
            let mut carry = 0_u64;
            for (offset, &digit) in b.iter().enumerate() {
                let sum = u128::from(factor) * u128::from(digit)
                    + u128::from(product[place_queens + offset])
                    + u128::from(carry);
                product[place_queens + offset] = sum as u64;
                carry = (sum >> 64) as u64;
            }
            product[place_queens + b.len()] = carry;
        }
        black_box(&product);
    })
}

/// The mean of 3 × 3 neighbours, which the compiler vectorises.
fn blur() -> Box<dyn FnMut()> {
    const SIDE: usize = 160;
    let mut random = Random(47);
    let image: Vec<u8> = (0..SIDE * SIDE)
        .map(|_| (random.next() >> 44) as u8)
        .collect();
    let mut blurred = vec![0_u8; SIDE * SIDE];
    Box::new(move || {
        for row in 1..SIDE - 1 {
            let above = &image[(row - 1) * SIDE..][..SIDE];
            let here = &image[row * SIDE..][..SIDE];
            let below = &image[(row + 1) * SIDE..][..SIDE];
            let to = &mut blurred[row * SIDE..][..SIDE];
            for column in 1..SIDE - 1 {
                let mut sum = 0_u16;
                for line in [above, here, below] {
                    sum += u16::from(line[column - 1]);
                    sum += u16::from(line[column]);
                    sum += u16::from(line[column + 1]);
                }
                to[column] = (sum / 9) as u8;
            }
        }
        black_box(&blurred);
    })
}

fn csv() -> Box<dyn FnMut()> {
    let mut random = Random(53);
    let mut text = String::new();
    for row in 0..700 {
        let (a, b) = (random.next() % 100_000, random.next() % 1000);
        text += &format!("{row},name{b},{a},{}.{b:03}\n", a % 977);
    }
    Box::new(move || {
        let (mut whole, mut real, mut letters) = (0_i64, 0.0_f64, 0);
        for line in text.lines() {
            for (column, field) in line.split(',').enumerate() {
                match column {
                    0 | 2 => whole += field.parse::<i64>().unwrap_or(0),
                    3 => real += field.parse::<f64>().unwrap_or(0.0),
                    _ => letters += field.trim().len(),
                }
            }
        }
        black_box((whole, real, letters));
    })
}

fn breadth_first() -> Box<dyn FnMut()> {
    const NODES: usize = 8000;
    let mut random = Random(59);
    let edges: Vec<Vec<u32>> = (0..NODES)
        .map(|_| {
            let degree = 2 + random.next() % 5;
            (0..degree)
                .map(|_| (random.next() % NODES as u64) as u32)
                .collect()
        })
        .collect();
    let mut distance = vec![u32::MAX; NODES];
    let mut queue = VecDeque::new();
    Box::new(move || {
        distance.fill(u32::MAX);
        distance[0] = 0;
        queue.push_back(0_u32);
        while let Some(node) = queue.pop_front() {
            for &next in &edges[node as usize] {
                if distance[next as usize] == u32::MAX {
                    distance[next as usize] = distance[node as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        black_box(&distance);
    })
}

fn queens() -> Box<dyn FnMut()> {
    fn place_queens(columns: u32, left: u32, right: u32) -> u32 {
        if columns == 0xff {
            return 1;
        }
        let mut free = !(columns | left | right) & 0xff;
        let mut solutions = 0;
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            solutions += place_queens(columns | bit, (left | bit) << 1, (right | bit) >> 1);
        }
        solutions
    }
    Box::new(|| {
        black_box(place_queens(black_box(0), 0, 0));
    })
}

/// An interpreter of a small stack machine that counts primes.
fn bytecode() -> Box<dyn FnMut()> {
    #[derive(Clone, Copy)]
    enum Code {
        Push(i64),
        Load(u8),
        Store(u8),
        Add,
        Multiply,
        Remainder,
        Less,
        JumpUnless(u16),
        Jump(u16),
        Stop,
    }
    use Code::*;
    // n = 2; while n < 300 { d = 2; while d * d < n + 1 { if n % d < 1 { skip } d += 1 } count +=
    // 1; n += 1 }
    let program = black_box(vec![
        Push(2),
        Store(0),
        Push(0),
        Store(2),
        // 4: the outer loop
        Load(0),
        Push(300),
        Less,
        JumpUnless(35),
        Push(2),
        Store(1),
        // 10: the inner loop
        Load(1),
        Load(1),
        Multiply,
        Load(0),
        Push(1),
        Add,
        Less,
        JumpUnless(26),
        Load(0),
        Load(1),
        Remainder,
        Push(1),
        Less,
        JumpUnless(36),
        Jump(30),
        Stop,
        // 26: a prime
        Load(2),
        Push(1),
        Add,
        Store(2),
        // 30: the next number
        Load(0),
        Push(1),
        Add,
        Store(0),
        Jump(4),
        Stop,
        // 36: the next divisor
        Load(1),
        Push(1),
        Add,
        Store(1),
        Jump(10),
    ]);
    Box::new(move || {
        let mut stack = [0_i64; 16];
        let mut cells = [0_i64; 4];
        let (mut top, mut at) = (0_usize, 0_usize);
        loop {
            let code = program[at];
            at += 1;
            match code {
                Push(value) => {
                    stack[top & 15] = value;
                    top += 1;
                }
                Load(cell) => {
                    stack[top & 15] = cells[usize::from(cell & 3)];
                    top += 1;
                }
                Store(cell) => {
                    top -= 1;
                    cells[usize::from(cell & 3)] = stack[top & 15];
                }
                Add | Multiply | Remainder | Less => {
                    top -= 1;
                    let (a, b) = (stack[(top - 1) & 15], stack[top & 15]);
                    stack[(top - 1) & 15] = match code {
                        Add => a.wrapping_add(b),
                        Multiply => a.wrapping_mul(b),
                        Remainder => a % b.max(1),
                        _ => i64::from(a < b),
                    };
                }
                JumpUnless(target) => {
                    top -= 1;
                    if stack[top & 15] == 0 {
                        at = usize::from(target);
                    }
                }
                Jump(target) => at = usize::from(target),
                Stop => break,
            }
        }
        black_box(cells);
    })
}

fn chacha() -> Box<dyn FnMut()> {
    fn quarter(state: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
        for (turn_d, turn_b) in [(16, 12), (8, 7)] {
            state[a] = state[a].wrapping_add(state[b]);
            state[d] = (state[d] ^ state[a]).rotate_left(turn_d);
            state[c] = state[c].wrapping_add(state[d]);
            state[b] = (state[b] ^ state[c]).rotate_left(turn_b);
        }
    }
    let key: [u32; 16] =
        std::array::from_fn(|place_queens| 0x6170_7865 ^ (place_queens as u32 * 0x0101_4577));
    let mut text = vec![0_u32; 16 * 64];
    Box::new(move || {
        for (number, chunk) in text.chunks_exact_mut(16).enumerate() {
            let mut state = key;
            state[12] = number as u32;
            for _ in 0..10 {
                quarter(&mut state, 0, 4, 8, 12);
                quarter(&mut state, 1, 5, 9, 13);
                quarter(&mut state, 2, 6, 10, 14);
                quarter(&mut state, 3, 7, 11, 15);
                quarter(&mut state, 0, 5, 10, 15);
                quarter(&mut state, 1, 6, 11, 12);
                quarter(&mut state, 2, 7, 8, 13);
                quarter(&mut state, 3, 4, 9, 14);
            }
            for (to, from) in chunk.iter_mut().zip(&state) {
                *to ^= from;
            }
        }
        black_box(&text);
    })
}

fn box_tree() -> Box<dyn FnMut()> {
    struct Node {
        key: u32,
        children: [Option<Box<Node>>; 2],
    }
    let mut random = Random(61);
    let keys: Vec<u32> = (0..1500).map(|_| (random.next() >> 32) as u32).collect();
    Box::new(move || {
        let mut root: Option<Box<Node>> = None;
        for &key in &keys {
            let mut place_queens = &mut root;
            while let Some(node) = place_queens {
                place_queens = &mut node.children[usize::from(key > node.key)];
            }
            *place_queens = Some(Box::new(Node {
                key,
                children: [None, None],
            }));
        }
        let found = keys
            .iter()
            .filter(|&&key| {
                let mut place_queens = &root;
                while let Some(node) = place_queens {
                    if node.key == key ^ 1 {
                        return true;
                    }
                    place_queens = &node.children[usize::from(key ^ 1 > node.key)];
                }
                false
            })
            .count();
        black_box(found);
    })
}

fn radix_sort() -> Box<dyn FnMut()> {
    let mut random = Random(67);
    let data: Vec<u32> = (0..20_000).map(|_| (random.next() >> 32) as u32).collect();
    let mut from = data.clone();
    let mut to = vec![0_u32; data.len()];
    Box::new(move || {
        from.copy_from_slice(&data);
        for shift in [0, 8, 16, 24] {
            let mut places = [0_usize; 257];
            for &value in &from {
                places[(value >> shift & 255) as usize + 1] += 1;
            }
            for digit in 0..256 {
                places[digit + 1] += places[digit];
            }
            for &value in &from {
                let place_queens = &mut places[(value >> shift & 255) as usize];
                to[*place_queens] = value;
                *place_queens += 1;
            }
            std::mem::swap(&mut from, &mut to);
        }
        black_box(&from);
    })
}

fn life() -> Box<dyn FnMut()> {
    const SIDE: usize = 64;
    let mut random = Random(71);
    let start: Vec<bool> = (0..SIDE * SIDE).map(|_| random.next() >> 62 == 0).collect();
    Box::new(move || {
        let mut cells = start.clone();
        for _ in 0..4 {
            let mut next = vec![false; SIDE * SIDE];
            for row in 0..SIDE {
                for column in 0..SIDE {
                    let mut alive = 0;
                    for (down, right) in [
                        (SIDE - 1, SIDE - 1),
                        (SIDE - 1, 0),
                        (SIDE - 1, 1),
                        (0, SIDE - 1),
                        (0, 1),
                        (1, SIDE - 1),
                        (1, 0),
                        (1, 1),
                    ] {
                        let place_queens = (row + down) % SIDE * SIDE + (column + right) % SIDE;
                        if cells[place_queens] {
                            alive += 1;
                        }
                    }
                    next[row * SIDE + column] = match alive {
                        2 => cells[row * SIDE + column],
                        3 => true,
                        _ => false,
                    };
                }
            }
            cells = next;
        }
        black_box(&cells);
    })
}

fn word_count() -> Box<dyn FnMut()> {
    let mut random = Random(73);
    let mut text = String::new();
    for _ in 0..3000 {
        let word = random.next() % 400;
        text += &format!("w{}{word} ", "xyz".repeat(word as usize % 4));
    }
    type Counts<'a> = HashMap<&'a str, u32, BuildHasherDefault<std::hash::DefaultHasher>>;
    Box::new(move || {
        let mut counts = Counts::default();
        for word in text.split_ascii_whitespace() {
            *counts.entry(word).or_default() += 1;
        }
        let mut words: Vec<_> = counts.into_iter().collect();
        words.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        black_box(&words);
    })
}

/// Independent loads from all over 4 MiB.
fn gather() -> Box<dyn FnMut()> {
    let mut random = Random(79);
    let table: Vec<u64> = (0..512 << 10).map(|_| random.next()).collect();
    let places: Vec<u32> = (0..40_000)
        .map(|_| (random.next() % (512 << 10)) as u32)
        .collect();
    Box::new(move || {
        let sum = places.iter().fold(0_u64, |sum, &place_queens| {
            sum.wrapping_add(table[place_queens as usize])
        });
        black_box(sum);
    })
}

/// Two streams of loads and one of stores, which fit the L2 together. The arrays lie one after the
/// other, as in a heap without free chunks: how far they are apart moves the cycles by a tenth.
fn triad() -> Box<dyn FnMut()> {
    const LENGTH: usize = 32 << 10;
    /// With what the allocator keeps with each.
    const DISTANCE: usize = LENGTH + 2;
    let mut data = vec![1.5_f64; 512 + 3 * DISTANCE];
    let first = data.as_ptr().align_offset(4096) + 2;
    Box::new(move || {
        let (a, others) = data[first..].split_at_mut(DISTANCE);
        let (b, c) = others.split_at_mut(DISTANCE);
        let [a, b] = [a, b].map(|array| black_box(&array[..LENGTH]));
        let c = black_box(&mut c[..LENGTH]);
        let factor = black_box(3.0);
        for ((to, a), b) in c.iter_mut().zip(a).zip(b) {
            *to = a + factor * b;
        }
        black_box(&data);
    })
}

/// Calls of `memcpy` with various short lengths.
fn small_copies() -> Box<dyn FnMut()> {
    let mut random = Random(83);
    let from = vec![5_u8; 4096];
    let copies: Vec<(usize, usize)> = (0..3000)
        .map(|_| {
            let length = 1 + random.next() as usize % 120;
            (random.next() as usize % 3000, length)
        })
        .collect();
    let mut text = Vec::with_capacity(400 << 10);
    Box::new(move || {
        text.clear();
        for &(start, length) in &copies {
            text.extend_from_slice(&from[start..start + length]);
        }
        black_box(&text);
    })
}
