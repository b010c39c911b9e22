//! A setting of a server, asked for and set by its name; and settings that are changed for a run.

use anyhow::{Result, bail};
use cli::console::diagnostics;
use host::{Address, Client, Transport};
use wire::resp::Value;
use workload::Target;

use crate::server::Server;

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

/// Changes a setting.
///
/// # Errors
/// Returns an error if the server refuses, or does not answer.
pub(crate) fn set(client: &mut Client<Transport>, name: &str, value: &str) -> Result<()> {
    match client.ask(&[b"CONFIG", b"SET", name.as_bytes(), value.as_bytes()])? {
        Value::Error(text) => bail!("{}", report::escape(&*String::from_utf8_lossy(&text))),
        _ => Ok(()),
    }
}

/// Settings that were changed for a run. Dropping them puts them back.
pub(crate) struct ChangedSettings<'s> {
    server: &'s Server,
    target: &'s Target,
    /// Settings with the values that they had, each on a server.
    before: Vec<(Address, &'static str, String)>,
}

impl<'s> ChangedSettings<'s> {
    /// Changes of a server, none so far.
    pub(crate) fn new(server: &'s Server, target: &'s Target) -> Self {
        Self { server, target, before: Vec::new() }
    }

    /// Notes the value that a setting had.
    pub(crate) fn note(&mut self, address: &Address, name: &'static str, before: String) {
        self.before.push((address.clone(), name, before));
    }
}

impl Drop for ChangedSettings<'_> {
    fn drop(&mut self) {
        // A server that was started for the run ends with it.
        if self.server.is_own() {
            return;
        }
        for (address, name, before) in &self.before {
            let client = self.server.client_at(self.target, address);
            if let Err(error) = client.and_then(|mut client| set(&mut client, name, before)) {
                let _ = diagnostics::say(format_args!(
                    "warning: {address}: {name} was changed for the run and could not be restored to \"{before}\": \
                     {error:#}"
                ));
            }
        }
    }
}
