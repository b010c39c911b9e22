//! Arguments of recorded commands in the syntax of workload files.

use std::fmt::Write;

use traffic::describe::{Description, Word};

use super::words::named;

/// The longest key number, in digits.
const WIDTH_MAX: u64 = 200;

/// Placeholder for `size` random bytes.
pub(super) fn random(size: u64) -> String {
    if size == 0 { "\"\"".to_owned() } else { format!("__random:{size}__") }
}

/// An argument, as a word of a command.
pub(super) fn argument(
    at: usize,
    word: &Word,
    of: &Description,
    value: &str,
    suffix: &str,
) -> String {
    match word {
        Word::Text(text) if at == 0 => String::from_utf8_lossy(text).to_lowercase(),
        Word::Text(text) => literal(text),
        Word::Value => value.to_owned(),
        Word::Size(size) => random(u64::from(*size)),
        Word::Key(pattern) => {
            let key_bytes = named(pattern, of).map_or(0, |of| of.key_bytes.p50);
            key(&(String::from_utf8_lossy(pattern) + suffix), key_bytes)
        }
    }
}

/// A key of a pattern: its first number is random, others are fixed.
fn key(pattern: &str, key_bytes: u64) -> String {
    let letters =
        pattern.chars().filter(|letter| !matches!(letter, 'N' | 'H' | 'U')).count() as u64;
    let others = pattern.chars().filter(|letter| matches!(letter, 'N' | 'H' | 'U')).count() as u64;
    let width = key_bytes.saturating_sub(letters + others.saturating_sub(1)).clamp(1, WIDTH_MAX);
    let mut text = String::new();
    let mut is_drawn = false;
    for letter in pattern.chars() {
        match letter {
            'N' | 'H' | 'U' if !std::mem::replace(&mut is_drawn, true) => {
                let _ = write!(text, "__key:{width}__");
            }
            'N' | 'H' | 'U' => text.push('1'),
            other => text.push(other),
        }
    }
    let needs_no_quotes = !text.is_empty()
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || ":_-.{}/".contains(letter));
    if needs_no_quotes { text } else { literal(text.as_bytes()) }
}

/// A word in the quoting of redis-cli.
pub(super) fn literal(text: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b":_-./{}*[](+$>=@,".contains(byte);
    if !text.is_empty() && text.iter().all(is_plain) {
        return String::from_utf8_lossy(text).into_owned();
    }
    let mut out = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            b' '..=b'~' => out.push(char::from(*byte)),
            other => {
                let _ = write!(out, "\\x{other:02x}");
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_length_and_pattern_of_the_records() {
        assert_eq!(key("user:N:cart", 14), "user:__key:4__:cart");
        assert_eq!(key("key:N", 16), "key:__key:12__");
        assert_eq!(key("a:N:N", 9), "a:__key:5__:1");
        assert_eq!(key("counter", 7), "counter");
        assert_eq!(key("a b", 3), "\"a b\"");
    }

    #[test]
    fn words_come_back_as_they_were() {
        for text in [&b"a\"b\\c\n"[..], b"return 1", b"", b"plain", b"\xff"] {
            assert_eq!(wire::quoted::words(literal(text).as_bytes()).unwrap(), [text]);
        }
    }
}
