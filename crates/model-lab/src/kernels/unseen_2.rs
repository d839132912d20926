//! Twelve kernels in the style of published code. They were frozen, with their native cycles,
//! before golden-cove 18 was begun.

use std::collections::BinaryHeap;
use std::hint::black_box;

use super::{Kernel, Random, unseen_2};

pub fn kernels() -> Vec<Kernel> {
    vec![
        unseen_2("ledger-vm", ledger_vm),
        unseen_2("expression-tree", expression_tree),
        unseen_2("fractions", fractions),
        unseen_2("btree-lookup", btree_lookup),
        unseen_2("path-match", path_match),
        unseen_2("image-columns", image_columns),
        unseen_2("packet-filter", packet_filter),
        unseen_2("shortest-paths", shortest_paths),
        unseen_2("utf16-to-utf8", utf16_to_utf8),
        unseen_2("edit-distance", edit_distance),
        unseen_2("free-list", free_list),
        unseen_2("date-parts", date_parts),
    ]
}

/// A stack machine that computes interest for accounts.
fn ledger_vm() -> Box<dyn FnMut()> {
    #[derive(Clone, Copy)]
    enum Op {
        Load(u8),
        Store(u8),
        Constant(u32),
        Add,
        Subtract,
        Multiply,
        Shift(u8),
        SkipIfLess(u8),
        Jump(i16),
        Duplicate,
        End,
    }
    fn run(program: &[Op], fields: &mut [u64; 4]) -> u32 {
        let (mut stack, mut top, mut at, mut steps) = ([0_u64; 16], 0_usize, 0_usize, 0);
        loop {
            let op = program[at];
            at += 1;
            steps += 1;
            match op {
                Op::Load(field) => {
                    stack[top & 15] = fields[usize::from(field & 3)];
                    top += 1;
                }
                Op::Store(field) => {
                    top -= 1;
                    fields[usize::from(field & 3)] = stack[top & 15];
                }
                Op::Constant(value) => {
                    stack[top & 15] = value.into();
                    top += 1;
                }
                Op::Add | Op::Subtract | Op::Multiply => {
                    top -= 1;
                    let (a, b) = (stack[(top - 1) & 15], stack[top & 15]);
                    stack[(top - 1) & 15] = match op {
                        Op::Add => a.wrapping_add(b),
                        Op::Subtract => a.wrapping_sub(b),
                        _ => a.wrapping_mul(b),
                    };
                }
                Op::Shift(bits) => stack[(top - 1) & 15] >>= bits & 63,
                Op::SkipIfLess(skipped) => {
                    top -= 2;
                    if stack[top & 15] < stack[(top + 1) & 15] {
                        at += usize::from(skipped);
                    }
                }
                Op::Jump(distance) => at = (at as isize + isize::from(distance)) as usize,
                Op::Duplicate => {
                    stack[top & 15] = stack[(top - 1) & 15];
                    top += 1;
                }
                Op::End => return steps,
            }
        }
    }
    let program = [
        // While there are months left: the balance grows, and a fee is due below 1000.
        Op::Load(1),
        Op::Constant(1),
        Op::SkipIfLess(14),
        Op::Load(0),
        Op::Duplicate,
        Op::Load(2),
        Op::Multiply,
        Op::Shift(12),
        Op::Add,
        Op::Store(0),
        Op::Load(1),
        Op::Constant(1),
        Op::Subtract,
        Op::Store(1),
        Op::Load(0),
        Op::Constant(1000),
        Op::Jump(1),
        Op::End,
        Op::SkipIfLess(1),
        Op::Jump(-20),
        Op::Load(0),
        Op::Constant(3),
        Op::Add,
        Op::Store(0),
        Op::Jump(-25),
    ];
    let mut random = Random(911);
    let accounts: Vec<[u64; 4]> = (0..300)
        .map(|_| {
            [
                random.next() % 4000,
                random.next() % 24,
                random.next() % 90,
                0,
            ]
        })
        .collect();
    Box::new(move || {
        let mut steps = 0;
        for account in &accounts {
            steps += run(&program, &mut account.clone());
        }
        black_box(steps);
    })
}

