//! `csv`: the table of `redis-benchmark --csv`.
//!
//! Owns its columns and the quoting. Every row has the header's columns and no more, so an early
//! end or error replies are not in it: the caller says those where a person sees them.

use std::io::{self, Write};

use crate::quantity::{COLUMNS, msec_at_most, msec_columns};
use crate::{Format, FormatOptions, Repeats, Summary};

/// See the file's head.
pub(super) struct RedisCsv {
    first_byte: bool,
    /// Tests that were carried out several times.
    repeats: Vec<Repeats>,
}

impl RedisCsv {
    /// A table, with two more columns if the latency to the first byte is recorded.
    pub(super) fn new(options: FormatOptions) -> Self {
        Self { first_byte: options.first_byte, repeats: Vec::new() }
    }
}

impl Format for RedisCsv {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut header = vec!["test".to_owned(), "rps".to_owned()];
        header.extend(COLUMNS.map(|column| format!("{column}_latency_ms")));
        if self.first_byte {
            header.extend(["first_byte_p50_ms", "first_byte_p99_ms"].map(str::to_owned));
        }
        write_row(&header, out)
    }

    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut row = vec![summary.title.clone(), format!("{:.2}", summary.throughput_rps)];
        row.extend(msec_columns(&summary.response));
        if self.first_byte {
            let figures = summary.first_byte.unwrap_or_default();
            row.extend([figures.p50_ns, figures.p99_ns].map(msec_at_most));
        }
        write_row(&row, out)?;
        for operation in &summary.operations {
            let name = format!("{}: {}", summary.title, operation.name);
            let mut row = vec![name, format!("{:.2}", operation.rate_per_s)];
            row.extend(msec_columns(&operation.response));
            if self.first_byte {
                // It is of what was sent together, whichever operations that were.
                row.extend([String::new(), String::new()]);
            }
            write_row(&row, out)?;
        }
        Ok(())
    }

    /// Kept until the end: no row of the table of tests is anything but a test.
    fn repeats(&mut self, repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
        let _ = out;
        self.repeats.push(repeats.clone());
        Ok(())
    }

    fn close(&mut self, out: &mut dyn Write) -> io::Result<()> {
        super::repeats::write_rows(&std::mem::take(&mut self.repeats), out)
    }
}

/// A row of a CSV, every cell quoted: as the peers write theirs, all of ours are.
///
/// # Errors
/// What the writer fails with.
pub fn write_row(cells: &[String], out: &mut dyn Write) -> io::Result<()> {
    let quoted: Vec<String> = cells.iter().map(|cell| quote(cell)).collect();
    writeln!(out, "{}", quoted.join(","))
}

/// As RFC 4180 says; control characters are already spelt out.
fn quote(cell: &str) -> String {
    format!("\"{}\"", cell.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn table(first_byte: bool) -> Vec<String> {
        let options = FormatOptions { first_byte, suite: true, ..FormatOptions::default() };
        let mut format = RedisCsv::new(options);
        let mut out = Vec::new();
        format.begin(&mut out).unwrap();
        for (_, run) in fixture::all() {
            format.each(&Summary::of(&run), &mut out).unwrap();
        }
        format.finish(true, &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_header_is_the_peers() {
        assert_eq!(
            table(false)[0],
            "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
             \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\""
        );
    }

    #[test]
    fn every_row_has_the_columns_of_the_header() {
        for (first_byte, columns) in [(false, 8), (true, 10)] {
            let rows = table(first_byte);
            let operations = |(_, run): &(_, _)| Summary::of(run).operations.len();
            let more: usize = fixture::all().iter().map(operations).sum();
            assert_eq!(rows.len(), fixture::all().len() + more + 1);
            for row in rows {
                assert_eq!(row.matches("\",\"").count() + 1, columns, "{row}");
            }
        }
    }

    #[test]
    fn quotes_are_doubled() {
        assert_eq!(quote("SET \"a,b\""), "\"SET \"\"a,b\"\"\"");
    }
}
