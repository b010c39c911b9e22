//! Rows of a table whose cells fill `__field:name__` placeholders.
//!
//! Owns the table in memory; the front end reads it from a file.
//!
//! It is saved as its source, its columns and the number of its rows; written in full, also its cells. A
//! saved one loads as a description, which can be shown and compared, but has no cells to send.

use std::fmt;
use std::str::FromStr;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::random;
use crate::unmasked::is_unmasked;

/// A table: named columns and rows of as many cells.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Description")]
pub struct Dataset {
    source: String,
    columns: Vec<String>,
    rows: Rows,
    by: RowBy,
    values: Option<usize>,
    /// Operation of each row; empty if every row may serve any.
    operations: Vec<u32>,
}

/// Rule for the row of a request; after the last row comes the first.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowBy {
    /// Row with the number of the request.
    #[default]
    Request,
    /// Row by the number of its `__key__`, counted from the first key.
    Key,
    /// Rows in turn, by the number of requests of the operation that the connection has sent.
    Turn,
    /// Any row, drawn for each request.
    Random,
}

/// Random stream of rows, after those of keys, sizes, values, lifetimes and derived texts.
const STREAM: u64 = 15 << 56;

impl RowBy {
    const ALL: [Self; 4] = [Self::Request, Self::Key, Self::Turn, Self::Random];

    /// Name in the option.
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Key => "key",
            Self::Turn => "turn",
            Self::Random => "random",
        }
    }
}

impl FromStr for RowBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|by| by.name() == text);
        known.ok_or_else(|| format!("{text:?}: expected request, key, turn or random"))
    }
}

impl fmt::Display for RowBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The rows, or their number.
#[derive(Debug, Clone)]
enum Rows {
    Here(Vec<Vec<Vec<u8>>>),
    LeftOut(u64),
}

/// A dataset without its cells; written in full, with them.
#[derive(Deserialize)]
struct Description {
    source: String,
    columns: Vec<String>,
    rows: u64,
    #[serde(default)]
    by: RowBy,
    #[serde(default)]
    values: Option<usize>,
    #[serde(default)]
    cells: Option<Vec<Vec<Cell>>>,
    #[serde(default)]
    operations: Vec<u32>,
}

#[derive(Deserialize, Serialize)]
struct Cell(#[serde(with = "crate::bytes")] Vec<u8>);

/// Cells in full form.
struct Cells<'r>(&'r [Vec<Vec<u8>>]);

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.0.iter().map(|row| row.iter().map(|c| Cell(c.clone())).collect::<Vec<_>>());
        serializer.collect_seq(rows)
    }
}

impl Serialize for Dataset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = match &self.rows {
            Rows::Here(rows) if is_unmasked() => Some(Cells(rows)),
            _ => None,
        };
        let by = Some(self.by).filter(|by| *by != RowBy::Request);
        let operations = Some(&self.operations).filter(|all| cells.is_some() && !all.is_empty());
        let more = [by.is_some(), self.values.is_some(), cells.is_some(), operations.is_some()];
        let count = 3 + more.into_iter().filter(|more| *more).count();
        let mut fields = serializer.serialize_struct("Dataset", count)?;
        fields.serialize_field("source", &self.source)?;
        fields.serialize_field("columns", &self.columns)?;
        fields.serialize_field("rows", &self.len())?;
        if let Some(by) = by {
            fields.serialize_field("by", &by)?;
        }
        if let Some(column) = self.values {
            fields.serialize_field("values", &column)?;
        }
        if let Some(cells) = cells {
            fields.serialize_field("cells", &cells)?;
        }
        if let Some(operations) = operations {
            fields.serialize_field("operations", operations)?;
        }
        fields.end()
    }
}

impl TryFrom<Description> for Dataset {
    type Error = String;

    fn try_from(described: Description) -> Result<Self, String> {
        let Description { source, columns, rows, by, values, cells, operations } = described;
        if values.is_some_and(|column| column >= columns.len()) {
            return Err(format!("the dataset {source} has no column of values"));
        }
        if let Some(cells) = cells {
            let rows =
                cells.into_iter().map(|row| row.into_iter().map(|Cell(cell)| cell).collect());
            let data = Self::new(source, columns, rows.collect())?;
            return Ok(Self { by, values, operations, ..data });
        }
        if columns.is_empty() || rows == 0 {
            return Err(format!("the dataset {source} has no columns or no rows"));
        }
        Ok(Self { source, columns, rows: Rows::LeftOut(rows), by, values, operations })
    }
}

impl Dataset {
    /// Creates a table read from `source`. Rows may be shorter than the columns; missing cells are empty.
    ///
    /// # Errors
    /// Returns an error for a table without columns or rows, which fills nothing.
    pub fn new(
        source: String,
        columns: Vec<String>,
        rows: Vec<Vec<Vec<u8>>>,
    ) -> Result<Self, String> {
        if columns.is_empty() || rows.is_empty() {
            return Err(format!("the dataset {source} needs a header line and at least one row"));
        }
        let (by, operations) = (RowBy::default(), Vec::new());
        Ok(Self { source, columns, rows: Rows::Here(rows), by, values: None, operations })
    }

