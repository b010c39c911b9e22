//! Server settings required by `--server-latency`: checked before load, changed only with `--set-server`, and
//! restored after the run.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use console::diagnostics;
use host::{Address, Client, Transport};
use wire::resp::Value;
use workload::Plan;

use crate::server::Server;
use crate::setting;

/// A run's request for the server's record of its slow moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerLatency {
    /// Set if settings that hide data are changed for the run.
    pub(crate) set: bool,
}

/// A setting, the values of it that hide data, and its value during a run.
struct NeededSetting {
    name: &'static str,
    hides: fn(i64) -> bool,
    value: &'static str,
    /// Figures that are unknown while it hides them.
    hidden: &'static str,
}

/// Names of Redis, also valid for Valkey. `latency-tracking` is `yes` or `no`: 1 or 0 here.
const SETTINGS: [NeededSetting; 4] = [
    NeededSetting {
        name: "latency-monitor-threshold",
        hides: |ms| ms <= 0,
        value: "1",
        hidden: "LATENCY events",
    },
    NeededSetting {
        name: "slowlog-log-slower-than",
        hides: |us| us < 0,
        value: "1000",
        hidden: "SLOWLOG entries",
    },
    NeededSetting {
        name: "slowlog-max-len",
        hides: |n| n <= 0,
        value: "128",
        hidden: "SLOWLOG entries",
    },
    NeededSetting {
        name: "latency-tracking",
        hides: |on| on == 0,
        value: "yes",
        hidden: "percentiles of run times",
    },
];

/// Settings that were changed for a run. Dropping this restores them.
pub(crate) struct ChangedSettings<'s> {
    server: &'s Server,
    plan: &'s Plan,
    /// Changed settings of each server with their previous values.
    before: Vec<(Address, Vec<(&'static str, String)>)>,
}

/// Ensures that the servers keep the requested data, or prints which they do not.
///
/// # Errors
/// Returns an error if a server cannot be reached, or refuses a change.
pub(crate) fn enable<'s>(
    server: &'s Server,
    plan: &'s Plan,
    asked: Option<ServerLatency>,
) -> Result<Option<ChangedSettings<'s>>> {
    let Some(asked) = asked.filter(|_| !plan.protocol.is_memcache()) else { return Ok(None) };
    let mut changed = ChangedSettings { server, plan, before: Vec::new() };
    let mut hidden = String::new();
    for address in server.addresses() {
        let mut client = server.client_at(&plan.target, &address)?;
        changed.before.push((address.clone(), Vec::new()));
        for (nth, NeededSetting { name, hides, value, hidden: what }) in SETTINGS.iter().enumerate()
        {
            let Some(before) = setting::value(&mut client, name)? else {
                // Old servers lack some. Who does not show the first shows none.
                if nth == 0 {
                    let _ = write!(hidden, "\n  {address} does not show its settings");
                }
                continue;
            };
            if !number(&before).is_some_and(hides) {
                continue;
            }
            if !asked.set {
                let _ = write!(hidden, "\n  {address}: {name} is {before}, so there are no {what}");
                continue;
            }
            set(&mut client, name, value).map_err(|why| {
                anyhow::anyhow!("--set-server: {address} refuses to change {name}: {why:#}")
            })?;
            if let Some((_, of_server)) = changed.before.last_mut() {
                of_server.push((name, before));
            }
        }
    }
    if !hidden.is_empty() {
        diagnostics::say(format_args!(
            "note: --server-latency: settings of the server hide some of it; --set-server changes them for the run:{hidden}"
        ))?;
    }
    Ok(Some(changed))
}

/// A number, or `yes` and `no` as one.
fn number(value: &str) -> Option<i64> {
    match value {
        "yes" => Some(1),
        "no" => Some(0),
        value => value.parse().ok(),
    }
}

fn set(client: &mut Client<Transport>, name: &str, value: &str) -> Result<()> {
    match client.ask(&[b"CONFIG", b"SET", name.as_bytes(), value.as_bytes()])? {
        Value::Error(text) => bail!("{}", report::escape(&*String::from_utf8_lossy(&text))),
        _ => Ok(()),
    }
}

impl ChangedSettings<'_> {
    fn put_back(&self, address: &Address, settings: &[(&'static str, String)]) -> Result<()> {
        let mut client = self.server.client_at(&self.plan.target, address)?;
        settings.iter().try_for_each(|(name, before)| set(&mut client, name, before))
    }
}

impl Drop for ChangedSettings<'_> {
    fn drop(&mut self) {
        // A server that was started for the run ends with it.
        if self.server.is_own() {
            return;
        }
        for (address, settings) in self.before.iter().filter(|(_, settings)| !settings.is_empty()) {
            if let Err(error) = self.put_back(address, settings) {
                let all = settings.iter().map(|(name, value)| format!("{name} {value}"));
                let all: Vec<String> = all.collect();
                let _ = diagnostics::say(format_args!(
                    "warning: {address}: --set-server: settings were changed for the run and could not be \
                     restored to {}: {error:#}",
                    all.join(", ")
                ));
            }
        }
    }
}
