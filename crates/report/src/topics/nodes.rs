//! Servers with a part in the load.

use crate::document::Table;
use crate::metric::COLUMNS;
use crate::{Metric, NodeFigures};

/// A row for each node, latencies in milliseconds, and a caption of redirects; `None` without nodes.
pub fn nodes(nodes: &[NodeFigures]) -> Option<Table> {
    // Of servers that know nothing of each other there is no role, and nothing is sent elsewhere.
    let clustered = nodes.iter().any(|node| node.master || node.slots > 0);
    let shown = |column: &str| clustered || !["role", "slots", "redirects"].contains(&column);
    let latencies = [Metric::Mean, Metric::P50, Metric::P99, Metric::Max].map(Metric::bare_label);
    let columns = ["node", "role", "slots", "requests"].into_iter().chain(latencies);
    let columns: Vec<&str> = columns.chain(["errors", "redirects", "unanswered"]).collect();
    let mut table = Table::new(columns.iter().copied().filter(|column| shown(column)));
    for node in nodes {
        let [avg, _, p50, _, p99, max] = node.response.cells(COLUMNS);
        let role = match (node.master, node.slots) {
            (true, _) => "master",
            (false, 1..) => "replica",
            (false, 0) => "gone",
        };
        let [slots, requests, errors, redirects, unanswered] =
            [u64::from(node.slots), node.requests, node.errors, node.redirects(), node.unanswered]
                .map(|count| count.to_string());
        let (name, role) = (node.name.clone(), role.to_owned());
        let cells =
            [name, role, slots, requests, avg, p50, p99, max, errors, redirects, unanswered];
        table.row(
            columns.iter().zip(cells).filter(|(column, _)| shown(column)).map(|(_, cell)| cell),
        );
    }
    let sum = |count: fn(&NodeFigures) -> u64| nodes.iter().map(count).sum::<u64>();
    let (moved, asked, retried) = (sum(|n| n.moved), sum(|n| n.asked), sum(|n| n.retried));
    if moved + asked + retried > 0 {
        table.caption = format!("redirects: {moved} MOVED, {asked} ASK, {retried} to try again");
    }
    (!nodes.is_empty()).then_some(table)
}
