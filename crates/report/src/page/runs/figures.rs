//! Results of tests, in sentences and tables.

use crate::groups::{by_frequency, unique};
use crate::slo::{ClauseResult, Outcome};
use crate::topics::{LATENCIES, latency_cells, latency_columns};
use crate::{CpuFigures, Finding, LimitedBy, Run, Summary, Warning, grouped, resting};
use measure::{Ending, Latency};
use workload::Stop;

use super::words::words;
use super::{Source, Test, deliveries, outages, over_time, spectrum};
use crate::page::{
    Axis, Block, Chart, DataPoint, Section, Series, Table, Tone, Unit, Verdict, sentence,
};

/// Most lines that can be distinguished in one chart.
const OVERLAID_MAX: usize = 8;

/// Returns the main finding of a test.
pub(super) fn verdict(test: &Test<'_>) -> Verdict {
    let Test { name, summary, .. } = test;
    let run = summary.run;
    let headline = match limit(run.verdict.limited_by) {
        Some(_) if run.verdict.finding == Some(Finding::ScheduleKept) => {
            let rate = summary.answered_rps();
            format!("{name}: not saturated at {} {}/s", grouped(rate), summary.counted_noun())
        }
        Some(limit) => format!("{name}: limited by {limit}"),
        None => {
            format!("{name}: {} {}/s", grouped(summary.counted_rps()), ended_noun(summary))
        }
    };
    let mut text = sentence(&run.verdict.reason());
    if let Some(shortfall) = summary.shortfall() {
        text = format!("{shortfall}. {text}");
    }
    if run.verdict.limited_by == LimitedBy::Unknown && summary.shortfall().is_none() {
        text = format!("Limited by {}.", run.verdict.text);
    }
    let below_ns = summary.response.below_ns;
    let quantile = |q| figure_known(&summary.response_times, q, below_ns);
    let rate = format!("{} per second", ended_noun(summary));
    let mut figures = vec![(rate, grouped(summary.counted_rps()))];
    if let Some(deadline) = &summary.deadline {
        let goodput =
            format!("in time, within {}", Unit::Nanoseconds.show_even(deadline.deadline_ns as f64));
        figures.push((format!("{goodput}, per second"), grouped(deadline.goodput_rps)));
        figures
            .push(("answered late or given up".to_owned(), Unit::Share.show(deadline.late_share)));
    }
    if let Some(probe) = &run.probe {
        let seen = |quantile| figure(&probe.response, quantile);
        figures.push(("median of the probe".to_owned(), seen(0.5)));
        figures.push(("99th percentile of the probe".to_owned(), seen(0.99)));
    }
    figures.extend([
        ("median".to_owned(), quantile(0.5)),
        ("99th percentile".to_owned(), quantile(0.99)),
        ("99.9th percentile".to_owned(), quantile(0.999)),
        ("max".to_owned(), quantile(1.0)),
    ]);
    match &summary.deliveries {
        Some(of) => figures.extend(deliveries::key_figures(of)),
        None => figures.push(("requests".to_owned(), grouped(summary.requests as f64))),
    }
    if summary.errors > 0 {
        figures.push(("errors".to_owned(), grouped(summary.errors as f64)));
    }
    figures.extend(targets(summary));
    figures.extend(cpu(summary));
    let events = outages::lines(summary);
    Verdict { headline, text, tone: tone(summary), figures, events }
}

