//! `csv`: the table of `redis-benchmark --csv`, and under keystorm's own name the hits and misses of replies.
//!
//! Owns its columns and the quoting. Every row has the header's columns and no more, so it lacks the reason
//! of an early end, or error replies, which the caller prints for a person. The names of incomplete tests say
//! so: a program that looks for a test by its name finds none, as in the table of redis-benchmark, which ends
//! there.

use std::io::{self, Write};

use crate::connects;
use crate::csv::{CsvRow, write_row};
use crate::metric::COLUMNS;
use crate::quantity::msec_at_most;
use crate::{CpuFigures, Format, FormatOptions, LatencyFigures, Repeats, Summary};

/// Keystorm's own columns: CPU time per request, in microseconds.
const CPU: [&str; 2] = ["server_cpu_us_per_request", "client_cpu_us_per_request"];

/// See the file's head.
pub(super) struct RedisCsv {
    first_byte: bool,
    /// Set for keystorm's own columns and empty cells.
    own: bool,
    /// Tests that were repeated.
    repeats: Vec<Repeats>,
    /// Tables below that of the tests: of messages, caches, stages of connections, and deadlines.
    tables: [Vec<CsvRow>; 4],
}

impl RedisCsv {
    /// Creates a table, with two more columns for the latency to the first byte, and two under keystorm's own
    /// name.
    pub(super) fn new(options: FormatOptions) -> Self {
        let (first_byte, own) = (options.first_byte, options.persona.own_layouts);
        Self { first_byte, own, repeats: Vec::new(), tables: Default::default() }
    }

    /// Writes a row of a name, a rate, latencies, and the optional columns.
    fn row(
        &self,
        name: &str,
        rate: f64,
        latency: [String; 6],
        first_byte: [String; 2],
        own: [String; 4],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut row = vec![name.to_owned(), format!("{rate:.2}")];
        row.extend(latency);
        row.extend(first_byte.into_iter().filter(|_| self.first_byte));
        row.extend(own.into_iter().filter(|_| self.own));
        write_row(&row, out)
    }

    /// Leaves cells empty without replies; the imitated tools write 0.
    fn latency(&self, figures: &LatencyFigures) -> [String; 6] {
        if self.own { figures.cells_or("", COLUMNS) } else { figures.cells(COLUMNS) }
    }
}

