//! The act that migrates slots: key by key, which every version of a cluster supports, to another primary and
//! back.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result, anyhow, bail};
use host::{Address, Client, Transport};
use wire::resp::Value;
use workload::Credentials;

/// Number of keys per MIGRATE.
const KEYS: &str = "100";
/// Time limit of MIGRATE, in milliseconds.
const MIGRATE_MS: &str = "10000";

/// A primary of a cluster, and a connection to it.
pub(super) struct Node {
    id: String,
    address: SocketAddr,
    client: Client<Transport>,
}

/// A primary in a line of CLUSTER NODES.
#[derive(Debug, PartialEq, Eq)]
struct ListedNode {
    id: String,
    address: SocketAddr,
    is_asked: bool,
    slots: Vec<u16>,
}

impl Node {
    fn ask(&mut self, words: &[&[u8]]) -> Result<Value> {
        match self.client.ask(words)? {
            Value::Error(text) => {
                bail!("{}: {}", self.address, report::escape(text))
            }
            value => Ok(value),
        }
    }

    /// Sets the state of a slot (`IMPORTING`, `MIGRATING` or `NODE`), and the node that the state refers to.
    fn set_slot(&mut self, slot: &str, state: &str, node_id: &str) -> Result<()> {
        let words = ["CLUSTER", "SETSLOT", slot, state, node_id];
        self.ask(&words.map(str::as_bytes)).map(drop)
    }
}

/// Moves the first `count` slots of the connected node to another primary, and back. Slots that were moved
/// come back in any case, also after a request to stop.
///
/// # Errors
/// Returns an error if the cluster has no other primary, or a node refuses.
pub(super) fn there_and_back(
    count: u16,
    credentials: Option<&Credentials>,
    mut asked: Client<Transport>,
    connect: impl Fn(&Address) -> Result<Client<Transport>>,
    stopped: &dyn Fn() -> bool,
) -> Result<()> {
    let text = match asked.ask(&[b"CLUSTER", b"NODES"])? {
        Value::Error(text) => bail!("{}", report::escape(text)),
        value => value.text().unwrap_or_default(),
    };
    let lines: Vec<ListedNode> = text.lines().filter_map(primary).collect();
    let own = lines.iter().find(|line| line.is_asked).context("this node owns no slots")?;
    let other = lines.iter().find(|line| !line.is_asked);
    let other = other.ok_or_else(|| anyhow!("the cluster has no other primary"))?;
    let node =
        |line: &ListedNode, client| Node { id: line.id.clone(), address: line.address, client };
    let mut here = node(own, asked);
    let mut there = node(other, connect(&Address::Tcp(other.address))?);
    let (mut moved, mut ended) = (Vec::new(), Ok(()));
    for slot in own.slots.iter().take(usize::from(count)).map(u16::to_string) {
        if stopped() {
            break;
        }
        if let Err(error) = migrate(&mut here, &mut there, &slot, credentials) {
            ended = Err(match give_up(&mut here, &mut there, &slot, credentials) {
                Ok(()) => error,
                Err(why) => error.context(format!("slot {slot} is half moved ({why:#})")),
            });
            break;
        }
        moved.push(slot);
    }
    for slot in moved {
        let back = migrate(&mut there, &mut here, &slot, credentials);
        ended = ended.and(back.with_context(|| format!("slot {slot} stays at {}", there.address)));
    }
    ended
}

/// Leaves a slot that could not be moved on its node, with its keys.
fn give_up(
    here: &mut Node,
    there: &mut Node,
    slot: &str,
    credentials: Option<&Credentials>,
) -> Result<()> {
    move_keys(there, here, slot, credentials)?;
    let stable = ["CLUSTER", "SETSLOT", slot, "STABLE"].map(str::as_bytes);
    there.ask(&stable)?;
    here.ask(&stable).map(drop)
}

