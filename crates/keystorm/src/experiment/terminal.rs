//! Tables, charts and sentences on standard output, in its width and colours.

use std::io::{self, IsTerminal};

use anyhow::Result;
use report::page::{Block, Chart, Table, Tone, Verdict, term};

use crate::commands::run::say;

/// Columns of a terminal of unknown width.
const WIDTH: usize = 80;
/// Greatest useful width of a chart.
const WIDTH_MAX: usize = 120;

/// Standard output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub(crate) colour: bool,
    pub(crate) width: usize,
}

impl Terminal {
    pub(crate) fn of_stdout() -> Self {
        let out = io::stdout();
        let (no_color, kind) = (std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
        let colour = term::colour_wanted(out.is_terminal(), no_color.as_deref(), kind.as_deref());
        let size = rustix::termios::tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_col));
        let width = size.filter(|columns| *columns >= 40).unwrap_or(WIDTH).min(WIDTH_MAX);
        Self { colour, width }
    }

    /// Prints a block of a document; page-only blocks are left out.
    pub(crate) fn block(self, block: &Block) -> Result<()> {
        match block {
            Block::Verdict(verdict) => self.verdict(verdict),
            Block::Table(table) => self.table(table),
            Block::Chart(chart) => self.chart(chart),
            Block::Text(text) | Block::Heading(text) | Block::Code(text) => self.line(text),
            Block::Note(Tone::Warning, text) => self.line(&format!("warning: {text}")),
            Block::Note(_, text) => self.line(text),
            Block::KeyValues(_) => Ok(()),
        }
    }

    /// Blocks of a document in lines of 80 columns.
    pub(crate) fn document(self, blocks: &[Block]) -> Result<()> {
        say(&term::text(blocks, self.width, self.colour)).map(drop)
    }

    pub(crate) fn table(self, table: &Table) -> Result<()> {
        say(&term::table(table, self.colour)).map(drop)
    }

    /// Prints a chart in a few lines, after a blank line.
    pub(crate) fn chart(self, chart: &Chart) -> Result<()> {
        say(&format!("\n{}", term::chart(chart, self.width, self.colour))).map(drop)
    }

    /// A result in a sentence.
    pub(crate) fn verdict(self, verdict: &Verdict) -> Result<()> {
        let Verdict { headline, text, .. } = verdict;
        let lines = format!("{}\n{}\n", report::escape(headline), report::escape(text));
        say(lines.trim_end_matches('\n')).map(drop)?;
        say("\n").map(drop)
    }

    pub(crate) fn line(self, text: &str) -> Result<()> {
        say(&format!("{}\n", report::escape(text))).map(drop)
    }
}
