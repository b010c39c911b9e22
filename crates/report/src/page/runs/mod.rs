//! A page of saved runs: the figures first, then their background.
//!
//! Owns the sections and their order. Figures come from [`Summary`]; none that a terminal report shows is
//! computed here.

mod clients;
mod connects;
mod deliveries;
mod facts;
mod figures;
mod heat;
mod machine;
pub(crate) mod moments;
pub(crate) mod outages;
mod over_time;
mod reproduction;
mod server_timeline;
mod spans;
mod spectrum;
mod tables;
mod words;

use std::collections::{HashMap, HashSet};

use crate::{Run, Summary, grouped, topics};
use workload::quantity::counted;

use crate::page::{Block, Page, Section, Tone, Verdict};

pub use facts::product;
pub(crate) use over_time::overlaid;
pub use over_time::{latency_over_time, throughput_over_time};
pub use spectrum::spectrum;

/// The tests of one job, from a file, or carried out so far.
#[derive(Debug, Clone)]
pub struct Source<'r> {
    /// Name that distinguishes the source, such as its file's; empty for the only one.
    pub name: String,
    /// Tests of the source, in order.
    pub runs: &'r [Run],
    /// Set if every requested test is there.
    pub complete: bool,
}

/// A test with its figures and a unique name on the page.
struct Test<'r> {
    name: String,
    /// Number of the source, and below it of the test.
    source: usize,
    summary: Summary<'r>,
}

/// Most tests with separate verdicts at the top; for more, a table is shorter.
const LEDE_MAX: usize = 3;

/// The page of these runs.
pub fn page(sources: &[Source<'_>]) -> Page {
    let tests = tests(sources);
    let mut page = Page { title: title(sources, &tests), ..Page::default() };
    page.byline = facts::byline(sources);
    page.versions = facts::versions(sources.iter().flat_map(|source| source.runs));
    for source in sources.iter().filter(|source| !source.complete) {
        page.lede.push(figures::incomplete(source));
    }
    let few = tests.len() <= LEDE_MAX;
    if few && figures::are_single(&tests) {
        let text = figures::SINGLE;
        let headline = format!("{} single runs, which cannot be ranked", tests.len());
        page.lede.push(Verdict { tone: Tone::Warning, ..Verdict::new(headline, text) });
    }
    if few {
        page.lede.extend(tests.iter().map(figures::verdict));
    } else {
        page.lede.push(figures::overview(&tests));
    }
    if tests.len() > 1 {
        page.sections.push(figures::side_by_side(sources, &tests));
    }
    for test in &tests {
        page.sections.push(section(test, &tests, !few));
    }
    page.sections.push(facts::section(sources).folded());
    page.sections.push(reproduction::section(sources));
    page
}

/// Returns the part about these runs for a larger page: its byline (time, place and programs), and a section
/// of plan, server and machine.
pub fn about(runs: &[Run]) -> (Vec<String>, Section) {
    let source = [Source { name: String::new(), runs, complete: true }];
    (facts::byline(&source), facts::section(&source))
}

/// Outages and worst moments of a run as tables; empty without any.
pub fn incidents(run: &Run) -> Vec<Block> {
    let summary = Summary::from_run(run);
    outages::table(&summary, None).into_iter().chain(moments::blocks(&summary, None)).collect()
}

/// The servers and the keystorm of a run, with their versions.
pub fn versions(run: &Run) -> Vec<String> {
    facts::versions(std::iter::once(run))
}

/// Names in use. There may be thousands of tests with one name.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// Number of the last test with each name.
    last: HashMap<String, usize>,
}

impl Names {
    /// Returns this name, or with the first number after it that no other test has.
    fn of_its_own(&mut self, name: String) -> String {
        if self.taken.insert(name.clone()) {
            return name;
        }
        let last = self.last.entry(name.clone()).or_insert(1);
        loop {
            *last += 1;
            let numbered = format!("{name} #{last}");
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

fn tests<'r>(sources: &[Source<'r>]) -> Vec<Test<'r>> {
    let mut tests: Vec<Test<'r>> = Vec::new();
    let mut names = Names::default();
    for (source, Source { name: file, runs, .. }) in sources.iter().enumerate() {
        for run in *runs {
            let summary = Summary::from_run(run);
            let name = match sources.len() {
                1 => summary.title.clone(),
                _ => format!("{} ({file})", summary.title),
            };
            tests.push(Test { name: names.of_its_own(name), source, summary });
        }
    }
    tests
}

fn title(sources: &[Source<'_>], tests: &[Test<'_>]) -> String {
    let server = sources.iter().flat_map(|s| s.runs).next().map(product);
    let server = server.unwrap_or_else(|| "the server".to_owned());
    match (sources, tests) {
        (_, [only]) => format!("{} on {server}, {}", only.name, asked(only.summary.run)),
        ([_], tests) => format!("{} tests on {server}", tests.len()),
        (sources, _) => format!("{} saved runs", sources.len()),
    }
}

/// Describes the load in a few words.
fn asked(run: &Run) -> String {
    let over = words::parties(run)
        .unwrap_or_else(|| counted(run.plan.own_connections().into(), "connection"));
    match run.plan.load.pace.schedule().filter(|schedule| schedule.is_limited()) {
        Some(schedule) => {
            let rate = run.plan.own_rate_per_s(schedule.peak_per_s());
            let upto = if schedule.rate_per_s().is_some() { "" } else { "up to " };
            format!("{upto}{} {}/s over {over}", grouped(rate), run.plan.sends())
        }
        None => format!("{over}, unlimited rate"),
    }
}

/// The section of one test.
fn section(test: &Test<'_>, tests: &[Test<'_>], verdict: bool) -> Section {
    let run = test.summary.run;
    let mut blocks = Vec::new();
    if verdict {
        blocks.push(Block::Verdict(figures::verdict(test)));
    }
    blocks.extend(figures::notes(test, tests));
    blocks.extend(clients::blocks(&test.summary));
    blocks.extend(deliveries::blocks(&test.summary));
    blocks.extend(connects::blocks(&test.summary));
    blocks.extend(spans::block(&test.summary));
    blocks.extend(topics::server_latency(&test.summary));
    let [over_time, throughput, heat, by_percentile] = words::words(run).titles;
    let charts = [latency_over_time(over_time, run), throughput_over_time(throughput, run)];
    let charts = charts.into_iter().map(|chart| over_time::with_events(chart, run));
    blocks.extend(charts.map(Block::Chart));
    let backlog = deliveries::backlog(run).map(|chart| over_time::with_events(chart, run));
    blocks.extend(backlog.map(Block::Chart));
    blocks.extend(server_timeline::charts(run).into_iter().map(Block::Chart));
    blocks.extend(machine::charts(run).into_iter().map(Block::Chart));
    blocks.extend(heat::latency_heat(heat, run).map(Block::Chart));
    blocks.extend(outages::table(&test.summary, None));
    blocks.extend(moments::blocks(&test.summary, None));
    blocks.push(Block::Chart(spectrum(by_percentile, &[("", run)])));
    blocks.extend(deliveries::counts(&test.summary));
    blocks.extend(tables::tables(&test.summary));
    Section::new(test.name.clone(), blocks)
}
