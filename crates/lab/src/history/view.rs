//! Tables, sentences and pages of a history and of a judgement.

use measure::statistics::{Interval, LevelStep};
use report::compare::{self, GateState};
use report::page::{
    Axis, Block, Chart, Column, DataPoint, Guide, Page, Section, Table, Tone, Unit, Verdict,
};
use report::{KEPT, Metric};

use crate::history::{
    Entry, Extent, Fault, FigureJudgement, Finding, Judgement, Series, Terms, gate,
};

/// Maximum number of runs of a series that a page lists; further ones are only in the charts.
const ROWS_MAX: usize = 100;

/// Tabulates the newest run of each series, and the last step.
pub fn table(all: &[Series], disturbed: bool) -> Table {
    let last = |of: &&Series| {
        last_step(of, disturbed).map_or("–".to_owned(), |(metric, step)| {
            let date = of.entries[step.at].date();
            format!("{} {} on {}", compare::called(metric), percent(step.ratio.ratio), day(&date))
        })
    };
    let mut columns: Vec<Column<'_, &Series>> = vec![
        ("test", &|of| of.name.clone()),
        ("runs", &|of| of.entries.len().to_string()),
        ("newest", &|of| of.newest().date()),
        ("server", &|of| of.newest().server.clone()),
        ("requests/s", &|of| figure_cell(of.newest(), Metric::Throughput)),
        ("p99 (ms)", &|of| figure_cell(of.newest(), Metric::P99)),
    ];
    // Profiles have one figure, and what has not is no profile.
    if all.iter().any(|of| of.newest().figure(Metric::Instructions).is_some()) {
        let label = Metric::Instructions.label();
        columns.push((label, &|of| figure_cell(of.newest(), Metric::Instructions)));
    }
    columns.push(("last step", &last));
    Table::of(&columns, all)
}

fn written_range(of: Interval, written: impl Fn(f64) -> String) -> String {
    format!("{} to {}", written(of.low), written(of.high))
}

fn range_cell(of: Option<Interval>, written: impl Fn(f64) -> String) -> String {
    of.map_or("–".to_owned(), |of| written_range(of, written))
}

/// The date without the time of day.
fn day(date: &str) -> &str {
    date.split(' ').next().unwrap_or(date)
}

fn figure_cell(entry: &Entry, metric: Metric) -> String {
    entry.figure(metric).map_or("–".to_owned(), |figure| match metric {
        Metric::Throughput | Metric::Instructions => report::grouped(figure.mean),
        _ => format!("{:.3}", figure.mean),
    })
}

/// `−3.1 %`.
fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0).replace('-', "−")
}

/// The latest step of the most important figures.
fn last_step(series: &Series, disturbed: bool) -> Option<(Metric, LevelStep)> {
    let steps = report::compare::WATCHED
        .into_iter()
        .chain([Metric::Instructions])
        .filter_map(|metric| Some((metric, *series.steps(metric, disturbed).last()?)));
    steps.max_by_key(|(_, step)| step.at)
}

/// The page of a history.
pub fn page(all: &[Series], faults: &[Fault], disturbed: bool) -> Page {
    let runs: usize = all.iter().map(|series| series.entries.len()).sum();
    let mut page = Page { title: format!("{runs} runs of {} tests", all.len()), ..Page::default() };
    if !faults.is_empty() {
        let text = faults.iter().map(|fault| format!("{}: {}", fault.file, fault.why));
        let headline = "Some files cannot be read";
        let mut found = Verdict { tone: Tone::Warning, ..Verdict::new(headline, "") };
        found.events = text.take(20).collect();
        page.lede.push(found);
    }
    page.sections.push(Section::new("Newest runs", [Block::Table(table(all, disturbed))]));
    page.sections.extend(all.iter().map(|series| section(series, disturbed)));
    page
}

fn section(series: &Series, disturbed: bool) -> Section {
    let charts = [Metric::Throughput, Metric::P99, Metric::ServerCpu, Metric::Instructions];
    let mut blocks: Vec<Block> =
        charts.into_iter().filter_map(|m| chart(series, m, disturbed)).map(Block::Chart).collect();
    let steps = KEPT.into_iter().flat_map(|metric| {
        let steps = series.steps(metric, disturbed).into_iter();
        steps.map(move |step| (metric, step))
    });
    let columns: [Column<'_, (Metric, LevelStep)>; 5] = [
        ("figure", &|(metric, _)| compare::called(*metric).to_owned()),
        ("since", &|(_, step)| since(series, step)),
        ("change", &|(_, step)| percent(step.ratio.ratio)),
        ("95 % interval", &|(_, step)| range_cell(step.ratio.interval, percent)),
        ("what else changed", &|(_, step)| series.changes(step.at).join("; ")),
    ];
    let steps = Table::of(&columns, steps).filled();
    blocks.extend(steps.map(|steps| Block::Table(Table { caption: "Steps".to_owned(), ..steps })));
    blocks.push(Block::Table(listing(series, disturbed)));
    Section::new(series.name.clone(), blocks)
}

