//! The comparison as the document `keystorm.compare/1`, fixed by
//! `docs/schema/keystorm.compare.1.json`.

use serde_json::{Map, Value, json};
use statistics::Conclusion;

use super::csv::conclusion;
use super::text::warning;
use super::{Comparison, Limits, Regression, Row, SCHEMA, TestComparison, word};
use crate::RecordError;
use crate::record::steady;

/// The text of the document, with a line end behind it.
///
/// # Errors
/// A figure has no JSON.
pub fn to_json(comparison: &Comparison) -> Result<String, RecordError> {
    let Comparison { subjects: [a, b], how, complete, tests, warnings, threshold } = comparison;
    let document = json!({
        "schema": SCHEMA,
        "keystorm": env!("CARGO_PKG_VERSION"),
        "complete": complete,
        "a": a,
        "b": b,
        "how": how,
        "tests": tests.iter().map(test).collect::<Vec<_>>(),
        "warnings": warnings,
        "regression": threshold.map(|percent| {
            let regressions = comparison.regressions(percent);
            let list = |of: &[Regression]| of.iter().map(regression).collect::<Vec<_>>();
            json!({
                "allowed_percent": percent,
                "found": list(&regressions.found),
                "not_excluded": list(&regressions.possible),
                "not_known": list(&regressions.unknown),
            })
        }),
    });
    let text = serde_json::to_string_pretty(&document);
    Ok(steady(&text.map_err(|e| RecordError::wrong(e.to_string()))?) + "\n")
}

fn test(test: &TestComparison) -> Value {
    let TestComparison { name, pairing, runs, rows, limits: [a, b], warnings, spoiled, .. } = test;
    let warnings: Vec<String> =
        warnings.iter().cloned().chain(spoiled.iter().map(|s| warning(s, *runs))).collect();
    let figures: Map<String, Value> =
        rows.iter().map(|row| (row.metric.name().to_owned(), figure(row))).collect();
    json!({
        "name": name,
        "pairing": pairing,
        "runs": { "a": runs[0], "b": runs[1] },
        "figures": figures,
        "limited_by": { "a": limited(a), "b": limited(b) },
        "warnings": warnings,
    })
}

fn figure(row: &Row) -> Value {
    let Row { values: [of_a, of_b], means: [a, b], ratio, .. } = row;
    let interval = row.interval();
    json!({
        "a": a,
        "b": b,
        "a_values": of_a,
        "b_values": of_b,
        "ratio": ratio.ratio,
        "low": interval.map(|interval| interval.low),
        "high": interval.map(|interval| interval.high),
        "significant": ratio.conclusion() == Conclusion::Differ,
        "conclusion": conclusion(row),
        "b_is_better": row.b_is_better(),
    })
}

fn limited(limits: &Limits) -> Value {
    let counts = limits.iter().map(|(limit, count)| (word(*limit), Value::from(*count)));
    Value::Object(counts.collect())
}

fn regression(regression: &Regression) -> Value {
    let Regression { test, metric, ratio } = regression;
    json!({ "test": test, "figure": metric.name(), "ratio": ratio })
}
