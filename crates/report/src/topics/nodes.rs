//! Servers with a part in the load.

use measure::NodeTally;

use crate::document::{Column, Table};
use crate::{LatencyFigures, Metric, escape};

/// A row for each node, latencies in milliseconds, and a caption of redirects; `None` without nodes.
pub fn nodes(nodes: &[&NodeTally]) -> Option<Table> {
    let time = |node: &NodeTally, metric| {
        LatencyFigures::from_latency(&node.response).cells([metric]).concat()
    };
    let columns: [Column<'_, &NodeTally>; 11] = [
        ("node", &|node| escape(&node.name)),
        ("role", &|node| role(node).to_owned()),
        ("slots", &|node| node.slots.to_string()),
        ("requests", &|node| node.requests().to_string()),
        ("avg", &|node| time(node, Metric::Mean)),
        ("p50", &|node| time(node, Metric::P50)),
        ("p99", &|node| time(node, Metric::P99)),
        ("max", &|node| time(node, Metric::Max)),
        ("errors", &|node| node.errors.to_string()),
        ("redirects", &|node| node.redirects().to_string()),
        ("unanswered", &|node| node.unanswered.to_string()),
    ];
    let mut table = Table::of(&columns, nodes.iter().copied());
    // Of servers that know nothing of each other there is no role, and nothing is sent elsewhere.
    if !nodes.iter().any(|node| node.master || node.slots > 0) {
        table = table.without("role").without("slots").without("redirects");
    }
    let sum = |count: fn(&&NodeTally) -> u64| nodes.iter().map(count).sum::<u64>();
    let (moved, asked, retried) = (sum(|n| n.moved), sum(|n| n.asked), sum(|n| n.retried));
    if moved + asked + retried > 0 {
        table.caption = format!("redirects: {moved} MOVED, {asked} ASK, {retried} to try again");
    }
    table.filled()
}

fn role(node: &NodeTally) -> &'static str {
    match (node.master, node.slots) {
        (true, _) => "master",
        (false, 1..) => "replica",
        (false, 0) => "gone",
    }
}
