//! Markdown of limited size, in which foreign text stays text.

/// Longer names are cut in the middle.
const MAX_NAME_CHARS: usize = 200;

/// Escapes text in which backquotes mark quotations, as in messages.
pub(super) fn inline(text: &str) -> String {
    text.split('`')
        .enumerate()
        .map(|(index, part)| match index % 2 {
            1 => code(part),
            _ => escaped(part),
        })
        .collect()
}

/// Formats an external name as code, where mentions do not work. Not as a code span, in which
/// nothing can be escaped.
pub fn code(text: &str) -> String {
    let length = text.chars().count();
    let text = if length > MAX_NAME_CHARS {
        let half = MAX_NAME_CHARS / 2;
        let head: String = text.chars().take(half).collect();
        let tail: String = text.chars().skip(length - half).collect();
        format!("{head}…{tail}")
    } else {
        text.to_owned()
    };
    format!("<code>{}</code>", escaped(&text))
}

/// Writes text as character references wherever Markdown, its table cells or GitHub's autolinks
/// could interpret it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let after = characters.peek().copied().unwrap_or(' ');
        let is_plain = match character {
            'w' | 'W' => !(matches!(before, 'w' | 'W') && after == '.'),
            '_' => before.is_alphanumeric() && after.is_alphanumeric(),
            ':' => after != '/',
            '#' => false,
            '.' | '/' | ',' | ';' | '-' | '+' | '%' | '(' | ')' | '=' | '?' | '\'' | '"' | ' ' => {
                true
            }
            other => other.is_alphanumeric() || (!other.is_ascii() && !other.is_control()),
        };
        match character {
            _ if is_plain => escaped.push(character),
            // Outside code, it could mention someone.
            '@' => escaped.push('\u{ff20}'),
            _ if character.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push_str(&format!("&#{};", u32::from(character))),
        }
        before = character;
    }
    escaped
}

/// Text that never exceeds a limit: a piece is added whole or not at all.
pub(super) struct Bounded {
    text: String,
    limit: usize,
    reserved: usize,
}

impl Bounded {
    /// Text of at most `limit` bytes, `reserved` of which are for its end.
    pub(super) fn new(limit: usize, reserved: usize) -> Bounded {
        Bounded {
            text: String::new(),
            limit: limit - reserved,
            reserved,
        }
    }

    /// Begins the end of the text.
    pub(super) fn begin_end(&mut self) {
        self.limit += std::mem::take(&mut self.reserved);
    }

    pub(super) fn push(&mut self, piece: &str) -> bool {
        let fits = self.fits(piece.len());
        if fits {
            self.text.push_str(piece);
        }
        fits
    }

    fn fits(&self, bytes: usize) -> bool {
        self.text.len() + bytes <= self.limit
    }

    /// Adds as many pieces as fit, and reports how many did not.
    pub(super) fn items(&mut self, pieces: impl ExactSizeIterator<Item = String>) {
        self.first_items(usize::MAX, pieces);
    }

    /// Adds as many pieces as fit, at most `max`, and reports how many are left out. Returns how
    /// many it added.
    pub(super) fn first_items(
        &mut self,
        max: usize,
        pieces: impl ExactSizeIterator<Item = String>,
    ) -> usize {
        // Always reserve space for that report.
        const MORE: usize = 100;
        let all = pieces.len();
        self.limit = self.limit.saturating_sub(MORE);
        let pieces = pieces.take(max);
        let shown = pieces.take_while(|piece| self.push(piece)).count();
        self.limit += MORE;
        if shown < all {
            self.push(&format!(
                "\n… and {} more, left out for lack of space\n",
                all - shown
            ));
        }
        shown
    }

    /// Begins what `close` must end, reserving space for it. Does not if nothing would be in it.
    fn open(&mut self, piece: &str, close: &str) -> bool {
        // A table's headings, and a line with a name of the greatest length.
        const MIN_CONTENT: usize = 2_000;
        let fits = self.fits(piece.len() + MIN_CONTENT + close.len());
        if fits {
            self.push(piece);
            self.limit -= close.len();
        }
        fits
    }

    fn close(&mut self, close: &str) {
        self.limit += close.len();
        self.push(close);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Writes `content` folded under `summary`, if `is_any`.
pub(super) fn folded(
    summary: &str,
    is_any: bool,
    text: &mut Bounded,
    content: impl FnOnce(&mut Bounded),
) {
    const CLOSE: &str = "\n</details>\n\n";
    if !is_any || !text.open(&format!("<details><summary>{summary}</summary>\n\n"), CLOSE) {
        return;
    }
    content(text);
    text.close(CLOSE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::HOSTILE_NAME;

    #[test]
    fn a_hostile_name_stays_text() {
        assert_eq!(
            escaped(HOSTILE_NAME),
            "&#60;script&#62;alert('1')&#60;/script&#62; ＠user \
             &#91;x&#93;(https&#58;//example.com) ww&#119;.example.com &#96;&#124;&#96; a&#124;b \
             \"&#93;&#93;&#62;&#38;amp; %0A::error::x\u{fffd}&#91;31m\u{fffd}\u{fffd}&#35; h"
        );
    }
}
