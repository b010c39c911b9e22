//! Harmful commands, by the flags that their server gives them: refused before any load is sent.

use std::sync::PoisonError;

use anyhow::Result;
use cli::job::UsageError;
use host::CommandInfo;
use wire::resp::Value;
use workload::{CommandSpec, Plan};

use crate::server::Server;

/// Refuses a plan with a command that its server calls harmful, unless the plan allows it. A server is
/// asked once for each command; one that gives no answer is trusted.
///
/// # Errors
/// Returns an error if there is such a command.
pub(crate) fn check(server: &Server, plan: &Plan) -> Result<()> {
    if !plan.minds_harm || server.is_own() || server.is_silent() || plan.protocol.is_memcache() {
        return Ok(());
    }
    let mut known = server.described.lock().unwrap_or_else(PoisonError::into_inner);
    let mut unknown: Vec<String> = plan.sequence.iter().map(CommandSpec::name).collect();
    unknown.sort();
    unknown.dedup();
    unknown.retain(|name| !known.contains_key(name));
    if !unknown.is_empty() {
        let mut found = ask(server, plan, &unknown).unwrap_or_default().into_iter();
        known.extend(unknown.into_iter().map(|name| (name, found.next().unwrap_or(Value::Null))));
    }
    let is_alone = plan.sequence.len() == 1;
    for command in &plan.sequence {
        let name = command.name();
        let sub = command.args.get(1).and_then(workload::Arg::fixed_bytes);
        let sub = sub.map(|word| String::from_utf8_lossy(&word).into_owned());
        let info =
            known.get(&name).and_then(|entry| CommandInfo::new(entry, &name, sub.as_deref()));
        let Some(info) = info else { continue };
        spec::harmful::check_described(command, is_alone, |flag| info.has(flag))
            .map_err(UsageError::from)?;
    }
    Ok(())
}

/// The entries of commands, in order.
fn ask(server: &Server, plan: &Plan, names: &[String]) -> Option<Vec<Value>> {
    let mut client = server.client_at(&plan.target, &server.address_now()).ok()?;
    let question: Vec<&[u8]> =
        [b"COMMAND", &b"INFO"[..]].into_iter().chain(names.iter().map(String::as_bytes)).collect();
    match client.ask(&question) {
        Ok(Value::Array(entries)) => Some(entries),
        _ => None,
    }
}
