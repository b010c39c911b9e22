//! `--dataset`: reading the table.

pub mod dump;
mod xml;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use csv::ReaderBuilder;
use naming::{DATASET, Text, XML_ROOT_ELEMENT, text};
use workload::Dataset;

use crate::values::delimiter;

/// Reads a file whose name ends in `.csv`, `.tsv` or `.xml`. Another is XML if the element that
/// makes a row is named, and CSV otherwise.
///
/// # Errors
/// Returns the name, the line and the reason if it cannot be read.
pub(crate) fn read(
    path: &Path,
    xml_row: Option<&str>,
    rows_max: Option<usize>,
) -> Result<Dataset, Text> {
    let is = |extension: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension));
    match xml_row {
        _ if is("csv") || is("tsv") => with_header(path, rows_max),
        Some(row) => xml::read(path, row, rows_max.unwrap_or(usize::MAX)),
        None if is("xml") => Err(text!(
            "XML dataset requires {XML_ROOT_ELEMENT} parameter: the name of \
                                  the element that makes a row, such as doc"
        )),
        None => with_header(path, rows_max),
    }
}

/// Reads a file with a header line.
fn with_header(path: &Path, rows_max: Option<usize>) -> Result<Dataset, Text> {
    let fault = |error: csv::Error| text!("{DATASET} {}: {error}", path.display());
    if dump::is_dump(path).map_err(|error| fault(error.into()))? {
        return dump::read(path, rows_max).map_err(|why| text!("{DATASET} {why}"));
    }
    let open = unclosed_quote(path, delimiter(path)).map_err(|error| fault(error.into()))?;
    if let Some(line) = open.filter(|_| rows_max.is_none()) {
        return Err(text!(
            "{DATASET} {}: line {line}: a quote opens here and is never closed",
            path.display()
        ));
    }
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter(path))
        .flexible(true)
        .from_path(path)
        .map_err(fault)?;
    let columns = reader.headers().map_err(fault)?;
    let columns = columns.iter().map(str::to_owned).collect();
    let records = reader.records().take(rows_max.unwrap_or(usize::MAX));
    let rows: Result<_, _> = records
        .map(|record| record.map(|record| record.iter().map(|c| c.as_bytes().to_vec()).collect()))
        .collect();
    Ok(Dataset::new(path.display().to_string(), columns, rows.map_err(fault)?)?)
}

/// The line of a quote that opens a cell and is not closed before the file ends.
fn unclosed_quote(path: &Path, delimiter: u8) -> io::Result<Option<u64>> {
    let (mut line, mut opened, mut before) = (1, None, b'\n');
    let mut reader = BufReader::new(File::open(path)?);
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(opened);
        }
        for byte in chunk {
            match (byte, opened) {
                // One that is doubled closes and opens at once.
                (b'"', Some(_)) => opened = None,
                (b'"', None) if before == delimiter || before == b'\n' || before == b'"' => {
                    opened = Some(line);
                }
                _ => {}
            }
            line += u64::from(*byte == b'\n');
            before = *byte;
        }
        let read = chunk.len();
        reader.consume(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_that_is_not_closed_is_reported_by_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let csv = dir.path().join("a.csv");
            std::fs::write(&csv, text).unwrap();
            super::read(&csv, None, None).map(|data| data.len())
        };
        assert!(
            read("id,v\n1,\"abc\n2,x\n").unwrap_err().to_string().contains("line 2: a quote opens")
        );
        for text in
            ["id,v\n1,5\" disk\n", "id,v\n1,\"a\"\"b\"\n", "id,v\n1,\"\"\n", "id,v\n1,\"a\nb\"\n"]
        {
            assert_eq!(read(text), Ok(1), "{text}");
        }
    }

    #[test]
    fn commas_quotes_and_tabs() {
        let dir = tempfile::tempdir().unwrap();
        let csv = dir.path().join("a.csv");
        std::fs::write(&csv, "id,title\n1,\"one, or \"\"1\"\"\"\n2,two\n3\n").unwrap();
        let data = read(&csv, None, None).unwrap();
        assert_eq!(data.cell(0, 1), b"one, or \"1\"");
        assert_eq!((data.len(), data.cell(2, 1)), (3, &b""[..]));
        assert_eq!(read(&csv, Some("doc"), Some(1)).unwrap().len(), 1);
        let tsv = dir.path().join("a.tsv");
        std::fs::write(&tsv, "id\ttitle\n1\ta,b\n").unwrap();
        assert_eq!(read(&tsv, None, None).unwrap().cell(0, 1), b"a,b");
        assert!(
            read(Path::new("/no/such.csv"), None, None)
                .unwrap_err()
                .to_string()
                .contains("/no/such.csv")
        );
    }
}
