//! Kernels written before version 4's branch predictor and its warm-up, and first run on the model
//! when both were done.

use std::collections::VecDeque;
use std::hint::black_box;

use super::{Kernel, Random, fresh};

pub fn kernels() -> Vec<Kernel> {
    vec![
        fresh("huffman", huffman),
        fresh("lu-48", lu_decomposition),
        fresh("heap-sort", heap_sort),
        fresh("union-find", union_find),
        fresh("expression", expression),
        fresh("sudoku", sudoku),
        fresh("k-means", k_means),
        fresh("xx-hash", xx_hash),
        fresh("bloom", bloom_filter),
        fresh("trie", trie),
        fresh("knapsack", knapsack),
        fresh("run-lengths", run_lengths),
        fresh("spheres", spheres),
        fresh("print-f64", print_floats),
        fresh("sorted-insert", sorted_insert),
        fresh("lru-queue", least_recently_used),
    ]
}

/// Decodes a bit stream with codes of 2 to 9 bits, with one table lookup each.
fn huffman() -> Box<dyn FnMut()> {
    // A code of length n takes 2^(9 - n) entries of a 9-bit table; one more symbol fills the rest.
    let lengths = [2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 8, 9, 9];
    let mut table: Vec<(u8, u8)> = Vec::new();
    for (symbol, &length) in lengths.iter().enumerate() {
        table.extend(std::iter::repeat_n((symbol as u8, length), 512 >> length));
    }
    table.resize(512, (14, 9));
    let mut random = Random(101);
    let stream: Vec<u64> = (0..1200).map(|_| random.next()).collect();
    let mut text = Vec::with_capacity(64 << 10);
    Box::new(move || {
        text.clear();
        let (mut bits, mut held) = (0_u64, 0_u32);
        for &word in &stream {
            for half in [word >> 32, word & 0xffff_ffff] {
                bits |= half << held;
                held += 32;
                while held >= 9 {
                    let (symbol, length) = table[(bits & 511) as usize];
                    text.push(symbol);
                    bits >>= length;
                    held -= u32::from(length);
                }
            }
        }
        black_box(&text);
    })
}

/// LU decomposition with pivoting.
fn lu_decomposition() -> Box<dyn FnMut()> {
    const SIDE: usize = 48;
    let mut random = Random(103);
    let start: Vec<f64> = (0..SIDE * SIDE)
        .map(|_| (random.next() >> 40) as f64 / 1e6 - 8.0)
        .collect();
    let mut matrix = start.clone();
    Box::new(move || {
        matrix.copy_from_slice(&start);
        for step in 0..SIDE {
            let mut pivot = step;
            for row in step + 1..SIDE {
                if matrix[row * SIDE + step].abs() > matrix[pivot * SIDE + step].abs() {
                    pivot = row;
                }
            }
            for column in 0..SIDE {
                matrix.swap(step * SIDE + column, pivot * SIDE + column);
            }
            let (above, below) = matrix.split_at_mut((step + 1) * SIDE);
            let pivots = &above[step * SIDE..];
            for row in below.chunks_exact_mut(SIDE) {
                let factor = row[step] / pivots[step];
                row[step] = factor;
                for column in step + 1..SIDE {
                    row[column] -= factor * pivots[column];
                }
            }
        }
        black_box(&matrix);
    })
}

fn heap_sort() -> Box<dyn FnMut()> {
    let mut random = Random(107);
    let data: Vec<u32> = (0..3000).map(|_| (random.next() >> 32) as u32).collect();
    let mut heap = data.clone();
    fn sift(heap: &mut [u32], mut at: usize) {
        loop {
            let mut child = 2 * at + 1;
            if child >= heap.len() {
                return;
            }
            if child + 1 < heap.len() && heap[child + 1] > heap[child] {
                child += 1;
            }
            if heap[at] >= heap[child] {
                return;
            }
            heap.swap(at, child);
            at = child;
        }
    }
    Box::new(move || {
        heap.copy_from_slice(&data);
        for at in (0..heap.len() / 2).rev() {
            sift(&mut heap, at);
        }
        for end in (1..heap.len()).rev() {
            heap.swap(0, end);
            sift(&mut heap[..end], 0);
        }
        black_box(&heap);
    })
}

