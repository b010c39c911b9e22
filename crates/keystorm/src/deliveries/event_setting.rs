//! The setting with which a server publishes keyspace events, for a run whose receivers wait for them:
//! checked before load, changed only if the plan allows it, and restored after the run.

use anyhow::{Result, anyhow, bail};
use host::{Address, Client, Transport};
use workload::key_event::EVENTS_SETTING;
use workload::{DeliveryKind, Endpoint, KeyEvent, Named, Plan};

use crate::server::{Server, resolve};
use crate::setting::{self, ChangedSettings};

/// Ensures that the server publishes the events that a plan's receivers wait for. In a cluster each master
/// publishes those of its own keys; if the setting may be changed, it is changed on each node that may have
/// keys later.
///
/// # Errors
/// Returns an error if the server does not publish them, and the plan does not allow the change or the server
/// refuses it.
pub(crate) fn enable<'s>(
    server: &'s Server,
    plan: &'s Plan,
) -> Result<Option<ChangedSettings<'s>>> {
    let Some(delivery) = &plan.delivery else { return Ok(None) };
    let DeliveryKind::Notify { event, enable, .. } = delivery.kind else { return Ok(None) };
    let mut changed = ChangedSettings::new(server, &plan.target);
    for address in server.masters() {
        let mut client = server.client_at(&plan.target, &address)?;
        if let Some(before) = enable_at(&mut client, &address, event, enable)? {
            changed.note(&address, EVENTS_SETTING, before);
        }
    }
    if enable {
        let named = delivery.at.iter().filter_map(|at| resolve(&Endpoint::from(at)).ok());
        let named = named.flat_map(|found| found.into_iter().next());
        for address in server.replicas().into_iter().chain(named) {
            // The run does without those that refuse, as long as no slot comes to them.
            let client = server.client_at(&plan.target, &address);
            let before =
                client.and_then(|mut client| enable_at(&mut client, &address, event, true));
            if let Ok(Some(before)) = before {
                changed.note(&address, EVENTS_SETTING, before);
            }
        }
    }
    Ok(Some(changed))
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
    setting::set(client, EVENTS_SETTING, &wanted)
        .map_err(|why| anyhow!("{address} refuses to change {EVENTS_SETTING}: {why:#}"))?;
    Ok(Some(before))
}