/// Evaluates arithmetic kept as a tree of boxes, by recursion.
fn expression_tree() -> Box<dyn FnMut()> {
    enum Node {
        Number(f64),
        Variable(usize),
        Sum(Box<Node>, Box<Node>),
        Product(Box<Node>, Box<Node>),
        Negated(Box<Node>),
        Choice(Box<Node>, Box<Node>, Box<Node>),
    }
    fn build(random: &mut Random, depth: u32) -> Node {
        let child = |random: &mut Random| Box::new(build(random, depth - 1));
        match random.next() >> 33 & 15 {
            _ if depth == 0 => Node::Variable((random.next() >> 40) as usize % 6),
            0 => Node::Number((random.next() >> 50) as f64),
            1..=6 => Node::Sum(child(random), child(random)),
            7..=11 => Node::Product(child(random), child(random)),
            12..=13 => Node::Negated(child(random)),
            _ => Node::Choice(child(random), child(random), child(random)),
        }
    }
    fn value(node: &Node, variables: &[f64; 6]) -> f64 {
        match node {
            Node::Number(number) => *number,
            Node::Variable(index) => variables[*index],
            Node::Sum(a, b) => value(a, variables) + value(b, variables),
            Node::Product(a, b) => value(a, variables) * value(b, variables) * 0.001,
            Node::Negated(a) => -value(a, variables),
            Node::Choice(condition, yes, no) => {
                let chosen = if value(condition, variables) > 0.0 {
                    yes
                } else {
                    no
                };
                value(chosen, variables)
            }
        }
    }
    let mut random = Random(919);
    let tree = build(&mut random, 9);
    let inputs: Vec<[f64; 6]> = (0..40)
        .map(|_| std::array::from_fn(|_| (random.next() >> 52) as f64 - 2048.0))
        .collect();
    Box::new(move || {
        let sum: f64 = inputs.iter().map(|input| value(&tree, input)).sum();
        black_box(sum);
    })
}

/// Adds fractions and keeps them in lowest terms.
fn fractions() -> Box<dyn FnMut()> {
    fn common(mut a: u32, mut b: u32) -> u32 {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    }
    let mut random = Random(929);
    let terms: Vec<(u32, u32)> = (0..600)
        .map(|_| {
            (
                (random.next() >> 50) as u32 + 1,
                (random.next() >> 52) as u32 + 1,
            )
        })
        .collect();
    let mut sums = vec![(0, 1); terms.len()];
    Box::new(move || {
        for (sum, pair) in sums.iter_mut().zip(terms.windows(2)) {
            let [(a, b), (c, d)] = pair else { continue };
            let (top, bottom) = (a * d + c * b, b * d);
            let factor = common(top, bottom);
            *sum = (top / factor, bottom / factor);
        }
        black_box(&sums);
    })
}

