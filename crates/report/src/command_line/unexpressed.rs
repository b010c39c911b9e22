//! Parts of a plan that no option of keystorm expresses; front ends of other tools set them.

use spec::LoadSpec;
use workload::{Plan, secret::HIDDEN};

/// Returns the parts of a plan that its command line leaves out, one sentence each.
#[must_use]
pub fn unexpressed(plan: &Plan) -> Vec<String> {
    let mut unexpressed = unexpressed_beside_a_file(plan);
    if plan.asked.contains_key("workload") {
        return unexpressed;
    }
    let Some(load) = LoadSpec::of_plan(plan).given else { return unexpressed };
    if load.draws_in_different_ways() {
        unexpressed.push("its operations draw their keys in different ways".to_owned());
    }
    if load.sends_together() {
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
