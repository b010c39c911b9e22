//! The tables: heading, rows and columns, and the distribution below.

use std::io::{self, Write};

use super::distribution::{Step, distribution};
use super::section::Row;
use super::{RunFigures, Section, Style};

/// Width of a column of rates, and of one of latencies.
const RATE: usize = 12;
const LATENCY: usize = 15;
const NONE: &str = "---";

/// Writes what is above all sections.
///
/// # Errors
/// Returns the errors of the writer.
pub(crate) fn write_head(run: &RunFigures, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{:<9} Threads", run.threads)?;
    writeln!(out, "{:<9} Connections per thread", run.clients)?;
    let (unit, length) = run.length;
    writeln!(out, "{length:<9} {unit}")
}

/// A section: its table, and its distribution if that is wanted.
///
/// # Errors
/// Returns the errors of the writer.
pub(crate) fn write_section(
    section: &Section,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Section { title, figures: run } = section;
    let longest = run.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let name_width = longest.max(6) + 1;
    let mut columns: Vec<(String, usize)> = vec![("Ops/sec".into(), RATE)];
    if run.built_in || style.lookups {
        columns.extend([("Hits/sec".into(), RATE), ("Misses/sec".into(), RATE)]);
    }
    if run.cluster {
        columns.extend([("MOVED/sec".into(), RATE), ("ASK/sec".into(), RATE)]);
    }
    columns.push(("Avg. Latency".into(), LATENCY));
    let latency = |percentile: &f64| (format!("{} Latency", label(*percentile)), LATENCY);
    columns.extend(style.percentiles.iter().map(latency));
    columns.push(("KB/sec".into(), RATE));
    let widths: Vec<usize> = columns.iter().map(|(name, width)| name.len().max(*width)).collect();
    let ruler = name_width + 1 + widths.iter().map(|width| width + 1).sum::<usize>();
    writeln!(out, "\n\n{title}\n{}", "=".repeat(ruler))?;
    write!(out, "{:<width$} ", "Type", width = name_width)?;
    for ((name, _), width) in columns.iter().zip(&widths) {
        write!(out, "{name:>width$} ")?;
    }
    writeln!(out, "\n{}", "-".repeat(ruler))?;
    let rows = run.names.iter().map(|name| plural(name)).zip(&run.rows);
    let totals = ("Totals".to_owned(), &run.totals);
    for (name, row) in rows.chain([totals]) {
        write!(out, "{name:<width$} ", width = name_width)?;
        for (cell, width) in cells(&name, row, run, style).iter().zip(&widths) {
            write!(out, "{cell:>width$} ")?;
        }
        writeln!(out)?;
    }
    if style.distributions { write_distributions(run, out) } else { Ok(()) }
}

fn cells(name: &str, row: &Row, run: &RunFigures, style: &Style) -> Vec<String> {
    let rate = |rate: f64| format!("{rate:.2}");
    let built_in = run.built_in;
    let is_wait = built_in && name == "Waits";
    let unless = |none: bool, value: f64| if none { NONE.to_owned() } else { rate(value) };
    let mut cells = vec![rate(row.rates.ops)];
    if built_in || style.lookups {
        // Its own rows have them, sent or not.
        let no_read =
            if built_in { name == "Sets" || is_wait } else { !row.looks && name != "Totals" };
        cells.extend([unless(no_read, row.rates.hits), unless(no_read, row.rates.misses)]);
    }
    if run.cluster {
        cells.extend([unless(is_wait, row.rates.moved), unless(is_wait, row.rates.asked)]);
    }
    // Its own rows without a sample have none; others, and all together, have zeros.
    let untimed = row.timed == 0 && built_in && name != "Totals";
    let latency = |ms: f64| if untimed { NONE.to_owned() } else { format!("{ms:.5}") };
    cells.push(latency(row.average_ms().unwrap_or_default()));
    cells.extend(style.percentiles.iter().map(|p| latency(row.cells.percentile_ms(*p))));
    cells.push(unless(is_wait, row.rates.kilobytes()));
    cells
}

fn write_distributions(run: &RunFigures, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n\nRequest Latency Distribution")?;
    writeln!(out, "Type     <= msec         Percent\n{}", "-".repeat(72))?;
    let last = run.names.len().saturating_sub(1);
    for (at, (name, row)) in run.names.iter().zip(&run.rows).enumerate() {
        for Step { ms, percent, .. } in distribution(&row.cells) {
            writeln!(out, "{name:<6} {ms:>8.3} {percent:>12.3}")?;
        }
        if !run.built_in || at < last {
            writeln!(out, "---")?;
        }
    }
    Ok(())
}

