//! The comparison as a table for programs: a row for each test and figure.

use std::io::{self, Write};

use statistics::Conclusion;

use super::{Row, TestComparison};
use crate::escape;
use crate::format::write_row;

const COLUMNS: [&str; 9] =
    ["test", "figure", "a", "b", "ratio", "low", "high", "conclusion", "b_is_better"];

/// The names of the columns.
///
/// # Errors
/// An error of the writer.
pub fn write_head(out: &mut dyn Write) -> io::Result<()> {
    write_row(&COLUMNS.map(str::to_owned), out)
}

/// The rows of a test that goes by that name, and of its operations.
///
/// # Errors
/// An error of the writer.
pub fn write_test(test: &TestComparison, name: &str, out: &mut dyn Write) -> io::Result<()> {
    write_rows(test, name, &test.rows, out)?;
    let mut operations = test.operations.iter();
    operations.try_for_each(|of| write_rows(test, &format!("{name}: {}", of.name), &of.rows, out))
}

fn write_rows(
    test: &TestComparison,
    name: &str,
    rows: &[Row],
    out: &mut dyn Write,
) -> io::Result<()> {
    for row in rows {
        let is_judged = test.refused.is_none();
        let interval = row.ratio.interval.filter(|_| is_judged);
        let end = |end: Option<f64>| end.map_or(String::new(), |end| format!("{end:.6}"));
        let [a, b] = row.means.map(|mean| row.metric.written(mean));
        let cells = [
            escape(name),
            row.metric.name().to_owned(),
            a,
            b,
            end(is_judged.then_some(row.ratio.ratio)),
            end(interval.map(|i| i.low)),
            end(interval.map(|i| i.high)),
            conclusion(row, is_judged).to_owned(),
            row.b_is_better()
                .filter(|_| is_judged)
                .map_or(String::new(), |better| better.to_string()),
        ];
        write_row(&cells, out)?;
    }
    Ok(())
}

/// The stable word for what a ratio allows to say.
pub(super) fn conclusion(row: &Row, shown: bool) -> &'static str {
    if !shown {
        return "not-told";
    }
    match row.ratio.conclusion() {
        Conclusion::Differ => "differ",
        Conclusion::Alike => "alike",
        Conclusion::Undecided => "undecided",
        Conclusion::Single => "single",
    }
}
