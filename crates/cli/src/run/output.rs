//! Destination and layout of results.

use std::path::{Path, PathBuf};

use report::{FormatOptions, Persona};

use super::options::Options;
use super::verdict;
use crate::outputs::check_distinct;
use crate::{DistributionDetail, Output, UsageError, VerdictTo};

/// Returns where results go, and in which layout.
pub(super) fn output(options: &Options, persona: Persona) -> Result<Output, String> {
    let (results, spec) = (&options.results, &options.spec);
    let to_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    if to_stdout(&results.hdr) {
        return Err("--hdr: name a file; standard output is for the report".into());
    }
    let pages = results.pages.clone();
    pages.check().map_err(|UsageError(why)| why)?;
    check_distinct(
        &[
            ("--json", results.json.as_deref()),
            ("--hdr", results.hdr.as_deref()),
            ("--html", pages.html.as_deref()),
        ],
        &[("--dataset", spec.data.dataset.as_deref()), ("--replay", spec.data.replay.as_deref())],
    )?;
    if spec.load.idle && (results.json.is_some() || results.hdr.is_some() || pages.any()) {
        return Err("-I measures nothing to save with --json, --hdr, --html or --svg".into());
    }
    let document = to_stdout(&results.json);
    if document && (results.quiet || results.csv || results.format.is_some_and(|f| f != "json")) {
        return Err("--json -: standard output can have only one format".into());
    }
    let format = match (results.format, results.csv, results.quiet) {
        _ if document => "json",
        (Some(name), ..) => name,
        (None, true, _) => "csv",
        (None, false, true) => "quiet",
        (None, false, false) if persona.own_layouts => "text",
        (None, false, false) => "redis",
    };
    let environment = std::env::var_os("KEYSTORM_VERDICT");
    let verdict = verdict::place(persona, results.no_verdict, environment);
    let keep = std::env::var_os("KEYSTORM_HISTORY").filter(|dir| !dir.is_empty());
    let keep = keep.filter(|_| persona.unasked && !spec.load.idle).map(PathBuf::from);
    Ok(Output {
        format,
        to: None,
        options: FormatOptions {
            first_byte: spec.recording.first_byte,
            suite: spec.is_suite(),
            verdict: verdict == VerdictTo::Report,
            persona,
            full_distribution: results.distribution == DistributionDetail::Full,
        },
        verdict,
        live: Some(persona.live)
            .filter(|_| !matches!(format, "csv" | "json" | "timeline" | "samples")),
        progress: results.progress,
        metrics: results.metrics.clone(),
        live_page: results.live.clone(),
        keep: results.keep.clone().or(keep),
        json: results.json.clone().filter(|_| !document),
        pages,
        hdr: results.hdr.clone(),
        sample: results.sample,
        server_latency: results.server_latency,
        set_server: results.set_server,
        reports: None,
    })
}
