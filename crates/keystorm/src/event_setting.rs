//! The setting by which a server publishes keyspace events, for a run whose receivers wait for them: looked at
//! before load, changed only where the plan says so, and put back when the run is over.

use anyhow::{Result, bail};
use console::diagnostics;
use wire::resp::Value;
use workload::key_event::EVENTS_SETTING;
use workload::{DeliveryKind, Plan, Target};

use crate::server::Server;
use crate::setting;

/// A setting that was changed for a run. Dropping it puts it back.
pub(crate) struct ChangedSetting<'s> {
    server: &'s Server,
    target: &'s Target,
    before: String,
}

/// Makes sure that the server publishes the events that a plan's receivers wait for.
///
/// # Errors
/// It does not, and the plan does not allow to change that, or the server refuses.
pub(crate) fn enable<'s>(server: &'s Server, plan: &'s Plan) -> Result<Option<ChangedSetting<'s>>> {
    let kind = plan.delivery.as_ref().map(|delivery| &delivery.kind);
    let Some(DeliveryKind::Notify { event, enable, .. }) = kind else { return Ok(None) };
    let mut client = server.client(&plan.target)?;
    let address = &server.address;
    let before = setting::value(&mut client, EVENTS_SETTING)?;
    let before = match before {
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
    let changed = ChangedSetting { server, target: &plan.target, before };
    let wanted = format!("{}{lacking}", changed.before);
    if let Value::Error(text) =
        client.ask(&[b"CONFIG", b"SET", EVENTS_SETTING.as_bytes(), wanted.as_bytes()])?
    {
        // Nothing to put back.
        std::mem::forget(changed);
        let text = String::from_utf8_lossy(&text);
        bail!("{address} refuses to change {EVENTS_SETTING}: {}", report::escape(&*text));
    }
    Ok(Some(changed))
}

impl ChangedSetting<'_> {
    fn put_back(&self) -> Result<()> {
        let mut client = self.server.client(self.target)?;
        let set: [&[u8]; 4] =
            [b"CONFIG", b"SET", EVENTS_SETTING.as_bytes(), self.before.as_bytes()];
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
        if let Err(error) = self.put_back() {
            let (address, before) = (&self.server.address, &self.before);
            let _ = diagnostics::say(format_args!(
                "warning: {address}: {EVENTS_SETTING} was changed for the run and could not be restored to \
                 \"{before}\": {error:#}"
            ));
        }
    }
}
