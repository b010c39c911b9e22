//! Results as documents: what is to be seen, as plain data.
//!
//! A [`Page`] has [`Section`]s of [`Block`]s, a [`Chart`] [`Series`]. [`term`] writes blocks for a terminal; the
//! crate of pages writes HTML and SVG. Text may be anybody's: it is escaped where it is written.

mod chart;
pub mod term;
mod unit;

pub use chart::{Axis, Band, Chart, ChartKind, DataPoint, Guide, Scale, Series};
pub use unit::Unit;

/// A page: one self-contained file.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Subject of the page, in a few words.
    pub title: String,
    /// Small print below the title: time, version and machine.
    pub byline: Vec<String>,
    /// Servers and programs whose versions belong to every figure, for pictures outside of their page.
    pub versions: Vec<String>,
    /// Main findings, which come first.
    pub lede: Vec<Verdict>,
    /// The rest, in order. More than three sections get a table of contents.
    pub sections: Vec<Section>,
}

/// Severity of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Plain information.
    #[default]
    Plain,
    /// All is well.
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
    /// The most important figures, as name and value with its unit.
    pub figures: Vec<(String, String)>,
    /// Events that a reader must know of, such as outages, one line each.
    pub events: Vec<String>,
}

impl Verdict {
    /// A plain verdict without figures.
    pub fn new(headline: impl Into<String>, text: impl Into<String>) -> Self {
        Self { headline: headline.into(), text: text.into(), ..Self::default() }
    }

    /// Sets the severity.
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// Text with a capital and a full stop; empty text stays empty.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    let text = first.into_iter().flatten().chain(letters).collect::<String>();
    if text.is_empty() || text.ends_with('.') { text } else { text + "." }
}

/// A part of a page with its own heading.
#[derive(Debug, Clone)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// Contents, in order.
    pub blocks: Vec<Block>,
    /// Set if only the heading is visible until the section is opened.
    pub folded: bool,
}

impl Block {
    /// Names and values.
    pub fn pairs<N: Into<String>>(pairs: impl IntoIterator<Item = (N, String)>) -> Self {
        Self::KeyValues(pairs.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

impl Section {
    /// A section of these blocks.
    pub fn new(heading: impl Into<String>, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { heading: heading.into(), blocks: blocks.into_iter().collect(), folded: false }
    }

    /// Folds the section: only its heading is visible until it is opened.
    pub fn folded(self) -> Self {
        Self { folded: true, ..self }
    }
}

/// Element of a page.
#[derive(Debug, Clone)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A highlighted paragraph.
    Note(Tone, String),
    /// A heading within a section.
    Heading(String),
    /// A verdict within a section.
    Verdict(Verdict),
    /// Rows and columns.
    Table(Table),
    /// A chart. Adjacent charts are side by side if there is room.
    Chart(Chart),
    /// Names and values, such as the plan's.
    KeyValues(Vec<(String, String)>),
    /// Text to be copied, such as a command line.
    Code(String),
}

/// A column of a table: its title, and the cell of an item.
pub type Column<'c, T> = (&'c str, &'c dyn Fn(&T) -> String);

/// Rows and columns of text, for a page or a terminal. Columns of figures are detected and right-aligned.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The text above the table, if any.
    pub caption: String,
    /// Titles of the columns, with units.
    pub columns: Vec<String>,
    /// The rows. Missing cells are empty; cells beyond the columns are not shown.
    pub rows: Vec<Vec<String>>,
    /// Numbers of rows with unreliable figures, which are greyed.
    pub faint: Vec<usize>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// A table with a row for each item, from the title and the cell of each column.
    ///
    /// ```
    /// use report::document::{Column, Table};
    ///
    /// let columns: [Column<'_, u32>; 2] =
    ///     [("number", &|n| n.to_string()), ("its square", &|n| (n * n).to_string())];
    /// let table = Table::of(&columns, [3, 4]);
    /// assert_eq!(table.rows, [["3", "9"], ["4", "16"]]);
    /// ```
    pub fn of<T>(columns: &[Column<'_, T>], items: impl IntoIterator<Item = T>) -> Self {
        let mut table = Self::new(columns.iter().map(|(title, _)| *title));
        for item in items {
            table.row(columns.iter().map(|(_, cell)| cell(&item)));
        }
        table
    }

    /// Returns the table if it has a row.
    pub fn filled(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    /// Returns the table with these of its columns.
    pub fn only(&self, columns: &[&str]) -> Self {
        let at = columns.iter().filter_map(|name| self.columns.iter().position(|of| of == name));
        let at: Vec<usize> = at.collect();
        let selected_rows = (0..self.rows.len())
            .map(|row: usize| at.iter().map(|column| self.cell(row, *column).to_owned()).collect());
        Self {
            columns: at.iter().map(|column| self.columns[*column].clone()).collect(),
            rows: selected_rows.collect(),
            ..self.clone()
        }
    }

    /// Returns the table without a column.
    pub fn without(&self, column: &str) -> Self {
        let others: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        self.only(&others.into_iter().filter(|name| *name != column).collect::<Vec<_>>())
    }

    /// Returns the cell; empty if it is missing.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        self.rows.get(row).and_then(|row| row.get(column)).map_or("", String::as_str)
    }

    /// Returns whether all cells of a column are figures (with units) or a dash.
    pub fn numeric(&self, column: usize) -> bool {
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
