//! A setting of a server, asked for by its name.

use anyhow::Result;
use host::{Client, Transport};
use wire::resp::Value;

/// Reads the value of a setting; `None` where the server has none of that name, or does not show it.
///
/// # Errors
/// There is no answer.
pub(crate) fn value(client: &mut Client<Transport>, name: &str) -> Result<Option<String>> {
    Ok(match client.ask(&[b"CONFIG", b"GET", name.as_bytes()])? {
        Value::Array(items) => items.get(1).and_then(Value::text),
        Value::Map(pairs) => pairs.first().and_then(|(_, value)| value.text()),
        _ => None,
    })
}
