//! Its HDR files: for all requests and for each kind of them a table of percentiles (`.txt`), and a log
//! of one interval (`.hgrm`).

use std::fmt::Write;
use std::time::UNIX_EPOCH;

use super::distribution::{Step, distribution};
use super::{Cells, RunFigures};

/// The files of run number `run` by what follows their prefix, with their texts; of what has a sample.
#[must_use]
pub fn hdr_files(figures: &RunFigures, run: usize) -> Vec<(String, String)> {
    // Of waits there are none.
    let rows = figures.names.iter().zip(&figures.rows);
    let rows = rows.filter(|(name, _)| !(figures.built_in && *name == "WAIT"));
    let named = rows.map(|(name, row)| (format!("{}_command", file_name(name)), &row.cells));
    let all = ("FULL_RUN".to_owned(), &figures.totals.cells);
    let some = std::iter::once(all).chain(named).filter(|(_, cells)| cells.count() > 0);
    some.flat_map(|(name, cells)| {
        let run = match name.as_str() {
            "FULL_RUN" => format!("_{name}_{run}"),
            _ => format!("_{name}_run_{run}"),
        };
        [(format!("{run}.txt"), table(cells)), (format!("{run}.hgrm"), log(cells, figures))]
    })
    .collect()
}

/// A name that leads to no other directory.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_whitespace() || c == '/' { '_' } else { c }).collect()
}

fn table(cells: &Cells) -> String {
    let mut out = format!(
        "{:>12} {:>12} {:>12} {:>12}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for Step { ms, percent, count } in distribution(cells) {
        let part = percent / 100.0;
        let _ = writeln!(out, "{ms:>12.2} {part:>12.6} {count:>12} {:>12.2}", 1.0 / (1.0 - part));
    }
    let (mean, deviation) = cells.mean_and_deviation_ms();
    let (max, count) = (cells.max_ms(), cells.count());
    let _ = writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]");
    let _ = writeln!(out, "#[Max     = {max:>12.3}, Total count    = {count:>12}]");
    let _ = writeln!(out, "#[Buckets = {:>12}, SubBuckets     = {:>12}]", 20, 256);
    out
}

fn log(cells: &Cells, figures: &RunFigures) -> String {
    let start = figures.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let date = humantime::format_rfc3339_millis(UNIX_EPOCH + start);
    format!(
        "#[Histogram log format version 1.2]\n\
         #[StartTime: {start:.3} (seconds since epoch), {date}]\n\
         \"StartTimestamp\",\"EndTimestamp\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n\
         {start:.3},{end:.3},{max:.1},{encoded}\n",
        start = start.as_secs_f64(),
        end = start.as_secs_f64() + figures.elapsed_s,
        max = cells.max_ms() * 1000.0,
        encoded = cells.encoded(),
    )
}
