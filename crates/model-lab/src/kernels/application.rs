//! Kernels resembling those in applications.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::hint::black_box;

use super::heap::UsedHeap;
use super::{Kernel, Random, held_out, tuned};

pub fn kernels() -> Vec<Kernel> {
    vec![
        tuned("sort-10k", sort),
        tuned("hashmap-10k", hash_map),
        tuned("matmul-64", matmul),
        tuned("parser-64k", parser),
        tuned("json", json),
        tuned("binary-search", binary_search),
        tuned("sieve", sieve),
        held_out("btree", btree),
        held_out("regex", regex_captures),
        held_out("sha256", sha256),
        held_out("format", format_numbers),
        held_out("dot-f32", dot),
        held_out("collatz", collatz),
        held_out("nbody", nbody),
        held_out("utf8", utf8),
        held_out("str-search", string_search),
        held_out("levenshtein", levenshtein),
        held_out("mandelbrot", mandelbrot),
        held_out("gcd", gcd),
        held_out("crc-table", crc_table),
        held_out("histogram", histogram),
        held_out("base64", base64),
        held_out("varint", varint),
        held_out("mulmod-u128", modular_power),
        held_out("dyn-shapes", dynamic_dispatch),
        held_out("linked-list", linked_list),
        held_out("push-strings", push_strings),
    ]
}

fn sort() -> Box<dyn FnMut()> {
    let mut random = Random(11);
    let data: Vec<u64> = (0..10_000).map(|_| random.next()).collect();
    let mut copy = data.clone();
    Box::new(move || {
        copy.copy_from_slice(&data);
        copy.sort_unstable();
        black_box(&copy);
    })
}

/// SipHash with fixed keys, for the same map in every run.
type FixedMap = HashMap<u64, u64, BuildHasherDefault<std::hash::DefaultHasher>>;

fn hash_map() -> Box<dyn FnMut()> {
    let mut random = Random(5);
    let keys: Vec<u64> = (0..10_000).map(|_| random.next()).collect();
    Box::new(move || {
        let mut map = FixedMap::default();
        for &key in &keys {
            map.insert(key, key);
        }
        let mut sum = 0_u64;
        for key in &keys {
            sum = sum.wrapping_add(map[key]);
        }
        black_box(sum);
    })
}

fn matmul() -> Box<dyn FnMut()> {
    const SIDE: usize = 64;
    let a = vec![1.25_f64; SIDE * SIDE];
    let b = vec![0.75_f64; SIDE * SIDE];
    let mut c = vec![0_f64; SIDE * SIDE];
    Box::new(move || {
        for row in 0..SIDE {
            for column in 0..SIDE {
                let mut sum = 0.0;
                for inner in 0..SIDE {
                    sum += a[row * SIDE + inner] * b[inner * SIDE + column];
                }
                c[row * SIDE + column] = sum;
            }
        }
        black_box(&c);
    })
}

fn parser() -> Box<dyn FnMut()> {
    let mut random = Random(21);
    let alphabet = b"abc 123 +-*/()\n  foo_9";
    let text: Vec<u8> = (0..64 << 10)
        .map(|_| alphabet[random.next() as usize % alphabet.len()])
        .collect();
    Box::new(move || {
        let (mut words, mut numbers, mut depth, mut others) = (0_u64, 0_u64, 0_i64, 0_u64);
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b'a'..=b'z' | b'_' => {
                    while at < text.len() && (text[at].is_ascii_alphanumeric() || text[at] == b'_')
                    {
                        at += 1;
                    }
                    words += 1;
                    continue;
                }
                b'0'..=b'9' => {
                    let mut value = 0_u64;
                    while at < text.len() && text[at].is_ascii_digit() {
                        value = value * 10 + u64::from(text[at] - b'0');
                        at += 1;
                    }
                    numbers += value;
                    continue;
                }
                b'(' => depth += 1,
                b')' => depth -= 1,
                b' ' | b'\n' => {}
                _ => others += 1,
            }
            at += 1;
        }
        black_box((words, numbers, depth, others));
    })
}

