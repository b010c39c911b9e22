//! Server settings required by `--server-latency`: checked before load, changed only with `--set-server`, and
//! restored after the run.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use cli::console::diagnostics;
use workload::Plan;

use crate::server::Server;
use crate::setting::{self, ChangedSettings};

/// A run's request for the server's record of its slow moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerLatency {
    /// Set if settings that hide data are changed for the run.
    pub(crate) set: bool,
}

/// A setting, the values of it that hide figures, its value during a run, and the figures.
type NeededSetting = (&'static str, fn(i64) -> bool, &'static str, &'static str);

/// Names of Redis, also valid for Valkey. `latency-tracking` is `yes` or `no`: 1 or 0 here.
const SETTINGS: [NeededSetting; 4] = [
    ("latency-monitor-threshold", |ms| ms <= 0, "1", "LATENCY events"),
    ("slowlog-log-slower-than", |us| us < 0, "1000", "SLOWLOG entries"),
    ("slowlog-max-len", |n| n <= 0, "128", "SLOWLOG entries"),
    ("latency-tracking", |on| on == 0, "yes", "percentiles of run times"),
];

/// Makes sure that the servers keep what is asked for, or says what they do not.
///
/// # Errors
/// Returns an error if a server cannot be reached, or refuses a change.
pub(crate) fn enable<'s>(
    server: &'s Server,
    plan: &'s Plan,
    asked: Option<ServerLatency>,
) -> Result<Option<ChangedSettings<'s>>> {
    let Some(asked) = asked.filter(|_| !plan.protocol.is_memcache()) else { return Ok(None) };
    let mut changed = ChangedSettings::new(server, &plan.target);
    let mut hidden = String::new();
    for address in server.addresses() {
        let mut client = server.client_at(&plan.target, &address)?;
        for (nth, (name, hides, value, figures)) in SETTINGS.iter().enumerate() {
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
                let _ =
                    write!(hidden, "\n  {address}: {name} is {before}, so there are no {figures}");
                continue;
            }
            setting::set(&mut client, name, value).map_err(|why| {
                anyhow!("--set-server: {address} refuses to change {name}: {why:#}")
            })?;
            changed.note(&address, name, before);
        }
    }
    if !hidden.is_empty() {
        diagnostics::say(format_args!(
            "note: --server-latency: settings of the server hide some of it; --set-server changes them for the run:{hidden}"
        ))?;
    }
    Ok(Some(changed))
}

/// Value of a setting as a number: `yes` is 1, and `no` is 0.
fn number(value: &str) -> Option<i64> {
    match value {
        "yes" => Some(1),
        "no" => Some(0),
        value => value.parse().ok(),
    }
}
