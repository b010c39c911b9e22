//! Text from others, made safe to print.
//!
//! Owns the escaping of titles from a command line and errors of a server before a terminal or a file gets
//! them: nothing in them may move a cursor, start an escape sequence, break a line or change the direction of
//! writing. Formats quote for CSV or HTML on top.

/// Writes control characters as `\n`, `\x1b` or `\u{85}`, bytes that are not UTF-8 as `\xff`, and invisible
/// characters that reorder or break lines as `\u{202e}`. Leaves everything else, including backslashes:
/// titles are for reading, not for parsing back.
pub fn escape(text: impl AsRef<[u8]>) -> String {
    let mut safe = String::with_capacity(text.as_ref().len());
    for chunk in text.as_ref().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => safe.push_str("\\n"),
                '\r' => safe.push_str("\\r"),
                '\t' => safe.push_str("\\t"),
                c if c.is_ascii_control() => safe.push_str(&format!("\\x{:02x}", c as u32)),
                c if c.is_control() || reorders_or_breaks(c) => {
                    safe.push_str(&format!("\\u{{{:x}}}", c as u32));
                }
                c => safe.push(c),
            }
        }
        for byte in chunk.invalid() {
            safe.push_str(&format!("\\x{byte:02x}"));
        }
    }
    safe
}

/// Returns whether [`escape`] spells a character out.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control() || reorders_or_breaks(c)
}

/// Returns whether a character is one of the bidirectional controls of <https://www.unicode.org/reports/tr9/>
/// or one of the two separators that end a line without being control characters.
fn reorders_or_breaks(c: char) -> bool {
    matches!(
        c,
        '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_text_stays() {
        for text in ["SET", "LRANGE_100 (first 100 elements)", "ключ \\d+ 鍵 👩‍👩‍👧", ""]
        {
            assert_eq!(escape(text), text);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_spelt_out() {
        assert_eq!(escape("a\x1b[31mb\x07\x7f\0"), "a\\x1b[31mb\\x07\\x7f\\x00");
        assert_eq!(escape("a\r\nb\tc"), "a\\r\\nb\\tc");
        assert_eq!(escape("\u{9b}31m \u{202e}x\u{2028}"), "\\u{9b}31m \\u{202e}x\\u{2028}");
        assert_eq!(escape(b"\xff\xfeok\xc3"), "\\xff\\xfeok\\xc3");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_comes_out(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let safe = escape(&bytes);
            prop_assert!(!safe.chars().any(|c| c.is_control() || reorders_or_breaks(c)));
            prop_assert_eq!(escape(&safe), safe);
        }
    }
}
