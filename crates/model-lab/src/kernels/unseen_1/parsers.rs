//! Readers of five formats.

use std::hint::black_box;

use super::super::{Kernel, Random, unseen_1};

pub fn kernels() -> Vec<Kernel> {
    vec![
        unseen_1("ini-file", ini_file),
        unseen_1("http-request", http_request),
        unseen_1("dns-message", dns_message),
        unseen_1("xml-pull", xml_pull),
        unseen_1("decimal-f64", decimal_f64),
    ]
}

/// Reads sections, keys and typed values line by line.
fn ini_file() -> Box<dyn FnMut()> {
    enum Value<'a> {
        Integer(i64),
        Flag(bool),
        Text(&'a str),
        List(usize),
    }
    let mut random = Random(401);
    let mut text = String::new();
    for section in 0..40 {
        text.push_str(&format!(
            "[section-{section}]\n# what follows is generated\n"
        ));
        for key in 0..12 {
            let number = random.next() >> 40;
            match random.next() >> 62 {
                0 => text.push_str(&format!("key_{key} = {number}\n")),
                1 => text.push_str(&format!("enabled-{key}={}\n", number % 2 == 0)),
                2 => text.push_str(&format!("name{key} =  \"value {number}\"  # note\n")),
                _ => text.push_str(&format!("list.{key} = [{}, {}, {}]\n", key, number, 3)),
            }
        }
        text.push('\n');
    }
    let mut entries: Vec<(usize, &str, Value)> = Vec::with_capacity(1000);
    // The entries borrow from the text, which lives as long as the closure.
    let text: &'static str = Box::leak(text.into_boxed_str());
    Box::new(move || {
        entries.clear();
        let mut section = 0;
        for line in text.lines() {
            let line = line.trim_start();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with('[') {
                section += 1;
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            let value = value.trim();
            let value = if let Some(rest) = value.strip_prefix('"') {
                Value::Text(rest.split('"').next().unwrap_or(""))
            } else if let Some(rest) = value.strip_prefix('[') {
                let items = rest.trim_end_matches(']').split(',');
                Value::List(
                    items
                        .filter_map(|item| item.trim().parse::<u64>().ok())
                        .count(),
                )
            } else if let Ok(flag) = value.parse() {
                Value::Flag(flag)
            } else {
                Value::Integer(value.parse().unwrap_or(0))
            };
            entries.push((section, key.trim_end(), value));
        }
        let size = |value: &Value| match value {
            Value::Integer(number) => *number as usize,
            Value::Flag(flag) => usize::from(*flag),
            Value::Text(text) => text.len(),
            Value::List(items) => *items,
        };
        black_box(
            entries
                .iter()
                .map(|(section, key, value)| section + key.len() + size(value))
                .sum::<usize>(),
        );
    })
}

/// Splits requests into method, path and headers with a table of allowed bytes.
fn http_request() -> Box<dyn FnMut()> {
    const fn tokens() -> [bool; 256] {
        let mut table = [false; 256];
        let mut byte = 33;
        while byte < 127 {
            table[byte] = !matches!(byte as u8, b'(' | b')' | b',' | b'/' | b':' | b'"' | b'@');
            byte += 1;
        }
        table
    }
    static TOKENS: [bool; 256] = tokens();
    #[derive(Clone, Copy, Default)]
    struct Header<'a> {
        name: &'a [u8],
        value: &'a [u8],
    }
    fn token<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
        let end = input.iter().position(|&byte| !TOKENS[usize::from(byte)])?;
        let (token, rest) = input.split_at(end);
        *input = rest;
        (end > 0).then_some(token)
    }
    fn request<'a>(mut input: &'a [u8], headers: &mut [Header<'a>; 32]) -> Option<(usize, usize)> {
        let method = token(&mut input)?;
        input = input.strip_prefix(b" ")?;
        let end = input.iter().position(|&byte| byte <= b' ')?;
        let path = &input[..end];
        input = input[end..].strip_prefix(b" HTTP/1.1\r\n")?;
        let mut count = 0;
        loop {
            if let Some(rest) = input.strip_prefix(b"\r\n") {
                return rest
                    .is_empty()
                    .then_some((method.len() + path.len(), count));
            }
            let name = token(&mut input)?;
            input = input.strip_prefix(b":")?;
            while let Some(rest) = input.strip_prefix(b" ") {
                input = rest;
            }
            let is_end = |&byte: &u8| byte < 32 && byte != b'\t' || byte == 127;
            let end = input.iter().position(is_end)?;
            *headers.get_mut(count)? = Header {
                name,
                value: &input[..end],
            };
            count += 1;
            input = input[end..].strip_prefix(b"\r\n")?;
        }
    }
    let mut random = Random(409);
    let names = [
        "Host",
        "User-Agent",
        "Accept",
        "Accept-Language",
        "Cookie",
        "Referer",
        "X-Trace",
    ];
    let mut requests = Vec::new();
    for _ in 0..40 {
        let method = ["GET", "POST", "DELETE"][(random.next() >> 33) as usize % 3];
        let mut text = format!("{method} /path/{:x}?q={} HTTP/1.1\r\n", random.next(), 5);
        for _ in 0..4 + (random.next() >> 61) {
            let name = names[(random.next() >> 33) as usize % names.len()];
            let value = "text/html;q=0.9 ".repeat(1 + (random.next() >> 62) as usize);
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        requests.push(text.into_bytes());
    }
    Box::new(move || {
        let mut sum = 0;
        for text in &requests {
            let mut headers = [Header::default(); 32];
            if let Some((length, count)) = request(text, &mut headers) {
                let lengths = headers[..count]
                    .iter()
                    .map(|header| header.name.len() + header.value.len());
                sum += length + lengths.sum::<usize>();
            }
        }
        black_box(sum);
    })
}