fn union_find() -> Box<dyn FnMut()> {
    const NODES: usize = 4000;
    let mut random = Random(109);
    let pairs: Vec<(u32, u32)> = (0..6000)
        .map(|_| {
            let node = |bits: u64| (bits % NODES as u64) as u32;
            (node(random.next()), node(random.next()))
        })
        .collect();
    let mut parents: Vec<u32> = vec![0; NODES];
    Box::new(move || {
        for (node, parent) in (0..).zip(&mut parents) {
            *parent = node;
        }
        let mut sets = NODES;
        for &(a, b) in &pairs {
            let mut root = |mut node: u32| {
                while parents[node as usize] != node {
                    let grandparent = parents[parents[node as usize] as usize];
                    parents[node as usize] = grandparent;
                    node = grandparent;
                }
                node
            };
            let (a, b) = (root(a), root(b));
            if a != b {
                parents[a as usize] = b;
                sets -= 1;
            }
        }
        black_box(sets);
    })
}

/// Evaluates arithmetic by recursive descent.
fn expression() -> Box<dyn FnMut()> {
    struct Parser<'a> {
        text: &'a [u8],
        at: usize,
    }
    impl Parser<'_> {
        fn sum(&mut self) -> i64 {
            let mut value = self.product();
            while let Some(sign @ (b'+' | b'-')) = self.text.get(self.at).copied() {
                self.at += 1;
                let right = self.product();
                value = if sign == b'+' {
                    value.wrapping_add(right)
                } else {
                    value.wrapping_sub(right)
                };
            }
            value
        }
        fn product(&mut self) -> i64 {
            let mut value = self.atom();
            while self.text.get(self.at) == Some(&b'*') {
                self.at += 1;
                value = value.wrapping_mul(self.atom());
            }
            value
        }
        fn atom(&mut self) -> i64 {
            if self.text.get(self.at) == Some(&b'(') {
                self.at += 1;
                let value = self.sum();
                self.at += 1;
                return value;
            }
            let mut value = 0;
            while let Some(digit @ b'0'..=b'9') = self.text.get(self.at).copied() {
                value = value * 10 + i64::from(digit - b'0');
                self.at += 1;
            }
            value
        }
    }
    fn write(random: &mut Random, depth: u32, text: &mut String) {
        for part in 0..2 + random.next() % 3 {
            if part > 0 {
                text.push(['+', '-', '*'][(random.next() % 3) as usize]);
            }
            if depth > 0 && random.next().is_multiple_of(3) {
                text.push('(');
                write(random, depth - 1, text);
                text.push(')');
            } else {
                *text += &(random.next() % 2000).to_string();
            }
        }
    }
    let mut random = Random(113);
    let lines: Vec<String> = (0..300)
        .map(|_| {
            let mut text = String::new();
            write(&mut random, 5, &mut text);
            text
        })
        .collect();
    Box::new(move || {
        let mut total = 0_i64;
        for line in &lines {
            let mut parser = Parser {
                text: line.as_bytes(),
                at: 0,
            };
            total = total.wrapping_add(parser.sum());
        }
        black_box(total);
    })
}

/// Solves a sudoku by backtracking, first free cell first.
fn sudoku() -> Box<dyn FnMut()> {
    const PUZZLE: &[u8; 81] =
        b"53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
    #[derive(Clone)]
    struct Board {
        cells: [u8; 81],
        rows: [u16; 9],
        columns: [u16; 9],
        boxes: [u16; 9],
    }
    impl Board {
        fn toggle(&mut self, cell: usize, digit: u8) {
            let bit = 1 << digit;
            self.rows[cell / 9] ^= bit;
            self.columns[cell % 9] ^= bit;
            self.boxes[cell / 27 * 3 + cell % 9 / 3] ^= bit;
        }
        fn solve(&mut self, from: usize) -> bool {
            let Some(cell) = (from..81).find(|&cell| self.cells[cell] == 0) else {
                return true;
            };
            let used = self.rows[cell / 9]
                | self.columns[cell % 9]
                | self.boxes[cell / 27 * 3 + cell % 9 / 3];
            for digit in 1..=9 {
                if used >> digit & 1 == 0 {
                    self.cells[cell] = digit;
                    self.toggle(cell, digit);
                    if self.solve(cell + 1) {
                        return true;
                    }
                    self.toggle(cell, digit);
                    self.cells[cell] = 0;
                }
            }
            false
        }
    }
    let mut start = Board {
        cells: [0; 81],
        rows: [0; 9],
        columns: [0; 9],
        boxes: [0; 9],
    };
    for (cell, &letter) in PUZZLE.iter().enumerate() {
        if letter != b'.' {
            start.cells[cell] = letter - b'0';
            start.toggle(cell, letter - b'0');
        }
    }
    Box::new(move || {
        let mut board = start.clone();
        black_box(board.solve(0));
        black_box(&board.cells);
    })
}

