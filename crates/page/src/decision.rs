//! A page of a decision between several servers: the answer, what it rests on, then how each differs from the
//! first.

use report::Metric;
use report::decision::{Candidate, Decision, Question, RateCurve, TargetState};

use crate::{
    Axis, Block, Chart, DataPoint, Guide, Page, Section, Series, Table, Tone, Unit, Verdict,
};
use crate::{comparison, rate_curve, runs};
use report::grouped;

/// The page; `again` is the command line that decides anew.
#[must_use]
pub fn page(decision: &Decision, command_line: &str) -> Page {
    let names: Vec<&str> = decision.subjects.iter().map(|subject| subject.name.as_str()).collect();
    let title = match decision.target.as_deref() {
        Some(target) => format!("Which keeps {target}: {}", names.join(", ")),
        None => names.join(", "),
    };
    let mut page = Page { title, byline: vec![decision.how.clone()], ..Page::default() };
    page.versions = decision.subjects.iter().map(|subject| subject.server.clone()).collect();
    let about = decision.first.as_ref().map(|run| runs::about(std::slice::from_ref(&**run)));
    if let (Some((byline, _)), Some(run)) = (&about, &decision.first) {
        page.byline.extend(byline.clone());
        page.versions.push(format!("keystorm {}", run.version));
    }
    page.versions.dedup();
    if !decision.complete {
        let text = "The figures cover what was measured until then.";
        page.lede.push(Verdict { tone: Tone::Warning, ..Verdict::new("Interrupted", text) });
    }
    page.lede.extend(comparison::gate(&decision.pairs));
    let target = decision.target.as_deref();
    let curves = decision.curves();
    for curve in &curves {
        match &curve.rates[..] {
            [only] => {
                page.lede.push(lede(only, target));
                page.sections.push(section(only, decision));
            }
            rates => {
                page.lede.push(rate_curve::lede(curve));
                let mut blocks = rate_curve::blocks(curve);
                blocks.extend(rates.first().and_then(|question| limits(question)));
                page.sections.push(Section::new(curve.name, blocks));
            }
        }
    }
    page.lede.extend(decision.pairs.iter().find_map(runs::noise));
    let many = curves.iter().any(RateCurve::has_several);
    for pair in &decision.pairs {
        let [first, second] = pair.names();
        let mut blocks = Vec::new();
        for test in &pair.tests {
            blocks.push(Block::Heading(test.name.clone()));
            blocks.extend(comparison::blocks(test));
        }
        let section = Section::new(format!("{second} compared with {first}"), blocks);
        page.sections.push(if many { section.folded() } else { section });
    }
    page.sections.extend(comparison::warnings(decision.warnings.clone()));
    page.sections
        .push(Section::new("The servers", comparison::subjects(&decision.subjects)).folded());
    page.sections.extend(about.map(|(_, facts)| facts.folded()));
    page.sections.push(Section::new("Decide again", [Block::Code(command_line.to_owned())]));
    page
}

fn lede(question: &Question, target: Option<&str>) -> Verdict {
    let states: Vec<Option<TargetState>> = question.candidates.iter().map(|of| of.kept).collect();
    let all = |wanted| states.iter().all(|kept| *kept == Some(wanted));
    let tone = match () {
        () if target.is_none() => Tone::Plain,
        () if states.contains(&Some(TargetState::Yes)) => Tone::Good,
        () if all(TargetState::No) => Tone::Bad,
        () => Tone::Warning,
    };
    let figures = question.candidates.iter().map(|of| {
        let p99 = of.p99_ms.map_or("–".to_owned(), |ms| Unit::Nanoseconds.show_even(ms * 1e6));
        (format!("p99 of {}", of.name), p99)
    });
    Verdict {
        tone,
        figures: figures.collect(),
        ..Verdict::new(question.answer(target), question.worth().join(" "))
    }
}

fn section(question: &Question, decision: &Decision) -> Section {
    let mut blocks = Vec::new();
    for candidate in question.candidates.iter().filter(|of| !of.why.is_empty()) {
        let text = format!("{}: {}.", candidate.name, candidate.why);
        blocks.push(Block::Note(Tone::Warning, text));
    }
    blocks.push(Block::Table(table(question)));
    blocks.push(Block::Chart(latencies(question, decision)));
    blocks.push(bars(
        question,
        &format!("Server CPU per {}", question.unit.singular()),
        Unit::Nanoseconds,
        |of| Some(of.server_cpu_us? * 1e3),
    ));
    blocks.extend(limits(question));
    Section::new(&question.name, blocks)
}

