//! Its HDR files: for all requests and for each kind of them a table of percentiles (`.txt`), and a log
//! of one interval (`.hgrm`).

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use super::distribution::{Step, distribution};
use super::{MemtierHistogram, RunFigures};

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HdrFile {
    /// End of its name, behind the prefix.
    pub(crate) name: String,
    /// Title and format, in the words of the original's.
    pub(crate) title: String,
    /// Content of the file.
    pub(crate) text: String,
}

/// The files of run number `run`, for histograms with a sample.
pub(crate) fn hdr_files(figures: &RunFigures, run: usize) -> Vec<HdrFile> {
    // Of waits there are none.
    let rows = figures.names.iter().zip(&figures.rows);
    let rows = rows.filter(|(name, _)| !(figures.built_in && *name == "WAIT"));
    let named = rows.map(|(name, row)| {
        (format!("_{}_command_run_{run}", file_name(name)), name.as_str(), &row.cells)
    });
    let all = (format!("_FULL_RUN_{run}"), "Full Run", &figures.totals.cells);
    let some = std::iter::once(all).chain(named).filter(|(_, _, cells)| cells.count() > 0);
    some.flat_map(|(file, of, cells)| {
        let title = format!("{of} command HDR latency histogram results");
        let log = log(cells, &title, figures);
        let of_log = format!("{title} in HistogramLogProcessor format");
        [
            HdrFile { name: format!("{file}.txt"), title, text: table(cells) },
            HdrFile { name: format!("{file}.hgrm"), title: of_log, text: log },
        ]
    })
    .collect()
}

/// A name that leads to no other directory.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_whitespace() || c == '/' { '_' } else { c }).collect()
}

fn table(cells: &MemtierHistogram) -> String {
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

fn log(cells: &MemtierHistogram, title: &str, figures: &RunFigures) -> String {
    let start = figures.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let date = date(figures.started_at);
    format!(
        "#[{title}]\n\
         #[Histogram log format version 1.2]\n\
         #[StartTime: {start:.3} (seconds since epoch), {date}]\n\
         \"StartTimestamp\",\"EndTimestamp\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n\
         {start:.3},{end:.3},{max:.1},{encoded}\n",
        start = start.as_secs_f64(),
        end = start.as_secs_f64() + figures.elapsed_s,
        max = cells.max_ms() * 1000.0,
        encoded = cells.encoded(),
    )
}

/// A time as the original's library writes it, which leaves out the day of the month: `Sun Jun 22:28:30 GMT 2014`.
fn date(time: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let text = humantime::format_rfc3339_seconds(time).to_string();
    let month: usize = text.get(5..7).and_then(|month| month.parse().ok()).unwrap_or(1);
    format!(
        "{} {} {} GMT {}",
        DAYS[(seconds / 86_400 % 7) as usize],
        MONTHS[(month.max(1) - 1) % 12],
        text.get(11..19).unwrap_or_default(),
        text.get(..4).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_library() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(1_403_476_110), "Sun Jun 22:28:30 GMT 2014");
        assert_eq!(at(0), "Thu Jan 00:00:00 GMT 1970");
        assert_eq!(at(1_795_443_190), "Mon Nov 14:13:10 GMT 2026");
    }
}
