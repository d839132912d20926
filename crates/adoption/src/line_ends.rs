//! The line ends and the byte order mark of an edited file, which the TOML library drops.

/// Returns `edited` with the byte order mark and the line ends of `original`: those of each line
/// that stays, and of most lines for new ones.
pub(super) fn kept(original: &str, edited: &str) -> String {
    let body = original.strip_prefix(BYTE_ORDER_MARK);
    let mark = body.map_or("", |_| BYTE_ORDER_MARK);
    let lines: Vec<(&str, &str)> = lines(body.unwrap_or(original)).collect();
    let crlf = lines.iter().filter(|(_, end)| *end == CRLF).count();
    let usual = if 2 * crlf > lines.len() { CRLF } else { LF };
    let mut kept = String::from(mark);
    let mut rest = &lines[..];
    for (line, end) in self::lines(edited) {
        let same = rest.iter().position(|(original, _)| *original == line);
        kept.push_str(line);
        kept.push_str(match same {
            // Only the last line of a file has no end.
            _ if end.is_empty() => "",
            Some(at) if !rest[at].1.is_empty() => rest[at].1,
            _ => usual,
        });
        rest = same.map_or(rest, |at| &rest[at + 1..]);
    }
    kept
}

const BYTE_ORDER_MARK: &str = "\u{feff}";
const CRLF: &str = "\r\n";
const LF: &str = "\n";

/// Splits text into lines and their ends.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_inclusive(LF).map(|line| {
        let end = [CRLF, LF].into_iter().find(|end| line.ends_with(end));
        line.split_at(line.len() - end.map_or(0, str::len))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_ends() {
        for (original, edited, expected) in [
            ("a\r\nb\r\nc\r\n", "a\nnew\nc\n", "a\r\nnew\r\nc\r\n"),
            ("a\nb\nc\n", "a\nnew\nc\n", "a\nnew\nc\n"),
            ("a\nb\r\nc\nd\r\n", "a\nnew\nc\nd\n", "a\nnew\nc\nd\r\n"),
            ("a\r\nb\r\nc", "a\r\nnew\r\nc", "a\r\nnew\r\nc"),
            ("a\r\nb\r\nc\r\n", "a\nx\ny\nb\n", "a\r\nx\r\ny\r\nb\r\n"),
            ("\u{feff}a\r\nb\r\n", "a\nnew\n", "\u{feff}a\r\nnew\r\n"),
            ("", "new\n", "new\n"),
        ] {
            assert_eq!(kept(original, edited), expected, "{original:?}");
        }
    }
}