fn k_means() -> Box<dyn FnMut()> {
    let mut random = Random(127);
    let mut point = || {
        let mut coordinate = || (random.next() >> 44) as f64 / 1000.0;
        (coordinate(), coordinate(), coordinate())
    };
    let points: Vec<(f64, f64, f64)> = (0..1500).map(|_| point()).collect();
    let start: [(f64, f64, f64); 7] = std::array::from_fn(|_| point());
    Box::new(move || {
        let mut centres = start;
        for _ in 0..2 {
            let mut sums = [(0.0, 0.0, 0.0, 0_u32); 7];
            for &(x, y, z) in &points {
                let (mut nearest, mut least) = (0, f64::INFINITY);
                for (number, &(cx, cy, cz)) in centres.iter().enumerate() {
                    let distance = (x - cx) * (x - cx) + (y - cy) * (y - cy) + (z - cz) * (z - cz);
                    if distance < least {
                        (nearest, least) = (number, distance);
                    }
                }
                let sum = &mut sums[nearest];
                *sum = (sum.0 + x, sum.1 + y, sum.2 + z, sum.3 + 1);
            }
            for (centre, (x, y, z, count)) in centres.iter_mut().zip(sums) {
                let count = f64::from(count.max(1));
                *centre = (x / count, y / count, z / count);
            }
        }
        black_box(&centres);
    })
}

/// Four lanes of multiplications and rotations over 24 KiB, as in xxHash64.
fn xx_hash() -> Box<dyn FnMut()> {
    const FIRST: u64 = 0x9e37_79b1_85eb_ca87;
    const SECOND: u64 = 0xc2b2_ae3d_27d4_eb4f;
    let mut random = Random(131);
    let data: Vec<u64> = (0..3 << 10).map(|_| random.next()).collect();
    Box::new(move || {
        let mut lanes = [FIRST.wrapping_add(SECOND), SECOND, 0, FIRST.wrapping_neg()];
        for chunk in data.chunks_exact(4) {
            for (lane, &word) in lanes.iter_mut().zip(chunk) {
                *lane = lane
                    .wrapping_add(word.wrapping_mul(SECOND))
                    .rotate_left(31)
                    .wrapping_mul(FIRST);
            }
        }
        let hash = lanes
            .iter()
            .fold(0_u64, |hash, lane| hash.rotate_left(7) ^ lane);
        black_box(hash);
    })
}

/// Five bits per key in 256 KiB; half of the queries are for other keys.
fn bloom_filter() -> Box<dyn FnMut()> {
    const BITS: u64 = 1 << 21;
    let mut random = Random(137);
    let keys: Vec<u64> = (0..8000).map(|_| random.next()).collect();
    let mut filter = vec![0_u64; BITS as usize / 64];
    Box::new(move || {
        filter.fill(0);
        let bits = |key: u64| {
            let step = key >> 32 | 1;
            (0..5).map(move |turn| key.wrapping_add(step.wrapping_mul(turn)) % BITS)
        };
        for &key in keys.iter().step_by(2) {
            for bit in bits(key) {
                filter[bit as usize / 64] |= 1 << (bit % 64);
            }
        }
        let found = keys
            .iter()
            .filter(|&&key| bits(key).all(|bit| filter[bit as usize / 64] >> (bit % 64) & 1 == 1))
            .count();
        black_box(found);
    })
}

fn trie() -> Box<dyn FnMut()> {
    #[derive(Clone, Default)]
    struct Node {
        children: [u16; 26],
        words: u16,
    }
    let mut random = Random(139);
    let words: Vec<Vec<u8>> = (0..1500)
        .map(|_| {
            let length = 3 + random.next() % 6;
            // Some letters are more frequent than others.
            let mut letter = || (random.next() % 26 * (random.next() % 26) / 26) as u8;
            (0..length).map(|_| letter()).collect()
        })
        .collect();
    let mut nodes: Vec<Node> = Vec::with_capacity(16 << 10);
    Box::new(move || {
        nodes.clear();
        nodes.push(Node::default());
        for word in &words {
            let mut at = 0;
            for &letter in word {
                let next = nodes[at].children[usize::from(letter)];
                at = if next == 0 {
                    nodes.push(Node::default());
                    let new = nodes.len() - 1;
                    nodes[at].children[usize::from(letter)] = new as u16;
                    new
                } else {
                    usize::from(next)
                };
            }
            nodes[at].words += 1;
        }
        black_box(&nodes);
    })
}

