//! Quoted words of redis-cli and MONITOR: `"..."` with escapes, `'...'`, or text up to a blank.

use memchr::{memchr, memchr2};

/// The words of a line; `None` if a quote is not closed, or text follows one directly.
pub fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut words, mut rest) = (Vec::new(), line);
    loop {
        let mut word = Vec::new();
        match next_word(rest, &mut word)? {
            Some(length) => rest = &rest[length..],
            None => return Some(words),
        }
        words.push(word);
    }
}

/// Appends the next word of a line to `word`. Returns the number of bytes used, including blanks before it;
/// the inner `None` if only blanks are left, and the outer one if a quote is not closed or text follows one
/// directly.
#[allow(clippy::option_option)]
pub fn next_word(line: &[u8], word: &mut Vec<u8>) -> Option<Option<usize>> {
    let Some(mut at) = line.iter().position(|byte| !is_blank(*byte)) else { return Some(None) };
    while let Some(&first) = line.get(at).filter(|byte| !is_blank(**byte)) {
        at = match first {
            b'"' => closed(line, double_quoted(line, at + 1, word)?)?,
            b'\'' => closed(line, single_quoted(line, at + 1, word)?)?,
            _ => {
                word.push(first);
                at + 1
            }
        };
    }
    Some(Some(at))
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0xb | 0xc)
}

/// Returns the end of a closing quote, if a blank or the end follows.
fn closed(line: &[u8], at: usize) -> Option<usize> {
    line.get(at).is_none_or(|byte| is_blank(*byte)).then_some(at)
}

/// Returns the offset after the closing quote of a word.
fn double_quoted(line: &[u8], mut at: usize, word: &mut Vec<u8>) -> Option<usize> {
    loop {
        let rest = line.get(at..)?;
        let plain = memchr2(b'"', b'\\', rest)?;
        word.extend_from_slice(&rest[..plain]);
        at += plain + 1;
        if rest[plain] == b'"' {
            return Some(at);
        }
        at += escape(line.get(at..)?, word)?;
    }
}

/// Parses the text after a backslash, and returns its length.
fn escape(rest: &[u8], word: &mut Vec<u8>) -> Option<usize> {
    let digit = |at: usize| char::from(*rest.get(at)?).to_digit(16);
    let (&first, byte) = (rest.first()?, digit(1).zip(digit(2)));
    if let (b'x', Some((high, low))) = (first, byte) {
        word.push((high * 16 + low) as u8);
        return Some(3);
    }
    word.push(match first {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'a' => 7,
        other => other,
    });
    Some(1)
}

fn single_quoted(line: &[u8], mut at: usize, word: &mut Vec<u8>) -> Option<usize> {
    loop {
        let rest = line.get(at..)?;
        let plain = memchr(b'\'', rest)?;
        word.extend_from_slice(&rest[..plain]);
        at += plain + 1;
        // Such a quote is part of the word, since single quotes allow no other escape.
        if rest[..plain].ends_with(b"\\") {
            word.pop();
            word.push(b'\'');
        } else {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<Vec<String>> {
        let words = words(line.as_bytes())?;
        Some(words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    }

    #[test]
    fn words_are_quoted_as_in_redis_cli() {
        let of = |line: &str| split(line).unwrap();
        assert_eq!(of(" SET  k 'a b' "), ["SET", "k", "a b"]);
        assert_eq!(of(r#"SET "p:__key__:s" "\x41\n\"""#), ["SET", "p:__key__:s", "A\n\""]);
        assert_eq!(of(r"SET k 'it\'s' ''"), ["SET", "k", "it's", ""]);
        assert_eq!(of(r#""\xzz\\" "" "ä""#), [r"xzz\", "", "ä"]);
        for bad in [r#"SET "k"#, "SET 'k", r#"SET "a"b"#, r#"SET "\"#, r#"SET "\x4"#, r"SET 'a\'"] {
            assert_eq!(split(bad), None, "{bad}");
        }
    }
}
