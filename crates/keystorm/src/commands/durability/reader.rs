//! Reading the list of values: a few of the newest while load runs, and everything after a crash.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use host::{Client, Transport};
use lab::durability::Content;
use wire::resp::Value;
use workload::Plan;

use super::options::KEY;

/// Entries that one question returns, with small values.
const AT_ONCE: usize = 10_000;
/// Bytes that one question returns at most, about.
const BYTES_AT_ONCE: usize = 8 << 20;
/// The newest entries that a reader beside the load looks at, and the time between two looks.
const NEWEST: &str = "-16";
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Reads all entries that the writes of a plan left.
///
/// # Errors
/// Returns an error if the server does not answer with a list.
pub(super) fn content(client: &mut Client<Transport>, plan: &Plan) -> Result<Content> {
    let (mut content, bytes) = (Content::default(), plan.data.payload_bytes as usize);
    let at_once = (BYTES_AT_ONCE / (bytes + 16)).clamp(1, AT_ONCE);
    for first in (0..).step_by(at_once) {
        let (from, to) = (first.to_string(), (first + at_once - 1).to_string());
        let words = [&b"LRANGE"[..], KEY.as_bytes(), from.as_bytes(), to.as_bytes()];
        let value = client.ask(&words)?;
        let Some(items) = value.items() else { bail!("LRANGE {KEY}: {value:?}") };
        for item in items {
            match item {
                Value::Bulk(entry) => content.add(entry, bytes),
                _ => content.damaged += 1,
            }
        }
        if items.len() < at_once {
            break;
        }
    }
    Ok(content)
}

/// Reads the newest entries again and again until `stop`, and returns their numbers. A server that is gone ends it.
pub(super) fn numbers_seen(
    client: &mut Client<Transport>,
    plan: &Plan,
    stop: &AtomicBool,
) -> Vec<u64> {
    let (mut seen, bytes) = (Content::default(), plan.data.payload_bytes as usize);
    while !stop.load(Ordering::Relaxed) {
        let Ok(value) = client.ask(&[b"LRANGE", KEY.as_bytes(), NEWEST.as_bytes(), b"-1"]) else {
            break;
        };
        for item in value.items().unwrap_or_default() {
            if let Value::Bulk(entry) = item {
                seen.add(entry, bytes);
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
    seen.numbers
}
