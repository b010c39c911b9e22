//! A setting of a server, by name.

use anyhow::Result;
use host::{Client, Transport};
use wire::resp::Value;

/// Reads the value of a setting; `None` if the server has none with that name, or hides it.
///
/// # Errors
/// Returns an error if there is no answer.
pub(crate) fn value(client: &mut Client<Transport>, name: &str) -> Result<Option<String>> {
    Ok(match client.ask(&[b"CONFIG", b"GET", name.as_bytes()])? {
        Value::Array(items) => items.get(1).and_then(Value::text),
        Value::Map(pairs) => pairs.first().and_then(|(_, value)| value.text()),
        _ => None,
    })
}
