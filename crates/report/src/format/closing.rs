//! The end of a report on several tests: one table, and warnings common to several tests.

use std::io::{self, Write};

use crate::quantity::fitted;
use crate::{Metric, Repeats, Summary, TextGroups, WarningTopic, escape};

/// Rows and warnings of each test, kept for the end.
#[derive(Default)]
pub(super) struct ClosingRows {
    rows: Vec<Row>,
    warned: TextGroups<WarningTopic>,
}

struct Row {
    title: String,
    throughput: String,
    /// p50, p99 and the greatest latency.
    latencies: [String; 3],
    /// Limit of the test, in a word or two.
    limit: &'static str,
    complete: bool,
}

impl ClosingRows {
    /// Adds a test. Returns the warnings that no earlier test had.
    pub(super) fn add<'r>(&mut self, summary: &Summary<'r>) -> Vec<&'r str> {
        let latencies = [Metric::P50, Metric::P99, Metric::Max];
        self.rows.push(Row {
            title: summary.title.clone(),
            throughput: Metric::Throughput.written(summary.throughput_rps),
            latencies: summary.response.marked_cells("-", latencies),
            limit: summary.run.verdict.class(),
            complete: summary.shortfall().is_none(),
        });
        let new = summary.run.warnings.iter().filter(|warning| self.warned.add_warning(warning));
        new.map(|warning| warning.text.as_str()).collect()
    }

    /// Replaces the rows of the last tests, which were repeats of one, by one row of means.
    pub(super) fn gather(&mut self, repeats: &Repeats) {
        let first = self.rows.len().saturating_sub(repeats.carried_out());
        let runs = self.rows.split_off(first);
        let Some(last) = runs.last() else { return };
        let most = runs
            .iter()
            .map(|row| row.limit)
            .max_by_key(|limit| runs.iter().filter(|row| row.limit == *limit).count());
        let written = |metric: Metric| {
            repeats.mean(metric).map_or("-".to_owned(), |mean| metric.written(mean.mean))
        };
        self.rows.push(Row {
            title: format!("{}, mean of {}", repeats.title(), repeats.count()),
            throughput: written(Metric::Throughput),
            latencies: [Metric::P50, Metric::P99, Metric::Max].map(written),
            limit: most.unwrap_or(last.limit),
            complete: repeats.count() == repeats.carried_out(),
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table of several tests, or nothing for one, and forgets them.
    pub(super) fn write(&mut self, warnings: bool, out: &mut dyn Write) -> io::Result<()> {
        let Self { rows, warned } = std::mem::take(self);
        if rows.len() < 2 {
            return Ok(());
        }
        let width =
            rows.iter().map(|row| row.title.chars().count()).max().unwrap_or(0).clamp(4, 25);
        let all = rows.len();
        writeln!(out, "\n====== {all} tests ======")?;
        let mut line = |title: &str, [rps, p50, p99, max]: [&str; 4], limit: &str| {
            let title = fitted(title, width);
            writeln!(out, "  {title:<width$} {rps:>10} {p50:>8} {p99:>9} {max:>9}  {limit}")
        };
        line("test", ["requests/s", "p50 (ms)", "p99 (ms)", "max (ms)"], "limited by")?;
        for row in &rows {
            let [p50, p99, max] = row.latencies.each_ref().map(String::as_str);
            let cut = if row.complete { "" } else { " (incomplete)" };
            let limit = format!("{}{cut}", row.limit);
            line(&row.title, [&row.throughput, p50, p99, max], &limit)?;
        }
        for (text, tests) in warned.iter().filter(|(_, tests)| warnings && *tests > 1) {
            writeln!(out, "  warning ({tests} of {all} tests): {}", escape(text))?;
        }
        Ok(())
    }
}
