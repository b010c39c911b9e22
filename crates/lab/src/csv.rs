//! Experiments as tables for programs, and the columns common to all tables of runs.
//!
//! Names come from [`report::Metric`]; rows are quoted as in every CSV of keystorm.

use report::{Metric, write_row};

use crate::figures::Figures;

/// Last columns of every row of a run.
const FIGURES: [&str; 11] = [
    "throughput_rps",
    "p50_ms",
    "p99_ms",
    "p99.9_ms",
    "max_ms",
    "client_cpu_us_per_request",
    "bytes_per_s",
    "requests",
    "errors",
    "limited_by",
    "disturbed_by",
];

/// A table, row by row.
pub(crate) struct Csv(Vec<u8>);

impl Csv {
    /// Creates a table of runs with these first columns.
    pub(crate) fn for_runs<'c>(columns: impl IntoIterator<Item = &'c str>) -> Self {
        Self::new(&columns.into_iter().chain(FIGURES).collect::<Vec<_>>())
    }

    /// Creates a table of anything.
    pub(crate) fn new(columns: &[&str]) -> Self {
        let mut table = Self(Vec::new());
        table.write(columns.iter().map(|name| (*name).to_owned()));
        table
    }

    /// Adds a run; `cells` are for the first columns. The limit of a run that was cut short is left out.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>, run: &Figures) {
        let figures = [
            Metric::Throughput.written(run.throughput_rps),
            run.msec(run.p50_ns).unwrap_or_default(),
            run.msec(run.p99_ns).unwrap_or_default(),
            run.msec(run.p999_ns).unwrap_or_default(),
            run.msec(run.max_ns).unwrap_or_default(),
            run.client_cpu_ns.map_or(String::new(), |ns| Metric::ClientCpu.written(ns / 1e3)),
            format!("{:.0}", run.bytes_per_s),
            run.requests.to_string(),
            run.errors.to_string(),
            if run.complete() { run.limited_by.name() } else { "incomplete" }.to_owned(),
            run.disturbance.as_ref().map_or("", |found| found.cause.name()).to_owned(),
        ];
        self.write(cells.into_iter().map(report::escape).chain(figures));
    }

    /// Adds a row.
    pub(crate) fn write(&mut self, cells: impl IntoIterator<Item = String>) {
        // Memory does not fail.
        let _ = write_row(&cells.into_iter().collect::<Vec<_>>(), &mut self.0);
    }

    /// Returns the whole table.
    pub(crate) fn text(self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::figures;

    #[test]
    fn columns_are_called_as_figures_are_everywhere() {
        let names = Metric::ALL.map(Metric::name);
        assert_eq!(FIGURES.iter().filter(|column| names.contains(column)).count(), 6);
        let mut table = Csv::for_runs(["test"]);
        table.row(["a \"b\"".to_owned()], &figures(2.0, 1_000_001));
        let cut = Figures { shortfall: Some("interrupted".to_owned()), ..figures(2.0, 1) };
        table.row(["cut".to_owned()], &cut);
        let text = table.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("\"test\",\"throughput_rps\",\"p50_ms\""), "{text}");
        assert!(lines[1].starts_with("\"a \"\"b\"\"\",\"2.00\",\"0.500\",\"1.001\""), "{text}");
        assert_eq!(lines[0].matches("\",\"").count(), lines[1].matches("\",\"").count());
        assert!(lines[2].contains("\"incomplete\"") && !lines[1].contains("incomplete"), "{text}");
    }
}