/// Moves one slot and its keys from one node to another.
fn migrate(
    from: &mut Node,
    to: &mut Node,
    slot: &str,
    credentials: Option<&Credentials>,
) -> Result<()> {
    let to_id = to.id.clone();
    to.set_slot(slot, "IMPORTING", &from.id)?;
    from.set_slot(slot, "MIGRATING", &to_id)?;
    move_keys(from, to, slot, credentials)?;
    to.set_slot(slot, "NODE", &to_id)?;
    from.set_slot(slot, "NODE", &to_id)
}

/// Moves the keys of a slot from one node to another, after both know about the migration.
fn move_keys(
    from: &mut Node,
    to: &Node,
    slot: &str,
    credentials: Option<&Credentials>,
) -> Result<()> {
    let (host, port) = (to.address.ip().to_string(), to.address.port().to_string());
    loop {
        let words = ["CLUSTER", "GETKEYSINSLOT", slot, KEYS].map(str::as_bytes);
        let Value::Array(keys) = from.ask(&words)? else { bail!("GETKEYSINSLOT names no keys") };
        if keys.is_empty() {
            return Ok(());
        }
        let mut words: Vec<&[u8]> =
            ["MIGRATE", &host, &port, "", "0", MIGRATE_MS].map(str::as_bytes).to_vec();
        match credentials.map(|own| (own.user.as_ref(), &own.password)) {
            Some((Some(user), password)) => {
                words.extend([&b"AUTH2"[..], user.as_bytes(), password.reveal().as_bytes()]);
            }
            Some((None, password)) => words.extend([&b"AUTH"[..], password.reveal().as_bytes()]),
            None => {}
        }
        words.push(b"KEYS");
        words.extend(keys.iter().filter_map(|key| match key {
            Value::Bulk(key) => Some(key.as_slice()),
            _ => None,
        }));
        from.ask(&words)?;
    }
}

/// Parses a line of CLUSTER NODES; `None` unless it is a reachable primary with slots.
fn primary(line: &str) -> Option<ListedNode> {
    let mut words = line.split(' ');
    let (id, address, flags) = (words.next()?, words.next()?, words.next()?);
    let (address, _) = address.split_once('@')?;
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']).parse::<IpAddr>().ok()?;
    let flags: Vec<&str> = flags.split(',').collect();
    if !flags.contains(&"master") || flags.contains(&"fail") || flags.contains(&"noaddr") {
        return None;
    }
    // Behind the flags: its primary, two times, an epoch and the state of the link.
    let slots: Vec<u16> = words.skip(5).filter_map(range).flatten().collect();
    (!slots.is_empty()).then(|| ListedNode {
        id: id.to_owned(),
        address: SocketAddr::new(host, port.parse().unwrap_or(0)),
        is_asked: flags.contains(&"myself"),
        slots,
    })
}

/// Parses `5` or `0-5460`; `None` for a migrating slot (`[93->-…]`).
fn range(text: &str) -> Option<std::ops::RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primaries_with_slots_are_found() {
        let of = |line: &str| primary(line);
        let own =
            of("ab 127.0.0.1:7000@17000,host myself,master - 0 0 1 connected 3 5-6 [93->-cd]");
        let expected = ListedNode {
            id: "ab".to_owned(),
            address: "127.0.0.1:7000".parse().unwrap(),
            is_asked: true,
            slots: vec![3, 5, 6],
        };
        assert_eq!(own, Some(expected));
        assert_eq!(of("ab ::1:7000@17000 master - 0 0 1 connected 0").unwrap().slots, [0]);
        for none in [
            "cd 127.0.0.1:7001@17001 slave ab 0 0 1 connected",
            "cd 127.0.0.1:7001@17001 master - 0 0 1 connected",
            "cd 127.0.0.1:7001@17001 master,fail - 0 0 1 disconnected 7-9",
            "cd :0@0 master,noaddr - 0 0 1 disconnected 7-9",
            "",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
