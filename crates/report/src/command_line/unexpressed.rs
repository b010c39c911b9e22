//! Parts of a plan that no option of keystorm expresses; front ends of other tools set them.

use spec::is_mixed;
use workload::{KeyDist, KeySpace, Plan, secret::HIDDEN};

/// Returns the parts of a plan that its command line leaves out, one sentence each.
#[must_use]
pub fn unexpressed(plan: &Plan) -> Vec<String> {
    let mut unexpressed = unexpressed_beside_a_file(plan);
    if plan.asked.contains_key("workload") {
        return unexpressed;
    }
    if draws_in_different_ways(plan) {
        unexpressed.push("its operations draw their keys in different ways".to_owned());
    }
    if sends_together(plan) {
        unexpressed.push("commands of an operation are sent together".to_owned());
    }
    unexpressed
}

/// Returns the parts of a plan that its command line leaves out if a workload file has the operations.
#[must_use]
pub fn unexpressed_beside_a_file(plan: &Plan) -> Vec<String> {
    let mut unexpressed = Vec::new();
    if plan.target.credentials.is_some() {
        unexpressed.push(format!("its password, which stands here as {HIDDEN}"));
    }
    if plan.target.tls.as_ref().is_some_and(|tls| tls.key_password.is_some()) {
        unexpressed.push(
            "the password of its private key is taken from KEYSTORM_KEY_PASSWORD here".to_owned(),
        );
    }
    if plan.load.pace.schedule().is_some_and(|schedule| !schedule.is_limited()) {
        unexpressed.push("its rate had no limit for a time, here it is 0".to_owned());
    }
    if plan.has_receivers() && !plan.asked.contains_key("delivery") {
        unexpressed.push("its receivers, which were saved without their options".to_owned());
    }
    unexpressed
}

/// Returns whether only a workload file can express the operations.
#[must_use]
pub fn needs_a_file(plan: &Plan) -> bool {
    draws_in_different_ways(plan) || sends_together(plan)
}

/// Returns whether some operation has a key space of its own.
fn draws_in_different_ways(plan: &Plan) -> bool {
    let as_all = |keys: &KeySpace| {
        // A command that inserts a key has a placeholder for that.
        let draw = if keys.draw == KeyDist::INSERT { &plan.data.keys.draw } else { &keys.draw };
        KeySpace { draw: draw.clone(), ..keys.clone() } == plan.data.keys
    };
    plan.key_spaces().any(|(_, keys)| !as_all(keys))
}

/// Returns whether a step of an operation has several commands, which a command line reads as operations.
fn sends_together(plan: &Plan) -> bool {
    let operations = plan.mix.iter().flat_map(|mix| &mix.operations);
    let mut steps = operations.flat_map(|operation| &operation.steps);
    is_mixed(plan) && steps.any(|step| step.commands > 1)
}