/// Reads answers of name servers, whose names point back to earlier ones.
fn dns_message() -> Box<dyn FnMut()> {
    fn name(message: &[u8], mut at: usize, out: &mut Vec<u8>) -> Option<usize> {
        let (mut end, mut jumps) = (None, 0);
        loop {
            let length = usize::from(*message.get(at)?);
            if length >= 0xc0 {
                end.get_or_insert(at + 2);
                at = (length & 0x3f) << 8 | usize::from(*message.get(at + 1)?);
                jumps += 1;
                if jumps > 10 {
                    return None;
                }
            } else if length == 0 {
                return Some(end.unwrap_or(at + 1));
            } else {
                let label = message.get(at + 1..at + 1 + length)?;
                out.extend(label.iter().map(u8::to_ascii_lowercase));
                out.push(b'.');
                at += 1 + length;
            }
        }
    }
    fn answers(message: &[u8], out: &mut Vec<u8>) -> Option<u32> {
        let word = |at: usize| {
            Some(u16::from_be_bytes(
                message.get(at..at + 2)?.try_into().ok()?,
            ))
        };
        let (mut at, mut sum) = (12, 0_u32);
        for _ in 0..word(4)? {
            at = name(message, at, out)? + 4;
        }
        for _ in 0..word(6)? {
            at = name(message, at, out)?;
            let (kind, length) = (word(at)?, usize::from(word(at + 8)?));
            let data = message.get(at + 10..at + 10 + length)?;
            sum = match kind {
                1 => sum.wrapping_add(u32::from_be_bytes(data.try_into().ok()?)),
                5 => {
                    name(message, at + 10, out)?;
                    sum
                }
                16 => data
                    .iter()
                    .fold(sum, |sum, &byte| sum.rotate_left(3) ^ u32::from(byte)),
                _ => sum,
            };
            at += 10 + length;
        }
        Some(sum)
    }
    let mut random = Random(419);
    let labels = [
        "www", "Example", "com", "cdn", "static", "Mail", "net", "a1",
    ];
    let mut messages = Vec::new();
    for _ in 0..60 {
        let count = 3 + (random.next() >> 61) as u16;
        let mut message = vec![0, 1, 0x81, 0x80, 0, 1];
        message.extend(count.to_be_bytes());
        message.extend([0; 4]);
        for _ in 0..3 {
            let label = labels[(random.next() >> 61) as usize];
            message.push(label.len() as u8);
            message.extend(label.bytes());
        }
        message.extend([0, 0, 1, 0, 1]);
        for _ in 0..count {
            let kind = [1_u16, 1, 5, 16][(random.next() >> 62) as usize];
            message.extend([0xc0, 12]);
            message.extend(kind.to_be_bytes());
            message.extend([0, 1, 0, 0, 1, 0]);
            let data: Vec<u8> = match kind {
                1 => ((random.next() >> 32) as u32).to_be_bytes().to_vec(),
                5 => vec![3, b'W', b'e', b'b', 0xc0, 12],
                _ => (0..20).map(|_| random.next() as u8).collect(),
            };
            message.extend((data.len() as u16).to_be_bytes());
            message.extend(data);
        }
        messages.push(message);
    }
    let mut names = Vec::with_capacity(64 << 10);
    Box::new(move || {
        names.clear();
        let sums = messages
            .iter()
            .filter_map(|message| answers(message, &mut names));
        black_box(sums.fold(0, u32::wrapping_add));
        black_box(&names);
    })
}