/// The run of a step, and the range in which it may lie instead.
fn since(series: &Series, step: &LevelStep) -> String {
    let entry = &series.entries[step.at];
    let range = between(series, step.at, step.range.0, step.range.1);
    let range = range.map_or(String::new(), |range| format!("; {range}"));
    format!("{} ({}{range})", entry.date(), entry.file)
}

/// The range in which a step may lie instead; `None` if it is one run.
fn between(series: &Series, at: usize, from: usize, to: usize) -> Option<String> {
    let date = |other: usize| series.entries.get(other).unwrap_or(&series.entries[at]).date();
    (from != to).then(|| format!("between {} and {}", date(from), date(to)))
}

/// Half of the interval of a run's throughput, in per cent.
fn half_percent(entry: &Entry) -> Option<String> {
    let figure = entry.figure(Metric::Throughput)?;
    let (low, high) = figure.interval?;
    Some(format!("{:.1}", (high - low) / 2.0 / figure.mean * 100.0))
}

fn limited_by(entry: &Entry) -> String {
    match (&entry.disturbed, entry.complete) {
        (_, false) => format!("{} (incomplete)", entry.limited_by),
        (Some(why), true) => format!("{} ({why})", entry.limited_by),
        (None, true) => entry.limited_by.clone(),
    }
}

/// The runs of a series, the newest first.
fn listing(series: &Series, disturbed: bool) -> Table {
    let columns: [Column<'_, (usize, &Entry)>; 10] = [
        ("run", &|(_, entry)| entry.date()),
        ("file", &|(_, entry)| entry.file.clone()),
        ("server", &|(_, entry)| entry.server.clone()),
        ("keystorm", &|(_, entry)| entry.client.clone()),
        ("requests/s", &|(_, entry)| figure_cell(entry, Metric::Throughput)),
        ("± %", &|(_, entry)| half_percent(entry).unwrap_or("–".to_owned())),
        ("p50 (ms)", &|(_, entry)| figure_cell(entry, Metric::P50)),
        ("p99 (ms)", &|(_, entry)| figure_cell(entry, Metric::P99)),
        ("limited by", &|(_, entry)| limited_by(entry)),
        ("changed", &|(at, _)| series.changes(*at).join("; ")),
    ];
    let newest = series.entries.iter().enumerate().rev().take(ROWS_MAX);
    let mut table = Table::of(&columns, newest.clone());
    let faint = (0..).zip(newest).filter(|(_, (_, entry))| !entry.counts(disturbed));
    table.faint = faint.map(|(row, _)| row).collect();
    if series.entries.len() > ROWS_MAX {
        table.caption = format!("The latest {ROWS_MAX} of {} runs", series.entries.len());
    }
    table
}

/// The chart of a figure over time, with its intervals and steps; `None` if no run has the figure.
fn chart(series: &Series, metric: Metric, disturbed: bool) -> Option<Chart> {
    let (title, unit, scale) = match metric {
        Metric::Throughput => ("Throughput", Unit::PerSecond, 1.0),
        Metric::P99 => ("99th percentile of response time", Unit::Nanoseconds, 1e6),
        Metric::Instructions => ("Instructions per request", Unit::Count, 1.0),
        _ => ("Server CPU per request", Unit::Nanoseconds, 1e3),
    };
    let days = |entry: &Entry| entry.started_ms as f64 / 86_400_000.0;
    let counts = series.values(metric, disturbed).0;
    let point = |at: usize, entry: &Entry| {
        let figure = entry.figure(metric)?;
        let mut point = DataPoint::at(days(entry), figure.mean * scale);
        point.interval = figure.interval.map(|(low, high)| (low * scale, high * scale));
        let changes = series.changes(at);
        let file = format!("{}: {}", entry.file, entry.server);
        Some(point.noted(std::iter::once(file).chain(changes).collect::<Vec<_>>().join("; ")))
    };
    let all = series.entries.iter().enumerate();
    let (counted, others): (Vec<_>, Vec<_>) = all.partition(|(at, _)| counts.contains(at));
    let points = |of: Vec<(usize, &Entry)>| {
        of.into_iter().filter_map(|(at, e)| point(at, e)).collect::<Vec<_>>()
    };
    let (counted, others) = (points(counted), points(others));
    if counted.is_empty() && others.is_empty() {
        return None;
    }
    let mut chart = Chart::lines(
        format!("{title} by run"),
        Axis::linear("date", Unit::Date),
        Axis::linear(title.to_lowercase(), unit),
    );
    chart.series.push(report::page::Series::new("runs", counted));
    if !others.is_empty() {
        let hollow = others.into_iter().map(DataPoint::hollow);
        chart.series.push(report::page::Series::new("do not count", hollow));
    }
    for step in series.steps(metric, disturbed) {
        let label = percent(step.ratio.ratio);
        chart.guides.push(Guide::X(days(&series.entries[step.at]), label));
    }
    Some(chart)
}