fn knapsack() -> Box<dyn FnMut()> {
    const CAPACITY: usize = 2000;
    let mut random = Random(149);
    let items: Vec<(usize, u32)> = (0..60)
        .map(|_| {
            (
                5 + random.next() as usize % 90,
                (random.next() % 500) as u32,
            )
        })
        .collect();
    let mut best = vec![0_u32; CAPACITY + 1];
    Box::new(move || {
        best.fill(0);
        for &(weight, value) in &items {
            for room in (weight..=CAPACITY).rev() {
                best[room] = best[room].max(best[room - weight] + value);
            }
        }
        black_box(&best);
    })
}

/// Encodes runs of equal bytes and decodes them again.
fn run_lengths() -> Box<dyn FnMut()> {
    let mut random = Random(151);
    let mut data = Vec::new();
    while data.len() < 20_000 {
        let length = 1 + (random.next() % 9 * (random.next() % 9)) as usize / 4;
        data.extend(std::iter::repeat_n((random.next() >> 60) as u8, length));
    }
    let mut packed: Vec<(u8, u8)> = Vec::with_capacity(data.len());
    let mut unpacked = Vec::with_capacity(data.len());
    Box::new(move || {
        packed.clear();
        for &byte in &data {
            match packed.last_mut() {
                Some((last, count)) if *last == byte && *count < u8::MAX => *count += 1,
                _ => packed.push((byte, 1)),
            }
        }
        unpacked.clear();
        for &(byte, count) in &packed {
            for _ in 0..count {
                unpacked.push(byte);
            }
        }
        black_box(&unpacked);
    })
}

/// The nearest of a few spheres hit by each ray.
fn spheres() -> Box<dyn FnMut()> {
    let mut random = Random(157);
    let mut unit = || (random.next() >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0;
    let spheres: Vec<([f64; 3], f64)> = (0..12)
        .map(|_| {
            (
                [unit() * 4.0, unit() * 4.0, 6.0 + unit() * 3.0],
                0.6 + 0.4 * unit(),
            )
        })
        .collect();
    let rays: Vec<[f64; 3]> = (0..500)
        .map(|_| {
            let (x, y) = (unit() * 0.7, unit() * 0.7);
            let length = (x * x + y * y + 1.0).sqrt();
            [x / length, y / length, 1.0 / length]
        })
        .collect();
    Box::new(move || {
        let mut sum = 0.0;
        for ray in &rays {
            let mut nearest = f64::INFINITY;
            for (centre, radius) in &spheres {
                let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
                let along = dot(ray, centre);
                let under_root = along * along - dot(centre, centre) + radius * radius;
                if under_root < 0.0 {
                    continue;
                }
                let distance = along - under_root.sqrt();
                if distance > 0.0 && distance < nearest {
                    nearest = distance;
                }
            }
            if nearest.is_finite() {
                sum += nearest;
            }
        }
        black_box(sum);
    })
}

fn print_floats() -> Box<dyn FnMut()> {
    use std::fmt::Write;
    let mut random = Random(163);
    let numbers: Vec<f64> = (0..600)
        .map(|_| (random.next() >> 20) as f64 / 10_f64.powi((random.next() % 12) as i32))
        .collect();
    let mut text = String::with_capacity(32 << 10);
    Box::new(move || {
        text.clear();
        for number in &numbers {
            let _ = write!(text, "{number} {number:.3};");
        }
        black_box(&text);
    })
}

/// Keeps a vector sorted as numbers arrive: a search and a memory move for each.
fn sorted_insert() -> Box<dyn FnMut()> {
    let mut random = Random(167);
    let numbers: Vec<u32> = (0..1200).map(|_| (random.next() >> 32) as u32).collect();
    let mut sorted = Vec::with_capacity(numbers.len());
    Box::new(move || {
        sorted.clear();
        for &number in &numbers {
            let place = sorted.partition_point(|&other| other < number);
            sorted.insert(place, number);
        }
        black_box(&sorted);
    })
}

/// A queue of the 24 most recently used keys, searched from the front.
fn least_recently_used() -> Box<dyn FnMut()> {
    let mut random = Random(173);
    let keys: Vec<u32> = (0..3000)
        .map(|_| (random.next() % 40 * (random.next() % 40) / 20) as u32)
        .collect();
    let mut queue = VecDeque::with_capacity(32);
    Box::new(move || {
        queue.clear();
        let mut hits = 0;
        for &key in &keys {
            if let Some(place) = queue.iter().position(|&other| other == key) {
                hits += 1;
                queue.remove(place);
            } else if queue.len() == 24 {
                queue.pop_back();
            }
            queue.push_front(key);
        }
        black_box(hits);
    })
}