/// The name of a row: `Sets` of SET.
pub(super) fn plural(name: &str) -> String {
    let mut chars = name.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars.map(|c| c.to_ascii_lowercase())).chain(['s']).collect()
}

/// A percentile as columns call it: whole, or with one digit behind the point, or three.
pub(super) fn label(percentile: f64) -> String {
    let has = |digits: i32| {
        let scaled = percentile * f64::powi(10.0, digits);
        (scaled - scaled.round()).abs() < 1e-9
    };
    if has(0) {
        format!("p{percentile:.0}")
    } else if has(1) {
        format!("p{percentile:.1}")
    } else if has(3) {
        format!("p{percentile:.3}")
    } else {
        // Three digits would name another percentile.
        format!("p{percentile}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpu::CpuUse;
    use super::super::section::{Endpoints, Rates};
    use super::*;

    #[test]
    fn percentiles_are_called_as_there() {
        for (percentile, called) in [
            (50.0, "p50"),
            (99.9, "p99.9"),
            (99.95, "p99.950"),
            (99.99, "p99.990"),
            (100.0, "p100"),
        ] {
            assert_eq!(label(percentile), called);
        }
        assert_eq!(label(99.9999), "p99.9999", "there it is p100.000");
    }

    #[test]
    fn rows_are_called_as_there() {
        for (name, called) in [
            ("SET", "Sets"),
            ("HGETALL", "Hgetalls"),
            ("SCAN 0", "Scan 0s"),
            ("SET (LINE 3)", "Set (line 3)s"),
        ] {
            assert_eq!(plural(name), called);
        }
    }

    fn section(names: &[&str], built_in: bool) -> Section {
        let mut latency = measure::Latency::new(3);
        latency.record_n(1_000_000, 10);
        let row = Row {
            count: 10,
            accumulated_ms: 10.0,
            timed: 10,
            cells: super::super::MemtierHistogram::from_latency(&latency),
            rates: Rates { ops: 5000.0, received: 100.0, sent: 300.0, ..Rates::default() },
            ..Row::default()
        };
        let figures = RunFigures {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            rows: names
                .iter()
                .map(|name| if *name == "WAIT" { Row::default() } else { row.clone() })
                .collect(),
            totals: row.clone(),
            built_in,
            lookups: Vec::new(),
            threads: 1,
            clients: 1,
            length: ("Seconds", 1),
            joining: None,
            cluster: false,
            endpoints: Endpoints::default(),
            started_at: std::time::UNIX_EPOCH,
            elapsed_s: 0.0,
            interrupted: false,
            over_time: Vec::new(),
            cpu: CpuUse::default(),
            tls: None,
        };
        Section::of_run("ALL STATS", &figures)
    }

    fn written(section: &Section) -> String {
        let mut out = Vec::new();
        write_section(section, &Style::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_of_its_own_requests_is_that_of_the_original() {
        let text = written(&section(&["SET", "GET", "WAIT"], true));
        let expected = "\n\nALL STATS\n\
            ============================================================================================================================\n\
            Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99 Latency   p99.9 Latency       KB/sec \n\
            ----------------------------------------------------------------------------------------------------------------------------\n\
            Sets         5000.00          ---          ---         1.00000         1.00700         1.00700         1.00700       400.00 \n\
            Gets         5000.00         0.00         0.00         1.00000         1.00700         1.00700         1.00700       400.00 \n\
            Waits           0.00          ---          ---             ---             ---             ---             ---          --- \n\
            Totals       5000.00         0.00         0.00         1.00000         1.00700         1.00700         1.00700       400.00 \n\
            \n\n\
            Request Latency Distribution\n\
            Type     <= msec         Percent\n\
            ------------------------------------------------------------------------\n\
            SET       1.007        0.000\n\
            SET       1.007      100.000\n\
            ---\n\
            GET       1.007        0.000\n\
            GET       1.007      100.000\n\
            ---\n\
            WAIT      0.000      100.000\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn commands_have_no_column_of_hits_and_a_line_behind_each_distribution() {
        let text = written(&section(&["HSET", "HGETALL"], false));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[4],
            "Type          Ops/sec    Avg. Latency     p50 Latency     p99 Latency   p99.9 Latency       KB/sec "
        );
        assert_eq!(lines[5], "-".repeat(99));
        assert!(lines[6].starts_with("Hsets         5000.00         1.00000 "), "{}", lines[6]);
        assert!(lines[7].starts_with("Hgetalls      5000.00 "), "{}", lines[7]);
        assert!(text.ends_with("HGETALL    1.007      100.000\n---\n"), "{text}");
    }
}
