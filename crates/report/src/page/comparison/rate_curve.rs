//! Servers at several rates: throughput against latency of all of them, with the target and the highest rate
//! at which each keeps it.

use crate::compare::{Candidate, ClauseValue, Knee, RateCurve, TargetState, distinct_parts};
use crate::{Metric, grouped};

use super::tables::{NONE, figure, kept};
use crate::page::{Block, Chart, DataPoint, Guide, Series, Table, Tone, Unit, Verdict};

/// Relative distance up to which knees share a line.
const ALIKE: f64 = 0.01;

/// Response time against throughput: a line for each server, the target across, and the knees.
fn chart(curve: &RateCurve<'_>) -> Chart {
    let names = curve.rates.first().map_or(&[][..], |first| &first.candidates);
    let bound = curve.rates.iter().flat_map(|of| &of.candidates).find_map(latency_clause);
    let measure = bound.map_or("p99", |clause| &clause.measure);
    let line = |(side, of): (usize, &Candidate)| {
        let mut points: Vec<DataPoint> = curve
            .rates
            .iter()
            .filter_map(|question| {
                let of = question.candidates.get(side)?;
                let asked = question.rate_rps.map_or(String::new(), |rate| {
                    format!("{} {}/s asked for", grouped(rate), question.unit.plural())
                });
                Some(latency_at(of, of.figures.get(Metric::Throughput)?)?.noted(asked))
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::new(of.name.clone(), points)
    };
    let series = names.iter().enumerate().map(line).collect();
    let slo = bound.map(|clause| (clause.below, clause.clause.clone()));
    let title = format!("Response time ({measure}) against throughput");
    let mut chart = Chart::rate_curve(title, series, slo, None);
    let kept = if curve.target.is_some() { "it" } else { "pace" };
    let mut knees: Vec<(f64, Vec<&str>)> = Vec::new();
    for (side, of) in names.iter().enumerate() {
        // Where the line has its point: what was answered, not what was asked for.
        let reached = curve.knee(side).rate_rps.and_then(|rate| {
            let question = curve.rates.iter().find(|of| of.rate_rps == Some(rate))?;
            question.candidates.get(side)?.figures.get(Metric::Throughput)
        });
        let Some(rate) = reached else { continue };
        match knees.iter_mut().find(|(other, _)| (*other / rate - 1.0).abs() < ALIKE) {
            Some((_, names)) => names.push(&of.name),
            None => knees.push((rate, vec![&of.name])),
        }
    }
    chart.guides.extend(knees.into_iter().map(|(rate, names)| {
        let keep = if names.len() > 1 { "keep" } else { "keeps" };
        Guide::X(rate, format!("{} {keep} {kept}", names.join(", ")))
    }));
    chart.note = "Each point is a rate that was asked for; its whisker is the 95 % interval. A vertical line is the \
        highest rate that a server keeps, with none below it missed."
        .to_owned();
    chart
}

/// The clause that bounds a response time.
pub(super) fn latency_clause(of: &Candidate) -> Option<&ClauseValue> {
    of.clauses.iter().find(|clause| clause.is_latency)
}

/// The latency in the target with its interval, or without one the 99th percentile, at `x`.
pub(super) fn latency_at(of: &Candidate, x: f64) -> Option<DataPoint> {
    let Some(clause) = latency_clause(of) else {
        return of.figures.get(Metric::P99).map(|ms| DataPoint::at(x, ms * 1e6));
    };
    let interval = clause.interval.map(|[low, high]| (low, high));
    let hollow = interval.is_none() || of.kept == Some(TargetState::Void);
    Some(DataPoint { interval, hollow, ..DataPoint::at(x, clause.mean?) })
}

/// The answer, with the highest rate of each server.
pub(super) fn lede(curve: &RateCurve<'_>) -> Verdict {
    let names = curve.rates.first().map_or(&[][..], |first| &first.candidates);
    let knees: Vec<_> = (0..names.len()).map(|side| curve.knee(side)).collect();
    let missed = |knee: &Knee| {
        knee.rate_rps.is_none() && knee.next.is_some_and(|(_, state)| state == TargetState::No)
    };
    let tone = match () {
        () if curve.target.is_none() => Tone::Plain,
        () if knees.iter().any(|knee| knee.rate_rps.is_some()) => Tone::Good,
        () if knees.iter().all(missed) => Tone::Bad,
        () => Tone::Warning,
    };
    let figures = names.iter().zip(&knees).map(|(of, knee)| {
        let rate = knee.rate_rps.map_or("–".to_owned(), |rate| Unit::PerSecond.show(rate));
        (format!("kept by {}", of.name), rate)
    });
    Verdict {
        tone,
        figures: figures.collect(),
        ..Verdict::new(curve.answer(), curve.worth().join(" "))
    }
}

/// The figures of each rate, and the chart.
pub(super) fn blocks(curve: &RateCurve<'_>) -> [Block; 2] {
    [Block::Table(table(curve)), Block::Chart(chart(curve))]
}

fn table(curve: &RateCurve<'_>) -> Table {
    let unit = curve.rates.first().map(|first| first.unit).unwrap_or_default();
    let keeps = if curve.target.is_some() { "target kept" } else { "keeps pace" };
    let cpu = unit.label(Metric::ServerCpu);
    let reached = unit.per_second();
    let mut table =
        Table::new(["server", "asked for", keeps, reached, "p50 (ms)", "p99 (ms)", cpu]);
    let servers = curve.rates.first().map_or(&[][..], |first| &first.candidates);
    let names: Vec<String> = servers.iter().map(|of| of.name.clone()).collect();
    for (side, name) in distinct_parts(&names).iter().enumerate() {
        for question in &curve.rates {
            let Some(of) = question.candidates.get(side) else { continue };
            table.row([
                name.clone(),
                question.rate_rps.map_or(NONE.to_owned(), grouped),
                kept(curve.state(question, side)).to_owned(),
                figure(of, Metric::Throughput),
                figure(of, Metric::P50),
                figure(of, Metric::P99),
                figure(of, Metric::ServerCpu),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use crate::Figures;
    use crate::compare::{ComparedTest, Comparison, Question};

    use super::*;

    #[test]
    fn each_server_has_a_line_and_the_target_and_the_knees_are_marked() {
        let question = |rate: f64| {
            let late = if rate > 2_000.0 { TargetState::No } else { TargetState::Yes };
            let servers = [("redis", 1e3 * rate, late), ("valkey", 1e5, TargetState::Yes)];
            let candidates = servers.map(|(name, ns, kept)| Candidate {
                kept: Some(kept),
                figures: Figures::default().with(Metric::Throughput, Some(rate)),
                clauses: vec![ClauseValue {
                    clause: "p99<2ms".to_owned(),
                    measure: "p99".to_owned(),
                    mean: Some(ns),
                    interval: Some([ns * 0.9, ns * 1.1]),
                    below: 2e6,
                    is_latency: true,
                }],
                ..Candidate::new(name, &[], &[])
            });
            Question {
                name: "GET".to_owned(),
                unit: crate::CountUnit::Request,
                rate_rps: Some(rate),
                candidates: candidates.to_vec(),
            }
        };
        let tests = [4_000.0, 1_000.0, 2_000.0].map(|rate: f64| ComparedTest {
            name: format!("GET at {rate}/s"),
            pairs: Vec::new(),
            question: Some(question(rate)),
        });
        let comparison = Comparison {
            target: Some("p99<2ms".to_owned()),
            threshold: None,
            tests: tests.to_vec(),
            ..super::super::tests::comparison(&["redis", "valkey"], Vec::new())
        };
        let curves = comparison.curves();
        let chart = chart(&curves[0]);
        assert_eq!(chart.points_by_series(), [3, 3]);
        assert_eq!(chart.series[0].points[0].x, 1_000.0);
        assert!(matches!(&chart.guides[0], Guide::Y(ns, name) if *ns == 2e6 && name == "p99<2ms"));
        let knees: Vec<_> = chart.guides[1..]
            .iter()
            .filter_map(|guide| match guide {
                Guide::X(rate, name) => Some((*rate, name.as_str())),
                Guide::Y(..) => None,
            })
            .collect();
        assert_eq!(knees, [(2_000.0, "redis keeps it"), (4_000.0, "valkey keeps it")]);
        let rows = table(&curves[0]).rows;
        assert_eq!(rows.len(), 6);
        assert_eq!((&*rows[0][1], &*rows[2][1], &*rows[2][2]), ("1,000", "4,000", "NO"));
        let page = super::super::page(&comparison, "keystorm compare");
        assert!(
            page.lede[0].headline.starts_with("GET: redis keeps p99<2ms up to 2,000/s and misses")
        );
    }
}
