//! The cluster of a suite that starts its servers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use wire::resp::Value;
use workload::{ClusterOptions, Endpoint, Plan, Target};

use crate::test_bed::TestBed;

/// Time limit for servers to find each other.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Distance from the port of a node to the port of its bus, which must exist as well.
const BUS: u16 = 10_000;
const TRIES: u32 = 8;
const SLOTS: u32 = 16_384;
const NODES_MAX: u32 = 16;
/// The topology of a server alone.
pub(super) const STANDALONE: &str = "oss-standalone";

/// Returns the number of primaries in the name of a topology, such as `oss-cluster-3-primaries`. 0 for a
/// single server; `None` for a topology that a suite does not start.
pub(super) fn primaries(topology: &str) -> Option<u32> {
    if topology == STANDALONE {
        return Some(0);
    }
    let count = topology.strip_prefix("oss-cluster-")?.strip_suffix("-primaries")?.parse().ok()?;
    (1..=NODES_MAX).contains(&count).then_some(count)
}

/// Starts a cluster of this many primaries, each with its share of the slots. The first test bed is that of
/// the first node, for the whole cluster.
pub(super) fn start<'r>(
    plan: &Plan,
    target: &Target,
    primaries: u32,
    interrupted: &'r AtomicBool,
) -> Result<(Vec<TestBed<'r>>, Target)> {
    let mut nodes: Vec<(TestBed<'r>, u16)> = Vec::new();
    for _ in 0..primaries {
        nodes.push(node(plan, target, interrupted)?);
    }
    let ask = |bed: &TestBed<'_>, words: &[&str]| -> Result<Value> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        match bed.server.client(target)?.ask(&words)? {
            Value::Error(text) => {
                bail!("a node of the cluster: {}", String::from_utf8_lossy(&text))
            }
            reply => Ok(reply),
        }
    };
    for (number, (bed, _)) in (0..).zip(&nodes) {
        let first = SLOTS * number / primaries;
        let end = SLOTS * (number + 1) / primaries;
        let slots: Vec<String> = (first..end).map(|slot| slot.to_string()).collect();
        let words: Vec<&str> =
            ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str)).collect();
        ask(bed, &words)?;
    }
    for (_, port) in &nodes[1..] {
        ask(&nodes[0].0, &["CLUSTER", "MEET", "127.0.0.1", &port.to_string()])?;
    }
    for (bed, _) in &nodes {
        let known = format!("cluster_known_nodes:{primaries}");
        until(&format!("a cluster of {primaries}"), interrupted, || {
            let info = ask(bed, &["CLUSTER", "INFO"])?.text().unwrap_or_default();
            Ok(info.contains("cluster_state:ok") && info.contains(&known))
        })?;
    }
    let endpoint = Endpoint::Tcp { host: "127.0.0.1".to_owned(), port: nodes[0].1 };
    let reached = Target { endpoint, cluster: Some(ClusterOptions::default()), ..target.clone() };
    let bed = TestBed::reach(&reached, plan.protocol, plan.own_connections(), None, interrupted)?;
    let nodes = nodes.into_iter().map(|(bed, _)| bed);
    Ok((std::iter::once(bed).chain(nodes).collect(), reached))
}

/// Starts a node on a port that leaves room for its bus.
fn node<'r>(
    plan: &Plan,
    target: &Target,
    interrupted: &'r AtomicBool,
) -> Result<(TestBed<'r>, u16)> {
    let mut last = None;
    for _ in 0..TRIES {
        let reached =
            TestBed::reach(target, plan.protocol, plan.own_connections(), None, interrupted);
        match reached {
            Ok(bed) => match &bed.server.address {
                host::Address::Tcp(address) if address.port() <= u16::MAX - BUS => {
                    let port = address.port();
                    return Ok((bed, port));
                }
                address => last = Some(anyhow!("{address} leaves no port for the cluster's bus")),
            },
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| anyhow!("no node was started"))).context("starting a cluster")
}

fn until(
    what: &str,
    interrupted: &AtomicBool,
    mut holds: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while !holds()? {
        if Instant::now() >= end || interrupted.load(Ordering::Relaxed) {
            bail!("{what} was not ready within {} s", PATIENCE.as_secs());
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_started() {
        assert_eq!(primaries("oss-standalone"), Some(0));
        assert_eq!(primaries("oss-cluster-3-primaries"), Some(3));
        for other in ["oss-standalone-04-io-threads", "oss-cluster-0-primaries", "dragonfly"] {
            assert_eq!(primaries(other), None, "{other}");
        }
    }
}