fn json() -> Box<dyn FnMut()> {
    let mut text = String::from("[");
    for number in 0..600 {
        if number > 0 {
            text.push(',');
        }
        text += &format!(
            "{{\"id\":{number},\"name\":\"item {number}\",\"tags\":[\"a\",\"b\\n\",\"{number}\"],\
             \"value\":{}.5,\"ok\":true,\"none\":null}}",
            number * 37
        );
    }
    text.push(']');
    Box::new(move || {
        let value: serde_json::Value = serde_json::from_str(&text).expect("the text is JSON");
        black_box(value);
    })
}

fn binary_search() -> Box<dyn FnMut()> {
    let data: Vec<u64> = (0..100_000).map(|value| value * 3).collect();
    let mut random = Random(9);
    let keys: Vec<u64> = (0..4000).map(|_| random.next() % 300_000).collect();
    Box::new(move || {
        let found = keys
            .iter()
            .filter(|&key| data.binary_search(key).is_ok())
            .count();
        black_box(found);
    })
}

fn sieve() -> Box<dyn FnMut()> {
    let mut composite = vec![false; 200_000];
    Box::new(move || {
        composite.fill(false);
        let mut number = 2;
        while number * number < composite.len() {
            if !composite[number] {
                let mut multiple = number * number;
                while multiple < composite.len() {
                    composite[multiple] = true;
                    multiple += number;
                }
            }
            number += 1;
        }
        black_box(&composite);
    })
}

fn btree() -> Box<dyn FnMut()> {
    let mut random = Random(17);
    let keys: Vec<u32> = (0..3000).map(|_| random.next() as u32).collect();
    Box::new(move || {
        let mut map = BTreeMap::new();
        for &key in &keys {
            map.insert(key, key);
        }
        let sum: u64 = keys.iter().map(|key| u64::from(map[key])).sum();
        black_box(sum);
    })
}

fn regex_captures() -> Box<dyn FnMut()> {
    let pattern = regex::Regex::new(r"(\w+)@(\w+)\.(com|org)").expect("the pattern is valid");
    let mut text = String::new();
    for number in 0..300 {
        text += &format!(
            "some words here, user{number}@host{}.org and more text; ",
            number % 7
        );
    }
    Box::new(move || {
        let length: usize = pattern
            .captures_iter(&text)
            .map(|captures| captures[1].len() + captures[2].len())
            .sum();
        black_box(length);
    })
}

fn sha256() -> Box<dyn FnMut()> {
    use sha2::Digest;
    let data = vec![7_u8; 64 << 10];
    Box::new(move || {
        black_box(sha2::Sha256::digest(&data));
    })
}

fn format_numbers() -> Box<dyn FnMut()> {
    use std::fmt::Write;
    let mut text = String::with_capacity(1 << 16);
    Box::new(move || {
        text.clear();
        for number in 0..1000_u32 {
            let _ = write!(
                text,
                "{number}: {:.3} {:x};",
                f64::from(number) * 0.37,
                number * 97
            );
        }
        black_box(&text);
    })
}

fn dot() -> Box<dyn FnMut()> {
    let a = vec![1.5_f32; 4096];
    let b = vec![0.5_f32; 4096];
    Box::new(move || {
        for _ in 0..10 {
            let mut sums = [0_f32; 16];
            for (a, b) in black_box(&a).chunks_exact(16).zip(b.chunks_exact(16)) {
                for lane in 0..16 {
                    sums[lane] += a[lane] * b[lane];
                }
            }
            black_box(sums);
        }
    })
}

fn collatz() -> Box<dyn FnMut()> {
    Box::new(|| {
        let mut longest = 0;
        for start in 1..black_box(1000_u64) {
            let (mut value, mut steps) = (start, 0_u32);
            while value != 1 {
                value = if value % 2 == 0 {
                    value / 2
                } else {
                    3 * value + 1
                };
                steps += 1;
            }
            longest = longest.max(steps);
        }
        black_box(longest);
    })
}

