//! Kernels written before version 10 of Zen 5, and first run on the model when it was done.

use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::hint::black_box;

use super::{Kernel, Random, later};

pub fn kernels() -> Vec<Kernel> {
    vec![
        later("wildcard", wildcard),
        later("bilinear", bilinear),
        later("timestamps", timestamps),
        later("intersect", intersect),
        later("robin-hood", robin_hood),
        later("range-coder", range_coder),
        later("reed-solomon", reed_solomon),
        later("keywords", keywords),
        later("event-queue", event_queue),
        later("sparse-rows", sparse_rows),
        later("treap", treap),
        later("quick-select", quick_select),
        later("utf16", utf16),
        later("vertices", vertices),
        later("hex-dump", hex_dump),
        later("headers", headers),
    ]
}

/// Matches names against patterns with `*` and `?`, going back to the last star.
fn wildcard() -> Box<dyn FnMut()> {
    const PATTERNS: [&[u8]; 6] = [
        b"*.rs",
        b"src/*/mod.??",
        b"*test*_*",
        b"a*b*c*d",
        b"????-*-??",
        b"*/target/*/deps/*",
    ];
    fn matches(pattern: &[u8], name: &[u8]) -> bool {
        let (mut at, mut next) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while at < name.len() {
            if next < pattern.len() && pattern[next] == b'*' {
                star = Some((next, at));
                next += 1;
            } else if next < pattern.len() && (pattern[next] == b'?' || pattern[next] == name[at]) {
                next += 1;
                at += 1;
            } else if let Some((place, begin)) = star {
                next = place + 1;
                at = begin + 1;
                star = Some((place, at));
            } else {
                return false;
            }
        }
        pattern[next..].iter().all(|byte| *byte == b'*')
    }
    let mut random = Random(211);
    let words = [
        "src",
        "abcd",
        "unit_test",
        "lib",
        "target",
        "deps",
        "mod",
        "2026-11-26",
    ];
    let names: Vec<Vec<u8>> = (0..300)
        .map(|_| {
            let mut name = String::new();
            for _ in 0..1 + random.next() % 4 {
                name += words[(random.next() % words.len() as u64) as usize];
                name.push(['/', '_', '-'][(random.next() % 3) as usize]);
            }
            name += ["x.rs", "mod.rs", "d", "c_1"][(random.next() % 4) as usize];
            name.into_bytes()
        })
        .collect();
    Box::new(move || {
        let mut found = 0;
        for name in &names {
            for pattern in PATTERNS {
                found += usize::from(matches(pattern, name));
            }
        }
        black_box(found);
    })
}

/// Scales a grey picture down by 1.37 with bilinear weights.
fn bilinear() -> Box<dyn FnMut()> {
    const FROM: usize = 160;
    const TO: usize = 116;
    let mut random = Random(223);
    let picture: Vec<u8> = (0..FROM * FROM).map(|_| random.next() as u8).collect();
    let mut scaled = vec![0_u8; TO * TO];
    Box::new(move || {
        let step = (FROM - 1) as f32 / TO as f32;
        for y in 0..TO {
            let source_y = y as f32 * step;
            let (top, weight_y) = (source_y as usize, source_y.fract());
            for x in 0..TO {
                let source_x = x as f32 * step;
                let (left, weight_x) = (source_x as usize, source_x.fract());
                let pixel =
                    |dx: usize, dy: usize| f32::from(picture[(top + dy) * FROM + left + dx]);
                let above = pixel(0, 0) + (pixel(1, 0) - pixel(0, 0)) * weight_x;
                let below = pixel(0, 1) + (pixel(1, 1) - pixel(0, 1)) * weight_x;
                scaled[y * TO + x] = (above + (below - above) * weight_y) as u8;
            }
        }
        black_box(&scaled);
    })
}