impl Format for RedisCsv {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut header = vec!["test".to_owned(), "rps".to_owned()];
        header.extend(COLUMNS.map(|column| format!("{}_latency_ms", column.bare_label())));
        if self.first_byte {
            header.extend(["first_byte_p50_ms", "first_byte_p99_ms"].map(str::to_owned));
        }
        if self.own {
            header.extend(["hits", "misses"].map(str::to_owned));
            header.extend(CPU.map(str::to_owned));
        }
        write_row(&header, out)
    }

    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        let cut = if summary.shortfall().is_some() { " (incomplete)" } else { "" };
        let title = format!("{}{cut}", summary.title);
        let (rate, latency) = (summary.throughput_rps, self.latency(&summary.response));
        let first_byte = summary.first_byte.unwrap_or_default();
        let first_byte = [first_byte.p50_ns, first_byte.p99_ns].map(msec_at_most);
        let [hits, misses] =
            [summary.lookups.hits, summary.lookups.misses].map(|count| count.to_string());
        let CpuFigures { server_us, client_us, .. } = CpuFigures::from_summary(summary);
        let [server, client] =
            [server_us, client_us].map(|us| us.map(|us| format!("{us:.2}")).unwrap_or_default());
        let own = [hits, misses, server, client];
        self.row(&title, rate, latency, first_byte, own, out)?;
        let [deliveries, caches, stages, deadlines] = &mut self.tables;
        deliveries.extend(summary.deliveries.as_ref().map(|of| of.csv_row(&title)));
        caches.extend(summary.deliveries.as_ref().and_then(|of| of.cache_csv_row(&title)));
        stages.extend(summary.connects.iter().map(|stage| connects::csv_row(&title, stage)));
        deadlines.extend(summary.deadline.as_ref().map(|of| of.csv_row(&title)));
        if let Some(probe) = summary.run.probe.as_ref().filter(|_| self.own) {
            let name = format!("{}: probe{cut}", summary.title);
            let latency = LatencyFigures::from_latency(&probe.response).cells(COLUMNS);
            // A probe has neither first-byte times nor hits.
            self.row(&name, probe.rate_per_s, latency, <_>::default(), <_>::default(), out)?;
        }
        for operation in &summary.operations {
            let name = format!("{}: {}{cut}", summary.title, operation.name);
            let latency = self.latency(&operation.response);
            let [hits, misses] =
                [operation.hits, operation.tally.missed].map(|count| count.to_string());
            // Times to the first byte are of requests of any operation, and CPU time is of all.
            let own = [hits, misses, String::new(), String::new()];
            self.row(&name, operation.rate_per_s, latency, <_>::default(), own, out)?;
        }
        Ok(())
    }

    /// Keeps repeats until the end, as every row of the table of tests is a test.
    fn repeats(&mut self, repeats: &Repeats, _out: &mut dyn Write) -> io::Result<()> {
        self.repeats.push(repeats.clone());
        Ok(())
    }

    fn close(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for rows in std::mem::take(&mut self.tables) {
            let Some(first) = rows.first() else { continue };
            writeln!(out)?;
            let names: Vec<String> = first.iter().map(|(name, _)| (*name).to_owned()).collect();
            write_row(&names, out)?;
            for row in rows {
                let cells: Vec<String> = row.into_iter().map(|(_, cell)| cell).collect();
                write_row(&cells, out)?;
            }
        }
        super::repeats::write_rows(&std::mem::take(&mut self.repeats), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lookups, Persona, fixture};

    fn table(first_byte: bool, persona: Persona) -> Vec<String> {
        let options =
            FormatOptions { first_byte, persona, suite: true, ..FormatOptions::default() };
        let mut format = RedisCsv::new(options);
        let mut out = Vec::new();
        format.begin(&mut out).unwrap();
        for (_, run) in fixture::all() {
            format.each(&Summary::from_run(&run), &mut out).unwrap();
        }
        format.finish(true, &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn by_a_peers_name_the_header_is_the_peers() {
        assert_eq!(
            table(false, crate::REDIS_BENCHMARK)[0],
            "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
             \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\""
        );
    }

    #[test]
    fn every_row_has_the_columns_of_the_header() {
        let (ours, peer) = (crate::KEYSTORM, crate::VALKEY_BENCHMARK);
        for (first_byte, persona, columns) in
            [(false, ours, 12), (true, ours, 14), (false, peer, 8), (true, peer, 10)]
        {
            let rows = table(first_byte, persona);
            let more: usize =
                fixture::all().iter().map(|(_, run)| Summary::from_run(run).operations.len()).sum();
            assert_eq!(rows.len(), fixture::all().len() + more + 1);
            for row in rows {
                assert_eq!(row.matches("\",\"").count() + 1, columns, "{row}");
            }
        }
    }

    #[test]
    fn what_replies_found_and_cost_stands_at_the_end() {
        let rows = table(false, crate::KEYSTORM);
        let cost = CPU.map(|column| format!(",\"{column}\"")).concat();
        let end = format!(",\"max_latency_ms\",\"hits\",\"misses\"{cost}");
        assert!(rows[0].ends_with(&end), "{}", rows[0]);
        for (row, (name, run)) in rows[1..].iter().zip(fixture::all()) {
            let summary = Summary::from_run(&run);
            let Lookups { hits, misses } = summary.lookups;
            let middle = format!(",\"{hits}\",\"{misses}\",");
            assert!(row.contains(&middle), "{name}: {row}");
        }
    }

    #[test]
    fn no_row_of_a_test_that_is_not_whole_looks_like_one_of_a_whole_test() {
        for persona in [crate::KEYSTORM, crate::REDIS_BENCHMARK, crate::VALKEY_BENCHMARK] {
            let mut rows = table(false, persona).into_iter().skip(1);
            let mut cut = 0;
            for (name, run) in fixture::all() {
                let summary = Summary::from_run(&run);
                let is_cut = summary.shortfall().is_some();
                cut += usize::from(is_cut);
                for row in rows.by_ref().take(1 + summary.operations.len()) {
                    let title = row.split("\",\"").next().unwrap();
                    assert_eq!(title.ends_with(" (incomplete)"), is_cut, "{name}: {row}");
                }
            }
            assert!(cut > 0);
        }
    }
}
