//! Encoders and decoders.

use std::hint::black_box;

use super::super::{Kernel, Random, unseen_1};

pub fn kernels() -> Vec<Kernel> {
    vec![
        unseen_1("lz-compress", lz_compress),
        unseen_1("png-paeth", png_paeth),
        unseen_1("idct-8x8", idct),
        unseen_1("rice-decode", rice_decode),
        unseen_1("base58", base58),
    ]
}

/// Finds matches through a table of the last place of each four bytes.
fn lz_compress() -> Box<dyn FnMut()> {
    let mut random = Random(491);
    let words = [
        "the ", "model ", "of ", "a ", "core ", "counts ", "slots, ", "which ",
    ];
    let mut text = Vec::new();
    while text.len() < 16_000 {
        text.extend(words[(random.next() >> 61) as usize].bytes());
        if random.next() >> 61 == 0 {
            text.extend((random.next() >> 32).to_string().bytes());
        }
    }
    let mut places = vec![0_u32; 4096];
    let mut packed: Vec<u8> = Vec::with_capacity(text.len() * 2);
    Box::new(move || {
        places.fill(0);
        packed.clear();
        let word =
            |at: usize| u32::from_le_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]]);
        let (mut at, mut literals) = (1, 0);
        while at + 8 < text.len() {
            let here = word(at);
            let slot = &mut places[(here.wrapping_mul(2_654_435_761) >> 20) as usize];
            let candidate = std::mem::replace(slot, at as u32) as usize;
            if candidate == 0 || at - candidate > 0xffff || word(candidate) != here {
                at += 1 + ((at - literals) >> 6);
                continue;
            }
            let length = text[at..]
                .iter()
                .zip(&text[candidate..])
                .take_while(|(a, b)| a == b)
                .count();
            packed.push(((at - literals).min(15) << 4 | (length - 4).min(15)) as u8);
            packed.extend_from_slice(&text[literals..at]);
            packed.extend_from_slice(&((at - candidate) as u16).to_le_bytes());
            if length >= 19 {
                packed.push((length - 19).min(255) as u8);
            }
            at += length;
            literals = at;
        }
        packed.extend_from_slice(&text[literals..]);
        black_box(&packed);
    })
}

/// Takes back the five filters of PNG rows.
fn png_paeth() -> Box<dyn FnMut()> {
    const WIDTH: usize = 120;
    const PIXEL: usize = 4;
    let mut random = Random(499);
    let rows: Vec<(u8, Vec<u8>)> = (0..40)
        .map(|_| {
            let filter = [4, 4, 1, 2, 3, 0][(random.next() >> 33) as usize % 6];
            (
                filter,
                (0..WIDTH * PIXEL)
                    .map(|_| (random.next() >> 59) as u8)
                    .collect(),
            )
        })
        .collect();
    let mut above = vec![0_u8; WIDTH * PIXEL];
    let mut row = above.clone();
    Box::new(move || {
        above.fill(0);
        let mut sum = 0_u32;
        for (filter, bytes) in &rows {
            row.copy_from_slice(bytes);
            match filter {
                1 => (PIXEL..row.len())
                    .for_each(|at| row[at] = row[at].wrapping_add(row[at - PIXEL])),
                2 => row
                    .iter_mut()
                    .zip(&above)
                    .for_each(|(byte, up)| *byte = byte.wrapping_add(*up)),
                3 => {
                    for at in 0..row.len() {
                        let left = if at < PIXEL {
                            0
                        } else {
                            u16::from(row[at - PIXEL])
                        };
                        let mean = (left + u16::from(above[at])) / 2;
                        row[at] = row[at].wrapping_add(mean as u8);
                    }
                }
                4 => {
                    for at in 0..row.len() {
                        let before = |row: &[u8]| {
                            if at < PIXEL {
                                0
                            } else {
                                i16::from(row[at - PIXEL])
                            }
                        };
                        let (a, b, c) = (before(&row), i16::from(above[at]), before(&above));
                        let p = a + b - c;
                        let [pa, pb, pc] = [a, b, c].map(|near| (p - near).abs());
                        let nearest = if pa <= pb && pa <= pc {
                            a
                        } else if pb <= pc {
                            b
                        } else {
                            c
                        };
                        row[at] = row[at].wrapping_add(nearest as u8);
                    }
                }
                _ => {}
            }
            sum = sum.wrapping_mul(31).wrapping_add(u32::from(row[WIDTH]));
            std::mem::swap(&mut row, &mut above);
        }
        black_box(sum);
    })
}

