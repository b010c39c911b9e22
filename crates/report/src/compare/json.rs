//! The comparison as the document `keystorm.compare/1`, fixed by
//! `docs/schema/keystorm.compare.1.json`.

use serde_json::{Map, Value, json};
use statistics::Conclusion;

use super::csv::conclusion;
use super::text::warning;
use super::{
    Comparison, Limits, OperationComparison, Regression, Row, SCHEMA, Subject, Table, Terms,
    TestComparison,
};
use crate::RecordError;
use crate::record::steady;

/// The text of the document, with a line end behind it.
///
/// # Errors
/// A figure has no JSON.
pub fn to_json(comparison: &Comparison) -> Result<String, RecordError> {
    let Comparison {
        subjects: [a, b],
        how,
        complete,
        tests,
        warnings,
        threshold,
        errors_allowed,
        terms,
    } = comparison;
    let mut document = json!({
        "schema": SCHEMA,
        "keystorm": env!("CARGO_PKG_VERSION"),
        "complete": complete,
        "a": a,
        "b": b,
        "how": how,
        "tests": tests.iter().map(test).collect::<Vec<_>>(),
        "warnings": warnings,
        "errors_allowed_percent": errors_allowed,
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
    if let (Some(terms), Value::Object(document)) = (terms, &mut document) {
        document.insert("terms".to_owned(), terms_of(terms));
    }
    let text = serde_json::to_string_pretty(&document);
    Ok(steady(&text.map_err(|e| RecordError::wrong(e.to_string()))?) + "\n")
}

fn terms_of(terms: &Terms) -> Value {
    let equal: Map<String, Value> =
        terms.equal.iter().map(|(name, text)| (name.clone(), text.clone().into())).collect();
    let table = |table: &Table| {
        let Table { kind, title, text, subjects: [a, b] } = table;
        json!({ "kind": kind, "title": title, "text": text, "a": subject(a), "b": subject(b) })
    };
    let tables: Vec<Value> = terms.tables.iter().map(table).collect();
    json!({ "equal": equal, "left_out": terms.left_out, "tables": tables })
}

/// Settings are an object, by name.
fn subject(subject: &Subject) -> Value {
    let mut value = json!(subject);
    if let Value::Object(fields) = &mut value {
        let settings = subject.settings.iter();
        let settings: Map<String, Value> =
            settings.map(|(name, value)| (name.clone(), value.clone().into())).collect();
        fields.insert("settings".to_owned(), settings.into());
    }
    value
}

fn test(test: &TestComparison) -> Value {
    let TestComparison { name, setup, runs, rows, limits: [a, b], warnings, spoiled, .. } = test;
    let told = test.refused.is_none();
    let [failed_a, failed_b] = &test.failures;
    let warnings: Vec<String> = warnings
        .iter()
        .map(ToString::to_string)
        .chain(spoiled.iter().map(|s| warning(s, *runs)))
        .collect();
    let figures = |rows: &[Row]| -> Map<String, Value> {
        rows.iter().map(|row| (row.metric.name().to_owned(), figure(row, told))).collect()
    };
    let mut document = json!({
        "name": name,
        "pairing": setup.pairing,
        "runs": { "a": runs[0], "b": runs[1] },
        "figures": figures(rows),
        "limited_by": { "a": limited(a), "b": limited(b) },
        "failed_percent": { "a": failed_a.percent(), "b": failed_b.percent() },
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

fn figure(row: &Row, told: bool) -> Value {
    let Row { values: [of_a, of_b], means: [a, b], ratio, .. } = row;
    let interval = row.interval().filter(|_| told);
    json!({
        "a": a,
        "b": b,
        "a_values": of_a,
        "b_values": of_b,
        "ratio": told.then_some(ratio.ratio),
        "low": interval.map(|interval| interval.low),
        "high": interval.map(|interval| interval.high),
        "significant": told && ratio.conclusion() == Conclusion::Differ,
        "conclusion": conclusion(row, told),
        "b_is_better": row.b_is_better().filter(|_| told),
    })
}

fn limited(limits: &Limits) -> Value {
    let counts = limits.iter().map(|(limit, count)| (limit.name().to_owned(), Value::from(*count)));
    Value::Object(counts.collect())
}

fn regression(regression: &Regression) -> Value {
    let Regression { test, metric, ratio } = regression;
    json!({ "test": test, "figure": metric.name(), "ratio": ratio })
}
