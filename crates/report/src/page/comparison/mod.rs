//! A comparison on a page and in a terminal: the findings first, then their grounds.
//!
//! [`crate::compare`] computes ratios and conclusions; none is computed here.

mod answers;
mod charts;
mod rate_curve;
mod replayed;
mod tables;
mod terms;
#[cfg(test)]
mod tests;

use crate::compare::{
    self, ComparedTest, Comparison, RateCurve, Side, Table as TermsTable, TestComparison,
    describe_limits, share, spoiled,
};
use crate::groups::unique;
use crate::{Metric, Summary};

use crate::page::runs::{self, moments, outages};
use crate::page::{Block, Page, Section, Tone, Verdict, sentence};

pub use answers::blocks as answers;

/// Maximum number of differing settings that a terminal lists; the others are counted.
const SETTINGS_MAX: usize = 16;

/// The page; `command_line` repeats the comparison.
pub fn page(comparison: &Comparison, command_line: &str) -> Page {
    let mut page = Page { byline: vec![comparison.how.clone()], ..Page::default() };
    page.title = title(comparison);
    let first =
        comparison.tests.iter().flat_map(ComparedTest::sides).flat_map(Side::counted).next();
    let about = first.map(|run| runs::about(std::slice::from_ref(run)));
    if let (Some((byline, _)), Some(run)) = (&about, first) {
        page.byline.extend(byline.clone());
        page.versions = comparison.subjects.iter().map(|subject| subject.server.clone()).collect();
        page.versions.push(format!("keystorm {}", run.version));
        page.versions.dedup();
    }
    if !comparison.complete {
        let text = "The run ended before them; the figures cover what was compared until then.";
        page.lede.push(Verdict::new("Some tests were not compared", text).toned(Tone::Warning));
    }
    page.lede.extend(gate(comparison));
    page.lede.extend(answers::lede(comparison));
    for test in comparison.tests.iter().filter(|test| test.question.is_none()) {
        page.lede.extend(test.pairs.iter().map(|pair| lede(test, pair, comparison)));
    }
    let noise = compare::noise(comparison);
    let noise = noise.map(|text| Verdict::new("The machine was not quiet", text));
    page.lede.extend(noise.map(|verdict| verdict.toned(Tone::Warning)));
    page.lede.extend(differing(comparison));
    page.sections.extend(answers::sections(comparison));
    page.sections.extend(match &comparison.terms {
        None => tests(comparison),
        Some(terms) => terms::sections(terms, &comparison.tests),
    });
    page.sections.extend(replayed::section(comparison));
    page.sections.extend(warnings(comparison));
    page.sections.push(Section::new("The servers", subjects(comparison)).folded());
    page.sections.extend(about.map(|(_, facts)| facts.folded()));
    page.sections.push(Section::new("Compare again", [Block::Code(command_line.to_owned())]));
    page
}

fn title(comparison: &Comparison) -> String {
    let names = comparison.names();
    match (&comparison.target, &names[..]) {
        (Some(target), _) => format!("Which keeps {target}: {}", names.join(", ")),
        (None, [first, second]) => format!("{second} compared with {first}"),
        (None, _) => names.join(", "),
    }
}

/// A section for each test; for a load at several rates they are folded.
fn tests(comparison: &Comparison) -> Vec<Section> {
    let many = comparison.curves().iter().any(RateCurve::has_several);
    let sections = comparison.tests.iter().map(|test| {
        let section = Section::new(&test.name, blocks(test));
        if many { section.folded() } else { section }
    });
    sections.collect()
}

/// Text before the tests: the servers, their differences, and the method.
pub fn head(comparison: &Comparison) -> Vec<Block> {
    let lines = (1..).zip(&comparison.subjects).map(|(at, of)| format!("{at}  {}", of.line()));
    let mut blocks: Vec<Block> = lines.map(Block::Text).collect();
    let differing = comparison.differing_settings();
    let table = tables::differences(&comparison.names(), &differing, Some(SETTINGS_MAX));
    blocks.extend(table.map(Block::Table));
    if differing.len() > SETTINGS_MAX {
        let more = differing.len() - SETTINGS_MAX;
        blocks.push(Block::Text(format!("and {more} more, which the JSON has")));
    }
    blocks.push(Block::Text(comparison.how.clone()));
    if let Some(terms) = &comparison.terms {
        blocks.push(Block::KeyValues(terms.equal.clone()));
        blocks.extend(terms.left_out.iter().cloned().map(Block::Text));
    }
    blocks
}

