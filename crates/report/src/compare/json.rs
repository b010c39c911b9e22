//! The comparison as the document `keystorm.compare/1`, fixed by
//! `docs/schema/keystorm.compare.1.json`.

use std::collections::BTreeMap;
use std::time::SystemTime;

use measure::statistics::Conclusion;
use serde_json::{Map, Value, json};

use super::csv::conclusion;
use super::{
    Candidate, ComparedTest, Comparison, FigureRow, Limits, RateCurve, RatioRow, SCHEMA, Side,
    Subject, Table, Terms, WatchedFigure, notes, spoiled,
};
use crate::Metric::{ClientCpu, P50, P99, ServerCpu, Throughput};
use crate::{Run, Summary};

/// Text of the document, with a line end.
///
/// # Errors
/// Returns an error if a figure has no JSON form.
pub fn to_json(comparison: &Comparison) -> serde_json::Result<String> {
    crate::json::document(&document(comparison))
}

/// The document.
fn document(comparison: &Comparison) -> Value {
    let Comparison { tests, target, terms, replayed, .. } = comparison;
    let curves = comparison.curves();
    let mut document = json!({
        "schema": SCHEMA,
        "keystorm": env!("CARGO_PKG_VERSION"),
        "complete": comparison.complete,
        "target": target,
        "servers": subjects(&comparison.subjects),
        "differing_settings": comparison.differing_settings(),
        "how": comparison.how,
        "command_line": comparison.command_line,
        "host": host(tests),
        "tests": tests.iter().map(|of| test(of, target.as_deref())).collect::<Vec<_>>(),
        "curves": curves.iter().filter(|of| of.has_several()).map(curve).collect::<Vec<_>>(),
        "warnings": comparison.warnings,
        "errors_allowed_percent": comparison.errors_allowed,
        "regression": gate(comparison),
    });
    if let Some(terms) = terms {
        document["terms"] = terms_of(terms);
    }
    if let Some(replayed) = replayed {
        document["replayed"] = crate::json::value(replayed).unwrap_or_default();
    }
    document
}

/// Returns the result of the gate; null without one.
fn gate(comparison: &Comparison) -> Option<Value> {
    let (percent, gate) = comparison.threshold.zip(comparison.gate())?;
    let list = |of: &[WatchedFigure]| of.iter().map(|of| watched(of, percent)).collect::<Vec<_>>();
    let missing =
        |(test, metric): &(String, crate::Metric)| json!({ "test": test, "figure": metric.name() });
    Some(json!({
        "allowed_percent": percent,
        "figures": comparison.watched.iter().map(|metric| metric.name()).collect::<Vec<_>>(),
        "state": gate.state,
        "told": notes(comparison),
        "found": list(&gate.found),
        "not_excluded": list(&gate.possible),
        "not_known": list(&gate.unknown),
        "not_measured": gate.missing.iter().map(missing).collect::<Vec<_>>(),
    }))
}

fn terms_of(terms: &Terms) -> Value {
    let tables = terms.tables.iter().map(|table| {
        let Table { kind, title, text, subjects: of_it } = table;
        json!({ "kind": kind, "title": title, "text": text, "servers": subjects(of_it) })
    });
    let tables: Vec<Value> = tables.collect();
    json!({ "equal": object(&terms.equal), "left_out": terms.left_out, "tables": tables })
}

/// Names and texts as an object.
fn object(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs.iter().map(|(name, text)| (name.clone(), text.clone().into())).collect()
}

/// The servers; their settings are an object, by name.
fn subjects(subjects: &[Subject]) -> Vec<Value> {
    let subjects = subjects.iter().map(|subject| {
        let mut value = crate::json::value(subject).unwrap_or_default();
        value["settings"] = object(&subject.settings).into();
        value
    });
    subjects.collect()
}