fn nbody() -> Box<dyn FnMut()> {
    const BODIES: usize = 5;
    let mut places = [[0.0_f64; 3]; BODIES];
    let mut speeds = [[0.0_f64; 3]; BODIES];
    for (number, place) in places.iter_mut().enumerate() {
        *place = [number as f64, number as f64 * 1.3 + 1.0, 0.5];
    }
    Box::new(move || {
        for _ in 0..200 {
            for first in 0..BODIES {
                for second in first + 1..BODIES {
                    let mut difference = [0.0; 3];
                    let mut square = 0.01;
                    for axis in 0..3 {
                        difference[axis] = places[first][axis] - places[second][axis];
                        square += difference[axis] * difference[axis];
                    }
                    let factor = 0.001 / (square * square.sqrt());
                    for axis in 0..3 {
                        speeds[first][axis] -= difference[axis] * factor;
                        speeds[second][axis] += difference[axis] * factor;
                    }
                }
            }
            for body in 0..BODIES {
                for axis in 0..3 {
                    places[body][axis] += 0.001 * speeds[body][axis];
                }
            }
        }
        black_box(&places);
    })
}

fn utf8() -> Box<dyn FnMut()> {
    let text = "plain ascii, then ümläute, then 漢字 and more ascii text. ".repeat(800);
    let bytes = text.into_bytes();
    Box::new(move || {
        black_box(std::str::from_utf8(black_box(&bytes)).map(str::len).ok());
    })
}

fn string_search() -> Box<dyn FnMut()> {
    let text = "the quick brown fox jumps over the lazy dog ".repeat(500) + "needle in it";
    Box::new(move || {
        black_box(black_box(text.as_str()).find("needle in"));
        black_box(black_box(text.as_str()).matches("lazy").count());
    })
}

fn levenshtein() -> Box<dyn FnMut()> {
    let first = b"the quick brown fox jumps over the lazy dog".repeat(3);
    let second = b"a quicker brown wolf leaps across two lazy cats".repeat(3);
    let mut row = vec![0_usize; second.len() + 1];
    Box::new(move || {
        for (place, cell) in row.iter_mut().enumerate() {
            *cell = place;
        }
        for (line, &from) in first.iter().enumerate() {
            let mut diagonal = line;
            row[0] = line + 1;
            for (column, &to) in second.iter().enumerate() {
                let replace = diagonal + usize::from(from != to);
                diagonal = row[column + 1];
                row[column + 1] = replace.min(diagonal + 1).min(row[column] + 1);
            }
        }
        black_box(&row);
    })
}

fn mandelbrot() -> Box<dyn FnMut()> {
    Box::new(|| {
        let mut inside = 0;
        for y in 0..32 {
            for x in 0..32 {
                let (cx, cy) = (f64::from(x) / 16.0 - 1.5, f64::from(y) / 16.0 - 1.0);
                let (mut zx, mut zy, mut steps) = (0.0, 0.0, 0);
                while zx * zx + zy * zy < 4.0 && steps < 50 {
                    (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
                    steps += 1;
                }
                inside += u32::from(steps == 50);
            }
        }
        black_box(inside);
    })
}

fn gcd() -> Box<dyn FnMut()> {
    let mut random = Random(4);
    let pairs: Vec<(u64, u64)> = (0..500)
        .map(|_| (random.next() >> 20, random.next() >> 24))
        .collect();
    Box::new(move || {
        let mut sum = 0_u64;
        for &(mut a, mut b) in &pairs {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            sum = sum.wrapping_add(a);
        }
        black_box(sum);
    })
}

fn crc_table() -> Box<dyn FnMut()> {
    let table: Vec<u32> = (0..256_u32)
        .map(|byte| (0..8).fold(byte, |crc, _| crc >> 1 ^ (0xedb8_8320 * (crc & 1))))
        .collect();
    let data: Vec<u8> = (0..16 << 10).map(|place: u32| place as u8).collect();
    Box::new(move || {
        let crc = data.iter().fold(!0_u32, |crc, &byte| {
            crc >> 8 ^ table[(crc as u8 ^ byte) as usize]
        });
        black_box(crc);
    })
}

fn histogram() -> Box<dyn FnMut()> {
    let mut random = Random(8);
    let data: Vec<u8> = (0..32 << 10).map(|_| (random.next() >> 50) as u8).collect();
    let mut counts = [0_u32; 256];
    Box::new(move || {
        for &byte in &data {
            counts[usize::from(byte)] += 1;
        }
        black_box(&counts);
    })
}

fn base64() -> Box<dyn FnMut()> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let data: Vec<u8> = (0..24 << 10).map(|place: u32| (place * 7) as u8).collect();
    let mut text = Vec::with_capacity(32 << 10);
    Box::new(move || {
        text.clear();
        for triple in data.chunks_exact(3) {
            let bits =
                u32::from(triple[0]) << 16 | u32::from(triple[1]) << 8 | u32::from(triple[2]);
            for shift in [18, 12, 6, 0] {
                text.push(ALPHABET[(bits >> shift & 63) as usize]);
            }
        }
        black_box(&text);
    })
}