/// Returns the plural noun of the counted unit.
fn ended_noun(summary: &Summary<'_>) -> &'static str {
    if summary.deliveries.is_some() { "deliveries" } else { summary.counted_noun() }
}

/// Returns the targets of the test with their results.
fn targets(summary: &Summary<'_>) -> Vec<(String, String)> {
    let word = |kept: bool| if kept { "kept" } else { "missed" }.to_owned();
    let schedule = summary.schedule.as_ref().map(|s| ("schedule".to_owned(), word(s.kept())));
    let misses = summary.run.plan.data.fail_on_miss;
    let misses =
        misses.then(|| ("misses allowed: none".to_owned(), word(summary.lookups.misses == 0)));
    let target = summary.target().map_or(Vec::new(), |target| target.clauses());
    let target = target.into_iter().map(|ClauseResult { name, outcome, value }| {
        (name, format!("{} ({value})", outcome.word()))
    });
    target.chain(schedule).chain(misses).collect()
}

/// Returns the CPU time of a request at both ends, as far as known.
fn cpu(summary: &Summary<'_>) -> Vec<(String, String)> {
    let CpuFigures { server_us, client_us, server_cores, .. } = CpuFigures::from_summary(summary);
    let cost = |name: &str, us: Option<f64>| {
        us.map(|us| (name.to_owned(), Unit::Nanoseconds.show_even(us * 1e3)))
    };
    let share = server_cores.map(|cores| ("server CPU".to_owned(), Unit::Share.show(cores)));
    let each = words(summary.run).each;
    let of = |end: &str| format!("{end} CPU/{each}");
    let known = [cost(&of("server"), server_us), share, cost(&of("client"), client_us)];
    known.into_iter().flatten().collect()
}

fn tone(summary: &Summary<'_>) -> Tone {
    match summary.ending() {
        Ending::Failed(_) => Tone::Bad,
        Ending::Interrupted => Tone::Warning,
        Ending::Complete => match summary.target().map(|target| target.outcome()) {
            Some(Outcome::Missed) => Tone::Bad,
            // As the exit code: messages that did not arrive are a failure.
            _ if summary.deliveries.is_some_and(|of| of.deliveries.is_faulty()) => Tone::Bad,
            _ if summary.errors > 0 => Tone::Warning,
            Some(Outcome::Undecided | Outcome::Void) => Tone::Warning,
            Some(Outcome::Kept) => Tone::Good,
            None => Tone::Plain,
        },
    }
}

/// Returns the limit of a run, as the end of a sentence.
fn limit(limit: LimitedBy) -> Option<&'static str> {
    Some(match limit {
        LimitedBy::Server => "the server",
        LimitedBy::Client => "keystorm itself",
        LimitedBy::Network => "the network",
        LimitedBy::Concurrency => "too few requests in flight",
        LimitedBy::Backlog => "its receivers, before which messages heaped up",
        LimitedBy::Schedule => "its schedule",
        LimitedBy::Errors => "errors",
        LimitedBy::Outage => "an outage",
        LimitedBy::Contention => "CPU contention",
        LimitedBy::Unknown => return None,
    })
}

pub(super) fn figure(latency: &Latency, quantile: f64) -> String {
    figure_known(latency, quantile, 0)
}

/// Returns a figure of latencies, which are only known to be below `below_ns` up to that.
fn figure_known(latency: &Latency, quantile: f64, below_ns: u64) -> String {
    let ns = if quantile >= 1.0 { latency.max_ns() } else { latency.quantile_ns(quantile) };
    let describe = |ns: u64| {
        let sign = if below_ns > 0 && ns <= below_ns { "<" } else { "" };
        format!("{sign}{}", Unit::Nanoseconds.show_even(ns.max(below_ns) as f64))
    };
    ns.map_or("–".to_owned(), |ns| resting::marked(describe(ns), quantile, latency.count()))
}

/// Verdict on missing tests.
pub(super) fn incomplete(source: &Source<'_>) -> Verdict {
    let of = if source.name.is_empty() { String::new() } else { format!(" of {}", source.name) };
    if let Some(cut) = source.runs.last().and_then(interrupted) {
        let headline = match source.name.as_str() {
            "" => format!("Interrupted {cut}; the figures cover that part"),
            name => format!("{name}: interrupted {cut}; the figures cover that part"),
        };
        return Verdict::new(headline, "").toned(Tone::Warning);
    }
    let text = "The run ended before them; the figures cover what was measured until then.";
    Verdict::new(format!("Some tests{of} were not run"), text).toned(Tone::Warning)
}

/// Returns the completed part of a test by time that was interrupted, such as `after 111 s of 600 s`.
fn interrupted(run: &Run) -> Option<String> {
    let Stop::AfterNs(planned_ns) = run.plan.load.stop else { return None };
    let time = |ns: u64| Unit::Seconds.show_even(ns as f64 / 1e9);
    (run.measurement.ending == Ending::Interrupted)
        .then(|| format!("after {} of {}", time(run.measurement.elapsed_ns), time(planned_ns)))
}