/// Text before the tests of a table of equal terms.
pub fn table_head(table: &TermsTable) -> Section {
    let mut blocks = vec![Block::Text(table.text.clone())];
    for (number, subject) in (1..).zip(&table.subjects) {
        blocks.push(Block::Text(format!("{number}  {}", subject.line())));
        blocks.extend(subject.command_line.clone().map(Block::Text));
        let settings: Vec<String> =
            subject.settings.iter().map(|(name, value)| format!("{name} {value:?}")).collect();
        if !settings.is_empty() {
            blocks.push(Block::Text(format!("settings: {}", settings.join(", "))));
        }
    }
    Section::new(&table.title, blocks)
}

/// Text of a test.
pub fn test(test: &ComparedTest) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(test.name.clone())];
    blocks.extend(test.pairs.iter().map(|pair| Block::Text(pair.headline())));
    blocks.extend(tables::figures(test).into_iter().map(Block::Table));
    blocks.extend(details(test).into_iter().map(Block::Text));
    let resolutions = test.pairs.iter().filter_map(|pair| {
        let text = pair.resolution(None)?;
        Some(if test.pairs.len() > 1 { format!("{}: {text}", pair.setup.names[1]) } else { text })
    });
    blocks.extend(resolutions.map(Block::Text));
    let void = test.pairs.first().and_then(TestComparison::describe_void);
    blocks.extend(void.map(Block::Text));
    let cautions = unique(test.pairs.iter().flat_map(TestComparison::cautions));
    blocks.extend(cautions.into_iter().map(|text| Block::Note(Tone::Warning, text)));
    blocks
}

/// A line for each server beside the first: its headline, and in a closed loop the change of p99.
pub fn headlines(test: &ComparedTest) -> Vec<String> {
    let lines = test.pairs.iter().map(|pair| {
        let p99 = pair.row(Metric::P99).filter(|_| pair.refused.is_none());
        let p99 = p99.filter(|row| row.metric != pair.asked());
        let p99 = p99.map_or(String::new(), |row| format!("; {}", pair.conclusion(row)));
        format!("{}{p99}", pair.headline())
    });
    lines.collect()
}

/// The result of the gate, a sentence a line.
pub fn gate_notes(comparison: &Comparison) -> Vec<Block> {
    compare::notes(comparison).into_iter().map(Block::Text).collect()
}

/// Conclusions from all tests together.
pub fn foot(comparison: &Comparison) -> Vec<Block> {
    let judged = comparison.pairs().filter(|pair| pair.refused.is_none());
    let rows: Vec<_> = judged.flat_map(TestComparison::all_rows).collect();
    let with = rows.iter().filter(|row| row.ratio.interval.is_some()).count();
    let mut blocks = replayed::text(comparison);
    blocks.extend(compare::noise(comparison).map(Block::Text));
    let spoiled = spoiled(&comparison.tests).into_iter();
    blocks.extend(spoiled.map(|text| Block::Note(Tone::Warning, text)));
    if with > 0 {
        blocks.push(Block::Text(chance_of_intervals(with)));
    }
    if with < rows.len() {
        let text = "One run per side gives no confidence interval, so any difference may be \
            chance; use --repeat.";
        blocks.push(Block::Text(text.to_owned()));
    }
    blocks
}

/// Describes how many of this number of intervals are wrong by chance.
fn chance_of_intervals(count: usize) -> String {
    let wrong = match count {
        1..=20 => String::new(),
        _ => format!(", about {:.0} of these {count}", count as f64 / 20.0),
    };
    format!("A 95 % interval misses the true ratio one time in 20 by chance{wrong}.")
}

/// Lines on keys found, failed requests and limits.
fn details(test: &ComparedTest) -> Vec<String> {
    let hits: Option<Vec<String>> =
        test.sides().map(|side| Some(format!("{:.2} %", side.hit_ratio?))).collect();
    let hits = hits.filter(|hits| !hits.is_empty());
    let hits =
        hits.map(|of| format!("keys found, as counted by the servers: {}", of.join(" and ")));
    let is_told = test.pairs.iter().all(|pair| pair.refused.is_none());
    let has_failed = test.sides().any(|side| side.failures.failed > 0);
    let failed = (is_told && has_failed).then(|| {
        let of = |side: &Side| format!("{} to {}", share(side.failures.percent()), side.name);
        format!("failed requests: {}", test.sides().map(of).collect::<Vec<_>>().join(", "))
    });
    hits.into_iter().chain(failed).chain(limits(test)).collect()
}

/// Limits of each server.
fn limits(test: &ComparedTest) -> Vec<String> {
    let known = test.sides().filter(|side| !side.limits.is_empty());
    known.map(|side| describe_limits(&side.name, &side.limits)).collect()
}

/// Returns the settings in which the servers differ, if they do.
fn differing(comparison: &Comparison) -> Option<Verdict> {
    const TOLD: usize = 8;
    let differences = comparison.differing_settings();
    let named = differences
        .iter()
        .take(TOLD)
        .map(|difference| format!("{}: {}", difference.name, difference.shown().join(" and ")));
    let named = named.collect::<Vec<_>>().join("; ");
    let more = match differences.len() {
        0 => return None,
        n if n > TOLD => format!("; and {} more, below", n - TOLD),
        _ => String::new(),
    };
    let text = format!("{named}{more} (on {}).", comparison.names().join(" and "));
    Some(Verdict::new("The servers differ in their settings", text))
}

