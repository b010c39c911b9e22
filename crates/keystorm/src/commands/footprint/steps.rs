//! Lengths at which a server changes its encoding: one key is stored with increasing lengths.

use anyhow::{Result, bail};
use host::{Client, Transport};
use lab::footprint::{Axis, Growth, Item, MemoryStep, Type, growths, last_before_step};
use wire::resp::Value;

use super::reader::{encoding, memory_usage};
use crate::setting;

/// Greatest length that is tried if a server has no setting, and for any setting.
const LENGTH: u32 = 4096;
const LENGTH_MAX: u32 = 1 << 18;
/// Number of commands sent before waiting for replies.
const AT_ONCE: usize = 8;

/// Number of the growing key: the first, which is unused here otherwise.
const NUMBER: u64 = 0;

/// Every step of a server; empty if it does not report encodings.
pub(super) fn find(client: &mut Client<Transport>, server: usize) -> Result<Vec<MemoryStep>> {
    let mut steps = Vec::new();
    for growth in growths() {
        let setting = decisive(client, &growth)?;
        let limit = setting.as_ref().and_then(|(_, value)| value.parse::<i64>().ok());
        let far = limit.map_or(LENGTH, |limit| limit.clamp(0, i64::from(LENGTH_MAX)) as u32);
        let high = far.saturating_mul(2).clamp(LENGTH, LENGTH_MAX);
        let found = walk(client, &growth, high);
        client.ask(&[b"DEL", &Item::key(NUMBER)])?;
        for Change { last, from, to, bytes } in found? {
            // A setting of one encoding says nothing of the others on the way.
            let is_limit = limit.is_some_and(|limit| decides(&growth, limit, last));
            let setting = setting.clone().filter(|_| is_limit);
            let (growth, axis) = (growth.describe(), growth.axis);
            steps.push(MemoryStep { server, growth, axis, from, to, last, setting, bytes });
        }
    }
    Ok(steps)
}

/// Returns whether a step is at the limit of its setting. Negative limits of lists are sizes in bytes.
fn decides(growth: &Growth, limit: i64, last: u32) -> bool {
    limit == i64::from(last) || (growth.item.of == Type::List && limit < 0)
}

/// A change of encoding after a length.
struct Change {
    last: u32,
    from: String,
    to: String,
    bytes: Option<[u64; 2]>,
}

/// All changes up to a length.
fn walk(client: &mut Client<Transport>, growth: &Growth, high: u32) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    let mut low = match growth.axis {
        Axis::Elements => 1,
        Axis::Bytes => growth.item.size.unwrap_or(1),
    };
    loop {
        let mut ask = |length| stored(client, growth, length);
        let Some((last, from, to)) = last_before_step(low, high, &mut ask)? else {
            return Ok(changes);
        };
        let key = Item::key(NUMBER);
        let mut usage = |length| -> Result<Option<u64>> {
            stored(client, growth, length)?;
            memory_usage(client, &key)
        };
        let bytes = usage(last)?.zip(usage(last + 1)?).map(|(before, after)| [before, after]);
        changes.push(Change { last, from, to, bytes });
        low = last + 1;
    }
}

/// Stores the key with a length and returns its encoding.
fn stored(client: &mut Client<Transport>, growth: &Growth, length: u32) -> Result<String> {
    let key = Item::key(NUMBER);
    client.ask(&[b"DEL", &key])?;
    for batch in growth.at(length).commands(NUMBER).chunks(AT_ONCE) {
        for reply in client.ask_all(batch)? {
            if let Value::Error(text) = reply {
                bail!("{}: {}", growth.describe(), String::from_utf8_lossy(&text));
            }
        }
    }
    // A server that does not tell has one encoding of everything.
    Ok(encoding(client, &key)?.unwrap_or_default())
}

/// The first setting of a growth that the server has, with its value.
fn decisive(client: &mut Client<Transport>, growth: &Growth) -> Result<Option<(String, String)>> {
    for name in growth.settings {
        if let Some(value) = setting::value(client, name)? {
            return Ok(Some(((*name).to_owned(), value)));
        }
    }
    Ok(None)
}
