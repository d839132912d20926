//! Long programs of several kinds, each of some hundred million instructions.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::hint::black_box;

/// A program: `new` prepares its data and returns what to measure.
pub struct Program {
    pub name: &'static str,
    pub new: fn() -> Box<dyn FnMut()>,
}

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "sort-10m",
        new: sort,
    },
    Program {
        name: "json-25m",
        new: json,
    },
    Program {
        name: "compile",
        new: compile,
    },
    Program {
        name: "tree-1m",
        new: tree,
    },
    Program {
        name: "compress-8m",
        new: compress,
    },
];

/// Numbers by xorshift (Marsaglia, "Xorshift RNGs", 2003).
fn numbers() -> impl Iterator<Item = u64> {
    let mut state = 0x1234_5678_9abc_def1_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// Sorts ten million numbers.
fn sort() -> Box<dyn FnMut()> {
    let data: Vec<u64> = numbers().take(10_000_000).collect();
    let mut data = Some(data);
    Box::new(move || {
        let mut data = data.take().unwrap_or_default();
        data.sort_unstable();
        black_box(data);
    })
}

/// Parses a document of 25 MB into a tree.
fn json() -> Box<dyn FnMut()> {
    let mut text = String::from("[");
    let mut numbers = numbers();
    let mut next = move |below: u64| numbers.next().unwrap_or(0) % below;
    while text.len() < 25_000_000 {
        let id = next(1 << 40);
        let _ = write!(
            text,
            r#"{{"id":{id},"name":"user {}","score":{}.{},"active":{},"tags":["#,
            next(1_000_000),
            next(1000),
            next(1000),
            next(2) == 0
        );
        for _ in 0..next(6) {
            let _ = write!(text, r#""tag\u00e9 {}","#, next(500));
        }
        text.push_str(r#"null],"at":{"x":1.5e3,"y":-2}},"#);
    }
    text.push_str("0]");
    Box::new(move || {
        let value: Result<serde_json::Value, _> = serde_json::from_str(&text);
        black_box(value.is_ok());
        // To give it back takes long, too.
        drop(value);
    })
}

/// Compiles source text of 6 MB as a small compiler would: tokens, names, a tree, constants folded,
/// and code as text.
fn compile() -> Box<dyn FnMut()> {
    let mut text = String::new();
    let mut numbers = numbers();
    let mut next = move |below: u64| numbers.next().unwrap_or(0) % below;
    while text.len() < 6_000_000 {
        let _ = write!(text, "value_{} = ", next(20_000));
        for _ in 0..1 + next(8) {
            match next(4) {
                0 => write!(text, "value_{} * ", next(20_000)),
                1 => write!(text, "({} + value_{}) - ", next(1000), next(20_000)),
                2 => write!(text, "{} * {} + ", next(100), next(100)),
                _ => write!(
                    text,
                    "(({} - {}) * value_{}) + ",
                    next(9),
                    next(9),
                    next(99)
                ),
            }
            .unwrap_or(());
        }
        let _ = writeln!(text, "{};", next(10_000));
    }
    Box::new(move || {
        let mut compiler = Compiler::default();
        let mut tokens = Tokens { rest: &text };
        while let Some(Token::Name(target)) = tokens.next() {
            let target = compiler.intern(target);
            tokens.next();
            let value = compiler.sum(&mut tokens);
            compiler.emit(&fold(value));
            let _ = writeln!(compiler.code, "store {target}");
        }
        black_box(compiler.code.len());
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Token<'t> {
    Name(&'t str),
    Number(i64),
    Sign(char),
}

struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    fn peek(&self) -> Option<Token<'t>> {
        Tokens { rest: self.rest }.next()
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next()?;
        let is_part: fn(char) -> bool = match first {
            'a'..='z' => |c| c.is_alphanumeric() || c == '_',
            '0'..='9' => |c| c.is_ascii_digit(),
            _ => {
                self.rest = &self.rest[1..];
                return Some(Token::Sign(first));
            }
        };
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(match word.parse() {
            Ok(number) => Token::Number(number),
            Err(_) => Token::Name(word),
        })
    }
}

enum Expression {
    Number(i64),
    Name(usize),
    Two(char, Box<[Expression; 2]>),
}

#[derive(Default)]
struct Compiler<'t> {
    names: HashMap<&'t str, usize>,
    code: String,
}

impl<'t> Compiler<'t> {
    fn intern(&mut self, name: &'t str) -> usize {
        let next = self.names.len();
        *self.names.entry(name).or_insert(next)
    }

    fn sum(&mut self, tokens: &mut Tokens<'t>) -> Expression {
        let mut left = self.product(tokens);
        while let Some(Token::Sign(sign @ ('+' | '-'))) = tokens.peek() {
            tokens.next();
            left = Expression::Two(sign, Box::new([left, self.product(tokens)]));
        }
        if tokens.peek() == Some(Token::Sign(';')) {
            tokens.next();
        }
        left
    }

    fn product(&mut self, tokens: &mut Tokens<'t>) -> Expression {
        let mut left = self.atom(tokens);
        while tokens.peek() == Some(Token::Sign('*')) {
            tokens.next();
            left = Expression::Two('*', Box::new([left, self.atom(tokens)]));
        }
        left
    }

    fn atom(&mut self, tokens: &mut Tokens<'t>) -> Expression {
        match tokens.next() {
            Some(Token::Number(number)) => Expression::Number(number),
            Some(Token::Name(name)) => Expression::Name(self.intern(name)),
            Some(Token::Sign(_)) => {
                let inner = self.sum(tokens);
                tokens.next();
                inner
            }
            None => Expression::Number(0),
        }
    }

    fn emit(&mut self, expression: &Expression) {
        match expression {
            Expression::Number(number) => writeln!(self.code, "push {number}"),
            Expression::Name(name) => writeln!(self.code, "load {name}"),
            Expression::Two(sign, parts) => {
                self.emit(&parts[0]);
                self.emit(&parts[1]);
                writeln!(self.code, "{sign}")
            }
        }
        .unwrap_or(());
    }
}

fn fold(expression: Expression) -> Expression {
    let Expression::Two(sign, parts) = expression else {
        return expression;
    };
    match (sign, parts.map(fold)) {
        ('*', [Expression::Number(a), Expression::Number(b)]) => {
            Expression::Number(a.wrapping_mul(b))
        }
        ('+', [Expression::Number(a), Expression::Number(b)]) => {
            Expression::Number(a.wrapping_add(b))
        }
        ('-', [Expression::Number(a), Expression::Number(b)]) => {
            Expression::Number(a.wrapping_sub(b))
        }
        (sign, parts) => Expression::Two(sign, Box::new(parts)),
    }
}

/// Puts a million numbers into a tree, looks up half of them and sums all.
fn tree() -> Box<dyn FnMut()> {
    let data: Vec<u64> = numbers().take(1_000_000).collect();
    Box::new(move || {
        let mut tree = BTreeMap::new();
        for (place, number) in data.iter().enumerate() {
            tree.insert(*number, place);
        }
        let found = data.iter().step_by(2).filter_map(|key| tree.get(key));
        let found: usize = found.sum();
        let all: u64 = tree.keys().map(|key| key & 0xff).sum();
        black_box((found, all));
    })
}

/// Compresses 8 MB with matches found through a hash table, and decompresses it.
fn compress() -> Box<dyn FnMut()> {
    let words: Vec<String> = numbers()
        .take(3000)
        .map(|n| format!("{:x} ", n >> (n % 48)))
        .collect();
    let mut text = Vec::new();
    for number in numbers() {
        if text.len() > 8_000_000 {
            break;
        }
        let word = (number % 3000).min(number >> 20 & 0xfff) as usize;
        text.extend_from_slice(words[word].as_bytes());
    }
    Box::new(move || {
        let packed = packed(&text);
        let again = unpacked(&packed);
        black_box(again == text);
    })
}

const MIN_MATCH: usize = 4;

/// Either `length` bytes from `distance` before, or one byte if `distance` is 0.
struct Step {
    distance: u32,
    length: u16,
    byte: u8,
}

fn packed(text: &[u8]) -> Vec<Step> {
    let mut latest = vec![0_u32; 1 << 16];
    let mut steps = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let mut step = Step {
            distance: 0,
            length: 1,
            byte: text[at],
        };
        if let Some(four) = text.get(at..at + MIN_MATCH) {
            let key = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
            let place = (key.wrapping_mul(0x9e37_79b1) >> 16) as usize;
            let before = std::mem::replace(&mut latest[place], at as u32) as usize;
            let same = text[before..].iter().zip(&text[at..]);
            let length = same.take_while(|(a, b)| a == b).take(1000).count();
            if before < at && length >= MIN_MATCH {
                step.distance = (at - before) as u32;
                step.length = length as u16;
            }
        }
        at += usize::from(step.length);
        steps.push(step);
    }
    steps
}

fn unpacked(steps: &[Step]) -> Vec<u8> {
    let mut text = Vec::new();
    for step in steps {
        if step.distance == 0 {
            text.push(step.byte);
        } else {
            for _ in 0..step.length {
                text.push(text[text.len() - step.distance as usize]);
            }
        }
    }
    text
}