/// Reads dates of RFC 3339 into seconds since 1970.
fn timestamps() -> Box<dyn FnMut()> {
    fn number(text: &[u8]) -> Option<i64> {
        text.iter().try_fold(0, |sum, byte| {
            byte.is_ascii_digit()
                .then(|| sum * 10 + i64::from(byte - b'0'))
        })
    }
    fn seconds(text: &[u8]) -> Option<i64> {
        if text.len() != 20 || text[10] != b'T' || text[19] != b'Z' {
            return None;
        }
        let (year, month, day) = (
            number(&text[..4])?,
            number(&text[5..7])?,
            number(&text[8..10])?,
        );
        let shifted = year - i64::from(month <= 2);
        let era = shifted.div_euclid(400);
        let of_era = shifted.rem_euclid(400);
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
        let time = number(&text[11..13])? * 3600 + number(&text[14..16])? * 60;
        Some(days * 86_400 + time + number(&text[17..19])?)
    }
    let mut random = Random(227);
    let dates: Vec<String> = (0..400)
        .map(|_| {
            let mut below = |most: u64| random.next() % most;
            format!(
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                1900 + below(200),
                1 + below(12),
                1 + below(28),
                below(24),
                below(60),
                below(60)
            )
        })
        .collect();
    Box::new(move || {
        let sum: i64 = dates
            .iter()
            .filter_map(|date| seconds(date.as_bytes()))
            .sum();
        black_box(sum);
    })
}

/// Intersects sorted lists, the longer one by galloping.
fn intersect() -> Box<dyn FnMut()> {
    let mut random = Random(229);
    let mut list = |length: usize, most: u64| {
        let mut list: Vec<u32> = (0..length).map(|_| (random.next() % most) as u32).collect();
        list.sort_unstable();
        list.dedup();
        list
    };
    let long = list(40_000, 200_000);
    let shorts: Vec<Vec<u32>> = [20, 200, 1000]
        .into_iter()
        .map(|n| list(n, 200_000))
        .collect();
    let mut common = Vec::with_capacity(2000);
    Box::new(move || {
        common.clear();
        for short in &shorts {
            let mut rest = &long[..];
            for &wanted in short {
                let mut step = 1;
                while step < rest.len() && rest[step] < wanted {
                    step *= 2;
                }
                let end = rest.len().min(step + 1);
                let at = step / 2 + rest[step / 2..end].partition_point(|value| *value < wanted);
                rest = &rest[at..];
                if rest.first() == Some(&wanted) {
                    common.push(wanted);
                }
            }
        }
        black_box(&common);
    })
}

/// Fills an open table, where who is further from home displaces others, and looks keys up.
fn robin_hood() -> Box<dyn FnMut()> {
    const PLACES: usize = 4096;
    const EMPTY: u64 = 0;
    fn home(key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize
    }
    let mut random = Random(233);
    let keys: Vec<u64> = (0..3300).map(|_| random.next() | 1).collect();
    let mut table = vec![EMPTY; PLACES];
    Box::new(move || {
        table.fill(EMPTY);
        for &key in &keys {
            let (mut carried, mut at, mut distance) = (key, home(key), 0);
            loop {
                let other = table[at];
                if other == EMPTY {
                    table[at] = carried;
                    break;
                }
                let others = at.wrapping_sub(home(other)) % PLACES;
                if others < distance {
                    table[at] = carried;
                    (carried, distance) = (other, others);
                }
                at = (at + 1) % PLACES;
                distance += 1;
            }
        }
        let mut found = 0;
        for key in keys.iter().flat_map(|key| [*key, key ^ 2]) {
            let mut at = home(key);
            let mut distance = 0;
            loop {
                let other = table[at];
                if other == key {
                    found += 1;
                    break;
                }
                if other == EMPTY || at.wrapping_sub(home(other)) % PLACES < distance {
                    break;
                }
                at = (at + 1) % PLACES;
                distance += 1;
            }
        }
        black_box(found);
    })
}

/// Codes bits by probabilities that adapt, as the range coder of LZMA does.
fn range_coder() -> Box<dyn FnMut()> {
    let mut random = Random(239);
    let bytes: Vec<u8> = (0..2000)
        .map(|_| b"eeeetttaaoinshrdlu  "[(random.next() % 20) as usize])
        .collect();
    let mut output = Vec::with_capacity(4096);
    Box::new(move || {
        output.clear();
        let mut probabilities = [1024_u16; 256];
        let (mut low, mut range) = (0_u64, u32::MAX);
        for &byte in &bytes {
            let mut context = 1_usize;
            for bit in (0..8).rev().map(|at| byte >> at & 1) {
                let probability = &mut probabilities[context];
                let bound = (range >> 11) * u32::from(*probability);
                if bit == 0 {
                    range = bound;
                    *probability += (2048 - *probability) >> 5;
                } else {
                    low += u64::from(bound);
                    range -= bound;
                    *probability -= *probability >> 5;
                }
                context = context << 1 | usize::from(bit);
                while range < 1 << 24 {
                    output.push((low >> 24) as u8);
                    low = low << 8 & 0xffff_ffff;
                    range <<= 8;
                }
            }
        }
        black_box(&output);
    })
}

