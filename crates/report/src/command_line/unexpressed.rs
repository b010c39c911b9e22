//! Parts of a plan that no option of keystorm expresses; front ends of other tools set them.

use spec::is_mixed;
use workload::argument::TAG_PLACEHOLDER;
use workload::{KeyDist, KeySpace, Piece, Plan, secret::HIDDEN};

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
    if has_semicolons(plan) {
        unexpressed.push("a semicolon in it is no separator".to_owned());
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
    unexpressed.extend(of_bytes(plan).map(str::to_owned));
    unexpressed
}

/// Returns whether only a workload file can express the operations.
#[must_use]
pub fn needs_a_file(plan: &Plan) -> bool {
    draws_in_different_ways(plan) || sends_together(plan) || has_semicolons(plan)
}

/// Returns whether some operation has a key space of its own.
fn draws_in_different_ways(plan: &Plan) -> bool {
    let as_all = |keys: &KeySpace| match keys.draw == KeyDist::INSERT {
        // Where a key is inserted, its command says so.
        true => KeySpace { draw: plan.data.keys.draw.clone(), ..keys.clone() } == plan.data.keys,
        false => *keys == plan.data.keys,
    };
    plan.key_spaces().any(|(_, keys)| !as_all(keys))
}

/// Returns whether a step of an operation has several commands, which a command line reads as operations.
fn sends_together(plan: &Plan) -> bool {
    let operations = plan.mix.iter().flat_map(|mix| &mix.operations);
    let mut steps = operations.flat_map(|operation| &operation.steps);
    is_mixed(plan) && steps.any(|step| step.commands > 1)
}

/// Returns whether a word of a command would be read as a separator of commands.
fn has_semicolons(plan: &Plan) -> bool {
    let begins = |piece: &Piece| matches!(piece, Piece::Bytes(bytes) if bytes.starts_with(b";"));
    let mut words = plan.sequence.iter().flat_map(|command| &command.args);
    words.any(|word| word.pieces.first().is_some_and(begins))
}

/// Returns the reason why bytes of its commands differ from their text.
fn of_bytes(plan: &Plan) -> Option<&'static str> {
    let pieces = || {
        plan.pieces().filter_map(|piece| match piece {
            Piece::Bytes(bytes) => Some(bytes),
            _ => None,
        })
    };
    let is_text = |bytes: &Vec<u8>| std::str::from_utf8(bytes).is_ok_and(|t| !t.contains('\0'));
    if !pieces().all(is_text) {
        return Some("some of its bytes are not text");
    }
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|there| there == part);
    let tags = plan.target.is_cluster();
    let is_placeholder = |bytes: &Vec<u8>| {
        let begin = bytes.windows(2).position(|there| there == b"__");
        begin.is_some_and(|at| has(&bytes[at + 2..], b"__")) || tags && has(bytes, TAG_PLACEHOLDER)
    };
    let what = "some of its text looks like a placeholder, which keystorm would replace";
    pieces().any(is_placeholder).then_some(what)
}
