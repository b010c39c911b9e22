//! Experiments as tables, charts and pages.

mod axis;
mod bisect;
mod durability;
mod footprint;
mod impact;
mod knee;
mod memory;
pub(crate) mod profile;
mod rate_search;
mod suite;
mod survey;
mod sweep;

use report::page::{Block, Page, Section, Tone, Verdict, sentence};

use report::{CountUnit, Metric};

use crate::figures::Figures;
use crate::runs::Runs;

/// Number of figures at the end of every table of runs.
const FIGURES: usize = 5;

/// Names of those figures.
fn figure_names(unit: CountUnit) -> [String; FIGURES] {
    let labels = [Metric::Throughput, Metric::P50, Metric::P99, Metric::ClientCpu];
    let [rate, median, tail, cpu] = labels.map(|metric| unit.label(metric).to_owned());
    [rate, median, tail, cpu, "limited by".to_owned()]
}

/// Cells of those figures; `rps` is the row's.
fn figure_cells(rps: f64, run: &Figures) -> [String; FIGURES] {
    let limit = report::class(run.limited_by, run.finding);
    let limit = match (run.complete(), run.disturbed()) {
        (false, _) => format!("{limit} (incomplete)"),
        (true, Some(_)) => format!("{limit} (disturbed)"),
        (true, None) => limit.to_owned(),
    };
    let [p50, p99] = [run.p50_ns, run.p99_ns].map(|ns| or_dash(run.msec(ns)));
    let cpu = run.client_cpu_ns.map(|ns| format!("{:.3}", ns / 1e3));
    [report::grouped(rps), p50, p99, or_dash(cpu), limit]
}

/// Describes the limit of a point, for its tooltip.
fn limited(run: &Figures) -> String {
    let others = run.disturbed().map_or(String::new(), |cause| format!("; {}", cause.describe()));
    match run.finding {
        Some(report::Finding::ScheduleKept) => format!("{}{others}", run.verdict),
        _ => format!("limited by: {}{others}", run.verdict),
    }
}

/// A page with the runs' common facts at its end, and the command line that repeats it.
fn page(
    title: &str,
    runs: &Runs,
    lede: Vec<Verdict>,
    mut sections: Vec<Section>,
    command_line: &str,
) -> Page {
    let mut page = Page { title: title.to_owned(), lede, ..Page::default() };
    page.lede.extend(warned(&runs.warnings()));
    if let Some(first) = &runs.first {
        let product = report::page::runs::product(first);
        if !title.to_lowercase().contains(&product.to_lowercase()) {
            page.title = format!("{title} on {product}");
        }
        page.versions = report::page::runs::versions(first);
        let (byline, facts) = report::page::runs::about(std::slice::from_ref(first));
        page.byline = byline;
        let text = "Those of the first run; the others differ from it in the options that varied.";
        let blocks = std::iter::once(Block::Text(text.to_owned())).chain(facts.blocks);
        sections.push(Section::new("Plan, server and machine", blocks));
    }
    sections.push(again(command_line));
    page.sections = sections;
    page
}

/// Maximum number of runs whose outages or worst moments are shown; others are counted.
const INCIDENTS_MAX: usize = 12;

/// Outages and worst moments of the deciding runs, by name and number. `None` without any.
fn incidents(runs: &Runs, deciding: &[(String, usize)]) -> Option<Section> {
    let found = deciding.iter().filter(|(_, number)| !runs.incidents(*number).is_empty());
    let found: Vec<&(String, usize)> = found.collect();
    let mut blocks = Vec::new();
    for (name, number) in found.iter().take(INCIDENTS_MAX) {
        blocks.push(Block::Heading(name.clone()));
        blocks.extend_from_slice(runs.incidents(*number));
    }
    if found.len() > INCIDENTS_MAX {
        let more = found.len() - INCIDENTS_MAX;
        blocks.push(Block::Text(format!("The results of --json have those of {more} more runs.")));
    }
    (!blocks.is_empty()).then(|| Section::new("Outages and worst moments", blocks))
}

/// Warnings that a reader needs before believing the figures.
fn warnings(texts: Vec<String>) -> impl Iterator<Item = Block> {
    texts.into_iter().map(|text| Block::Note(Tone::Warning, text))
}

/// Remarks that change no figure.
fn plain(texts: Vec<String>) -> impl Iterator<Item = Block> {
    texts.into_iter().map(|text| Block::Note(Tone::Plain, text))
}

/// Warnings in one verdict; `None` without any.
fn warned(texts: &[String]) -> Option<Verdict> {
    let text: Vec<String> = texts.iter().map(|text| sentence(text)).collect();
    (!texts.is_empty()).then(|| Verdict::new("Warnings", text.join(" ")).toned(Tone::Warning))
}

/// The first verdict of an incomplete page.
fn incomplete(complete: bool) -> Vec<Verdict> {
    let text =
        "It was interrupted, or a run failed; the figures cover what was measured until then.";
    let verdict = Verdict::new("Incomplete", text).toned(Tone::Warning);
    (!complete).then_some(verdict).into_iter().collect()
}

/// The section with the command line that repeats the experiment.
fn again(command_line: &str) -> Section {
    Section::new("Run it again", [Block::Code(command_line.to_owned())])
}

/// Text with a capital.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A figure that may be unknown.
fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}