/// Computes 16 bytes of parity for 223, by tables of logarithms.
fn reed_solomon() -> Box<dyn FnMut()> {
    let (mut exponents, mut logarithms) = ([0_u8; 512], [0_u8; 256]);
    let mut value = 1_u16;
    for power in 0..255 {
        exponents[power] = value as u8;
        exponents[power + 255] = value as u8;
        logarithms[usize::from(value)] = power as u8;
        value <<= 1;
        if value & 0x100 != 0 {
            value ^= 0x11d;
        }
    }
    let times = move |a: u8, b: u8| match (a, b) {
        (0, _) | (_, 0) => 0,
        _ => {
            let sum = logarithms[usize::from(a)] as usize + logarithms[usize::from(b)] as usize;
            exponents[sum]
        }
    };
    let mut generator = [0_u8; 17];
    generator[0] = 1;
    for (degree, root) in exponents[..16].iter().enumerate() {
        for at in (1..=degree + 1).rev() {
            generator[at] = generator[at - 1] ^ times(generator[at], *root);
        }
        generator[0] = times(generator[0], *root);
    }
    let mut random = Random(241);
    let blocks: Vec<[u8; 223]> = (0..6)
        .map(|_| std::array::from_fn(|_| random.next() as u8))
        .collect();
    Box::new(move || {
        for block in &blocks {
            let mut parity = [0_u8; 16];
            for byte in block {
                let factor = byte ^ parity[15];
                for at in (1..16).rev() {
                    parity[at] = parity[at - 1] ^ times(factor, generator[at]);
                }
                parity[0] = times(factor, generator[0]);
            }
            black_box(&parity);
        }
    })
}

/// Splits source text into words, and tells keywords by a match.
fn keywords() -> Box<dyn FnMut()> {
    let mut random = Random(251);
    let words = [
        "fn",
        "let",
        "mut",
        "match",
        "self",
        "index",
        "value",
        "if",
        "else",
        "while",
        "result",
        "impl",
        "trait",
        "loop_count",
        "return",
        "struct",
        "items",
        "x",
        "y1",
        "crate_name",
    ];
    let mut text = String::new();
    for _ in 0..1500 {
        text += words[(random.next() % words.len() as u64) as usize];
        text += [" ", "(", ") ", ", ", ";\n    ", " = "][(random.next() % 6) as usize];
    }
    fn kind(word: &str) -> u32 {
        match word {
            "fn" => 1,
            "let" => 2,
            "mut" => 3,
            "match" => 4,
            "self" => 5,
            "if" => 6,
            "else" => 7,
            "while" => 8,
            "impl" => 9,
            "trait" => 10,
            "return" => 11,
            "struct" => 12,
            _ => 0,
        }
    }
    Box::new(move || {
        let mut kinds = [0_u32; 13];
        let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let mut rest = &text[..];
        while let Some(begin) = rest.find(is_of_word) {
            rest = &rest[begin..];
            let end = rest
                .find(|letter| !is_of_word(letter))
                .unwrap_or(rest.len());
            kinds[kind(&rest[..end]) as usize] += 1;
            rest = &rest[end..];
        }
        black_box(kinds);
    })
}

/// Simulates customers of eight counters, next event first.
fn event_queue() -> Box<dyn FnMut()> {
    Box::new(move || {
        let mut random = Random(257);
        let mut events = BinaryHeap::with_capacity(64);
        let mut queues = [0_u32; 8];
        let mut served = 0_u64;
        for counter in 0..8_u8 {
            events.push((std::cmp::Reverse(random.next() >> 56), counter, true));
        }
        for _ in 0..3000 {
            let Some((std::cmp::Reverse(now), counter, arrives)) = events.pop() else {
                break;
            };
            let queue = &mut queues[usize::from(counter)];
            if arrives {
                *queue += 1;
                let next = now + 20 + (random.next() >> 58);
                events.push((std::cmp::Reverse(next), counter, true));
                if *queue == 1 {
                    let done = now + 10 + (random.next() >> 58);
                    events.push((std::cmp::Reverse(done), counter, false));
                }
            } else {
                *queue -= 1;
                served += 1;
                if *queue > 0 {
                    let done = now + 10 + (random.next() >> 58);
                    events.push((std::cmp::Reverse(done), counter, false));
                }
            }
        }
        black_box(served);
    })
}

