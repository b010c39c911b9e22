//! Filling a server before a test: each command for every key of the plan, or once if it names no key
//! by number.

use wire::Batch;
use wire::memcache::{Binary, Text};
use workload::{CommandSpec, KeyDist, KeySpace, Piece, Plan, PlanParts};

use super::{Dialect, MemcacheClient};

/// Requests that are sent before their replies are read.
const AT_ONCE: u64 = 256;

/// Sends the commands that must come before the test, with the values that its keys have.
///
/// # Errors
/// The server refuses one or does not answer, in words for a person.
pub fn fill(client: &mut MemcacheClient, plan: &Plan) -> Result<(), String> {
    plan.setup.iter().try_for_each(|command| fill_with(client, plan, command))
}

fn fill_with(
    client: &mut MemcacheClient,
    plan: &Plan,
    command: &CommandSpec,
) -> Result<(), String> {
    let mut pieces = command.args.iter().flat_map(|arg| &arg.pieces);
    let by_number = pieces.any(|piece| matches!(piece, Piece::Number(_)));
    let count = plan.keys.range.filter(|_| by_number).unwrap_or(1);
    let keys = KeySpace { draw: KeyDist::SEQUENTIAL, ..plan.keys.clone() };
    let parts = PlanParts { sequence: vec![command.clone()], keys, ..PlanParts::clone(plan) };
    let plan = parts.build().map_err(|error| error.to_string())?;
    let batch = match Dialect::of(plan.protocol) {
        Dialect::Text => Batch::new::<Text>(&plan),
        Dialect::Binary => Batch::new::<Binary>(&plan),
    };
    let name = command.name().to_lowercase();
    let mut request = Vec::new();
    let mut first = 0;
    while first < count {
        let end = count.min(first + AT_ONCE);
        request.clear();
        for number in first..end {
            batch.append(number, 0..1, &mut request);
        }
        let sent = client.send(&name, &request, (end - first) as usize);
        let sent = sent.map_err(|error| error.to_string())?;
        sent.map_err(|error| format!("{error} (in answer to {name}, which the test needs)"))?;
        first = end;
    }
    Ok(())
}