/// Makes a chart of each server's limit, if that was measured.
fn limits(question: &Question) -> Option<Block> {
    question.candidates.iter().find(|of| of.limit.is_some())?;
    let title = format!("{} without a rate limit", question.unit.rate_title());
    Some(bars(question, &title, Unit::PerSecond, |of| Some(of.limit?.0)))
}

/// Says in words whether a target was kept.
pub(crate) fn kept(state: Option<TargetState>) -> &'static str {
    match state {
        None => "–",
        Some(TargetState::Yes) => "yes",
        Some(TargetState::No) => "no",
        Some(TargetState::Undecided) => "the runs do not say",
        Some(TargetState::Void) => "cannot be judged here",
    }
}

fn table(question: &Question) -> Table {
    let unit = question.unit;
    let limit = format!("limit ({})", unit.per_second());
    let mut table = Table::new([
        "server",
        "keeps the target",
        unit.per_second(),
        "p99 (ms)",
        unit.label(Metric::ServerCpu),
        "of one core",
        unit.label(Metric::ClientCpu),
        "memory (MB)",
        &limit,
        "of it used",
        "limited by",
    ]);
    let dash = || "–".to_owned();
    let percent = |share: Option<f64>| share.map_or_else(dash, |s| format!("{:.0} %", s * 100.0));
    for of in &question.candidates {
        let micros = |us: Option<f64>| us.map_or_else(dash, |us| format!("{us:.1}"));
        table.row([
            of.name.clone(),
            kept(of.kept).to_owned(),
            of.throughput_rps.map_or_else(dash, grouped),
            of.p99_ms.map_or_else(dash, |ms| Metric::P99.written(ms)),
            micros(of.server_cpu_us),
            percent(of.cores()),
            micros(of.client_cpu_us),
            of.memory_bytes.map_or_else(dash, |bytes| format!("{:.1}", bytes as f64 / 1e6)),
            of.limit.map_or_else(dash, |(limit, _)| grouped(limit)),
            percent(of.share_of_limit()),
            of.limit.map_or_else(dash, |(_, by)| by.name().to_owned()),
        ]);
    }
    table
}

/// The latency that the target bounds, with its interval and the bound.
fn latencies(question: &Question, decision: &Decision) -> Chart {
    let names = question.candidates.iter().map(|of| of.name.as_str());
    let clause = |of: &Candidate| of.clauses.iter().find(|of| of.is_latency).cloned();
    let title = match question.candidates.iter().find_map(clause) {
        Some(clause) => format!("Response time against {}", clause.clause),
        None => "99th percentile of response time".to_owned(),
    };
    let axis = Axis::linear("response time", Unit::Nanoseconds);
    let mut chart = Chart::bars(title, names, axis);
    let point = |(at, of): (usize, &Candidate)| {
        let at = at as f64;
        match clause(of) {
            Some(clause) => {
                let point = DataPoint::at(at, clause.mean?);
                let point = match clause.interval {
                    Some([low, high]) => point.within(low, high),
                    None => point.hollow(),
                };
                Some(if of.kept == Some(TargetState::Void) { point.hollow() } else { point })
            }
            None => of.p99_ms.map(|ms| DataPoint::at(at, ms * 1e6)),
        }
    };
    let points = question.candidates.iter().enumerate().filter_map(point);
    chart.series.push(Series::from_points("response time", points));
    if let (Some(clause), Some(target)) =
        (question.candidates.iter().find_map(clause), &decision.target)
    {
        chart.guides.push(Guide::Y(clause.below, target.clone()));
    }
    chart
}

fn bars(
    question: &Question,
    title: &str,
    unit: Unit,
    figure: impl Fn(&Candidate) -> Option<f64>,
) -> Block {
    let names = question.candidates.iter().map(|of| of.name.as_str());
    let mut chart = Chart::bars(title, names, Axis::linear(title.to_lowercase(), unit));
    let point = |(at, of): (usize, &Candidate)| Some(DataPoint::at(at as f64, figure(of)?));
    let points = question.candidates.iter().enumerate().filter_map(point);
    chart.series.push(Series::from_points(title, points));
    Block::Chart(chart)
}