/// Looks words up in a tree whose nodes have up to eleven keys.
fn btree_lookup() -> Box<dyn FnMut()> {
    struct Node {
        keys: Vec<u32>,
        children: Vec<u32>,
    }
    fn add(nodes: &mut Vec<Node>, keys: &[u32]) -> u32 {
        let place = nodes.len();
        nodes.push(Node {
            keys: Vec::new(),
            children: Vec::new(),
        });
        if keys.len() <= 11 {
            nodes[place].keys = keys.to_vec();
            return place as u32;
        }
        let part = keys.len().div_ceil(9);
        let (mut own, mut children) = (Vec::new(), Vec::new());
        for chunk in keys.chunks(part) {
            if !children.is_empty() {
                own.push(chunk[0]);
            }
            children.push(add(nodes, chunk));
        }
        nodes[place].keys = own;
        nodes[place].children = children;
        place as u32
    }
    fn find(nodes: &[Node], key: u32) -> bool {
        let mut node = &nodes[0];
        loop {
            let mut place = 0;
            while place < node.keys.len() && node.keys[place] <= key {
                place += 1;
            }
            match node.children.get(place) {
                Some(&child) => node = &nodes[child as usize],
                None => return place > 0 && node.keys[place - 1] == key,
            }
        }
    }
    let mut random = Random(937);
    let mut keys: Vec<u32> = (0..4000).map(|_| (random.next() >> 40) as u32).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut nodes = Vec::new();
    add(&mut nodes, &keys);
    let wanted: Vec<u32> = (0..1500)
        .map(|_| {
            let key = keys[(random.next() >> 30) as usize % keys.len()];
            key + (random.next() >> 60 & 1) as u32
        })
        .collect();
    Box::new(move || {
        let found = wanted.iter().filter(|&&key| find(&nodes, key)).count();
        black_box(found);
    })
}

/// Matches paths against patterns with stars, as in lists of ignored files.
fn path_match() -> Box<dyn FnMut()> {
    fn matches(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len())
                .take_while(|&taken| taken == 0 || text[taken - 1] != b'/')
                .any(|taken| matches(rest, &text[taken..])),
            Some((b'?', rest)) => text
                .split_first()
                .is_some_and(|(_, left)| matches(rest, left)),
            Some((byte, rest)) => text
                .split_first()
                .is_some_and(|(first, left)| first == byte && matches(rest, left)),
        }
    }
    let patterns = [
        "src/*.rs",
        "*/tests/*_?.rs",
        "docs/*/in*.md",
        "*.lock",
        "target/*/*.d",
    ];
    let folders = ["src", "core/tests", "docs/guide", "target/debug", "x"];
    let files = [
        "main.rs",
        "parser_2.rs",
        "index.md",
        "intro.md",
        "cargo.lock",
        "deps-1f.d",
    ];
    let mut random = Random(941);
    let paths: Vec<String> = (0..250)
        .map(|_| {
            let folder = folders[(random.next() >> 40) as usize % folders.len()];
            let file = files[(random.next() >> 40) as usize % files.len()];
            format!("{folder}/{file}")
        })
        .collect();
    Box::new(move || {
        let mut ignored = 0;
        for path in &paths {
            let is_match = |pattern: &&str| matches(pattern.as_bytes(), path.as_bytes());
            ignored += usize::from(patterns.iter().any(is_match));
        }
        black_box(ignored);
    })
}

/// Blurs an image column by column.
fn image_columns() -> Box<dyn FnMut()> {
    const WIDTH: usize = 384;
    const HEIGHT: usize = 128;
    let mut random = Random(947);
    let pixels: Vec<u8> = (0..WIDTH * HEIGHT)
        .map(|_| (random.next() >> 40) as u8)
        .collect();
    let mut blurred = vec![0_u8; WIDTH * HEIGHT];
    Box::new(move || {
        for x in 0..WIDTH {
            let mut sum = 0_u32;
            for y in 0..HEIGHT {
                sum += u32::from(pixels[y * WIDTH + x]);
                if y >= 8 {
                    sum -= u32::from(pixels[(y - 8) * WIDTH + x]);
                }
                blurred[y * WIDTH + x] = (sum / 8) as u8;
            }
        }
        black_box(&blurred);
    })
}

