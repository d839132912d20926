//! Makes characters visible that would otherwise control a terminal.
//!
//! Names come from other people's benches, run files and executables. An escape sequence in a name
//! could move the cursor or hide a verdict, and a line break could add a line that this program
//! never wrote. So no name keeps such characters: input is made visible where it is read.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns whether `c` is a control character, breaks a line, or changes the text direction.
#[inline]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        )
        || matches!(c, '\u{2066}'..='\u{2069}')
}

/// Returns `text` with hidden characters as Rust writes them in a literal: `\n`, `\u{1b}`.
#[inline]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
    }
    Cow::Owned(shown)
}

/// Returns `json` with its strings made [`visible`]. Invalid JSON stays invalid.
#[inline]
pub fn visible_json(json: &[u8]) -> Cow<'_, [u8]> {
    // The first bytes of hidden characters, and of their JSON escapes.
    let may_hide = |byte: &u8| matches!(byte, b'\\' | 0x7f | 0xc2 | 0xd8 | 0xe2);
    // Without an early exit within a part, so that the compiler looks at many bytes at once.
    let has_any = |part: &[u8]| part.iter().fold(false, |any, byte| any | may_hide(byte));
    let Some(text) = json
        .chunks(4096)
        .any(has_any)
        .then(|| std::str::from_utf8(json).ok())
        .flatten()
    else {
        return Cow::Borrowed(json);
    };
    let mut shown = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (hidden, length) = match c {
            '\\' => escaped(rest),
            // JSON may have line breaks between strings.
            c => (
                (is_hidden(c) && !c.is_ascii_whitespace()).then_some(c),
                c.len_utf8(),
            ),
        };
        match hidden {
            Some(hidden) => {
                // The visible backslash is itself escaped in JSON.
                for c in hidden.escape_default() {
                    let _ = match c {
                        '\\' => shown.write_str("\\\\"),
                        c => shown.write_char(c),
                    };
                }
            }
            None => shown.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    Cow::Owned(shown.into_bytes())
}

/// Returns the hidden character that the escape sequence at the start of `rest` stands for, if any,
/// and the sequence's length in bytes.
#[inline]
fn escaped(rest: &str) -> (Option<char>, usize) {
    let hidden = |c: char| Some(c).filter(|c| is_hidden(*c));
    match rest.as_bytes().get(1) {
        Some(b'b') => (Some('\u{8}'), 2),
        Some(b'f') => (Some('\u{c}'), 2),
        Some(b'n') => (Some('\n'), 2),
        Some(b'r') => (Some('\r'), 2),
        Some(b't') => (Some('\t'), 2),
        Some(b'u') => {
            let number = rest
                .get(2..6)
                .and_then(|digits| u32::from_str_radix(digits, 16).ok());
            match number {
                Some(number) => (char::from_u32(number).and_then(hidden), 6),
                // Not valid JSON.
                None => (None, 2),
            }
        }
        Some(byte) if byte.is_ascii() => (None, 2),
        _ => (None, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_visible() {
        for (text, shown) in [
            ("größe/日本語 a\u{301}", "größe/日本語 a\u{301}"),
            ("\u{1b}[2J", r"\u{1b}[2J"),
            ("a\r\n::error::b\u{7}", r"a\r\n::error::b\u{7}"),
            ("\u{9b}0m\u{7f}", r"\u{9b}0m\u{7f}"),
            ("\u{202e}lmth\u{2028}", r"\u{202e}lmth\u{2028}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn json_strings_are_decoded_before_escaping() {
        for text in [
            "plain",
            "quote \" backslash \\ \\n slash /",
            "\u{1b}[2J a\r\n\t\u{8}\u{c}\u{0}",
            "\u{9b}\u{7f}\u{202e}\u{61c} größe 日本語",
            "\u{1f600}\\u001b",
        ] {
            let raw = serde_json::to_string_pretty(&[text]).unwrap();
            let all_escaped: String = text
                .encode_utf16()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect();
            for json in [raw, format!("[\n\"{all_escaped}\"]\r\n")] {
                let shown = visible_json(json.as_bytes());
                let [read]: [String; 1] = serde_json::from_slice(&shown).unwrap();
                assert_eq!(read, visible(text), "{json}");
            }
        }
    }

    #[test]
    fn invalid_json_stays_invalid() {
        for json in ["[\"\\", "[\"\\u12", "[\"\\u00é\"]", "[\"\\é\"]"] {
            let shown = visible_json(json.as_bytes());
            assert!(
                serde_json::from_slice::<[String; 1]>(&shown).is_err(),
                "{json}"
            );
        }
        assert_eq!(visible_json(b"\xff\\"), &b"\xff\\"[..]);
    }
}
