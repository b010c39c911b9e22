//! What a page holds, as data. How it looks is left to `html`.

use crate::Chart;

/// A page: one file that needs no other.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Subject of the page, in a few words.
    pub title: String,
    /// Small print below the title: when, with which version, on which machine.
    pub byline: Vec<String>,
    /// Servers and programs whose versions belong to every figure, for pictures that stand alone.
    pub versions: Vec<String>,
    /// Main findings, which come first.
    pub lede: Vec<Verdict>,
    /// The rest, in order. With more than three there is a table of contents.
    pub sections: Vec<Section>,
}

/// Severity of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Plain information.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// To be kept in mind when reading figures.
    Warning,
    /// The figures cannot be trusted, or something failed.
    Bad,
}

/// A result in a sentence.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// The result, a few words.
    pub headline: String,
    /// Reason and advice: a sentence or two.
    pub text: String,
    /// Severity.
    pub tone: Tone,
    /// The few figures that matter most, as name and value with its unit.
    pub figures: Vec<(String, String)>,
    /// Events that a reader must know of, a line each, such as outages.
    pub events: Vec<String>,
}

impl Verdict {
    /// A plain verdict without figures.
    #[must_use]
    pub fn new(headline: impl Into<String>, text: impl Into<String>) -> Self {
        Self { headline: headline.into(), text: text.into(), ..Self::default() }
    }
}

/// With a capital and a full stop, as a sentence has; nothing stays nothing.
#[must_use]
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    let text = first.into_iter().flatten().chain(letters).collect::<String>();
    if text.is_empty() || text.ends_with('.') { text } else { text + "." }
}

/// A part of a page under a heading of its own.
#[derive(Debug, Clone)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// Contents, in order.
    pub blocks: Vec<Block>,
    /// Set if only the heading is seen until the section is opened.
    pub folded: bool,
}

impl Section {
    /// A section of these blocks.
    #[must_use]
    pub fn new(heading: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { heading: heading.into(), blocks: blocks.into_iter().collect(), folded: false }
    }

    /// Folds the section: only its heading is seen until it is opened.
    #[must_use]
    pub fn folded(self) -> Self {
        Self { folded: true, ..self }
    }
}

/// Element of a page.
#[derive(Debug, Clone)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A paragraph that is to be noticed.
    Note(Tone, String),
    /// A heading within a section.
    Heading(String),
    /// A verdict within a section.
    Verdict(Verdict),
    /// Rows and columns.
    Table(Table),
    /// A chart. Neighbours stand side by side where there is room.
    Chart(Chart),
    /// Names and values, such as the plan's.
    KeyValues(Vec<(String, String)>),
    /// Text to be copied, such as a command line.
    Code(String),
}

/// Rows and columns of text, for a page or a terminal. A column of figures is recognised, and set
/// to the right.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The text above the table, if any.
    pub caption: String,
    /// The titles of the columns, with their units.
    pub columns: Vec<String>,
    /// The rows. Cells that a row lacks are empty; cells beyond the columns are not shown.
    pub rows: Vec<Vec<String>>,
    /// Rows, by number, whose figures are not to be relied on: they are greyed.
    pub faint: Vec<usize>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    /// The cell, or nothing.
    pub(crate) fn cell(&self, row: usize, column: usize) -> &str {
        self.rows.get(row).and_then(|row| row.get(column)).map_or("", String::as_str)
    }

    /// Returns whether all cells of a column are figures (with units) or a dash for none.
    pub(crate) fn numeric(&self, column: usize) -> bool {
        let mut figures = 0;
        for row in 0..self.rows.len() {
            let cell = self.cell(row, column).trim();
            match cell
                .trim_start_matches(['+', '-', '−', '±', '<', '>', '≤', '×'])
                .trim_start()
                .chars()
                .next()
            {
                Some(c) if c.is_ascii_digit() => figures += 1,
                None => {}
                Some('–' | '—') => {}
                Some(_) => return false,
            }
        }
        figures > 0
    }
}