/// Checks the headers of packets against rules, the first of which that matches decides.
fn packet_filter() -> Box<dyn FnMut()> {
    struct Rule {
        network: u32,
        prefix: u32,
        ports: (u16, u16),
        protocol: Option<u8>,
        accepts: bool,
    }
    let mut random = Random(953);
    let rules: Vec<Rule> = (0..24)
        .map(|number| {
            let first = (random.next() >> 48) as u16 / 2;
            Rule {
                network: (random.next() >> 32) as u32 & 0x0f00_0000,
                prefix: 4 + (random.next() >> 62) as u32 * 2,
                ports: (first, first + 20_000),
                protocol: (number % 3 > 0).then_some(if number % 3 == 1 { 6 } else { 17 }),
                accepts: random.next() >> 63 == 0,
            }
        })
        .collect();
    let packets: Vec<[u8; 16]> = (0..1200)
        .map(|_| {
            let mut packet = [0; 16];
            packet[..8].copy_from_slice(&random.next().to_le_bytes());
            packet[8..].copy_from_slice(&random.next().to_le_bytes());
            packet[4] &= 0x0f;
            packet[9] = if packet[9] < 180 { 6 } else { 17 };
            packet
        })
        .collect();
    Box::new(move || {
        let mut accepted = 0_u32;
        for packet in &packets {
            let address = u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]);
            let port = u16::from_be_bytes([packet[10], packet[11]]);
            let rule = rules.iter().find(|rule| {
                (address ^ rule.network) >> (32 - rule.prefix) == 0
                    && (rule.ports.0..=rule.ports.1).contains(&port)
                    && rule.protocol.is_none_or(|protocol| protocol == packet[9])
            });
            accepted += u32::from(rule.is_some_and(|rule| rule.accepts));
        }
        black_box(accepted);
    })
}

/// Finds the shortest ways through a random network with the standard heap.
fn shortest_paths() -> Box<dyn FnMut()> {
    const PLACES: usize = 700;
    let mut random = Random(967);
    let roads: Vec<[(u32, u32); 4]> = (0..PLACES)
        .map(|_| {
            std::array::from_fn(|_| {
                let to = (random.next() >> 30) as u32 % PLACES as u32;
                (to, (random.next() >> 58) as u32 + 1)
            })
        })
        .collect();
    let mut best = vec![u32::MAX; PLACES];
    let mut open: BinaryHeap<(std::cmp::Reverse<u32>, u32)> = BinaryHeap::with_capacity(4 * PLACES);
    Box::new(move || {
        best.fill(u32::MAX);
        best[0] = 0;
        open.push((std::cmp::Reverse(0), 0));
        while let Some((std::cmp::Reverse(length), place)) = open.pop() {
            if length > best[place as usize] {
                continue;
            }
            for &(to, road) in &roads[place as usize] {
                if length + road < best[to as usize] {
                    best[to as usize] = length + road;
                    open.push((std::cmp::Reverse(length + road), to));
                }
            }
        }
        black_box(&best);
    })
}

/// Converts text of several scripts from one encoding to another.
fn utf16_to_utf8() -> Box<dyn FnMut()> {
    let mut random = Random(971);
    let mut units = Vec::new();
    while units.len() < 6000 {
        let first = match random.next() >> 60 {
            0..=10 => 'a',
            11..=13 => 'α',
            14 => 'あ',
            _ => '😀',
        };
        for _ in 0..random.next() >> 60 {
            let letter = char::from_u32(first as u32 + (random.next() >> 60) as u32);
            let mut pair = [0; 2];
            units.extend_from_slice(letter.unwrap_or(' ').encode_utf16(&mut pair));
        }
    }
    let mut bytes = Vec::with_capacity(4 * units.len());
    Box::new(move || {
        bytes.clear();
        let mut rest = units.iter();
        while let Some(&unit) = rest.next() {
            let unit = u32::from(unit);
            if unit < 0x80 {
                bytes.push(unit as u8);
            } else if unit < 0x800 {
                bytes.extend([0xc0 | unit >> 6, 0x80 | unit & 0x3f].map(|byte| byte as u8));
            } else if unit & 0xf800 != 0xd800 {
                let parts = [
                    0xe0 | unit >> 12,
                    0x80 | unit >> 6 & 0x3f,
                    0x80 | unit & 0x3f,
                ];
                bytes.extend(parts.map(|byte| byte as u8));
            } else {
                let low = rest.next().map_or(0, |&low| u32::from(low) & 0x3ff);
                let code = 0x1_0000 + ((unit & 0x3ff) << 10 | low);
                let parts = [
                    0xf0 | code >> 18,
                    0x80 | code >> 12 & 0x3f,
                    0x80 | code >> 6 & 0x3f,
                    0x80 | code & 0x3f,
                ];
                bytes.extend(parts.map(|byte| byte as u8));
            }
        }
        black_box(&bytes);
    })
}