/// Tabulates the newest value, the expectation and the finding of each series and figure.
pub fn judgement_table(all: &[Judgement]) -> Table {
    let columns: [Column<'_, (&Judgement, &FigureJudgement)>; 7] = [
        ("test", &|(of, _)| of.name.clone()),
        ("runs", &|(of, _)| of.counted.to_string()),
        ("figure", &|(_, figure)| compare::called(figure.metric).to_owned()),
        ("newest", &|(_, figure)| figure.metric.written(figure.newest)),
        ("expected", &|(_, of)| range_cell(of.expected, |value| of.metric.written(value))),
        ("visible", &|(_, figure)| {
            let visible = figure.smallest_visible.map(|seen| format!("{:.1} %", seen * 100.0));
            visible.unwrap_or("–".to_owned())
        }),
        ("finding", &|(of, figure)| describe_finding(figure, &of.series)),
    ];
    Table::of(&columns, all.iter().flat_map(|of| of.figures.iter().map(move |figure| (of, figure))))
}

fn describe_finding(figure: &FigureJudgement, series: &Series) -> String {
    let word = if figure.is_worse() == Some(true) { "worse" } else { "better" };
    match figure.finding {
        Finding::LevelStep { at, ratio, .. } => {
            format!("step, {word}, {} since {}", percent(ratio.ratio), series.entries[at].date())
        }
        Finding::Off { ratio, runs, .. } => {
            let runs = if runs == 1 { "one run" } else { "two runs" };
            format!("{runs}, {word}, {}", percent(ratio))
        }
        Finding::Level => "as before".to_owned(),
        Finding::TooFew => "too few runs".to_owned(),
    }
}

/// Describes the outcome of the gate and its reasons, one sentence each.
pub fn sentences(all: &[Judgement], terms: Terms<'_>) -> Vec<String> {
    let gate = gate(all, terms);
    let mut lines: Vec<String> = all.iter().flat_map(|of| reasons(of, terms)).collect();
    match gate {
        GateState::Passed => {
            let allowed =
                terms.percent.map_or(String::new(), |percent| format!(" by more than {percent} %"));
            lines.push(format!("Gate passed: no test became worse{allowed}."));
        }
        GateState::Undecided if all.is_empty() => {
            lines.push("Gate undecided: the folder has no run to judge.".to_owned());
        }
        GateState::Undecided | GateState::Failed => {}
    }
    lines
}

fn reasons(judgement: &Judgement, terms: Terms<'_>) -> Vec<String> {
    let (name, series) = (&judgement.name, &judgement.series);
    let newest = series.newest();
    let uncounted = (!newest.counts(terms.disturbed)).then(|| {
        let why = match &newest.disturbed {
            Some(why) if newest.complete => format!("{why} (--disturbed count counts it)"),
            _ => "it did not end as planned".to_owned(),
        };
        format!("Gate undecided: the newest run of {name} does not count ({}): {why}.", newest.file)
    });
    let failed = judgement.failed.map(|[before, now]| {
        format!(
            "Gate failed: {:.2} % of the requests of the newest run of {name} failed, {:.2} % before ({}).",
            now * 100.0,
            before * 100.0,
            newest.file
        )
    });
    let missing = judgement.missing(terms).filter(|_| judgement.counted > 0).map(|metric| {
        format!("Gate undecided: {} of {name} was not measured.", compare::called(metric))
    });
    let figures = judgement.figures.iter();
    let figures = figures.filter_map(|figure| reason(figure, name, series, terms));
    failed.into_iter().chain(uncounted).chain(figures).chain(missing).collect()
}

