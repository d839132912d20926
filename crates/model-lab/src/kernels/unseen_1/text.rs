//! Text.

use std::collections::VecDeque;
use std::hint::black_box;

use super::super::{Kernel, Random, unseen_1};

pub fn kernels() -> Vec<Kernel> {
    vec![
        unseen_1("html-escape", html_escape),
        unseen_1("aho-corasick", aho_corasick),
        unseen_1("myers-diff", myers_diff),
        unseen_1("wrap-text", wrap_text),
        unseen_1("lexer", lexer),
    ]
}

fn prose(random: &mut Random, words: usize) -> String {
    let known = [
        "the",
        "Model",
        "of",
        "a",
        "core",
        "counts",
        "slots",
        "which",
        "nobody",
        "tuned",
        "to",
        "and",
        "measured",
        "it",
        "natively",
        "in",
        "ünits",
        "of",
        "cycles",
        "benchmark",
    ];
    let mut text = String::new();
    for _ in 0..words {
        text.push_str(known[(random.next() >> 33) as usize % known.len()]);
        let end = [" ", " ", " ", " ", ", ", ". ", " & ", "\n"][(random.next() >> 61) as usize];
        text.push_str(end);
    }
    text
}

fn html_escape() -> Box<dyn FnMut()> {
    let mut random = Random(569);
    let text = prose(&mut random, 2500).replace("of", "<i>\"of\"</i>");
    let mut escaped = String::with_capacity(text.len() * 2);
    Box::new(move || {
        escaped.clear();
        let mut begin = 0;
        for (at, byte) in text.bytes().enumerate() {
            let entity = match byte {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                b'\'' => "&#39;",
                _ => continue,
            };
            escaped.push_str(&text[begin..at]);
            escaped.push_str(entity);
            begin = at + 1;
        }
        escaped.push_str(&text[begin..]);
        black_box(&escaped);
    })
}

/// Finds many words at once with an automaton.
fn aho_corasick() -> Box<dyn FnMut()> {
    let mut random = Random(571);
    let text = prose(&mut random, 3000);
    let patterns = [
        "slot",
        "model",
        "natively",
        "core count",
        "ed to",
        "mark",
        "nobo",
        "cycle",
        "es",
    ];
    let mut next: Vec<[u16; 256]> = vec![[0; 256]];
    let mut ends = vec![0_u8];
    for (number, pattern) in patterns.iter().enumerate() {
        let mut at = 0;
        for byte in pattern.bytes() {
            if next[at][usize::from(byte)] == 0 {
                next[at][usize::from(byte)] = next.len() as u16;
                next.push([0; 256]);
                ends.push(0);
            }
            at = usize::from(next[at][usize::from(byte)]);
        }
        ends[at] = number as u8 + 1;
    }
    let mut fails = vec![0_usize; next.len()];
    let mut queue: VecDeque<usize> = next[0]
        .iter()
        .filter(|&&to| to > 0)
        .map(|&to| to.into())
        .collect();
    while let Some(at) = queue.pop_front() {
        let fallback = next[fails[at]];
        for byte in 0..256 {
            let to = usize::from(next[at][byte]);
            if to == 0 {
                next[at][byte] = fallback[byte];
            } else {
                fails[to] = fallback[byte].into();
                queue.push_back(to);
            }
        }
        if ends[at] == 0 {
            ends[at] = ends[fails[at]];
        }
    }
    Box::new(move || {
        let mut found = [0_u32; 16];
        let mut state = 0;
        for byte in text.bytes() {
            state = usize::from(next[state][usize::from(byte.to_ascii_lowercase())]);
            if ends[state] > 0 {
                found[usize::from(ends[state])] += 1;
            }
        }
        black_box(found);
    })
}

/// The shortest edit script of two files of lines, by furthest reaching paths.
fn myers_diff() -> Box<dyn FnMut()> {
    let mut random = Random(577);
    let lines: Vec<String> = (0..120)
        .map(|_| prose(&mut random, 4).replace('\n', ""))
        .collect();
    let old: Vec<String> = (0..400)
        .map(|_| lines[(random.next() >> 33) as usize % 120].clone())
        .collect();
    let mut new = Vec::new();
    for line in &old {
        match random.next() >> 60 {
            0 => {}
            1 => new.push(lines[(random.next() >> 33) as usize % 120].clone()),
            2 => new.extend([line.clone(), lines[3].clone()]),
            _ => new.push(line.clone()),
        }
    }
    let mut furthest: Vec<usize> = Vec::with_capacity(2048);
    Box::new(move || {
        let (n, m) = (old.len(), new.len());
        let middle = n + m + 1;
        furthest.clear();
        furthest.resize(2 * middle + 1, 0);
        let mut distance = 0;
        'search: for edits in 0..=n + m {
            for step in 0..=edits {
                let diagonal = middle + 2 * step - edits;
                let down =
                    step == 0 || step != edits && furthest[diagonal - 1] < furthest[diagonal + 1];
                let mut x = if down {
                    furthest[diagonal + 1]
                } else {
                    furthest[diagonal - 1] + 1
                };
                let mut y = (x + middle).wrapping_sub(diagonal);
                while x < n && y < m && old[x] == new[y] {
                    x += 1;
                    y += 1;
                }
                furthest[diagonal] = x;
                if x >= n && y >= m {
                    distance = edits;
                    break 'search;
                }
            }
        }
        black_box(distance);
    })
}

