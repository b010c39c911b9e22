//! Reports in YCSB's words: sections, figures, and the three ways in which they are exported.
//!
//! Owns the layout alone. [`sections`] decides what is reported under which name.

mod figures;
mod hdr_log;
mod java;
mod named;
mod options;
mod raw;
mod sections;
mod series;
mod status;

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use report::{Format, Summary};

use figures::{Figure, Figures};

pub(crate) use hdr_log::HdrFiles;
pub(crate) use named::logged;
pub(crate) use options::{Exporter, Interval, Kind, OtherFigures, YcsbOptions};
pub(crate) use raw::RawLog;
pub(crate) use sections::{Section, sections};
pub(crate) use series::Series;
pub(crate) use status::{StatusLine, status_line};

/// The report in YCSB's words.
#[derive(Debug, Default)]
pub(crate) struct Ycsb {
    options: YcsbOptions,
    /// Averages that the run's monitor recorded over time, for reports that show them.
    series: Option<Arc<Mutex<Series>>>,
    /// Set once any figure of an array is written.
    written: bool,
}

impl Ycsb {
    /// A report with these options, and with averages over time, if these are reported.
    pub(crate) fn new(options: YcsbOptions, series: Option<Arc<Mutex<Series>>>) -> Self {
        Self { options, series, written: false }
    }

    fn write(&mut self, (name, measure, number): &Figure, out: &mut dyn Write) -> io::Result<()> {
        let first = !std::mem::replace(&mut self.written, true);
        let before = match self.options.exporter {
            Exporter::Text => return writeln!(out, "[{name}], {measure}, {number}"),
            Exporter::Json if first => "",
            Exporter::Json => " ",
            Exporter::JsonArray if first => "[ ",
            Exporter::JsonArray => ", ",
        };
        // JSON has no such numbers.
        let is_number = !number.starts_with(['N', 'I']);
        let number = if is_number { number.clone() } else { quoted(number) };
        let (name, measure) = (quoted(name), quoted(measure));
        write!(
            out,
            "{before}{{\n  \"metric\" : {name},\n  \"measurement\" : {measure},\n  \"value\" : {number}\n}}"
        )
    }
}

/// Figures of the collections of garbage, of which there are none.
const NO_COLLECTIONS: [[&str; 3]; 3] = [
    ["TOTAL_GCs", "Count", "0"],
    ["TOTAL_GC_TIME", "Time(ms)", "0"],
    ["TOTAL_GC_TIME_%", "Time(%)", "0.0"],
];

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// All figures of a section; `raw` has every operation of a raw report.
fn section_figures(section: &Section, options: &YcsbOptions, raw: &RawLog<'_>) -> Vec<Figure> {
    let Section { name, latency, returned } = section;
    let first = options.kind.hdr_name(name);
    // Return counts are printed once.
    let rest = if first.is_none() { *returned } else { None };
    let mut all = first.map_or(Vec::new(), |name| figures::hdr(&name, latency, *returned, options));
    let Some((name, other)) = options.kind.other(name) else { return all };
    all.extend(match other {
        OtherFigures::Buckets => figures::buckets(&name, latency, rest, options),
        OtherFigures::Raw => raw.figures(section, &name, rest),
        OtherFigures::TimeSeries => {
            let mut figures = Figures::counted(&name, latency);
            figures.extremes(latency);
            figures.returned(rest);
            figures.all
        }
    });
    all
}

impl Format for Ycsb {
    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        let run = summary.run;
        let elapsed_ms = (summary.elapsed_s * 1e3).round().max(1.0);
        let rate = summary.counted() as f64 * 1e3 / elapsed_ms;
        let mut overall = Figures::new("OVERALL");
        overall.whole("RunTime(ms)", elapsed_ms as u64);
        overall.real("Throughput(ops/sec)", rate);
        let mut figures = overall.all;
        // No memory is collected here.
        figures.extend(NO_COLLECTIONS.map(|figure| figure.map(str::to_owned).into()));
        let raw = RawLog::new(run, &self.options);
        for section in raw.sections() {
            figures.extend(section_figures(&section, &self.options, &raw));
            if let Some(series) = &self.series {
                let series = series.lock().unwrap_or_else(PoisonError::into_inner);
                let mut averages = Figures::new(&section.name);
                for (from_ms, us) in series.averages(&section.name) {
                    averages.real(from_ms.to_string(), us);
                }
                figures.extend(averages.all);
            }
        }
        figures.iter().try_for_each(|figure| self.write(figure, out))
    }

    fn close(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self.options.exporter {
            Exporter::JsonArray if self.written => out.write_all(b" ]"),
            Exporter::JsonArray => out.write_all(b"[ ]"),
            Exporter::Text | Exporter::Json => Ok(()),
        }
    }
}