    /// Sets the rule for the row of a request.
    pub fn taken_by(self, by: RowBy) -> Self {
        Self { by, ..self }
    }

    /// Sets the column that read values must equal, in the row of their request.
    pub fn with_values(self, column: usize) -> Self {
        Self { values: Some(column).filter(|column| *column < self.columns.len()), ..self }
    }

    /// Sets the operation number of each row.
    pub fn with_operations(self, operations: Vec<u32>) -> Self {
        Self { operations, ..self }
    }

    /// Operation of each row; empty if every row may serve any.
    pub fn operations(&self) -> &[u32] {
        &self.operations
    }

    /// The row of request number `number`, unless a key or earlier requests decide.
    #[inline]
    pub fn row(&self, seed: u64, number: u64) -> u64 {
        let rows = self.len() as u64;
        match self.by {
            RowBy::Random => random::within(random::draw(seed.wrapping_add(STREAM), number), rows),
            RowBy::Request | RowBy::Key | RowBy::Turn => number % rows,
        }
    }

    /// Choice of the row that a request takes.
    pub fn by(&self) -> RowBy {
        self.by
    }

    /// The column of the stored values, if replies to reads may be compared with it.
    pub fn values(&self) -> Option<usize> {
        self.values
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Number of rows, at least 1.
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Here(rows) => rows.len(),
            Rows::LeftOut(count) => usize::try_from(*count).unwrap_or(usize::MAX),
        }
    }

    /// Returns false, as a dataset has a row. Exists because `len` does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether this is only a description, loaded from a saved plan, without cells to send.
    pub fn is_description(&self) -> bool {
        matches!(self.rows, Rows::LeftOut(_))
    }

    /// The cell of row number `index`, modulo the rows. Every cell of a description is empty.
    pub fn cell(&self, index: u64, column: usize) -> &[u8] {
        match &self.rows {
            Rows::Here(rows) => {
                let row = &rows[(index % rows.len() as u64) as usize];
                row.get(column).map_or(&[], Vec::as_slice)
            }
            Rows::LeftOut(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_round_and_what_short_ones_lack_is_empty() {
        let rows = vec![vec![b"1".to_vec()], vec![b"2".to_vec(), b"b".to_vec()]];
        let data = Dataset::new("f".into(), vec!["a".into(), "b".into()], rows).unwrap();
        assert_eq!(data.cell(0, 1), b"");
        assert_eq!(data.cell(3, 1), b"b");
        assert!(Dataset::new("f".into(), vec!["a".into()], vec![]).is_err());
    }

    #[test]
    fn rows_are_drawn_evenly_and_keep_their_operations() {
        let rows: Vec<Vec<Vec<u8>>> = (0..4).map(|n| vec![vec![n]]).collect();
        let data = Dataset::new("f".into(), vec!["a".into()], rows).unwrap();
        assert_eq!((data.row(1, 6), data.operations().len()), (2, 0));
        let data = data.taken_by(RowBy::Random).with_operations(vec![0, 1, 0, 1]);
        let mut counts = [0; 4];
        (0..40_000).for_each(|number| counts[data.row(7, number) as usize] += 1);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        let text = crate::unmasked(|| serde_json::to_string(&data)).unwrap();
        let loaded: Dataset = serde_json::from_str(&text).unwrap();
        assert_eq!((loaded.operations(), loaded.cell(3, 0)), (data.operations(), &[3][..]));
        assert!(!serde_json::to_string(&data).unwrap().contains("operations"));
    }

    #[test]
    fn as_data_it_is_a_description() {
        let rows = vec![vec![b"1".to_vec()], vec![b"2".to_vec()]];
        let data = Dataset::new("f".into(), vec!["a".into()], rows).unwrap();
        let text = serde_json::to_string(&data).unwrap();
        assert_eq!(text, r#"{"source":"f","columns":["a"],"rows":2}"#);
        let loaded: Dataset = serde_json::from_str(&text).unwrap();
        assert!(loaded.is_description() && !data.is_description());
        assert_eq!((loaded.len(), loaded.cell(1, 0)), (2, &b""[..]));
        assert_eq!(serde_json::to_string(&loaded).unwrap(), text);
        let keyed = data.clone().taken_by(RowBy::Key).with_values(0);
        let text = serde_json::to_string(&keyed).unwrap();
        assert_eq!(text, r#"{"source":"f","columns":["a"],"rows":2,"by":"key","values":0}"#);
        let loaded: Dataset = serde_json::from_str(&text).unwrap();
        assert_eq!((loaded.by(), loaded.values()), (RowBy::Key, Some(0)));
        let none = r#"{"source":"f","columns":["a"],"rows":0}"#;
        assert!(serde_json::from_str::<Dataset>(none).is_err());
    }
}