fn reason(
    figure: &FigureJudgement,
    name: &str,
    series: &Series,
    terms: Terms<'_>,
) -> Option<String> {
    let called = compare::called(figure.metric);
    let worse = figure.is_worse() == Some(true);
    Some(match figure.finding {
        Finding::LevelStep { at, range, ratio, runs, extent } if worse => {
            let interval = ratio.interval.map_or(String::new(), |of| {
                format!(", 95 % interval {}", written_range(of, percent))
            });
            let changes = series.changes(at);
            let changes = if changes.is_empty() {
                String::new()
            } else {
                format!("; {}", changes.join("; "))
            };
            let entry = &series.entries[at];
            let range = between(series, at, range.0, range.1);
            let range = range.map_or(String::new(), |range| format!(", or another run {range}"));
            let (head, allowed) = match extent {
                Extent::Beyond => ("Gate failed", ""),
                Extent::Unsure => ("Gate undecided", ", which is not surely more than allowed"),
                Extent::Within => ("Note", ", which is allowed"),
            };
            format!(
                "{head}: {called} of {name} is worse by {} since {} ({}{range}; {} runs before, {} since{interval}{changes}){allowed}.",
                percent(ratio.ratio).trim_start_matches(['+', '−']),
                entry.date(),
                entry.file,
                runs[0],
                runs[1],
            )
        }
        Finding::Off { .. } if worse => off(figure, name, series),
        Finding::TooFew => format!(
            "Gate undecided: {name} has too few runs to judge {called} by; it needs 4 runs that count, and 6 to find a step."
        ),
        _ => {
            let (percent, seen) = terms.percent.zip(figure.smallest_visible)?;
            if seen * 100.0 <= percent {
                return None;
            }
            format!(
                "Gate undecided: runs vary too much to see a change of {percent} % in {called} of {name}; the \
                 smallest that would show is {:.1} %.",
                seen * 100.0
            )
        }
    })
}

/// The sentence about the newest one or two runs if they are worse.
fn off(figure: &FigureJudgement, name: &str, series: &Series) -> String {
    let Finding::Off { ratio, runs, extent, noise } = figure.finding else { return String::new() };
    let written = |value: f64| figure.metric.written(value);
    let expected = figure
        .expected
        .map_or(String::new(), |of| format!(", where {} was expected", written_range(of, written)));
    let newest = if runs == 1 { "in the newest run" } else { "in the newest two runs" };
    let (head, rest) = match (extent, noise) {
        (Extent::Beyond, _) => (
            "Gate failed",
            "; whether it stays so, further runs will show (--until-sure repeats it)".to_owned(),
        ),
        (Extent::Within, _) => ("Note", ", which is allowed".to_owned()),
        (Extent::Unsure, Some(noise)) => (
            "Gate undecided",
            format!(
                ", but others had the CPU for {:.0} % of its time, more than in any run before; run it again",
                noise * 100.0
            ),
        ),
        (Extent::Unsure, None) => {
            ("Gate undecided", ", which may be a bad day of the machine; run it again".to_owned())
        }
    };
    format!(
        "{head}: {} of {name} is worse by {} {newest}: {} ({}){expected}{rest}.",
        compare::called(figure.metric),
        percent(ratio).trim_start_matches(['+', '−']),
        written(figure.newest),
        series.newest().file,
    )
}

/// The page of a judgement.
pub fn judgement_page(all: &[Judgement], terms: Terms<'_>) -> Page {
    let (tone, headline) = match gate(all, terms) {
        GateState::Passed => (Tone::Good, "As before"),
        GateState::Undecided => (Tone::Warning, "Undecided"),
        GateState::Failed => (Tone::Bad, "Worse than before"),
    };
    let mut found = Verdict { tone, ..Verdict::new(headline, "") };
    found.events = sentences(all, terms);
    let title = match all {
        [only] => format!("{} beside its last {} runs", only.name, only.counted),
        _ => format!("{} tests beside their last runs", all.len()),
    };
    let mut page = Page { title, lede: vec![found], ..Page::default() };
    page.sections.push(Section::new("Figures", [Block::Table(judgement_table(all))]));
    page.sections.extend(all.iter().map(|of| section(&of.series, terms.disturbed)));
    page
}
