//! The topologies that specs name, started: one server, with I/O threads, with a replica, or a cluster.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use host::{Client, Transport};
use wire::resp::Value;
use workload::{ClusterOptions, Endpoint, Plan, Target};

use super::full_sync::is_linked;
use crate::test_bed::TestBed;

/// How long servers may take to find each other.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The bus of a node is at its port and 10,000, which not every free port has room for.
const BUS: u16 = 10_000;
const TRIES: u32 = 8;
const SLOTS: u32 = 16_384;
const NODES_MAX: u32 = 16;

/// A topology by its name in specs: `oss-standalone-04-io-threads`, `oss-cluster-3-primaries`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Topology {
    /// Arguments of every server.
    pub(super) args: Vec<String>,
    /// Primaries of a cluster; 0 without one.
    pub(super) primaries: u32,
    /// Whether the server has a replica.
    pub(super) replica: bool,
}

impl Topology {
    /// Reads a name.
    ///
    /// # Errors
    /// Nothing is known by that name; what is not, in words for a person.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let words: Vec<&str> = name.split('-').collect();
        let number = |before: &str| {
            let at = words.iter().position(|word| word.starts_with(before))?;
            words.get(at.checked_sub(1)?)?.parse::<u32>().ok()
        };
        let mut topology = Self::default();
        if let Some(threads) = number("io").filter(|_| name.contains("io-threads")) {
            let args = ["--io-threads", &threads.to_string(), "--io-threads-do-reads", "yes"];
            topology.args.extend(args.map(str::to_owned));
        }
        if name.contains("aof-everysec") || name.contains("aof-always") {
            let when = if name.contains("always") { "always" } else { "everysec" };
            topology.args.extend(["--appendonly", "yes", "--appendfsync", when].map(str::to_owned));
        }
        if name.contains("cluster") {
            topology.primaries =
                number("primar").filter(|count| (1..=NODES_MAX).contains(count)).unwrap_or(3);
            topology.args.extend(["--cluster-enabled", "yes"].map(str::to_owned));
        }
        topology.replica = name.contains("replica") && topology.primaries == 0;
        match name.starts_with("oss-") {
            true => Ok(topology),
            false => Err(format!("the topology {name} is not one that keystorm starts")),
        }
    }
}

/// The target with these arguments for the server that is started.
pub(super) fn with_args(target: &Target, more: &[String]) -> Target {
    let mut target = target.clone();
    if let Endpoint::Spawned { args, .. } = &mut target.endpoint {
        // Those of the user come last and win.
        args.splice(0..0, more.iter().cloned());
    }
    target
}

/// Starts a cluster of so many primaries, each with its share of the slots. The test bed of its first node, for all
/// of them, stands first.
pub(super) fn cluster<'r>(
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

/// A node whose bus has a port.
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

/// Starts a server that will be a replica.
pub(super) fn replica<'r>(
    plan: &Plan,
    started: &Target,
    interrupted: &'r AtomicBool,
) -> Result<TestBed<'r>> {
    TestBed::reach(started, plan.protocol, 8, None, interrupted).context("starting a replica")
}

/// Attaches it to its primary; it may not have its data yet.
pub(super) fn follow(replica: &TestBed<'_>, target: &Target, primary: &TestBed<'_>) -> Result<()> {
    let host::Address::Tcp(primary) = primary.server.address else {
        bail!("a replica needs a primary with a port, and not a unix socket")
    };
    let port = primary.port().to_string();
    let ask: [&[u8]; 3] = [b"REPLICAOF", b"127.0.0.1", port.as_bytes()];
    match replica.server.client(target)?.ask(&ask)? {
        Value::Error(text) => bail!("REPLICAOF: {}", String::from_utf8_lossy(&text)),
        _ => Ok(()),
    }
}

/// Waits until a replica has what its primary has.
pub(super) fn linked(
    replica: &TestBed<'_>,
    target: &Target,
    interrupted: &AtomicBool,
) -> Result<()> {
    let mut client: Client<Transport> = replica.server.client(target)?;
    until("the replica", interrupted, || {
        is_linked(&mut client).ok_or_else(|| anyhow!("a replica does not answer"))
    })
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
        let of = |name: &str| Topology::parse(name).unwrap();
        assert_eq!(of("oss-standalone"), Topology::default());
        assert_eq!(of("oss-standalone-04-io-threads").args[..2], ["--io-threads", "4"]);
        assert_eq!(of("oss-cluster-3-primaries").primaries, 3);
        assert!(of("oss-standalone-1-replica").replica && !of("oss-cluster-3-primaries").replica);
        assert!(Topology::parse("dragonfly-standalone").is_err());
    }
}