fn varint() -> Box<dyn FnMut()> {
    let mut random = Random(13);
    let mut bytes = Vec::new();
    for _ in 0..8000 {
        let mut value = random.next() >> (random.next() % 60);
        while value >= 128 {
            bytes.push(value as u8 | 128);
            value >>= 7;
        }
        bytes.push(value as u8);
    }
    Box::new(move || {
        let (mut sum, mut value, mut shift) = (0_u64, 0_u64, 0);
        for &byte in &bytes {
            value |= u64::from(byte & 127) << (shift & 63);
            shift += 7;
            if byte < 128 {
                sum = sum.wrapping_add(value);
                (value, shift) = (0, 0);
            }
        }
        black_box(sum);
    })
}

fn modular_power() -> Box<dyn FnMut()> {
    Box::new(|| {
        let modulus = black_box(0xffff_ffff_ffff_ffc5_u64);
        let mut result = 1_u64;
        let mut base = black_box(3_u64);
        for _ in 0..500 {
            result = (u128::from(result) * u128::from(base) % u128::from(modulus)) as u64;
            base = (u128::from(base) * u128::from(base) % u128::from(modulus)) as u64;
        }
        black_box(result);
    })
}

trait Shape {
    fn area(&self) -> f64;
}

struct Square(f64);
struct Circle(f64);
struct Triangle(f64, f64);

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        std::f64::consts::PI * self.0 * self.0
    }
}

impl Shape for Triangle {
    fn area(&self) -> f64 {
        self.0 * self.1 / 2.0
    }
}

fn dynamic_dispatch() -> Box<dyn FnMut()> {
    let mut random = Random(2);
    let shapes: Vec<Box<dyn Shape>> = (0..5000)
        .map(|number| -> Box<dyn Shape> {
            let size = f64::from(number);
            match random.next() >> 40 & 3 {
                0 => Box::new(Square(size)),
                1 => Box::new(Circle(size)),
                _ => Box::new(Triangle(size, 2.0)),
            }
        })
        .collect();
    Box::new(move || {
        black_box(shapes.iter().map(|shape| shape.area()).sum::<f64>());
    })
}

fn linked_list() -> Box<dyn FnMut()> {
    let mut random = Random(19);
    let mut order: Vec<u32> = (1..20_000).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.next() as usize % (at + 1));
    }
    let mut nodes = vec![(0_u32, 0_u64); 20_000];
    let mut at = 0;
    for &next in &order {
        nodes[at as usize] = (next, u64::from(next));
        at = next;
    }
    Box::new(move || {
        let (mut at, mut sum) = (0_u32, 0_u64);
        loop {
            let (next, value) = nodes[at as usize];
            sum += value;
            if next == 0 {
                break;
            }
            at = next;
        }
        black_box(sum);
    })
}

fn push_strings() -> Box<dyn FnMut()> {
    let mut heap = None;
    Box::new(move || {
        // Not earlier: the model is created between the preparation and the first run.
        heap.get_or_insert_with(UsedHeap::new);
        let mut words: Vec<String> = Vec::new();
        for number in 0..1000_u32 {
            words.push(number.to_string());
        }
        words.sort();
        black_box(words.join(","));
    })
}
