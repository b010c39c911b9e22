//! In what two plans differ.
//!
//! Owns the walk over their data, so that what may add up and what may be compared are told by the
//! same paths. Which differences matter is the caller's to say.

use serde_json::{Map, Value};
use workload::Plan;

use crate::RecordError;

/// One place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// Where in the plan, such as `fleet.pipeline_depth`.
    pub(crate) path: String,
    pub(crate) ours: Value,
    pub(crate) theirs: Value,
}

/// All places where two plans differ, but for those that `passed_over` names with what is below
/// them.
pub(crate) fn differences(
    ours: &Plan,
    theirs: &Plan,
    passed_over: &dyn Fn(&str) -> bool,
) -> Result<Vec<Difference>, RecordError> {
    let as_data =
        |plan: &Plan| serde_json::to_value(plan).map_err(|e| RecordError::wrong(e.to_string()));
    let mut found = Vec::new();
    walk("", &as_data(ours)?, &as_data(theirs)?, passed_over, &mut found);
    Ok(found)
}

fn walk(
    path: &str,
    ours: &Value,
    theirs: &Value,
    passed_over: &dyn Fn(&str) -> bool,
    found: &mut Vec<Difference>,
) {
    if passed_over(path) {
        return;
    }
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let get = |map: &Map<String, Value>, key: &str| map.get(key).cloned();
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let [a, b] = [a, b].map(|map| get(map, key).unwrap_or(Value::Null));
                walk(&below(key), &a, &b, passed_over, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (n, (a, b)) in a.iter().zip(b).enumerate() {
                walk(&below(&n.to_string()), a, b, passed_over, found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            found.push(Difference { path: path.to_owned(), ours: a.clone(), theirs: b.clone() });
        }
    }
}
