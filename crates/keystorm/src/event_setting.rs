//! The setting with which a server publishes keyspace events, for a run whose receivers wait for them:
//! checked before load, changed only if the plan allows it, and restored after the run.

use anyhow::{Result, bail};
use console::diagnostics;
use host::{Address, Client, Transport};
use wire::resp::Value;
use workload::key_event::EVENTS_SETTING;
use workload::{DeliveryKind, Endpoint, KeyEvent, Named, Plan, Target};

use crate::server::{Server, resolve};
use crate::setting;

/// Settings that were changed for a run. Dropping this restores them.
pub(crate) struct ChangedSetting<'s> {
    server: &'s Server,
    target: &'s Target,
    /// Previous value on each server.
    before: Vec<(Address, String)>,
}

/// Ensures that the server publishes the events that a plan's receivers wait for. In a cluster each master
/// publishes those of its own keys; if the setting may be changed, it is changed on each node that may have
/// keys later.
///
/// # Errors
/// Returns an error if it does not publish them, and the plan forbids a change or the server refuses it.
pub(crate) fn enable<'s>(server: &'s Server, plan: &'s Plan) -> Result<Option<ChangedSetting<'s>>> {
    let Some(delivery) = &plan.delivery else { return Ok(None) };
    let DeliveryKind::Notify { event, enable, .. } = delivery.kind else { return Ok(None) };
    let mut changed = ChangedSetting { server, target: &plan.target, before: Vec::new() };
    for address in server.masters() {
        let mut client = server.client_at(&plan.target, &address)?;
        let before = enable_at(&mut client, &address, event, enable)?;
        changed.before.extend(before.map(|before| (address, before)));
    }
    if enable {
        let named = delivery.at.iter().filter_map(|at| resolve(&Endpoint::from(at)).ok());
        let named = named.flat_map(|found| found.into_iter().next());
        for address in server.replicas().into_iter().chain(named) {
            // The run does without those that refuse, as long as no slot comes to them.
            let client = server.client_at(&plan.target, &address);
            let before =
                client.and_then(|mut client| enable_at(&mut client, &address, event, true));
            changed.before.extend(before.ok().flatten().map(|before| (address, before)));
        }
    }
    Ok((!changed.before.is_empty()).then_some(changed))
}

/// Enables the events on one server, and returns the previous value if it was changed.
fn enable_at(
    client: &mut Client<Transport>,
    address: &Address,
    event: KeyEvent,
    enable: bool,
) -> Result<Option<String>> {
    let before = match setting::value(client, EVENTS_SETTING)? {
        Some(before) => before,
        // Whether events come is then found out by a probe.
        None if !enable => return Ok(None),
        None => bail!(
            "{address} does not show {EVENTS_SETTING}, so --enable-events could not restore it; set it \
             on the server"
        ),
    };
    let lacking = event.lacking(&before);
    if lacking.is_empty() {
        return Ok(None);
    }
    if !enable {
        bail!(
            "{address} does not publish the event {}: {EVENTS_SETTING} is \"{before}\" and lacks \
             \"{lacking}\". --enable-events adds that for the run",
            event.name()
        );
    }
    let wanted = format!("{before}{lacking}");
    if let Value::Error(text) =
        client.ask(&[b"CONFIG", b"SET", EVENTS_SETTING.as_bytes(), wanted.as_bytes()])?
    {
        let text = String::from_utf8_lossy(&text);
        bail!("{address} refuses to change {EVENTS_SETTING}: {}", report::escape(&*text));
    }
    Ok(Some(before))
}

impl ChangedSetting<'_> {
    fn put_back(&self, address: &Address, before: &str) -> Result<()> {
        let mut client = self.server.client_at(self.target, address)?;
        let set: [&[u8]; 4] = [b"CONFIG", b"SET", EVENTS_SETTING.as_bytes(), before.as_bytes()];
        match client.ask(&set)? {
            Value::Error(text) => bail!("{}", report::escape(&*String::from_utf8_lossy(&text))),
            _ => Ok(()),
        }
    }
}

impl Drop for ChangedSetting<'_> {
    fn drop(&mut self) {
        // A server that was started for the run ends with it.
        if self.server.is_own() {
            return;
        }
        for (address, before) in &self.before {
            if let Err(error) = self.put_back(address, before) {
                let _ = diagnostics::say(format_args!(
                    "warning: {address}: {EVENTS_SETTING} was changed for the run and could not be restored to \
                     \"{before}\": {error:#}"
                ));
            }
        }
    }
}
