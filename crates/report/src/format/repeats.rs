//! Repeated tests in the layouts.
//!
//! Owns the lines after those of the single runs, which are unchanged. They are alike in all layouts for
//! people; a CSV gets a second table at its end.

use std::io::{self, Write};

use crate::csv::write_row;
use crate::repeats::plus_minus;
use crate::{Metric, Repeats};

/// Writes a table with a line for each figure.
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
        writeln!(
            out,
            "  {:<25} {value:>12} {interval:>27}{half}{wide}",
            repeats.unit.label(metric)
        )?;
    }
    if let Some(target) = repeats.target() {
        writeln!(out, "  target {}", target.sentence())?;
    }
    match repeats.too_wide() {
        Some(reason) => writeln!(out, "  {reason}"),
        None => Ok(()),
    }
}

/// Writes the repeats as a line, as `-q` has for each run.
pub(super) fn write_line(repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
    let Some(rps) = repeats.mean(Metric::Throughput) else { return Ok(()) };
    write!(out, "{}, mean of {}: ", repeats.title(), repeats.counted())?;
    let unit = repeats.unit.plural();
    write!(out, "{:.2} {unit} per second ({})", rps.mean, plus_minus(&rps))?;
    for (name, metric) in [("p50", Metric::P50), ("p99", Metric::P99)] {
        if let Some(mean) = repeats.mean(metric) {
            write!(out, ", {name}={} msec ({})", metric.written(mean.mean), plus_minus(&mean))?;
        }
    }
    if let Some(target) = repeats.target() {
        write!(out, ", {}", target.short())?;
    }
    match repeats.too_wide() {
        Some(reason) => writeln!(out, "; {reason}"),
        None => writeln!(out),
    }
}

/// The columns of [`write_rows`].
const COLUMNS: [&str; 6] = ["test", "figure", "repeats", "mean", "low", "high"];

/// Writes a table for programs, after that of the runs and an empty line, with a row for each test and
/// figure. Nothing without repeats.
pub(super) fn write_rows(all: &[Repeats], out: &mut dyn Write) -> io::Result<()> {
    let mut rows = all.iter().filter(|repeats| repeats.count() > 0).peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    writeln!(out)?;
    write_row(&COLUMNS.map(str::to_owned), out)?;
    for repeats in rows {
        for metric in Metric::ALL {
            let Some(mean) = repeats.mean(metric) else { continue };
            let [low, high] = [mean.interval.map(|i| i.low), mean.interval.map(|i| i.high)]
                .map(|end| end.map_or(String::new(), |end| metric.written(end)));
            let cells = [
                repeats.title(),
                metric.name().to_owned(),
                repeats.count().to_string(),
                metric.written(mean.mean),
                low,
                high,
            ];
            write_row(&cells, out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::repeats::RepeatCollector;
    use crate::repeats::tests::runs;
    use crate::{FORMATS, FormatOptions, Run, Summary};

    fn rendered(format: &str, runs: &[Run]) -> String {
        let mut format = crate::by_name(format, FormatOptions::default()).unwrap();
        let (mut out, mut gathering) = (Vec::new(), RepeatCollector::default());
        for run in runs {
            let summary = Summary::from_run(run);
            format.each(&summary, &mut out).unwrap();
            if let Some(repeats) = gathering.add(&summary) {
                format.repeats(&repeats, &mut out).unwrap();
            }
        }
        for repeats in gathering.end() {
            format.repeats(&repeats, &mut out).unwrap();
        }
        format.close(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_runs_stand_as_ever_and_the_means_after_them() {
        // Neither a document nor a table over time has a place for means.
        for (format, _) in
            FORMATS.iter().filter(|(name, _)| !["json", "samples", "timeline"].contains(name))
        {
            let alone: Vec<String> = runs(3)
                .into_iter()
                .map(|run| rendered(format, &[Run { repeat: None, ..run }]))
                .collect();
            let alone = alone.join(if *format == "text" { "\n" } else { "" });
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
        assert!(csv.contains("\"p99_ms\",\"1\",") && csv.contains(",\"\",\"\"\n"), "{csv}");
        for format in ["text", "quiet", "csv", "classic"] {
            let text = rendered(format, &runs(3)[..1]).to_lowercase();
            assert!(!text.contains("nan") && !text.contains("inf"), "{format}: {text}");
        }
    }
}
