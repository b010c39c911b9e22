//! A server's report on itself, by section.

use anyhow::{Result, bail};
use host::{Client, Transport};
use wire::resp::Value;

/// The text of `INFO`, of this section or the default ones.
///
/// # Errors
/// Returns an error if there is no answer, or the server refuses.
pub(crate) fn text(client: &mut Client<Transport>, section: Option<&str>) -> Result<String> {
    let mut words = vec!["INFO"];
    words.extend(section);
    let asked: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    match client.ask(&asked)? {
        Value::Error(text) => bail!(
            "the server refused {}, and without it this cannot be measured: {}",
            words.join(" "),
            String::from_utf8_lossy(&text).trim_end()
        ),
        reply => Ok(reply.text().unwrap_or_default()),
    }
}
