//! What the layouts say of tests that were carried out several times.
//!
//! Owns the lines that come after those of the single runs, which stand as they always do. They are
//! alike in layouts for people; a CSV gets rows of its own columns.

use std::io::{self, Write};

use statistics::Mean;

use crate::repeats::plus_minus;
use crate::{Metric, Repeats};

/// A table: a line for each figure.
pub(super) fn write_table(repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
    if repeats.count() == 0 {
        return Ok(());
    }
    writeln!(out, "====== {}: {} ======", repeats.title(), repeats.counted())?;
    let head = ["", "mean", "95 % interval"];
    writeln!(out, "  {:<25} {:>12} {:>27}", head[0], head[1], head[2])?;
    for metric in Metric::ALL {
        let Some(mean) = repeats.mean(metric) else { continue };
        let (interval, half) = match mean.interval {
            None => ("none of one run".to_owned(), String::new()),
            Some(interval) => {
                let [low, high] = [interval.low, interval.high].map(|end| metric.written(end));
                (format!("{low} to {high}"), format!("  {}", plus_minus(&mean)))
            }
        };
        let wide = if mean.interval.is_some() && mean.too_wide() { ", too wide" } else { "" };
        let value = metric.written(mean.mean);
        writeln!(out, "  {:<25} {value:>12} {interval:>27}{half}{wide}", metric.label())?;
    }
    match repeats.too_wide() {
        Some(reason) => writeln!(out, "  {reason}"),
        None => Ok(()),
    }
}

/// One line, as `-q` has for each run.
pub(super) fn write_line(repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
    let Some(rps) = repeats.mean(Metric::Throughput) else { return Ok(()) };
    write!(out, "{}, mean of {}: ", repeats.title(), repeats.counted())?;
    write!(out, "{:.2} requests per second ({})", rps.mean, plus_minus(&rps))?;
    for (name, metric) in [("p50", Metric::P50), ("p99", Metric::P99)] {
        if let Some(mean) = repeats.mean(metric) {
            write!(out, ", {name}={} msec ({})", metric.written(mean.mean), plus_minus(&mean))?;
        }
    }
    match repeats.too_wide() {
        Some(reason) => writeln!(out, "; {reason}"),
        None => writeln!(out),
    }
}

/// A value that a mean has, if it has it.
type OfMean = fn(&Mean) -> Option<f64>;

/// What the rows of a CSV stand for, and the value of each.
pub(super) const ROWS: [(&str, OfMean); 3] = [
    ("mean", |mean| Some(mean.mean)),
    ("95% low", |mean| mean.interval.map(|interval| interval.low)),
    ("95% high", |mean| mean.interval.map(|interval| interval.high)),
];

#[cfg(test)]
mod tests {
    use crate::repeats::Gathering;
    use crate::repeats::tests::runs;
    use crate::{FORMATS, FormatOptions, Run, Summary};

    fn rendered(format: &str, runs: &[Run]) -> String {
        let mut format = crate::by_name(format, FormatOptions::default()).unwrap();
        let (mut out, mut gathering) = (Vec::new(), Gathering::default());
        for run in runs {
            format.each(&Summary::of(run), &mut out).unwrap();
            if let Some(repeats) = gathering.add(run) {
                format.repeats(&repeats, &mut out).unwrap();
            }
        }
        for repeats in gathering.end() {
            format.repeats(&repeats, &mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_runs_stand_as_ever_and_the_means_after_them() {
        for (format, _) in FORMATS.iter().filter(|(name, _)| *name != "json") {
            let alone: String = runs(3)
                .into_iter()
                .map(|run| rendered(format, &[Run { repeat: None, ..run }]))
                .collect();
            let together = rendered(format, &runs(3));
            assert!(together.starts_with(&alone), "{format}: {together}");
            assert!(together.len() > alone.len(), "{format}");
        }
    }

    #[test]
    fn the_table_the_line_and_the_rows() {
        let (text, quiet, csv) =
            (rendered("text", &runs(3)), rendered("quiet", &runs(3)), rendered("csv", &runs(3)));
        insta::assert_snapshot!(&text[text.find("====== SET: 3").unwrap()..]);
        insta::assert_snapshot!(quiet);
        insta::assert_snapshot!(csv);
    }

    #[test]
    fn one_run_that_is_left_has_a_mean_and_no_interval() {
        let text = rendered("text", &runs(3)[..1]);
        assert!(text.contains("SET: 1 of 3 repeats") && text.contains("none of one run"), "{text}");
        let csv = rendered("csv", &runs(3)[..1]);
        assert!(csv.contains("\"SET (95% low)\",\"\",\"\""), "{csv}");
        for format in ["text", "quiet", "csv", "classic"] {
            let text = rendered(format, &runs(3)[..1]).to_lowercase();
            assert!(!text.contains("nan") && !text.contains("inf"), "{format}: {text}");
        }
    }
}
