//! The comparison as the document `keystorm.compare/1`, fixed by
//! `docs/schema/keystorm.compare.1.json`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use statistics::Conclusion;

use super::csv::conclusion;
use super::text::warning;
use super::{
    Comparison, Limits, OperationComparison, Regression, Row, SCHEMA, Subject, Table, Terms,
    TestComparison, notes,
};
use crate::record::steady;
use crate::{Run, Summary};

/// The text of the document, with a line end behind it.
///
/// # Errors
/// A figure has no JSON.
pub fn to_json(comparison: &Comparison) -> serde_json::Result<String> {
    Ok(steady(&crate::json::pretty(&document(comparison))?) + "\n")
}

/// The document.
#[must_use]
pub fn document(comparison: &Comparison) -> Value {
    let Comparison {
        subjects: [a, b],
        how,
        command_line,
        complete,
        tests,
        warnings,
        threshold,
        errors_allowed,
        looks: _,
        watched,
        terms,
        replayed,
    } = comparison;
    let mut document = json!({
        "schema": SCHEMA,
        "keystorm": env!("CARGO_PKG_VERSION"),
        "complete": complete,
        "a": subject_value(a),
        "b": subject_value(b),
        "differing_settings": comparison.differing_settings(),
        "how": how,
        "command_line": command_line,
        "host": host(tests),
        "tests": tests.iter().map(test).collect::<Vec<_>>(),
        "warnings": warnings,
        "errors_allowed_percent": errors_allowed,
        "regression": threshold.zip(comparison.gate()).map(|(percent, gate)| {
            let list = |of: &[Regression]| of.iter().map(regression).collect::<Vec<_>>();
            json!({
                "allowed_percent": percent,
                "figures": watched.iter().map(|metric| metric.name()).collect::<Vec<_>>(),
                "state": gate.state,
                "told": notes(comparison),
                "found": list(&gate.found),
                "not_excluded": list(&gate.possible),
                "not_known": list(&gate.unknown),
                "not_measured": gate.missing.iter().map(|(test, metric)| json!({
                    "test": test,
                    "figure": metric.name(),
                })).collect::<Vec<_>>(),
            })
        }),
    });
    if let (Some(terms), Value::Object(document)) = (terms, &mut document) {
        document.insert("terms".to_owned(), terms_of(terms));
    }
    if let (Some(replayed), Value::Object(document)) = (replayed, &mut document) {
        let replayed = crate::json::value(replayed).unwrap_or_default();
        document.insert("replayed".to_owned(), replayed);
    }
    document
}

fn terms_of(terms: &Terms) -> Value {
    let equal: Map<String, Value> =
        terms.equal.iter().map(|(name, text)| (name.to_string(), text.clone().into())).collect();
    let table = |table: &Table| {
        let Table { kind, title, text, subjects: [a, b] } = table;
        json!({ "kind": kind, "title": title, "text": text, "a": subject_value(a), "b": subject_value(b) })
    };
    let tables: Vec<Value> = terms.tables.iter().map(table).collect();
    json!({ "equal": equal, "left_out": terms.left_out, "tables": tables })
}

/// Settings are an object, by name.
#[must_use]
pub fn subject_value(subject: &Subject) -> Value {
    let mut value = crate::json::value(subject).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        let settings = subject.settings.iter();
        let settings: Map<String, Value> =
            settings.map(|(name, value)| (name.to_string(), value.clone().into())).collect();
        fields.insert("settings".to_owned(), settings.into());
    }
    value
}

