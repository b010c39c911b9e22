//! How many connections a run had.

use measure::Measurement;
use workload::Plan;

/// Connections that carried the load: those of the plan, or of each of its clients one to every node that
/// got some.
pub(crate) fn count(plan: &Plan, measurement: &Measurement) -> u64 {
    let nodes = if plan.target.has_clients() {
        measurement.nodes.iter().filter(|node| node.used).count().max(1)
    } else {
        1
    };
    u64::from(plan.own_connections()).saturating_mul(nodes as u64)
}
