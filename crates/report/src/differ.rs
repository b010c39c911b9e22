//! Differences between two plans.
//!
//! Owns the walk over their data, so that merging and comparing find differences by the same paths, and the
//! names of the options. The caller decides which differences matter.

use serde_json::{Map, Value};
use spec::LoadSpec;
use spec::write::is_of_target;
use workload::Plan;

use crate::RecordError;

/// Difference between two plans.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// The option as it is typed; without one, the path in the plan.
    pub(crate) what: String,
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

/// Value of an option that a command line lacks.
const NOT_GIVEN: &str = "not given";

/// Data of a plan, without what is specific to a run.
pub(crate) fn load_data(plan: &Plan) -> Result<Value, RecordError> {
    let plan = plan.without_options();
    let plan = plan.of_any_run().map_err(|error| RecordError::wrong(error.to_string()))?;
    crate::json::value(&*plan).map_err(|error| RecordError::wrong(error.to_string()))
}

/// All differences of two plans, except at and below the paths that `passed_over` names.
pub(crate) fn differences(
    ours: &Plan,
    theirs: &Plan,
    passed_over: &dyn Fn(&str) -> bool,
) -> Result<Vec<Difference>, RecordError> {
    let (data, other) = (load_data(ours)?, load_data(theirs)?);
    let mut found = Vec::new();
    walk("", &data, &other, passed_over, &mut found);
    if found.is_empty() {
        return Ok(found);
    }
    // The other plan as far as it matters: options tell what is left.
    let mut other = overlaid("", &data, &other, passed_over);
    other["asked"] = Value::Object(asked_beside(ours, theirs, &found));
    let other = serde_json::from_slice::<Plan>(other.to_string().as_bytes());
    let by_option = other.map(|other| differing_options(ours, &other)).unwrap_or_default();
    Ok(if by_option.is_empty() { found } else { by_option })
}

/// Options that asked for their plan, with ours for the server where all differences of servers are passed over.
fn asked_beside(ours: &Plan, theirs: &Plan, found: &[Difference]) -> Map<String, Value> {
    let mut asked = theirs.asked.clone();
    if !found.iter().any(|one| one.what.starts_with("target.")) {
        asked.retain(|key, _| !is_of_target(key));
        let of_target = ours.asked.iter().filter(|(key, _)| is_of_target(key));
        asked.extend(of_target.map(|(key, value)| (key.clone(), value.clone())));
    }
    asked
}

/// The options of a plan's command line with their values: `given` for an option without a value, and `the command`
/// for the commands.
pub(crate) fn options_of(plan: &Plan) -> Vec<(String, String)> {
    let printed = LoadSpec::of_plan(plan).given().unwrap_or_default().into_iter();
    let mut options: Vec<(String, String)> = printed
        .map(|option| {
            let value = option.argument();
            (option.name(), if value.is_empty() { "given".to_owned() } else { value })
        })
        .collect();
    if let Some(recorded) = &plan.recorded {
        options.push(("replay".to_owned(), recorded.source.clone()));
        options.push(("--speed".to_owned(), recorded.speed.to_string()));
    }
    options
}

/// Options in which two plans differ.
fn differing_options(ours: &Plan, theirs: &Plan) -> Vec<Difference> {
    let (ours, theirs) = (options_of(ours), options_of(theirs));
    let value = |of: &[(String, String)], option: &str| {
        let found = of.iter().find(|(known, _)| known == option);
        found.map_or_else(|| NOT_GIVEN.to_owned(), |(_, value)| value.clone())
    };
    let all = ours
        .iter()
        .chain(theirs.iter().filter(|(option, _)| !ours.iter().any(|(known, _)| known == option)));
    all.map(|(option, _)| Difference {
        what: option.clone(),
        ours: value(&ours, option),
        theirs: value(&theirs, option),
    })
    .filter(|one| one.ours != one.theirs)
    .collect()
}

/// A path below another, such as `fleet.pipeline_depth`.
fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns whether these are two variants of an enum, so that nothing in them corresponds.
fn are_other_variants(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == 1 && b.len() == 1 && !a.keys().eq(b.keys())
}

/// Their data, with ours at the ignored paths.
fn overlaid(path: &str, ours: &Value, theirs: &Value, passed_over: &dyn Fn(&str) -> bool) -> Value {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) if !are_other_variants(a, b) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            let differences = keys.filter_map(|key| {
                let path = below(path, key);
                let value = match (a.get(key), b.get(key)) {
                    (ours, _) if passed_over(&path) => ours.cloned(),
                    (Some(ours), Some(theirs)) => Some(overlaid(&path, ours, theirs, passed_over)),
                    (_, theirs) => theirs.cloned(),
                };
                value.map(|value| (key.clone(), value))
            });
            Value::Object(differences.collect())
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            let differences =
                pairs.map(|(n, (a, b))| overlaid(&below(path, &n.to_string()), a, b, passed_over));
            Value::Array(differences.collect())
        }
        _ => theirs.clone(),
    }
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
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let [a, b] = [a, b].map(|map| map.get(key).cloned().unwrap_or(Value::Null));
                walk(&below(path, key), &a, &b, passed_over, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (n, (a, b)) in a.iter().zip(b).enumerate() {
                walk(&below(path, &n.to_string()), a, b, passed_over, found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let (ours, theirs) = (a.to_string(), b.to_string());
            found.push(Difference { what: path.to_owned(), ours, theirs });
        }
    }
}
