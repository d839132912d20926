//! Bytes that differ a little from those of a corpus, as a fuzzer without coverage makes them.

use fastrand::Rng;

/// Longer inputs only take longer.
const MAX_BYTES: usize = 1 << 17;
/// Words at which parsers go wrong.
const WORDS: [&[u8]; 24] = [
    b"0",
    b"-1",
    b"1e308",
    b"-1e-308",
    b"1e999",
    b"NaN",
    b"4294967295",
    b"9223372036854775808",
    b"18446744073709551616",
    b"null",
    b"true",
    b"\"\"",
    b"[]",
    b"{}",
    b"[[[[[[[[[[[[[[[[",
    b"((((((((((((((((",
    b"not not not not ",
    b"\\u0000",
    b"\\ud800",
    b"\xff\xfe",
    b"\x1b[31m",
    b"\r\n",
    b"::error::",
    b",,,,",
];

/// Returns a file of `corpus` with one to eight changes.
pub fn mutated(corpus: &[Vec<u8>], random: &mut Rng) -> Vec<u8> {
    let mut bytes = random.choice(corpus).cloned().unwrap_or_default();
    for _ in 0..random.u32(1..=8) {
        change(&mut bytes, corpus, random);
    }
    bytes.truncate(MAX_BYTES);
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Rng) {
    let at = random.usize(0..=bytes.len());
    let end = at + random.usize(0..=(bytes.len() - at).min(64));
    match random.u32(0..9) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.u32(0..8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.u8(..);
            }
        }
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        // The same once more: fields, lines, elements.
        4 => {
            let again = bytes[at..end].repeat(random.usize(1..=16));
            insert(bytes, at, &again);
        }
        5 => insert(bytes, at, WORDS[random.usize(..WORDS.len())]),
        // Another number.
        6 | 7 => {
            let is_digit = |byte: &u8| byte.is_ascii_digit();
            if let Some(from) = bytes[at..].iter().position(is_digit) {
                let from = at + from;
                let length = bytes[from..]
                    .iter()
                    .take_while(|byte| is_digit(byte))
                    .count();
                let word = WORDS[random.usize(..WORDS.len())];
                bytes.splice(from..from + length, word.iter().copied());
            }
        }
        // A piece of another file.
        _ => {
            let other = &corpus[random.usize(..corpus.len())];
            let from = random.usize(0..=other.len());
            let to = from + random.usize(0..=(other.len() - from).min(1024));
            insert(bytes, at, &other[from..to]);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