/// Many tests in a sentence.
pub(super) fn overview(tests: &[Test<'_>]) -> Verdict {
    let several = are_single(tests);
    let by_rate = |a: &&Test<'_>, b: &&Test<'_>| {
        a.summary.throughput_rps.total_cmp(&b.summary.throughput_rps)
    };
    let format_one = |Test { name, summary, .. }: &Test<'_>| {
        let rate = grouped(summary.counted_rps());
        format!("{name} with {rate} {}/s", summary.counted_noun())
    };
    let (slowest, fastest) = (tests.iter().min_by(by_rate), tests.iter().max_by(by_rate));
    let text = match (slowest, fastest) {
        (Some(slowest), Some(fastest)) => {
            format!("The fastest was {}, the slowest {}.", format_one(fastest), format_one(slowest))
        }
        _ => String::new(),
    };
    let text = if several { SINGLE.to_owned() } else { text };
    let text = format!("{} {text}", limits(tests)).trim().to_owned();
    let tones: Vec<Tone> = tests.iter().map(|test| tone(&test.summary)).collect();
    let worst = [Tone::Bad, Tone::Warning].into_iter().find(|tone| tones.contains(tone));
    let tone = worst.unwrap_or_default();
    Verdict::new(format!("{} tests", tests.len()), text).toned(tone)
}

/// Reason why compared single runs are not ranked.
pub(super) const SINGLE: &str = "Single runs are not ranked: without a confidence interval any \
    difference may be chance. Use --repeat, or keystorm compare.";