/// Multiplies a sparse matrix, row by row, with a vector.
fn sparse_rows() -> Box<dyn FnMut()> {
    const SIDE: usize = 2000;
    let mut random = Random(263);
    let mut begins = vec![0_usize];
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for _ in 0..SIDE {
        for _ in 0..1 + random.next() % 12 {
            columns.push((random.next() % SIDE as u64) as u32);
            values.push((random.next() >> 40) as f64 / 1e7);
        }
        begins.push(columns.len());
    }
    let vector: Vec<f64> = (0..SIDE).map(|n| 1.0 / (n + 1) as f64).collect();
    let mut product = vec![0.0; SIDE];
    Box::new(move || {
        for (row, range) in product.iter_mut().zip(begins.windows(2)) {
            let parts = columns[range[0]..range[1]]
                .iter()
                .zip(&values[range[0]..range[1]]);
            *row = parts
                .map(|(column, value)| value * vector[*column as usize])
                .sum();
        }
        black_box(&product);
    })
}

/// Inserts keys into a treap of indices, with rotations, and walks it.
fn treap() -> Box<dyn FnMut()> {
    #[derive(Clone, Copy)]
    struct Node {
        key: u32,
        rank: u32,
        children: [u32; 2],
    }
    const NONE: u32 = u32::MAX;
    fn insert(nodes: &mut Vec<Node>, at: u32, new: Node) -> u32 {
        if at == NONE {
            nodes.push(new);
            return nodes.len() as u32 - 1;
        }
        let Node { key, children, .. } = nodes[at as usize];
        if new.key == key {
            return at;
        }
        let side = usize::from(new.key > key);
        let child = insert(nodes, children[side], new);
        nodes[at as usize].children[side] = child;
        if nodes[child as usize].rank > nodes[at as usize].rank {
            nodes[at as usize].children[side] = nodes[child as usize].children[1 - side];
            nodes[child as usize].children[1 - side] = at;
            child
        } else {
            at
        }
    }
    fn sum(nodes: &[Node], at: u32, depth: u64) -> u64 {
        if at == NONE {
            return 0;
        }
        let Node { key, children, .. } = nodes[at as usize];
        let below = children.map(|child| sum(nodes, child, depth + 1));
        below[0] + below[1] + depth * u64::from(key & 15)
    }
    let mut nodes = Vec::with_capacity(1000);
    Box::new(move || {
        nodes.clear();
        let mut random = Random(269);
        let mut root = NONE;
        for _ in 0..900 {
            let drawn = random.next();
            let new = Node {
                key: (drawn >> 40) as u32,
                rank: drawn as u32,
                children: [NONE; 2],
            };
            root = insert(&mut nodes, root, new);
        }
        black_box(sum(&nodes, root, 1));
    })
}

/// Finds medians by partitioning.
fn quick_select() -> Box<dyn FnMut()> {
    let mut random = Random(271);
    let data: Vec<f32> = (0..6000).map(|_| (random.next() >> 40) as f32).collect();
    let mut scratch = data.clone();
    Box::new(move || {
        scratch.copy_from_slice(&data);
        let (mut low, mut high) = (0, scratch.len() - 1);
        let wanted = scratch.len() / 2;
        while low < high {
            let pivot = scratch[(low + high) / 2];
            let (mut left, mut right) = (low, high);
            loop {
                while scratch[left] < pivot {
                    left += 1;
                }
                while scratch[right] > pivot {
                    right -= 1;
                }
                if left >= right {
                    break;
                }
                scratch.swap(left, right);
                left += 1;
                right -= 1;
            }
            if right >= wanted {
                high = right;
            } else {
                low = right + 1;
            }
        }
        black_box(scratch[wanted]);
    })
}

