//! Pages that are read at leisure, in a terminal, through a pager.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use anyhow::Result;
use cli::job::End;

use crate::commands::run;
use crate::experiment::terminal::Terminal;
use crate::markdown::rendered;

/// Lines longer than this are hard to read.
const WIDTH_MAX: usize = 100;

/// Shows a page of Markdown.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub(crate) fn read(markdown: &str) -> Result<End> {
    let Terminal { colour, width } = Terminal::of_stdout();
    let text = rendered(markdown, width.min(WIDTH_MAX), colour);
    if io::stdout().is_terminal() && paged(&text) {
        return Ok(End::Complete);
    }
    run::say(&text)
}

/// Shows a text in `$PAGER`, or in `less`; returns `false` if neither works.
fn paged(text: &str) -> bool {
    let pager = env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let words = shell_words::split(&pager).unwrap_or_default();
    let Some((program, args)) = words.split_first() else {
        return false;
    };
    let mut command = Command::new(program);
    workload::secret::without_passwords(&mut command);
    if env::var_os("LESS").is_none() {
        // Colours as they are, and no waiting where one screen is enough.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.args(args).stdin(Stdio::piped()).spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // Leaving the pager early is no error.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}
