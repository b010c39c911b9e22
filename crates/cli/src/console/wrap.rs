//! Wrapping of sentences to the width of the terminal: a longer line breaks between words and continues
//! indented.
//!
//! Only on a terminal, and only under keystorm's own name: files, pipes and the reports of imitated tools
//! keep each line whole. Rows of tables, which have runs of spaces, are left alone.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use report::document::term;
use workload::streams;

/// Set if lines may be broken; an imitated tool's output keeps that tool's lines.
static ALLOWED: AtomicBool = AtomicBool::new(false);

/// Minimum number of columns of a terminal in which lines are broken.
const COLUMNS_MIN: usize = 40;
/// Further indent of a continued line.
const HANGING: usize = 2;

/// Lets lines be broken from now on.
pub fn allow() {
    ALLOWED.store(true, Ordering::Relaxed);
}

/// Columns of standard output, if lines are to be broken there.
pub fn of_stdout() -> Option<usize> {
    columns(&io::stdout())
}

/// Columns of a stream, if lines are to be broken there.
pub(crate) fn columns(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<usize> {
    if !ALLOWED.load(Ordering::Relaxed) || !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns >= COLUMNS_MIN)
}

/// The text with every sentence wrapped to this many columns; `None` leaves it as it is.
pub fn wrapped(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    text.split_inclusive('\n').map(|line| broken(line, columns)).collect()
}

fn broken(line: &str, columns: usize) -> String {
    let (body, end) = match line.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (line, ""),
    };
    let sentence = body.trim_start();
    let indent = body.len() - sentence.len();
    let moves = |c: char| c.is_control();
    if body.chars().count() <= columns || sentence.contains("  ") || sentence.contains(moves) {
        return line.to_owned();
    }
    term::wrapped(body, columns, indent + HANGING).trim_end_matches('\n').to_owned() + end
}

/// Standard output with wrapped sentences, in one piece from flush to flush: a reader that has seen enough of a report,
/// as `head` has, does not end the program in the midst of it.
#[derive(Default)]
pub struct WrappedStdout {
    held: Vec<u8>,
}

impl Write for WrappedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let mut out = streams::output();
        match std::str::from_utf8(&held) {
            Ok(text) => out.write_all(wrapped(text, of_stdout()).as_bytes())?,
            Err(_) => out.write_all(&held)?,
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_broken_between_words_and_go_on_further_in() {
        let text = "  limited by: the server, whose main thread was busy all of the time\nshort\n";
        let found = wrapped(text, Some(40));
        assert_eq!(
            found,
            "  limited by: the server, whose main\n    thread was busy all of the time\nshort\n"
        );
        assert!(found.lines().all(|line| line.chars().count() <= 40));
        assert_eq!(wrapped(text, None), text);
    }

    #[test]
    fn rows_and_long_words_stay_whole() {
        let row = format!("  SET {:>60} {:>9}\n", 1, 2);
        assert_eq!(wrapped(&row, Some(40)), row);
        let word = format!("see {}\n", "x".repeat(50));
        assert_eq!(wrapped(&word, Some(40)), format!("see\n  {}\n", "x".repeat(50)));
        let steering = format!("\u{1b}[1m{}\n", "a ".repeat(40));
        assert_eq!(wrapped(&steering, Some(40)), steering);
    }
}
