//! Rows of CSV.

use std::io::{self, Write};

/// Cells of a row below the names of their columns, which are those of each row of a table.
pub(crate) type CsvRow = Vec<(&'static str, String)>;

/// A row of a CSV, every cell quoted, as redis-benchmark writes it.
///
/// # Errors
/// Returns errors of the writer.
pub fn write_row(cells: &[String], out: &mut dyn Write) -> io::Result<()> {
    let quoted: Vec<String> = cells.iter().map(|cell| quote(cell)).collect();
    writeln!(out, "{}", quoted.join(","))
}

/// Quotes a cell by RFC 4180; control characters are already escaped.
fn quote(cell: &str) -> String {
    format!("\"{}\"", cell.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled() {
        assert_eq!(quote("SET \"a,b\""), "\"SET \"\"a,b\"\"\"");
    }
}