/// Reads elements and attributes, checks that they nest, and decodes entities.
fn xml_pull() -> Box<dyn FnMut()> {
    let mut random = Random(421);
    let names = ["item", "title", "link", "guid", "category"];
    let mut text = String::from("<?xml version=\"1.0\"?><rss>");
    for number in 0..150 {
        let name = names[(random.next() >> 33) as usize % names.len()];
        text.push_str(&format!(
            "<{name} id=\"{number}\" class='c{}'>",
            random.next() >> 60
        ));
        if random.next() >> 62 == 0 {
            text.push_str("<!-- a comment --><empty/>");
        }
        text.push_str("Fish &amp; chips &lt; 5 &#65; and more text here");
        text.push_str(&format!("</{name}>\n  "));
    }
    text.push_str("</rss>");
    let mut stack: Vec<(usize, usize)> = Vec::with_capacity(16);
    let mut content = String::with_capacity(16 << 10);
    Box::new(move || {
        stack.clear();
        content.clear();
        let (mut rest, mut attributes, mut errors) = (text.as_str(), 0, 0);
        while let Some(at) = rest.find('<') {
            let mut characters = &rest[..at];
            while let Some(at) = characters.find('&') {
                content.push_str(&characters[..at]);
                let Some(end) = characters[at..].find(';') else {
                    break;
                };
                match &characters[at + 1..at + end] {
                    "amp" => content.push('&'),
                    "lt" => content.push('<'),
                    "gt" => content.push('>'),
                    other => {
                        let code = other
                            .strip_prefix('#')
                            .and_then(|digits| digits.parse().ok());
                        content.extend(code.and_then(char::from_u32));
                    }
                }
                characters = &characters[at + end + 1..];
            }
            content.push_str(characters);
            rest = &rest[at + 1..];
            if let Some(comment) = rest.strip_prefix("!--") {
                rest = comment.split_once("-->").map_or("", |(_, after)| after);
                continue;
            }
            let Some((tag, after)) = rest.split_once('>') else {
                break;
            };
            let begin = text.len() - rest.len();
            rest = after;
            if tag.starts_with('?') {
                continue;
            }
            if let Some(name) = tag.strip_prefix('/') {
                let open = stack.pop().map(|(begin, end)| &text[begin..end]);
                errors += usize::from(open != Some(name));
                continue;
            }
            let end = tag.find([' ', '/']).unwrap_or(tag.len());
            let mut pairs = &tag[end..];
            while let Some((_, value)) = pairs.split_once('=') {
                let quote = value.chars().next().unwrap_or('"');
                let Some(end) = value[1..].find(quote) else {
                    break;
                };
                attributes += end;
                pairs = &value[end + 2..];
            }
            if !tag.ends_with('/') {
                stack.push((begin, begin + end));
            }
        }
        black_box((attributes, errors, &content));
    })
}

/// Reads decimal numbers with fractions and exponents, as the fast path of published parsers does.
fn decimal_f64() -> Box<dyn FnMut()> {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    fn digits(text: &[u8], at: &mut usize, mantissa: &mut u64) -> usize {
        let begin = *at;
        while let Some(digit) = text.get(*at).map(|byte| byte.wrapping_sub(b'0')) {
            if digit > 9 {
                break;
            }
            *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            *at += 1;
        }
        *at - begin
    }
    fn number(text: &[u8], at: &mut usize) -> f64 {
        let is_negative = text.get(*at) == Some(&b'-');
        *at += usize::from(is_negative);
        let (mut mantissa, mut exponent) = (0, 0_i32);
        digits(text, at, &mut mantissa);
        if text.get(*at) == Some(&b'.') {
            *at += 1;
            exponent -= digits(text, at, &mut mantissa) as i32;
        }
        if let Some(b'e' | b'E') = text.get(*at) {
            *at += 1;
            let is_less = text.get(*at) == Some(&b'-');
            *at += usize::from(is_less);
            let mut power = 0;
            digits(text, at, &mut power);
            exponent += if is_less {
                -(power as i32)
            } else {
                power as i32
            };
        }
        let power = POWERS[exponent.unsigned_abs().min(22) as usize];
        let value = mantissa as f64;
        let value = if exponent < 0 {
            value / power
        } else {
            value * power
        };
        if is_negative { -value } else { value }
    }
    let mut random = Random(431);
    let mut text = Vec::new();
    for _ in 0..1500 {
        let whole = (random.next() >> 44) % [10, 1000, 100_000][(random.next() >> 33) as usize % 3];
        let sign = if random.next() >> 61 == 0 { "-" } else { "" };
        let written = match random.next() >> 62 {
            0 => format!("{sign}{whole},"),
            1 | 2 => format!("{sign}{whole}.{},", random.next() >> 46),
            _ => format!(
                "{sign}{whole}.{}e-{},",
                random.next() >> 54,
                random.next() >> 61
            ),
        };
        text.extend(written.bytes());
    }
    Box::new(move || {
        let (mut at, mut sum) = (0, 0.0);
        while at < text.len() {
            sum += number(&text, &mut at);
            at += 1;
        }
        black_box(sum);
    })
}
