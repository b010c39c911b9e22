//! Servers from which receivers of a plan about replication read: the replicas that the primary names, or the
//! addresses of the plan.

use std::borrow::Cow;

use anyhow::{Context, Result, anyhow, bail};
use engine::TlsContext;
use host::Address;
use wire::resp::Value;
use workload::{Delivery, DeliveryKind, Endpoint, Plan};

use crate::server::{Server, resolve};
use crate::tls;

/// A plan with the replicas that its server names, unless it names some itself.
///
/// # Errors
/// Returns an error if the server has no replicas, or does not name them.
pub(crate) fn found<'p>(server: &Server, plan: Cow<'p, Plan>) -> Result<Cow<'p, Plan>> {
    let wants =
        |delivery: &Delivery| delivery.kind == DeliveryKind::Replica && delivery.at.is_empty();
    if !plan.delivery.as_ref().is_some_and(wants) {
        return Ok(plan);
    }
    let at = replicas(server, &plan)?;
    let found = plan.with(|parts| {
        if let Some(delivery) = &mut parts.delivery {
            delivery.receivers = delivery.places.saturating_mul(at.len() as u32);
            delivery.at = at;
        }
    });
    Ok(Cow::Owned(found?))
}

/// Hosts and ports of a primary's replicas, as it names them.
fn replicas(server: &Server, plan: &Plan) -> Result<Vec<(String, u16)>> {
    const NAME_THEM: &str = "name where to read with --at HOST:PORT";
    let address = &server.address;
    let reply = server.client(&plan.target)?.ask(&[b"ROLE"])?;
    let parts = match reply {
        Value::Array(parts) => parts,
        Value::Error(text) => {
            let text = String::from_utf8_lossy(&text);
            bail!("{address} does not name its replicas ({}); {NAME_THEM}", report::escape(&*text));
        }
        _ => bail!("{address} does not name its replicas; {NAME_THEM}"),
    };
    match parts.first().and_then(Value::text).as_deref() {
        Some("slave") => bail!("{address} is a replica; start with -h and -p of its primary"),
        Some("master") => {}
        _ => bail!("{address} is no primary; {NAME_THEM}"),
    }
    let Some(Value::Array(replicas)) = parts.get(2) else {
        bail!("{address} does not name its replicas; {NAME_THEM}");
    };
    let replicas = replicas.iter().map(|value| {
        let Value::Array(parts) = value else { return None };
        Some((parts.first()?.text()?, parts.get(1)?.text()?.parse().ok()?))
    });
    let replicas: Option<Vec<_>> = replicas.collect();
    let replicas =
        replicas.with_context(|| format!("{address} does not name its replicas; {NAME_THEM}"))?;
    if replicas.is_empty() {
        bail!("{address} has no replicas, or none that is synchronised yet; {NAME_THEM}");
    }
    Ok(replicas)
}

/// The addresses that receivers connect to, and the TLS context that knows their names.
///
/// # Errors
/// Returns an error if a host cannot be resolved.
pub(crate) fn addresses(
    plan: &Plan,
    tls: Option<&TlsContext>,
) -> Result<(Vec<Address>, Option<TlsContext>)> {
    let mut tls = tls.cloned();
    let mut addresses = Vec::new();
    for at in plan.delivery.iter().flat_map(|delivery| &delivery.at) {
        let endpoint = Endpoint::from(at);
        let found = resolve(&endpoint).map_err(|why| anyhow!("--at {endpoint}: {why}"))?;
        tls = tls.map(|known| tls::named(known, &endpoint, &found));
        let first = found.into_iter().next();
        addresses.push(
            first.with_context(|| format!("--at {endpoint} does not resolve to an address"))?,
        );
    }
    Ok((addresses, tls))
}
