//! The comparison as a table for programs: a row for each test, figure and server.

use std::io::{self, Write};

use super::{ComparedTest, Conclusion, FigureRow, RateCurve, RatioRow, TestComparison};
use crate::csv::write_row;
use crate::escape;

const COLUMNS: &str = "test figure server value ratio low high conclusion is_better rate_rps kept";

/// The names of the columns.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write_head(out: &mut dyn Write) -> io::Result<()> {
    write_row(&COLUMNS.split(' ').map(str::to_owned).collect::<Vec<_>>(), out)
}

/// Writes the rows of a test under that name, and of its operations.
///
/// # Errors
/// Returns errors of the writer.
pub fn write_test(
    test: &ComparedTest,
    name: &str,
    target: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_rows(test, name, target, &test.figures(), out)?;
    let mut operations = test.operations().into_iter();
    operations.try_for_each(|(operation, rows)| {
        write_rows(test, &format!("{name}: {operation}"), target, &rows, out)
    })
}

fn write_rows(
    test: &ComparedTest,
    name: &str,
    target: Option<&str>,
    rows: &[FigureRow<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let question = test.question.as_ref();
    let rate = question.and_then(|question| question.rate_rps);
    for row in rows {
        let others = row.others.iter().copied();
        let compared = std::iter::once(None).chain(others);
        for (at, ((side, value), compared)) in
            test.sides().zip(row.values()).zip(compared).enumerate()
        {
            let Some((mean, _)) = value else { continue };
            let kept = question
                .and_then(|question| RateCurve::at_one_rate(question, target).state(question, at));
            let [ratio, low, high, conclusion, is_better] = judged(compared);
            let cells = [
                escape(name),
                row.metric.name().to_owned(),
                escape(&side.name),
                row.metric.written(mean),
                ratio,
                low,
                high,
                conclusion,
                is_better,
                rate.map_or(String::new(), |rate| format!("{rate:.3}")),
                kept.map_or(String::new(), |kept| kept.name().to_owned()),
            ];
            write_row(&cells, out)?;
        }
    }
    Ok(())
}

/// Cells of a ratio, its interval and its conclusion; empty for the first server.
fn judged(compared: Option<(&TestComparison, &RatioRow)>) -> [String; 5] {
    let Some((pair, row)) = compared else { return Default::default() };
    let is_judged = pair.refused.is_none();
    let interval = row.ratio.interval.filter(|_| is_judged);
    let end = |end: Option<f64>| end.map_or(String::new(), |end| format!("{end:.6}"));
    let is_better = row.b_is_better().filter(|_| is_judged);
    [
        end(is_judged.then_some(row.ratio.ratio)),
        end(interval.map(|interval| interval.low)),
        end(interval.map(|interval| interval.high)),
        conclusion(row, is_judged).to_owned(),
        is_better.map_or(String::new(), |better| better.to_string()),
    ]
}

/// Stable word for the conclusion from a ratio.
pub(super) fn conclusion(row: &RatioRow, shown: bool) -> &'static str {
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