/// Fills lines of 60 columns, counted in characters.
fn wrap_text() -> Box<dyn FnMut()> {
    let mut random = Random(587);
    let text = prose(&mut random, 1500);
    let mut wrapped = String::with_capacity(text.len() * 2);
    Box::new(move || {
        wrapped.clear();
        for paragraph in text.split("\n") {
            let mut column = 0;
            for word in paragraph.split_whitespace() {
                let width = word.chars().count();
                if column > 0 && column + 1 + width > 60 {
                    wrapped.push_str("\n    ");
                    column = 4;
                } else if column > 0 {
                    wrapped.push(' ');
                    column += 1;
                }
                wrapped.push_str(word);
                column += width;
            }
            wrapped.push('\n');
        }
        black_box(&wrapped);
    })
}

/// Splits source code into tokens.
fn lexer() -> Box<dyn FnMut()> {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Token {
        Name,
        Keyword,
        Number,
        Text,
        Comment,
        Punctuation(u8),
        Pair(u8),
    }
    let mut random = Random(593);
    let pieces = [
        "fn main() {\n",
        "    let mut total = 0x1f + 42;\n",
        "    // a comment that says why\n",
        "    if total >= limit && !is_done {\n",
        "        items.push(\"text\\n\");\n",
        "    }\n",
        "    for (index, value) in values.iter().enumerate() {\n",
        "    total += value * 3.25e3;\n",
        "    match kind { Kind::First => 1, _ => return Err(error), }\n",
        "/* block\n comment */\n",
    ];
    let mut source = String::new();
    for _ in 0..220 {
        source.push_str(pieces[(random.next() >> 33) as usize % pieces.len()]);
    }
    let keywords = ["fn", "let", "mut", "if", "for", "in", "match", "return"];
    let mut tokens: Vec<(Token, u32)> = Vec::with_capacity(8192);
    Box::new(move || {
        tokens.clear();
        let bytes = source.as_bytes();
        let at = |place: usize| bytes.get(place).copied().unwrap_or(0);
        let mut begin = 0;
        while begin < bytes.len() {
            let mut end = begin + 1;
            let token = match bytes[begin] {
                b' ' | b'\n' | b'\t' => {
                    begin = end;
                    continue;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    while at(end).is_ascii_alphanumeric() || at(end) == b'_' {
                        end += 1;
                    }
                    let is_keyword = keywords
                        .iter()
                        .any(|word| word.as_bytes() == &bytes[begin..end]);
                    if is_keyword {
                        Token::Keyword
                    } else {
                        Token::Name
                    }
                }
                b'0'..=b'9' => {
                    while at(end).is_ascii_alphanumeric() || at(end) == b'.' {
                        end += 1;
                    }
                    Token::Number
                }
                b'"' => {
                    while at(end) != b'"' && at(end) != 0 {
                        end += 1 + usize::from(at(end) == b'\\');
                    }
                    end += 1;
                    Token::Text
                }
                b'/' if at(end) == b'/' => {
                    while at(end) != b'\n' && at(end) != 0 {
                        end += 1;
                    }
                    Token::Comment
                }
                b'/' if at(end) == b'*' => {
                    while !(at(end) == b'*' && at(end + 1) == b'/') && at(end) != 0 {
                        end += 1;
                    }
                    end += 2;
                    Token::Comment
                }
                first @ (b'=' | b'<' | b'>' | b'!' | b'+' | b'-' | b'*') if at(end) == b'=' => {
                    end += 1;
                    Token::Pair(first)
                }
                first @ (b'&' | b'|' | b':') if at(end) == first => {
                    end += 1;
                    Token::Pair(first)
                }
                other => Token::Punctuation(other),
            };
            tokens.push((token, begin as u32));
            begin = end;
        }
        black_box(&tokens);
    })
}
