//! Text: parsing, formatting, searching, packing.

use std::fmt::Write as _;
use std::sync::LazyLock;

use super::{fold, random_numbers};

pub fn parse() -> u64 {
    "17, -4, 0x2a, 1e3, nonsense, 99999999999999999999, 65535"
        .split(", ")
        .map(|word| match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).unwrap_or(1),
            None => word
                .parse::<i64>()
                .map(|n| n as u64)
                .or_else(|_| word.parse::<f64>().map(f64::to_bits))
                .unwrap_or(2),
        })
        .fold(0, u64::wrapping_add)
}

pub fn format() -> u64 {
    let mut text = String::new();
    for number in random_numbers(4) {
        let _ = write!(text, "{number:>24} {number:#x} {:?} ", (number % 7, "x"));
    }
    fold(text.bytes().map(u64::from))
}

pub fn floats_to_text_and_back() -> u64 {
    fold(random_numbers(4).into_iter().map(|n| {
        let text = (n as f64 / 1e7).to_string();
        text.parse::<f64>().unwrap().to_bits()
    }))
}

pub fn utf8() -> u64 {
    let text = "naïve café — 日本語 🦀 plain ascii text behind it".repeat(3);
    let upper = text.to_uppercase();
    fold(upper.chars().map(|c| u64::from(u32::from(c))))
        ^ std::str::from_utf8(upper.as_bytes()).unwrap().len() as u64
}

pub fn json() -> u64 {
    let text = r#"{"a":[1,-2.5,true,null],"b":{"c":"d\n"}}"#;
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    fold(value.to_string().bytes().map(u64::from))
}

pub fn regular_expression() -> u64 {
    // To compile it takes millions of instructions.
    static EXPRESSION: LazyLock<regex::Regex> =
        LazyLock::new(|| regex::Regex::new(r"(\d+)-(\w+)").unwrap());
    let text = "aa 12-xyz, 7-b, --";
    fold(
        EXPRESSION
            .captures_iter(text)
            .map(|captures| captures[1].parse::<u64>().unwrap() + captures[2].len() as u64),
    )
}

fn pack(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

const VERSE: &[u8] = b"a rose is a rose is a rose is a rose, said the rose";

pub fn compression() -> u64 {
    fold(pack(VERSE).into_iter().map(u64::from))
}

pub fn decompression() -> u64 {
    use std::io::Read;
    static PACKED: LazyLock<Vec<u8>> = LazyLock::new(|| pack(VERSE));
    let mut text = Vec::new();
    flate2::read::ZlibDecoder::new(&PACKED[..])
        .read_to_end(&mut text)
        .unwrap();
    assert_eq!(text, VERSE);
    fold(text.into_iter().map(u64::from))
}

pub fn text_search() -> u64 {
    let text = "the quick brown fox jumps over the lazy dog; ".repeat(20);
    let words = ["fox", "lazy dog", "cat", "; the", "z"];
    fold(words.map(|word| text.match_indices(word).map(|(at, _)| at as u64).sum()))
        ^ text.rfind("quick").map_or(0, |at| at as u64)
}

pub fn edit_distance() -> u64 {
    let (a, b) = ("intention of the author", "execution of an otter");
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()] as u64
}