fn test(test: &TestComparison) -> Value {
    let TestComparison { name, setup, runs, rows, limits: [a, b], spoiled, .. } = test;
    let is_judged = test.refused.is_none();
    let [failed_a, failed_b] = &test.failures;
    let warnings: Vec<String> = test
        .cautions()
        .into_iter()
        .chain(spoiled.iter().map(|s| warning(s, &setup.names, *runs)))
        .collect();
    let figures = |rows: &[Row]| {
        rows.iter()
            .map(|row| (row.metric.name().to_owned(), figure(row, is_judged)))
            .collect::<Map<_, _>>()
    };
    let mut document = json!({
        "name": name,
        "headline": test.headline(),
        "answer": test.answer(),
        "asked": test.asked().name(),
        "pairing": setup.pairing,
        "runs": { "a": runs[0], "b": runs[1] },
        "figures": figures(rows),
        "limited_by": { "a": limited(a), "b": limited(b) },
        "plan": test.counted.iter().flatten().next().map(|run| crate::json::value(&*run.plan).unwrap_or_default()),
        "each_run": { "a": each_run(&test.counted[0]), "b": each_run(&test.counted[1]) },
        "void_blocks": test.void.iter().map(|(cause, blocks)| json!({
            "cause": cause,
            "blocks": blocks,
        })).collect::<Vec<_>>(),
        "failed_percent": { "a": failed_a.percent(), "b": failed_b.percent() },
        "held_percent": { "a": test.held[0] * 100.0, "b": test.held[1] * 100.0 },
        "not_told_because": test.refused.as_ref().map(|refused| &refused.text),
        "warnings": warnings,
    });
    if let (false, Value::Object(fields)) = (test.operations.is_empty(), &mut document) {
        let operation =
            |of: &OperationComparison| json!({ "name": of.name, "figures": figures(&of.rows) });
        let operations: Vec<Value> = test.operations.iter().map(operation).collect();
        fields.insert("operations".to_owned(), operations.into());
    }
    if let (Some(table), Value::Object(fields)) = (test.table, &mut document) {
        let [a, b] = test.hit_ratios;
        fields.insert("table".to_owned(), table.into());
        fields.insert("hit_percent".to_owned(), json!({ "a": a, "b": b }));
    }
    document
}

/// The machine that put on the load, as the first run knows it.
fn host(tests: &[TestComparison]) -> Value {
    let first = tests.iter().flat_map(|test| test.counted.iter().flatten()).next();
    let host = first.and_then(|run| run.host.as_ref());
    crate::json::value(&host).unwrap_or_default()
}

/// Returns the time and the result of each run.
fn each_run(runs: &[Arc<Run>]) -> Vec<Value> {
    let seconds = |run: &Run| {
        let since = run.measurement.started_at.duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0.0, |since| since.as_secs_f64())
    };
    let value = |run: &Arc<Run>| {
        let summary = Summary::from_run(run);
        json!({
            "started_at_unix_s": seconds(run),
            "elapsed_s": summary.elapsed_s,
            "requests": summary.requests,
            "errors": summary.errors,
            "throughput_rps": summary.throughput_rps,
            "p99_ms": summary.response.p99_ns as f64 / 1e6,
            "limited_by": run.verdict.limited_by,
            "verdict": run.verdict.text,
            "warnings": run.warnings.iter().map(|warning| &warning.text).collect::<Vec<_>>(),
        })
    };
    runs.iter().map(value).collect()
}

fn figure(row: &Row, shown: bool) -> Value {
    let Row { values: [of_a, of_b], means: [a, b], ratio, .. } = row;
    let interval = row.ratio.interval.filter(|_| shown);
    json!({
        "a": a,
        "b": b,
        "a_values": of_a,
        "b_values": of_b,
        "ratio": shown.then_some(ratio.ratio),
        "low": interval.map(|interval| interval.low),
        "high": interval.map(|interval| interval.high),
        "smallest_visible_percent": row.ratio.smallest_visible().map(|share| share * 100.0),
        "significant": shown && ratio.conclusion() == Conclusion::Differ,
        "conclusion": conclusion(row, shown),
        "b_is_better": row.b_is_better().filter(|_| shown),
    })
}

fn limited(limits: &Limits) -> Value {
    let mut counts = BTreeMap::<&str, usize>::new();
    for (limit, count) in limits {
        *counts.entry(limit.by.name()).or_default() += count;
    }
    json!(counts)
}

fn regression(regression: &Regression) -> Value {
    let Regression { test, metric, ratio, blocks_for_it, smallest_visible, .. } = regression;
    json!({
        "test": test,
        "figure": metric.name(),
        "ratio": ratio,
        "smallest_visible_percent": smallest_visible.map(|share| share * 100.0),
        "blocks_for_it": blocks_for_it,
    })
}
