//! Rows of a table whose cells fill `__field:name__` placeholders.
//!
//! Owns the table in memory. Reading it from a file is the front end's business.

use serde::Serialize;

/// A table: named columns and rows of as many cells.
#[derive(Debug, Clone, Serialize)]
pub struct Dataset {
    source: String,
    columns: Vec<String>,
    #[serde(serialize_with = "row_count")]
    rows: Vec<Vec<Vec<u8>>>,
}

fn row_count<S: serde::Serializer>(
    rows: &[Vec<Vec<u8>>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(rows.len() as u64)
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
        Ok(Self { source, columns, rows })
    }

    /// The names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows there are, at least 1.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Never: a dataset has a row. Stands here because `len` does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The cell that request number `index` uses: rows go round.
    #[must_use]
    pub fn cell(&self, index: u64, column: usize) -> &[u8] {
        &self.rows[(index % self.rows.len() as u64) as usize][column]
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
}
