//! Answers to the choice between servers under a target, with their grounds.

use crate::compare::{Candidate, Comparison, Question, RateCurve, TargetState};

use super::{rate_curve, tables};
use crate::page::{Axis, Block, Chart, Guide, Section, Tone, Unit, Verdict};
use crate::{Metric, grouped};

/// The answers for the top of a page.
pub(super) fn lede(comparison: &Comparison) -> Vec<Verdict> {
    let curves = comparison.curves();
    let verdicts = curves.iter().map(|curve| match &curve.rates[..] {
        [only] => lede_of(only, curve.target),
        _ => rate_curve::lede(curve),
    });
    verdicts.collect()
}

/// A section for each load.
pub(super) fn sections(comparison: &Comparison) -> Vec<Section> {
    let curves = comparison.curves();
    let section = |curve: &RateCurve<'_>| {
        let mut blocks = notes(curve);
        let first = curve.rates.first();
        match &curve.rates[..] {
            [only] => {
                blocks.extend(tables::costs(only).into_iter().map(Block::Table));
                blocks.push(Block::Chart(latencies(only, curve.target)));
                let title = format!("Server CPU per {}", only.unit.singular());
                blocks.push(bars(only, &title, Unit::Nanoseconds, |of| {
                    Some(of.figures.get(Metric::ServerCpu)? * 1e3)
                }));
            }
            _ => blocks.extend(rate_curve::blocks(curve)),
        }
        blocks.extend(first.and_then(|question| limits(question)));
        Section::new(format!("{}: what each server costs", curve.name), blocks)
    };
    curves.iter().map(section).collect()
}

/// Text of the choice between servers: those that keep the target, and their costs.
pub fn blocks(comparison: &Comparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    for curve in &comparison.curves() {
        blocks.push(Block::Text(format!("{}.", curve.answer())));
        blocks.extend(curve.worth().into_iter().map(Block::Text));
        match &curve.rates[..] {
            [only] => blocks.extend(tables::costs(only).into_iter().map(Block::Table)),
            rates => {
                blocks.extend(rates.first().and_then(|first| fastest(first)).map(Block::Text));
                blocks.extend(rate_curve::blocks(curve));
            }
        }
        blocks.extend(notes(curve));
    }
    blocks
}

/// Describes the servers at full speed, if known.
fn fastest(question: &Question) -> Option<String> {
    let limit = |of: &Candidate| Some(format!("{} {}/s", of.name, grouped(of.limit?.0)));
    let limits: Vec<String> = question.candidates.iter().filter_map(limit).collect();
    (!limits.is_empty()).then(|| format!("As fast as they go: {}.", limits.join(", ")))
}

/// Reasons why servers do not keep the target.
fn notes(curve: &RateCurve<'_>) -> Vec<Block> {
    let mut notes = Vec::new();
    for question in &curve.rates {
        let rate = question.rate_rps.filter(|_| curve.has_several());
        let rate = rate.map_or(String::new(), |rate| format!(" at {}/s", grouped(rate)));
        for of in question.candidates.iter().filter(|of| !of.why.is_empty()) {
            notes.push(Block::Note(Tone::Warning, format!("{}{rate}: {}.", of.name, of.why)));
        }
    }
    notes
}

fn lede_of(question: &Question, target: Option<&str>) -> Verdict {
    let states: Vec<Option<TargetState>> = question.candidates.iter().map(|of| of.kept).collect();
    let tone = match () {
        () if target.is_none() => Tone::Plain,
        () if states.contains(&Some(TargetState::Yes)) => Tone::Good,
        () if states.iter().all(|kept| *kept == Some(TargetState::No)) => Tone::Bad,
        () => Tone::Warning,
    };
    let figures = question.candidates.iter().map(|of| {
        let p99 = of.figures.get(Metric::P99).map(|ms| Unit::Nanoseconds.show_even(ms * 1e6));
        let p99 = p99.unwrap_or("–".to_owned());
        (format!("p99 of {}", of.name), p99)
    });
    Verdict {
        tone,
        figures: figures.collect(),
        ..Verdict::new(question.answer(target), question.worth().join(" "))
    }
}

/// Makes a chart of each server's limit, if that was measured.
fn limits(question: &Question) -> Option<Block> {
    question.candidates.iter().find(|of| of.limit.is_some())?;
    let title = format!("{} without a rate limit", question.unit.rate_title());
    Some(bars(question, &title, Unit::PerSecond, |of| Some(of.limit?.0)))
}

/// The latency in the target, with its interval and the bound.
fn latencies(question: &Question, target: Option<&str>) -> Chart {
    let names = question.candidates.iter().map(|of| of.name.as_str());
    let bound = question.candidates.iter().find_map(rate_curve::latency_clause);
    let title = match bound {
        Some(clause) => format!("Response time against {}", clause.clause),
        None => "99th percentile of response time".to_owned(),
    };
    let axis = Axis::linear("response time", Unit::Nanoseconds);
    let points = question.candidates.iter().enumerate();
    let points = points.filter_map(|(at, of)| rate_curve::latency_at(of, at as f64));
    let mut chart = Chart::bars(title, names, axis).with("response time", points);
    if let (Some(clause), Some(target)) = (bound, target) {
        chart.guides.push(Guide::Y(clause.below, target.to_owned()));
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
    let chart = Chart::bars(title, names, Axis::linear(title.to_lowercase(), unit));
    let candidates = question.candidates.iter().enumerate();
    let points = candidates.filter_map(|(at, of)| Some((at as f64, figure(of)?)));
    Block::Chart(chart.with(title, points))
}
