//! From a configuration file to a job: the servers, the load, and the reports.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cli::run::Tool;
use job::Job;
use report::Persona;
use spec::values::{
    Count, Milliseconds, OnErrorArg, ProtocolArg, Seconds, Threads, WindowArg, YesNo,
};
use spec::{LoadSpec, Server, ServerOptions, TlsArgs, Uri};
use workload::Target;

use super::config::{Config, Protocol};
use super::fault::{Fault, rule};
use super::output::Reports;
use super::plan;
use super::words::Words;

/// Behaviour under this name.
const PERSONA: Persona = Persona::of_tool("rpc-perf");

/// Time before the first window of a run, in seconds.
const BEFORE_S: u64 = 1;

/// The job of a file; `words` stood beside it on the command line.
pub(super) fn job(config: &Config, words: &Words) -> Result<Job, Fault> {
    let verdict = words.verdict.clone();
    let instead = "set this in the file instead";
    let tool = Tool { persona: PERSONA, format: Some("rpc-perf"), verdict, instead };
    let own = words.own.iter().map(OsString::from).collect();
    let mut roles = Vec::new();
    let mut job = tool.job(own, |spec| {
        servers(config, spec)?;
        load(config, spec)?;
        roles = plan::describe(config, spec)?;
        Ok::<(), Fault>(())
    })?;
    let reports = Reports::new(config, roles, job.several.is_some());
    job.output.reports = Some(Arc::new(reports));
    job.notes.clear();
    job.remarks.clone_from(&config.remarks);
    Ok(job)
}

/// Says in `spec` where the servers of all endpoints are, which differ in nothing but that.
fn servers(config: &Config, spec: &mut LoadSpec) -> Result<(), Fault> {
    let memcache = config.protocol == Protocol::Memcache;
    spec.server.protocol = memcache.then_some(ProtocolArg::Memcache);
    spec.server.pool = Vec::new();
    for endpoint in &config.endpoints {
        tls(config, endpoint, &mut spec.tls)?;
    }
    let [first, others @ ..] = &config.endpoints[..] else { return Ok(()) };
    if spec.server.spawn.is_some() {
        return Ok(());
    }
    let own = target_of(config, first, spec)?;
    for other in others {
        let mut alike = spec.clone();
        let place = target_of(config, other, &mut alike)?;
        if (Target { endpoint: own.endpoint.clone(), ..place.clone() }) != own {
            return Err(rule(
                "[target] endpoints: login, database and TLS must be the same for all",
            ));
        }
        spec.server.pool.push(Server(place.endpoint));
    }
    Ok(())
}

/// Says in `spec` that an endpoint is the server, and returns what it is in a plan.
fn target_of(config: &Config, endpoint: &str, spec: &mut LoadSpec) -> Result<Target, Fault> {
    let server = &mut spec.server;
    (server.uri, server.host, server.port) = (None, None, None);
    if !endpoint.contains("://") {
        let (host, port) = host_and_port(endpoint)?;
        (server.host, server.port) = (Some(host.to_owned()), Some(port));
    } else if config.protocol == Protocol::Memcache {
        let why = "memcache endpoints must be ADDRESS:PORT";
        return Err(rule(format!("[target] endpoints: {endpoint}: {why}")));
    } else {
        server.uri = Some(Uri(endpoint.to_owned()));
    }
    let alone = ServerOptions { pool: Vec::new(), ..server.clone() };
    spec::target(&alone, spec.dialect).map_err(rule)
}

/// Says in `spec` how much is sent, and over which connections.
fn load(config: &Config, spec: &mut LoadSpec) -> Result<(), Fault> {
    let client = &config.client;
    // To each of them.
    let servers = 1 + spec.server.pool.len() as u32;
    let connections = client.poolsize.saturating_mul(servers);
    // One at a time, as there, where connections cannot be shared.
    let depth = if config.protocol == Protocol::Resp { client.concurrency } else { 1 };
    let load = &mut spec.load;
    load.connections = Some(Count(connections));
    load.threads = Some(Threads::Number(u32::from(client.threads).min(connections).into()));
    load.pipeline = Some(Count(depth.into()));
    load.window = Some(WindowArg::Rolling);
    (load.requests, load.per_connection, load.time_limit) = (None, false, None);
    load.arrivals = None;
    load.duration = Some(Seconds(Duration::from_secs(config.duration_s)));
    load.warmup = Some(Seconds(Duration::from_secs(BEFORE_S)));
    let timeout = Duration::from_millis(client.request_timeout_ms.into());
    load.timeout = (!timeout.is_zero()).then_some(Milliseconds(timeout));
    load.reconnect = Some(YesNo::Yes);
    load.connecting.renew = Some(Count(client.reconnect_rate)).filter(|Count(rate)| *rate > 0);
    spec.recording.on_error = Some(OnErrorArg::Count);
    let seed = plan::seed(config.seed.as_deref());
    spec.data.seed = Some(Count(seed));
    load.rate = config.ratelimit.rate(config.duration_s, seed as u64)?;
    Ok(())
}

/// A host and a port; an address of IPv6 in brackets.
fn host_and_port(endpoint: &str) -> Result<(&str, u16), Fault> {
    let fault = || {
        rule(format!(
            "[target] endpoints: {:?} is not ADDRESS:PORT, such as \"127.0.0.1:6379\"",
            workload::typed_login::shown_address(endpoint)
        ))
    };
    let (host, port) = endpoint.rsplit_once(':').ok_or_else(fault)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let port = port.parse().ok().filter(|port| *port > 0 && !host.is_empty());
    Ok((host, port.ok_or_else(fault)?))
}

fn tls(config: &Config, endpoint: &str, args: &mut TlsArgs) -> Result<(), Fault> {
    let Some(tls) = &config.tls else { return Ok(()) };
    if config.protocol == Protocol::Resp && !endpoint.starts_with("rediss://") {
        return Err(rule(
            "[tls]: rpc-perf does not use it for Redis; write the endpoint as \
             rediss://HOST:PORT, or remove [tls]",
        ));
    }
    args.tls |= !endpoint.contains("://");
    args.insecure |= !tls.verifies;
    for (option, file) in [
        (&mut args.cert, &tls.certificate),
        (&mut args.cert_chain, &tls.certificate_chain),
        (&mut args.key, &tls.private_key),
        (&mut args.cacert, &tls.ca_file),
    ] {
        *option = option.take().or_else(|| file.as_ref().map(PathBuf::from));
    }
    args.key_password.clone_from(&tls.private_key_password);
    Ok(())
}
