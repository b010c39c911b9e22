//! Lines of words as redis-cli takes them and MONITOR prints them: `"..."` with escapes, `'...'`.

/// The words of a line; `None` where a quote is not closed, or something stands right behind one.
pub fn words(line: &str) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start_matches(is_blank);
    while !rest.is_empty() {
        let mut word = Vec::new();
        while let Some(first) = rest.chars().next().filter(|c| !is_blank(*c)) {
            let after = &rest[first.len_utf8()..];
            rest = match first {
                '"' => closed(double_quoted(after, &mut word)?)?,
                '\'' => closed(single_quoted(after, &mut word)?)?,
                _ => {
                    push(&mut word, first);
                    after
                }
            };
        }
        words.push(word);
        rest = rest.trim_start_matches(is_blank);
    }
    Some(words)
}

fn push(word: &mut Vec<u8>, c: char) {
    word.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// What follows a closing quote, if that is a blank or the end.
fn closed(rest: &str) -> Option<&str> {
    rest.chars().next().is_none_or(is_blank).then_some(rest)
}

fn double_quoted<'l>(mut rest: &'l str, word: &mut Vec<u8>) -> Option<&'l str> {
    loop {
        let first = rest.chars().next()?;
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '"' => return Some(after),
            '\\' => escape(after, word)?,
            _ => {
                push(word, first);
                after
            }
        };
    }
}

/// What stands behind a backslash.
fn escape<'l>(rest: &'l str, word: &mut Vec<u8>) -> Option<&'l str> {
    let hex = rest.strip_prefix('x').and_then(|digits| digits.get(..2));
    if let Some(byte) = hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
        word.push(byte);
        return Some(&rest[3..]);
    }
    let first = rest.chars().next()?;
    match first {
        'n' => word.push(b'\n'),
        'r' => word.push(b'\r'),
        't' => word.push(b'\t'),
        'b' => word.push(8),
        'a' => word.push(7),
        _ => push(word, first),
    }
    Some(&rest[first.len_utf8()..])
}

fn single_quoted<'l>(mut rest: &'l str, word: &mut Vec<u8>) -> Option<&'l str> {
    loop {
        if let Some(after) = rest.strip_prefix("\\'") {
            word.push(b'\'');
            rest = after;
            continue;
        }
        let first = rest.chars().next()?;
        let after = &rest[first.len_utf8()..];
        if first == '\'' {
            return Some(after);
        }
        push(word, first);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<Vec<String>> {
        let words = words(line)?;
        Some(words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    }

    #[test]
    fn words_are_quoted_as_in_redis_cli() {
        let of = |line: &str| split(line).unwrap();
        assert_eq!(of(" SET  k 'a b' "), ["SET", "k", "a b"]);
        assert_eq!(of(r#"SET "p:__key__:s" "\x41\n\"""#), ["SET", "p:__key__:s", "A\n\""]);
        assert_eq!(of(r"SET k 'it\'s'"), ["SET", "k", "it's"]);
        for bad in [r#"SET "k"#, "SET 'k", r#"SET "a"b"#] {
            assert_eq!(split(bad), None, "{bad}");
        }
    }
}