/// Codes text of several scripts as UTF-16 and back.
fn utf16() -> Box<dyn FnMut()> {
    let mut random = Random(277);
    let parts = [
        "plain words ",
        "Grüße ",
        "данные ",
        "数据 ",
        "🦀",
        "ünïcödé ",
    ];
    let text: String = (0..400)
        .map(|_| parts[(random.next() % parts.len() as u64) as usize])
        .collect();
    let mut units: Vec<u16> = Vec::with_capacity(8192);
    let mut again = String::with_capacity(16 << 10);
    Box::new(move || {
        units.clear();
        units.extend(text.encode_utf16());
        again.clear();
        again.extend(char::decode_utf16(units.iter().copied()).map(|unit| unit.unwrap_or('?')));
        black_box(&again);
    })
}

/// Moves vertices by a matrix, projects them, and finds their bounds.
fn vertices() -> Box<dyn FnMut()> {
    let mut random = Random(281);
    let mut number = move || (random.next() >> 40) as f32 / 1e6 - 8.0;
    let vertices: Vec<[f32; 3]> = (0..1500)
        .map(|_| std::array::from_fn(|_| number()))
        .collect();
    let matrix: [[f32; 4]; 4] = [
        [0.8, 0.1, 0.3, 0.5],
        [-0.2, 0.9, 0.1, -1.0],
        [0.1, 0.2, 0.7, 30.0],
        [0.0, 0.0, 0.1, 4.0],
    ];
    Box::new(move || {
        let (mut least, mut most) = ([f32::MAX; 3], [f32::MIN; 3]);
        for [x, y, z] in black_box(&vertices) {
            let product = |row: &[f32; 4]| row[0] * x + row[1] * y + row[2] * z + row[3];
            let depth = product(&matrix[3]);
            for axis in 0..3 {
                let place = product(&matrix[axis]) / depth;
                least[axis] = least[axis].min(place);
                most[axis] = most[axis].max(place);
            }
        }
        black_box((least, most));
    })
}

/// Prints bytes as `hexdump -C` does.
fn hex_dump() -> Box<dyn FnMut()> {
    let mut random = Random(283);
    let bytes: Vec<u8> = (0..1024).map(|_| random.next() as u8).collect();
    let mut text = String::with_capacity(8192);
    Box::new(move || {
        text.clear();
        for (line, row) in bytes.chunks(16).enumerate() {
            let _ = write!(text, "{:08x} ", line * 16);
            for byte in row {
                let _ = write!(text, " {byte:02x}");
            }
            text.push_str("  |");
            for byte in row {
                let is_shown = byte.is_ascii_graphic() || *byte == b' ';
                text.push(if is_shown { char::from(*byte) } else { '.' });
            }
            text.push_str("|\n");
        }
        black_box(&text);
    })
}

/// Reads headers of requests byte by byte, with a state for each part.
fn headers() -> Box<dyn FnMut()> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Begin,
        Name,
        Space,
        Value,
        Return,
    }
    let mut random = Random(293);
    let names = [
        "Host",
        "Accept",
        "User-Agent",
        "Content-Length",
        "X-Id",
        "Cookie",
    ];
    let mut text = Vec::new();
    for _ in 0..250 {
        text.extend(names[(random.next() % names.len() as u64) as usize].bytes());
        text.extend(b": ");
        for _ in 0..3 + random.next() % 40 {
            text.push(b'a' + (random.next() % 26) as u8);
        }
        text.extend(b"\r\n");
    }
    let mut found: Vec<(usize, usize, usize)> = Vec::with_capacity(300);
    Box::new(move || {
        found.clear();
        let mut state = State::Begin;
        let (mut begin, mut colon, mut value, mut hash) = (0, 0, 0, 0_u32);
        for (at, &byte) in text.iter().enumerate() {
            state = match (state, byte) {
                (State::Begin, _) => {
                    (begin, hash) = (at, u32::from(byte | 32));
                    State::Name
                }
                (State::Name, b':') => {
                    colon = at;
                    State::Space
                }
                (State::Name, _) => {
                    hash = hash.wrapping_mul(31) + u32::from(byte | 32);
                    State::Name
                }
                (State::Space, b' ') => State::Space,
                (State::Space, _) => {
                    value = at;
                    State::Value
                }
                (State::Value, b'\r') => State::Return,
                (State::Value, _) => State::Value,
                (State::Return, _) => {
                    found.push((begin, colon, value ^ hash as usize));
                    State::Begin
                }
            };
        }
        black_box(&found);
    })
}
