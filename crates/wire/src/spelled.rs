//! Text form of a server's bytes.

/// Text of these bytes. Bytes that are not UTF-8 appear as `\xff`.
pub fn spelled(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::spelled;

    #[test]
    fn nothing_is_replaced_by_something_else() {
        assert_eq!(spelled("ERR  é\\ \n".as_bytes()), "ERR  é\\ \n");
        assert_eq!(spelled(b"a\xff\x80b\xc3"), "a\\xff\\x80b\\xc3");
    }
}