fn test(test: &ComparedTest, target: Option<&str>) -> Value {
    let first = test.pairs.first();
    let question = test.question.as_ref();
    let plan = first.and_then(|pair| Some(&pair.sides[0].counted().next()?.plan));
    let void = first.map_or(&[][..], |pair| &pair.void);
    let (figures, operations) = (test.figures(), test.operations());
    let server = |(at, side): (usize, &Side)| {
        let mut server = self::server(side);
        if test.table().is_some() {
            server["hit_percent"] = side.hit_ratio.into();
        }
        if let Some(pair) = at.checked_sub(1).map(|at| &test.pairs[at]) {
            server["headline"] = pair.headline().into();
            server["answer"] = pair.answer().into();
            server["not_told_because"] = pair.refused.as_ref().map(|why| why.text.clone()).into();
            server["warnings"] = pair.cautions().into();
        }
        server["figures"] = figures_of(&figures, at).into();
        if !operations.is_empty() {
            let operation = |(name, rows): &(&str, Vec<FigureRow<'_>>)| json!({ "name": name, "figures": figures_of(rows, at) });
            server["operations"] = operations.iter().map(operation).collect::<Vec<_>>().into();
        }
        if let Some(candidate) = question.and_then(|question| question.candidates.get(at)) {
            server["cost"] = cost(candidate);
        }
        server
    };
    let mut document = json!({
        "name": test.name,
        "headline": test.headline(target),
        "rate_rps": question.and_then(|question| question.rate_rps),
        "worth": question.map(|question| question.worth()).unwrap_or_default(),
        "asked": first.map(|pair| pair.asked().name()),
        "pairing": first.map(|pair| pair.setup.pairing),
        "plan": plan.map(|plan| crate::json::value(&**plan).unwrap_or_default()),
        "void_blocks": void.iter().map(|(cause, blocks)| json!({
            "cause": cause,
            "blocks": blocks,
        })).collect::<Vec<_>>(),
        "servers": test.sides().enumerate().map(server).collect::<Vec<_>>(),
        "warnings": spoiled(std::slice::from_ref(test)),
    });
    if let Some(table) = test.table() {
        document["table"] = table.into();
    }
    document
}

/// A server of a test, whatever it is compared with.
fn server(side: &Side) -> Value {
    json!({
        "name": side.name,
        "runs": side.runs,
        "limited_by": limited(&side.limits),
        "failed_percent": side.failures.percent(),
        "held_percent": side.held * 100.0,
        "each_run": side.counted().map(each_run).collect::<Vec<_>>(),
    })
}

/// The figures of a server by their names.
fn figures_of(rows: &[FigureRow<'_>], at: usize) -> Map<String, Value> {
    let figures = rows.iter().filter_map(|row| {
        let (mean, values) = row.values().nth(at).flatten()?;
        let mut figure = json!({ "mean": mean, "values": values });
        if let Some((pair, row)) = at.checked_sub(1).and_then(|at| row.others[at])
            && let (Value::Object(figure), Value::Object(ratio)) =
                (&mut figure, ratio(row, pair.refused.is_none()))
        {
            figure.extend(ratio);
        }
        Some((row.metric.name().to_owned(), figure))
    });
    figures.collect()
}

fn ratio(row: &RatioRow, shown: bool) -> Value {
    let interval = row.ratio.interval.filter(|_| shown);
    json!({
        "ratio": shown.then_some(row.ratio.ratio),
        "low": interval.map(|interval| interval.low),
        "high": interval.map(|interval| interval.high),
        "smallest_visible_percent": smallest_visible_percent(row),
        "significant": shown && row.ratio.conclusion() == Conclusion::Differ,
        "conclusion": conclusion(row, shown),
        "is_better": row.b_is_better().filter(|_| shown),
    })
}

/// The target and the costs of a server.
fn cost(candidate: &Candidate) -> Value {
    let mut cost = json!({
        "kept": candidate.kept,
        "why": candidate.why,
        "clauses": candidate.clauses,
        "cores": candidate.cores(),
        "memory_bytes": candidate.memory_bytes,
        "limit_rps": candidate.limit.map(|(limit, _)| limit),
        "limit_limited_by": candidate.limit.map(|(_, by)| by),
        "share_of_limit": candidate.share_of_limit(),
        "found_share": candidate.found,
    });
    for metric in [Throughput, P50, P99, ServerCpu, ClientCpu] {
        cost[metric.name()] = candidate.figures.get(metric).into();
    }
    cost
}

/// Returns the joint result of the rates of one load; the tests have the figures of each rate.
fn curve(curve: &RateCurve<'_>) -> Value {
    let servers = curve.rates.first().map_or(&[][..], |first| &first.candidates);
    let server = |(side, of): (usize, &Candidate)| {
        let knee = curve.knee(side);
        json!({
            "name": of.name,
            "knee_rps": knee.rate_rps,
            "next_rps": knee.next.map(|(rate, _)| rate),
            "next_kept": knee.next.map(|(_, state)| state),
        })
    };
    json!({
        "name": curve.name,
        "rates_rps": curve.rates.iter().map(|question| question.rate_rps).collect::<Vec<_>>(),
        "answer": curve.answer(),
        "worth": curve.worth(),
        "servers": servers.iter().enumerate().map(server).collect::<Vec<_>>(),
    })
}

/// The machine that generated the load, as recorded in the first run.
fn host(tests: &[ComparedTest]) -> Value {
    let mut runs = tests.iter().flat_map(ComparedTest::sides).flat_map(Side::counted);
    let host = runs.next().and_then(|run| run.host.as_ref());
    crate::json::value(&host).unwrap_or_default()
}

/// Returns the time and the result of a run.
fn each_run(run: &Run) -> Value {
    let since = run.measurement.started_at.duration_since(SystemTime::UNIX_EPOCH);
    let summary = Summary::from_run(run);
    json!({
        "started_at_unix_s": since.map_or(0.0, |since| since.as_secs_f64()),
        "elapsed_s": summary.elapsed_s,
        "requests": summary.requests,
        "errors": summary.errors,
        "throughput_rps": summary.throughput_rps,
        "p99_ms": summary.response.p99_ns as f64 / 1e6,
        "limited_by": run.verdict.limited_by,
        "verdict": run.verdict.text,
        "warnings": run.warnings.iter().map(|warning| &warning.text).collect::<Vec<_>>(),
    })
}

fn limited(limits: &Limits) -> Value {
    let mut counts = BTreeMap::<&str, usize>::new();
    for (limit, count) in limits {
        *counts.entry(limit.by.name()).or_default() += count;
    }
    json!(counts)
}

fn watched(figure: &WatchedFigure, percent: f64) -> Value {
    let WatchedFigure { test, names, row } = figure;
    json!({
        "test": test,
        "server": names[1],
        "figure": row.metric.name(),
        "ratio": row.ratio.ratio,
        "smallest_visible_percent": smallest_visible_percent(row),
        "blocks_for_it": row.ratio.count_for(percent / 100.0),
    })
}

fn smallest_visible_percent(row: &RatioRow) -> Option<f64> {
    row.ratio.smallest_visible().map(|share| share * 100.0)
}
