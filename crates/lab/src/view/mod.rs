//! Experiments as tables, charts and pages.

mod hunt;
mod survey;
mod sweep;

use page::{Block, Page, Section, Tone, Verdict, sentence};

use crate::figures::Figures;
use crate::runs::Runs;

/// The figures that every table of runs ends in.
const FIGURES: [&str; 5] =
    ["requests/s", "p50 (ms)", "p99 (ms)", "client µs/request", "limited by"];

/// Their cells; `rps` is that of the row.
fn figure_cells(rps: f64, run: &Figures) -> [String; 5] {
    let limit = report::class(run.limited_by, run.finding);
    let limit = match (run.complete(), run.disturbed()) {
        (false, _) => format!("{limit} (incomplete)"),
        (true, Some(_)) => format!("{limit} (disturbed)"),
        (true, None) => limit.to_owned(),
    };
    [
        report::grouped(rps),
        report::msec_at_most(run.p50_ns),
        report::msec_at_most(run.p99_ns),
        run.client_cpu_ns.map_or("–".to_owned(), |ns| format!("{:.3}", ns / 1e3)),
        limit,
    ]
}

/// What limited a point, for whoever points at it.
fn limited(run: &Figures) -> String {
    let others = run.disturbed().map_or(String::new(), |cause| format!("; {}", cause.told()));
    match run.finding {
        Some(report::Finding::ScheduleKept) => format!("{}{others}", run.verdict),
        _ => format!("limited by: {}{others}", run.verdict),
    }
}

/// A page with the runs' common facts at its end, and how to do it again.
fn page(
    title: &str,
    runs: &Runs,
    lede: Vec<Verdict>,
    mut sections: Vec<Section>,
    again: &str,
) -> Page {
    let mut page = Page { title: title.to_owned(), lede, ..Page::default() };
    let warnings: Vec<String> = runs.warnings().iter().map(|text| sentence(text)).collect();
    if !warnings.is_empty() {
        let text = warnings.join(" ");
        let headline = "Warnings";
        page.lede.push(Verdict { tone: Tone::Warning, ..Verdict::new(headline, text) });
    }
    if let Some(first) = &runs.first {
        let product = page::runs::product(first);
        if !title.to_lowercase().contains(&product.to_lowercase()) {
            page.title = format!("{title} on {product}");
        }
        page.versions = page::runs::versions(first);
        let (byline, facts) = page::runs::about(std::slice::from_ref(first));
        page.byline = byline;
        sections.push(Section::new(
            "The first run",
            std::iter::once(Block::Text("What all runs have in common.".to_owned()))
                .chain(facts.blocks),
        ));
    }
    sections.push(Section::new("Run it again", [Block::Code(again.to_owned())]));
    page.sections = sections;
    page
}

/// What a page says first if not everything is there.
fn incomplete(lede: &mut Vec<Verdict>, complete: bool) {
    if !complete {
        let text = "It was interrupted or a run failed; this shows what was measured before.";
        lede.push(Verdict { tone: Tone::Warning, ..Verdict::new("Incomplete", text) });
    }
}
