//! Text from elsewhere, made safe for a terminal.

/// The text with every control character escaped, so that no server can control the terminal.
pub fn printable(text: impl AsRef<[u8]>) -> String {
    let text = wire::spelled(text.as_ref().trim_ascii_end());
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_steers_a_terminal_is_escaped() {
        assert_eq!(printable("it's \"ü\" \\"), "it's \"ü\" \\");
        assert_eq!(printable("\x1b[31m\r\n\u{9b}"), "\\u{1b}[31m\\r\\n\\u{9b}");
    }
}
