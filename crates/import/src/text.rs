//! The text of a file, in any encoding that tools and shells write.

/// Returns the text of `bytes`: UTF-8 or, as PowerShell's `>` writes it, UTF-16. Without byte order
/// marks, also where files were joined. Returns `None` for everything else.
pub fn text_of(bytes: Vec<u8>) -> Option<String> {
    let text = match bytes[..] {
        [0xff, 0xfe, ..] => utf16(&bytes, u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(&bytes, u16::from_be_bytes),
        // Without a mark: these tools begin with ASCII.
        [first, 0, ..] if first != 0 => utf16(&bytes, u16::from_le_bytes),
        [0, second, ..] if second != 0 => utf16(&bytes, u16::from_be_bytes),
        _ => String::from_utf8(bytes).ok(),
    }?;
    Some(match text.contains(BYTE_ORDER_MARK) {
        true => text.replace(BYTE_ORDER_MARK, ""),
        false => text,
    })
}

const BYTE_ORDER_MARK: char = '\u{feff}';

fn utf16(bytes: &[u8], unit: impl Fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = (bytes.chunks_exact(2), bytes.len() % 2);
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| rest == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "{\"é\": 1}\r\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let with_mark = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        for bytes in [
            text.as_bytes().to_vec(),
            with_mark(b"\xef\xbb\xbf", text.as_bytes()),
            with_mark(b"\xff\xfe", &little),
            with_mark(b"\xfe\xff", &big),
            little,
            big,
        ] {
            assert_eq!(text_of(bytes).as_deref(), Some(text));
        }
    }

    #[test]
    fn joined_files_keep_no_mark() {
        let joined = b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n".to_vec();
        assert_eq!(text_of(joined).as_deref(), Some("a\nb\n"));
    }

    #[test]
    fn other_bytes_are_no_text() {
        for bytes in [
            &b"\xe9t\xe9"[..],
            b"\xff\xfea",
            b"\xff\xfe\x00\xd8",
            b"a\0\0",
        ] {
            assert_eq!(text_of(bytes.to_vec()), None);
        }
    }
}
