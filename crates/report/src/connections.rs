//! Number of a run's connections.

use measure::Measurement;
use workload::Plan;

/// Connections that carried the load: the plan's, or one from each of its clients to every node that got
/// load.
pub(crate) fn count(plan: &Plan, measurement: &Measurement) -> u64 {
    let nodes = if plan.target.has_clients() {
        measurement.nodes.iter().filter(|node| node.used).count().max(1)
    } else {
        1
    };
    u64::from(plan.own_connections()).saturating_mul(nodes as u64)
}
