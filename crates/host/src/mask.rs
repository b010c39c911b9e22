//! Masking of a password in a server's messages: servers that do not know a command quote its arguments.

/// The text in place of a password.
const HIDDEN: &str = "***";
/// Length below which a word may be part of the server's own sentence.
const WORD_MIN: usize = 4;

/// The text with this password masked: in quotes anywhere, and elsewhere as a whole word. A short one outside
/// of quotes counts only at the end of the text, or after a colon.
pub(crate) fn without(password: &str, text: &str) -> String {
    if password.is_empty() {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut done = 0;
    for (at, found) in text.match_indices(password) {
        let end = at + found.len();
        if at >= done && stands(&text[..at], found, &text[end..]) {
            shown += &text[done..at];
            shown += HIDDEN;
            done = end;
        }
    }
    shown + &text[done..]
}

/// Returns whether a password between these texts is a whole word rather than a part of the server's.
fn stands(before: &str, password: &str, after: &str) -> bool {
    let (last, next) = (before.chars().next_back(), after.chars().next());
    let quoted = last == next && last.is_some_and(|c| matches!(c, '\'' | '"' | '`'));
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let echoed = next.is_none() || before.trim_end().ends_with(':');
    quoted || is_apart(last) && is_apart(next) && (password.chars().count() >= WORD_MIN || echoed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hidden_where_it_stands() {
        for (password, text, shown) in [
            (
                "a",
                "ERR unknown command 'AUTH', with args: 'a' 'b'",
                "ERR unknown command 'AUTH', with args: '***' 'b'",
            ),
            ("a", "ERR a command of an unknown database", "ERR a command of an unknown database"),
            ("a", "ERR what is a", "ERR what is ***"),
            ("a", "ERR refused: a.", "ERR refused: ***."),
            ("AUTH", "NOAUTH Authentication", "NOAUTH Authentication"),
            ("hunter2", "ERR `hunter2`, hunter2 and \"hunter2\"", "ERR `***`, *** and \"***\""),
            ("it's 1", "ERR args: 'it's 1'", "ERR args: '***'"),
            ("", "ERR ''", "ERR ''"),
            ("aa", "ERR 'aaa' 'aa'", "ERR 'aaa' '***'"),
        ] {
            assert_eq!(without(password, text), shown, "{password:?}");
        }
    }
}
