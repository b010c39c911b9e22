//! Rows of a table whose cells fill `__field:name__` placeholders.
//!
//! Owns the table in memory. Reading it from a file is the front end's business.
//!
//! As data it is its source, its columns and the number of its rows, and in full its cells, too. What is loaded from that is a
//! description: it can be read and compared, but it has no cells to send.

use std::fmt;
use std::str::FromStr;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::in_full::is_in_full;

/// A table: named columns and rows of as many cells.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Description")]
pub struct Dataset {
    source: String,
    columns: Vec<String>,
    rows: Rows,
    by: RowBy,
    values: Option<usize>,
}

/// Which row a request takes; rows go round.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowBy {
    /// That of its number.
    #[default]
    Request,
    /// That of its `__key__`, counted from the first key.
    Key,
    /// One after another, by what its connection has sent of its operation.
    Turn,
}

impl RowBy {
    const ALL: [Self; 3] = [Self::Request, Self::Key, Self::Turn];

    /// As it is written.
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Key => "key",
            Self::Turn => "turn",
        }
    }
}

impl FromStr for RowBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|by| by.name() == text);
        known.ok_or_else(|| format!("{text:?}: expected request, key or turn"))
    }
}

impl fmt::Display for RowBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The rows, or how many there were.
#[derive(Debug, Clone)]
enum Rows {
    Here(Vec<Vec<Vec<u8>>>),
    LeftOut(u64),
}

/// A dataset without its cells, or in full with them.
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
}

#[derive(Deserialize, Serialize)]
struct Cell(#[serde(with = "crate::bytes")] Vec<u8>);

/// Cells as they are written in full.
struct Cells<'r>(&'r [Vec<Vec<u8>>]);

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = |row: &Vec<Vec<u8>>| row.iter().map(|c| Cell(c.clone())).collect::<Vec<_>>();
        serializer.collect_seq(self.0.iter().map(row))
    }
}

impl Serialize for Dataset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = match &self.rows {
            Rows::Here(rows) if is_in_full() => Some(Cells(rows)),
            _ => None,
        };
        let by = Some(self.by).filter(|by| *by != RowBy::Request);
        let more = [by.is_some(), self.values.is_some(), cells.is_some()];
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
        fields.end()
    }
}

impl TryFrom<Description> for Dataset {
    type Error = String;

    fn try_from(described: Description) -> Result<Self, String> {
        let Description { source, columns, rows, by, values, cells } = described;
        if values.is_some_and(|column| column >= columns.len()) {
            return Err(format!("the dataset {source} has no column of values"));
        }
        if let Some(cells) = cells {
            let row = |row: Vec<Cell>| row.into_iter().map(|Cell(cell)| cell).collect();
            let data = Self::new(source, columns, cells.into_iter().map(row).collect())?;
            return Ok(Self { by, values, ..data });
        }
        if columns.is_empty() || rows == 0 {
            return Err(format!("the dataset {source} has no columns or no rows"));
        }
        Ok(Self { source, columns, rows: Rows::LeftOut(rows), by, values })
    }
}

impl Dataset {
    /// A table read from `source`. Rows are cut or padded with empty cells to the columns.
    ///
    /// # Errors
    /// A table without columns or rows fills nothing.
    pub fn new(
        source: String,
        columns: Vec<String>,
        mut rows: Vec<Vec<Vec<u8>>>,
    ) -> Result<Self, String> {
        if columns.is_empty() || rows.is_empty() {
            return Err(format!("the dataset {source} needs a header line and at least one row"));
        }
        for row in &mut rows {
            row.resize(columns.len(), Vec::new());
        }
        let by = RowBy::default();
        Ok(Self { source, columns, rows: Rows::Here(rows), by, values: None })
    }

    /// The same with rows that are taken so.
    #[must_use]
    pub fn taken_by(self, by: RowBy) -> Self {
        Self { by, ..self }
    }

    /// The same where what is read must be this cell of a request's row.
    #[must_use]
    pub fn with_values(self, column: usize) -> Self {
        Self { values: Some(column).filter(|column| *column < self.columns.len()), ..self }
    }

    /// Where it was read from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Which row a request takes.
    #[must_use]
    pub fn by(&self) -> RowBy {
        self.by
    }

    /// The column of the values that are stored, if replies to reads may be compared with it.
    #[must_use]
    pub fn values(&self) -> Option<usize> {
        self.values
    }

    /// The names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows there are, at least 1.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Here(rows) => rows.len(),
            Rows::LeftOut(count) => usize::try_from(*count).unwrap_or(usize::MAX),
        }
    }

    /// Never: a dataset has a row. Stands here because `len` does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this is a description alone, loaded from a saved plan, with no cells to send.
    #[must_use]
    pub fn is_description(&self) -> bool {
        matches!(self.rows, Rows::LeftOut(_))
    }

    /// The cell of row number `index`: rows go round. A description has none, and every
    /// cell of it is empty.
    #[must_use]
    pub fn cell(&self, index: u64, column: usize) -> &[u8] {
        match &self.rows {
            Rows::Here(rows) => &rows[(index % rows.len() as u64) as usize][column],
            Rows::LeftOut(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_round_and_short_rows_are_padded() {
        let rows = vec![vec![b"1".to_vec()], vec![b"2".to_vec(), b"b".to_vec()]];
        let data = Dataset::new("f".into(), vec!["a".into(), "b".into()], rows).unwrap();
        assert_eq!(data.cell(0, 1), b"");
        assert_eq!(data.cell(3, 1), b"b");
        assert!(Dataset::new("f".into(), vec!["a".into()], vec![]).is_err());
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
