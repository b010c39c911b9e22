//! The outputs of a run: YCSB's report, where it goes, and the messages beside it.

use std::sync::{Arc, Mutex};

use cli::job::Job;
use runner::INTERVAL_NS;

use super::arguments::Arguments;
use super::properties::Properties;
use super::raw::RawOutput;
use crate::ycsb::layout::{Exporter, Interval, Kind, OtherFigures, Series, YcsbOptions};

/// The outputs that a command line asks for.
#[derive(Debug, Clone)]
pub(super) struct Reports {
    /// The report.
    pub(super) options: YcsbOptions,
    /// The lines that `-s` asks for.
    pub(super) status: Option<StatusLines>,
    /// Prefix of the names of logs of histograms, if any are kept.
    pub(super) logs: Option<String>,
    /// Averages over time, for reports that show them.
    pub(super) series: Option<Arc<Mutex<Series>>>,
    /// Destination of each operation's line, for raw reports.
    pub(super) raw: Option<RawOutput>,
}

/// Lines that tell how far a run is.
#[derive(Debug, Clone)]
pub(super) struct StatusLines {
    /// Seconds between two.
    pub(super) every_s: u64,
    /// Start of each line.
    pub(super) label: String,
}

/// Completes a job. `warning` is YCSB's about threads, `remarks` are about properties.
pub(super) fn complete(
    job: &mut Job,
    arguments: &Arguments,
    warning: Option<String>,
    remarks: Vec<String>,
    checked: bool,
) -> Result<(), String> {
    let properties = &arguments.properties;
    job.notes = vec![
        format!("Command line: {}", arguments.shown),
        "YCSB Client 0.17.0\n".to_owned(),
        "Loading workload...".to_owned(),
        "Starting test.".to_owned(),
        dbwrapper(properties),
    ];
    if !arguments.for_java.is_empty() {
        let words = arguments.for_java.join(", ");
        job.notes.push(format!("{words}: no effect, keystorm does not run on Java"));
    }
    job.notes.extend(remarks);
    let seconds = properties.at_least_0("maxexecutiontime", 0)?;
    if seconds > 0 {
        job.notes.push(format!("Maximum execution time specified as: {seconds} secs"));
    }
    let integrity = "Data integrity is enabled.\n";
    job.greeting = warning.into_iter().chain(checked.then(|| integrity.to_owned())).collect();
    let every_s = properties.at_least_0("status.interval", 10)?;
    let status = StatusLines { every_s, label: properties.text("label", "").to_owned() };
    let options = options(properties, &mut job.notes)?;
    if options.kind.has(OtherFigures::Raw) && job.several.is_some() {
        return Err(format!(
            "--ks-on with measurementtype={}: clients tell what they counted, not each operation; \
             remove one of the two",
            properties.text("measurementtype", "")
        ));
    }
    job.output.reports = Some(Arc::new(Reports {
        status: properties.flag("status", false).then_some(status),
        logs: properties
            .flag("hdrhistogram.fileoutput", false)
            .then(|| properties.text("hdrhistogram.output.path", "").to_owned()),
        series: over_time(properties, options.kind)?,
        raw: options
            .kind
            .has(OtherFigures::Raw)
            .then(|| RawOutput { file: properties.path("measurement.raw.output_file") }),
        options,
    }));
    job.output.to = properties.path("exportfile");
    Ok(())
}

/// Averages over time, if that is what is measured.
fn over_time(properties: &Properties, kind: Kind) -> Result<Option<Arc<Mutex<Series>>>, String> {
    const FIGURES_COME_EVERY_MS: u64 = INTERVAL_NS / 1_000_000;
    if !kind.has(OtherFigures::TimeSeries) {
        return Ok(None);
    }
    let granularity_ms = properties.number("timeseries.granularity", 1000u64)?;
    if granularity_ms == 0 || granularity_ms % FIGURES_COME_EVERY_MS != 0 {
        return Err(format!(
            "timeseries.granularity={granularity_ms}: must be a multiple of \
             {FIGURES_COME_EVERY_MS} ms"
        ));
    }
    Ok(Some(Arc::new(Mutex::new(Series::new(granularity_ms)))))
}

fn dbwrapper(properties: &Properties) -> String {
    let each = properties.flag("reportlatencyforeacherror", false);
    let tracked = statuses(properties).join(", ");
    format!(
        "DBWrapper: report latency for each error is {each} and specific error codes to track for \
         latency are: [{tracked}]"
    )
}

fn statuses(properties: &Properties) -> Vec<String> {
    let tracked = properties.text("latencytrackederrors", "");
    tracked.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the kind of figures about latencies.
pub(super) fn kind(properties: &Properties) -> Result<Kind, String> {
    let name = properties.text("measurementtype", "hdrhistogram");
    Kind::named(name).ok_or_else(|| {
        format!(
            "measurementtype={name}: expected hdrhistogram, histogram, hdrhistogram+histogram, \
             hdrhistogram+raw, raw or timeseries"
        )
    })
}

/// Returns the options of the report. Values that YCSB does not know fall back to its defaults, with a line in `notes`.
fn options(properties: &Properties, notes: &mut Vec<String>) -> Result<YcsbOptions, String> {
    let exporter = properties.text("exporter", "TextMeasurementsExporter");
    let exporter = match exporter.rsplit('.').next().unwrap_or_default() {
        "TextMeasurementsExporter" => Exporter::Text,
        "JSONMeasurementsExporter" => Exporter::Json,
        "JSONArrayMeasurementsExporter" => Exporter::JsonArray,
        _ => {
            notes.push(format!(
                "Could not find exporter {exporter}, will use default text reporter."
            ));
            Exporter::Text
        }
    };
    let kind = kind(properties)?;
    let interval = match properties.text("measurement.interval", "op") {
        "op" => Interval::Op,
        "intended" => Interval::Intended,
        "both" => Interval::Both,
        other => {
            return Err(format!("measurement.interval={other}: expected op, intended or both"));
        }
    };
    let defaults = YcsbOptions::default();
    let mut percentiles = defaults.percentiles;
    if let Some(given) = properties.get("hdrhistogram.percentiles") {
        match given.split(',').map(str::parse).collect::<Result<_, String>>() {
            Ok(given) => percentiles = given,
            Err(_) => notes.push(format!(
                "[WARN] Couldn't read hdrhistogram.percentiles value: '{given}', the default of \
                 '95,99' will be used."
            )),
        }
    }
    // Otherwise it is not read.
    let mut buckets = defaults.buckets;
    if kind.has(OtherFigures::Buckets) {
        buckets = properties.number("histogram.buckets", buckets)?;
    }
    if !(1..=1_000_000).contains(&buckets) {
        return Err(format!("histogram.buckets={buckets}: must be from 1 to 1000000"));
    }
    let by_status = properties.flag("reportlatencyforeacherror", false)
        || statuses(properties).iter().any(|status| status == "ERROR");
    Ok(YcsbOptions {
        exporter,
        kind,
        interval,
        percentiles,
        verbose: properties.flag("measurement.histogram.verbose", false),
        buckets,
        no_summary: properties.flag("measurement.raw.no_summary", false),
        failed: if by_status { "ERROR" } else { defaults.failed },
    })
}