/// Compares misspelt words with a list, by the distance of Levenshtein.
fn edit_distance() -> Box<dyn FnMut()> {
    fn distance(a: &[u8], b: &[u8], row: &mut Vec<u32>) -> u32 {
        row.clear();
        row.extend(0..=b.len() as u32);
        for (i, left) in a.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i as u32 + 1;
            for (j, right) in b.iter().enumerate() {
                let above = row[j + 1];
                let changed = diagonal + u32::from(left != right);
                row[j + 1] = changed.min(above + 1).min(row[j] + 1);
                diagonal = above;
            }
        }
        row[b.len()]
    }
    let mut random = Random(977);
    let words: Vec<Vec<u8>> = (0..60)
        .map(|_| {
            let length = 4 + (random.next() >> 61) as usize;
            (0..length)
                .map(|_| b'a' + (random.next() >> 61) as u8)
                .collect()
        })
        .collect();
    let mut row = Vec::with_capacity(32);
    Box::new(move || {
        let mut nearest = 0;
        for word in &words[..12] {
            let others = words[12..].iter();
            let best = others.map(|other| distance(word, other, &mut row)).min();
            nearest += best.unwrap_or(0);
        }
        black_box(nearest);
    })
}

/// Takes cells from a list of free ones that lies in the cells themselves, and gives them back.
fn free_list() -> Box<dyn FnMut()> {
    const CELLS: usize = 512;
    struct Arena {
        next: Vec<u32>,
        values: Vec<u64>,
    }
    let mut random = Random(983);
    let choices: Vec<u32> = (0..4000).map(|_| (random.next() >> 32) as u32).collect();
    let mut arena = Arena {
        next: (1..=CELLS as u32).collect(),
        values: vec![0; CELLS],
    };
    let mut held = Vec::with_capacity(CELLS);
    Box::new(move || {
        held.clear();
        let mut free = 0;
        for (cell, next) in arena.next.iter_mut().enumerate() {
            *next = cell as u32 + 1;
        }
        for &choice in &choices {
            let is_taken = held.is_empty() || (choice & 1 == 0 && held.len() < CELLS);
            if is_taken {
                let cell = free;
                free = arena.next[cell as usize];
                arena.values[cell as usize] += u64::from(choice);
                held.push(cell);
            } else {
                let cell = held.swap_remove(choice as usize / 2 % held.len());
                arena.values[cell as usize] ^= 1;
                arena.next[cell as usize] = free;
                free = cell;
            }
        }
        black_box(&arena.values);
    })
}

/// Splits times in seconds into year, month, day, and writes them as text.
fn date_parts() -> Box<dyn FnMut()> {
    fn civil(days: i64) -> (i64, i64, i64) {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        (year + era * 400 + i64::from(month <= 2), month, day)
    }
    fn digits(text: &mut Vec<u8>, value: i64, count: u32) {
        for place in (0..count).rev() {
            text.push(b'0' + (value / 10_i64.pow(place) % 10) as u8);
        }
    }
    let mut random = Random(991);
    let times: Vec<i64> = (0..500).map(|_| (random.next() >> 31) as i64).collect();
    let mut text = Vec::with_capacity(16_000);
    Box::new(move || {
        text.clear();
        for &time in &times {
            let (year, month, day) = civil(time / 86_400);
            digits(&mut text, year, 4);
            text.push(b'-');
            digits(&mut text, month, 2);
            text.push(b'-');
            digits(&mut text, day, 2);
            text.push(b'\n');
        }
        black_box(&text);
    })
}