/// Returns the result of the gate, for the top of the page.
fn gate(comparison: &Comparison) -> Option<Verdict> {
    let mut gate = comparison.gate()?.state.verdict("");
    let notes = compare::notes(comparison);
    let text = notes.iter().map(|line| {
        let rest = line.strip_prefix(&gate.headline);
        sentence(rest.map_or(line, |rest| rest.trim_start_matches(": ")))
    });
    gate.text = text.collect::<Vec<_>>().join(" ");
    Some(gate)
}

/// Returns the main finding of a test about a server.
fn lede(test: &ComparedTest, pair: &TestComparison, comparison: &Comparison) -> Verdict {
    let name = comparison.name_of(test);
    if let Some(why) = &pair.refused {
        let verdict = Verdict::new(format!("{name}: no ratio"), sentence(&why.text));
        return verdict.toned(Tone::Warning);
    }
    let describe = |metric: Metric, name: &str| {
        let row = pair.row(metric)?;
        let interval = match row.ratio.interval {
            Some(_) => row.describe_interval(),
            None => "no interval".to_owned(),
        };
        Some((format!("{name}, ratio ({interval})"), format!("{:.3}", row.ratio.ratio)))
    };
    let rate = pair.setup.unit.per_second();
    let figures = [(Metric::Keys, "keys/s"), (Metric::Throughput, rate), (Metric::P99, "p99")];
    let mut figures: Vec<_> = figures.iter().filter_map(|(m, name)| describe(*m, name)).collect();
    if pair.setup.open_loop {
        // The latency is what was asked for.
        figures.reverse();
    }
    let limits = format!("{}.", limits(test).join("; "));
    let text = match pair.resolution(comparison.threshold) {
        Some(resolution) => format!("{} {limits}", sentence(&resolution)),
        None => limits,
    };
    let tone = if pair.warnings.is_empty() { Tone::Plain } else { Tone::Warning };
    Verdict { tone, figures, ..Verdict::new(format!("{name}: {}", pair.headline()), text) }
}

/// The servers, the settings in which they differ, and how they were started.
fn subjects(comparison: &Comparison) -> Vec<Block> {
    let subjects = &comparison.subjects;
    let differing = comparison.differing_settings();
    let differing = tables::differences(&comparison.names(), &differing, None).map(Block::Table);
    let started = subjects.iter().filter_map(|subject| subject.command_line.clone());
    let lines = subjects.iter().map(|subject| (subject.name.clone(), subject.line()));
    let servers = std::iter::once(Block::KeyValues(lines.collect()));
    servers.chain(differing).chain(started.map(Block::Code)).collect()
}

/// A section, never folded, of warnings about the runs and of further differences; `None` without any.
fn warnings(comparison: &Comparison) -> Option<Section> {
    let notes = comparison.warnings.iter().cloned().chain(spoiled(&comparison.tests));
    let blocks: Vec<Block> =
        notes.map(|text| Block::Note(Tone::Warning, sentence(&text))).collect();
    (!blocks.is_empty()).then(|| Section::new("Warnings", blocks))
}

/// Blocks of a test on a page.
fn blocks(test: &ComparedTest) -> Vec<Block> {
    let refused = test.pairs.iter().filter_map(|pair| pair.refused.as_ref());
    let refused = refused.map(|refused| refused.text.clone());
    let cautions = test.pairs.iter().flat_map(TestComparison::cautions);
    let void = test.pairs.first().and_then(TestComparison::describe_void);
    let notes = unique(refused.chain(cautions).chain(void)).into_iter();
    let mut blocks: Vec<Block> =
        notes.map(|text| Block::Note(Tone::Warning, sentence(&text))).collect();
    blocks.extend(charts::before_figures(test));
    blocks.extend(tables::numbers(test).map(Block::Text));
    blocks.extend(tables::figures(test).into_iter().map(Block::Table));
    blocks.extend(details(test).into_iter().map(|line| Block::Text(format!("{line}."))));
    blocks.extend(charts::run_by_run(test));
    let middle = charts::middle_runs(test);
    for (name, run) in &middle {
        let summary = Summary::from_run(run);
        blocks.extend(outages::table(&summary, Some(name)));
        blocks.extend(moments::blocks(&summary, Some(name)));
    }
    if !middle.is_empty() {
        let text = "Over time and by percentile, outages and worst moments: the median run of each \
            side, by throughput.";
        blocks.push(Block::Text(text.to_owned()));
    }
    blocks
}