/// The inverse cosine transform of JPEG's blocks in integers, after dequantisation.
fn idct() -> Box<dyn FnMut()> {
    fn transform(values: &mut [i32; 64], start: usize, step: usize, shift: u32) {
        let [v0, v1, v2, v3, v4, v5, v6, v7] =
            std::array::from_fn(|place| values[start + place * step]);
        if v1 | v2 | v3 | v4 | v5 | v6 | v7 == 0 {
            (0..8).for_each(|place| values[start + place * step] = (v0 << 12) >> shift);
            return;
        }
        let even = (v2 + v6) * 2217;
        let (t2, t3) = (even + v6 * -7567, even + v2 * 3135);
        let (t0, t1) = ((v0 + v4) << 12, (v0 - v4) << 12);
        let (x0, x3, x1, x2) = (t0 + t3, t0 - t3, t1 + t2, t1 - t2);
        let (p3, p4, p1, p2) = (v7 + v3, v5 + v1, v7 + v1, v5 + v3);
        let p5 = (p3 + p4) * 4816;
        let (q1, q2) = (p5 + p1 * -3685, p5 + p2 * -10497);
        let (q3, q4) = (p3 * -8034, p4 * -1597);
        let odd = [
            v1 * 6149 + q1 + q4,
            v3 * 12586 + q2 + q3,
            v5 * 8410 + q2 + q4,
            v7 * 1223 + q1 + q3,
        ];
        for (place, (x, t)) in [x0, x1, x2, x3].into_iter().zip(odd).enumerate() {
            values[start + place * step] = (x + t) >> shift;
            values[start + (7 - place) * step] = (x - t) >> shift;
        }
    }
    let mut random = Random(503);
    let blocks: Vec<[i16; 64]> = (0..120)
        .map(|_| {
            let kept = 1 + (random.next() >> 33) as usize % 24;
            std::array::from_fn(|place| {
                let value = (random.next() >> 56) as i16 - 128;
                if place % 8 * (place / 8) < kept / 4 {
                    value
                } else {
                    0
                }
            })
        })
        .collect();
    let table: [i16; 64] = std::array::from_fn(|place| 3 + place as i16 / 4);
    let mut pixels = vec![[0_u8; 64]; blocks.len()];
    Box::new(move || {
        for (block, pixels) in blocks.iter().zip(&mut pixels) {
            let mut values: [i32; 64] =
                std::array::from_fn(|place| i32::from(block[place]) * i32::from(table[place]));
            (0..8).for_each(|column| transform(&mut values, column, 8, 10));
            (0..8).for_each(|row| transform(&mut values, row * 8, 1, 17));
            for (pixel, value) in pixels.iter_mut().zip(values) {
                *pixel = (value + 128).clamp(0, 255) as u8;
            }
        }
        black_box(&pixels);
    })
}

/// Decodes residuals of lossless sound, and predicts from the four last samples.
fn rice_decode() -> Box<dyn FnMut()> {
    const PARAMETER: u32 = 5;
    let mut random = Random(509);
    let mut bits: Vec<bool> = Vec::new();
    for _ in 0..3000 {
        let value = (random.next() >> 57) * (random.next() >> 62) / 2;
        bits.extend((0..value >> PARAMETER).map(|_| false));
        bits.push(true);
        bits.extend((0..PARAMETER).rev().map(|bit| value >> bit & 1 == 1));
    }
    bits.resize(bits.len().next_multiple_of(64) + 64, true);
    let words: Vec<u64> = bits
        .chunks(64)
        .map(|chunk| {
            chunk
                .iter()
                .fold(0, |word, &bit| word << 1 | u64::from(bit))
        })
        .collect();
    let mut samples = vec![0_i32; 3000];
    Box::new(move || {
        let mut at = 0_usize;
        let peek = |at: usize| {
            let (word, bit) = (at / 64, at % 64);
            let wide = u128::from(words[word]) << 64 | u128::from(words[word + 1]);
            (wide << bit >> 64) as u64
        };
        for number in 0..samples.len() {
            let window = peek(at);
            let zeros = window.leading_zeros();
            at += zeros as usize + 1;
            let low = (peek(at) >> (64 - PARAMETER)) as u32;
            at += PARAMETER as usize;
            let folded = zeros << PARAMETER | low;
            let residual = (folded >> 1) as i32 ^ -((folded & 1) as i32);
            let last = |back: usize| number.checked_sub(back).map_or(0, |place| samples[place]);
            let predicted = 3 * last(1) - 3 * last(2) + last(3) - last(4) / 8;
            samples[number] = (predicted >> 2) + residual;
        }
        black_box(&samples);
    })
}

/// Addresses as digits of base 58, by repeated division.
fn base58() -> Box<dyn FnMut()> {
    const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut random = Random(521);
    let inputs: Vec<[u8; 25]> = (0..60)
        .map(|_| std::array::from_fn(|place| if place == 0 { 0 } else { random.next() as u8 }))
        .collect();
    let mut text = String::with_capacity(4096);
    Box::new(move || {
        text.clear();
        for input in &inputs {
            let zeros = input.iter().take_while(|&&byte| byte == 0).count();
            let mut digits = [0_u8; 40];
            let mut used = 0;
            for &byte in &input[zeros..] {
                let mut carry = u32::from(byte);
                let mut place = 0;
                while place < used || carry > 0 {
                    carry += u32::from(digits[place]) << 8;
                    digits[place] = (carry % 58) as u8;
                    carry /= 58;
                    place += 1;
                }
                used = place;
            }
            text.extend(std::iter::repeat_n('1', zeros));
            let reversed = digits[..used].iter().rev();
            text.extend(reversed.map(|&digit| char::from(ALPHABET[usize::from(digit)])));
            text.push('\n');
        }
        black_box(&text);
    })
}