/// Returns whether the page has a test of several sources, each with a single run.
pub(super) fn are_single(tests: &[Test<'_>]) -> bool {
    let single =
        tests.iter().filter(|test| test.summary.run.repeat.is_none_or(|repeat| repeat.of < 2));
    let singles: Vec<&Test<'_>> = single.collect();
    singles
        .iter()
        .any(|a| singles.iter().any(|b| a.source != b.source && a.summary.title == b.summary.title))
}

/// Returns whether a disturbance, rather than the server, decided the figures of a run.
fn is_disturbed(run: &Run) -> bool {
    run.verdict.limited_by == LimitedBy::Contention
}

/// Returns the limits of the tests with the number of tests each, the most frequent first.
fn limits(tests: &[Test<'_>]) -> String {
    let each = tests.iter().map(|test| test.summary.run.verdict.limited_by);
    let counts = by_frequency(each.map(|by| limit(by).unwrap_or("something unknown")));
    match &counts[..] {
        [] => String::new(),
        [(limit, _)] => format!("All were limited by {limit}."),
        counts => {
            let each = counts.iter().map(|(limit, count)| format!("{count} by {limit}"));
            format!("Limited: {}.", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Warnings common to all tests.
fn shared<'t>(tests: &'t [Test<'_>]) -> Vec<&'t Warning> {
    let [first, others @ ..] = tests else { return Vec::new() };
    let shared = first.summary.run.warnings.iter().filter(|warning| {
        !others.is_empty() && others.iter().all(|t| t.summary.run.warnings.contains(warning))
    });
    shared.collect()
}

/// All tests in one table, and in charts where these help.
pub(super) fn side_by_side(sources: &[Source<'_>], tests: &[Test<'_>]) -> Section {
    let columns = ["test", "requests/s"].into_iter().chain(latency_columns());
    let cpu = ["server CPU/request", "client CPU/request"];
    let columns = columns.chain(["requests", "errors"]).chain(cpu);
    let mut table = Table::new(columns.chain(["limited by"]));
    for Test { name, summary, .. } in tests {
        let mut row = vec![name.clone(), grouped(summary.throughput_rps)];
        row.extend(latency_cells(&summary.response));
        row.extend([grouped(summary.requests as f64), grouped(summary.errors as f64)]);
        let CpuFigures { server_us, client_us, .. } = CpuFigures::from_summary(summary);
        row.extend([server_us, client_us].map(|us| {
            us.map(|us| Unit::Nanoseconds.show_even(us * 1e3)).unwrap_or("–".to_owned())
        }));
        row.push(limit(summary.run.verdict.limited_by).unwrap_or("unknown").to_owned());
        if is_disturbed(summary.run) {
            table.faint.push(table.rows.len());
        }
        table.row(row);
    }
    let warnings = shared(tests).into_iter();
    let mut blocks: Vec<Block> =
        warnings.map(|it| Block::Note(Tone::Warning, it.text.clone())).collect();
    if are_single(tests) {
        blocks.insert(0, Block::Note(Tone::Warning, SINGLE.to_owned()));
    }
    if !table.faint.is_empty() {
        table.caption =
            "Grey figures and hollow bars belong to runs limited by CPU contention: do not \
             compare them."
                .to_owned();
    }
    blocks.push(Block::Chart(bars("Requests per second", sources, tests, Unit::PerSecond, |s| {
        Some(s.throughput_rps)
    })));
    blocks.push(Block::Chart(bars(
        "99th percentile of response time",
        sources,
        tests,
        Unit::Nanoseconds,
        |s| s.response_times.quantile_ns(0.99).map(|ns| ns as f64),
    )));
    if tests.len() <= OVERLAID_MAX {
        let runs: Vec<(&str, &Run)> =
            tests.iter().map(|t| (t.name.as_str(), t.summary.run)).collect();
        blocks.push(Block::Chart(spectrum("Response time by percentile", &runs)));
        // Tests of one job follow each other; those of several are laid over each other.
        if sources.len() > 1 {
            blocks.extend(over_time::overlaid(&runs).map(Block::Chart));
        }
    }
    blocks.push(Block::Table(table));
    Section::new("Side by side", blocks)
}

/// A group of bars for each test, with one for each source that has a test with that name.
fn bars(
    title: &str,
    sources: &[Source<'_>],
    tests: &[Test<'_>],
    unit: Unit,
    value: impl Fn(&Summary<'_>) -> Option<f64>,
) -> Chart {
    let title_of = |test: &Test<'_>| {
        if sources.len() > 1 { test.summary.title.clone() } else { test.name.clone() }
    };
    let categories = unique(tests.iter().map(title_of));
    let mut chart =
        Chart::bars(title, categories.clone(), Axis::linear(title.to_lowercase(), unit));
    for (number, source) in sources.iter().enumerate() {
        let own = tests.iter().filter(|test| test.source == number);
        let points = own.filter_map(|test| {
            let category = categories.iter().position(|title| *title == title_of(test))?;
            let limit = limit(test.summary.run.verdict.limited_by);
            let note = limit.map_or(String::new(), |limit| format!("limited by {limit}"));
            let point = DataPoint::at(category as f64, value(&test.summary)?).noted(note);
            Some(if is_disturbed(test.summary.run) { point.hollow() } else { point })
        });
        chart.series.push(Series::new(&source.name, points));
    }
    chart
}

/// Returns the warnings of a test, without those common to all tests.
pub(super) fn notes(Test { summary, .. }: &Test<'_>, tests: &[Test<'_>]) -> Vec<Block> {
    let known = shared(tests);
    let mut notes: Vec<Block> = Vec::new();
    let mut note = |tone, text: String| notes.push(Block::Note(tone, text));
    let own = summary.run.warnings.iter().filter(|warning| !known.contains(warning));
    own.for_each(|warning| note(Tone::Warning, warning.text.clone()));
    if let Some(schedule) = &summary.schedule
        && (!schedule.kept() || schedule.late + schedule.unsent > 0)
    {
        let tone = if schedule.kept() { Tone::Plain } else { Tone::Warning };
        note(tone, format!("Schedule: {schedule}."));
    }
    if let Some(target) = summary.target().filter(|of| of.outcome() != Outcome::Kept) {
        note(Tone::Warning, format!("Target {}.", target.sentence()));
    }
    let parts = summary.operations.iter().map(|operation| operation.response.count);
    let counts = parts.chain([summary.response_times.count()]).filter(|count| *count > 0);
    let quantiles: Vec<f64> = LATENCIES.iter().filter_map(|metric| metric.quantile()).collect();
    if let Some(text) = resting::note(&quantiles, counts.min().unwrap_or_default()) {
        note(Tone::Plain, text);
    }
    if let Some(engine) = &summary.run.measurement.engine_note {
        note(Tone::Plain, engine.clone());
    }
    notes
}
