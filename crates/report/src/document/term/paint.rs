//! Colours and types of a terminal.

/// Bold type.
pub(super) const BOLD: &str = "1";
/// Terminal colours: blue, yellow, green, magenta, cyan, red.
pub(super) const SERIES: [&str; 6] = ["34", "33", "32", "35", "36", "31"];

/// Text in a colour or type, if `colour` is set.
pub(super) fn painted(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
