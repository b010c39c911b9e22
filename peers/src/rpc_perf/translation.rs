//! From a configuration file to a job: the servers, the load, and the reports.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cli::job::Job;
use cli::run::Tool;
use report::Persona;
use spec::values::{
    Count, Milliseconds, OnErrorArg, ProtocolArg, Seconds, Threads, WindowArg, YesNo,
};
use spec::{LoadSpec, Server, ServerOptions, TlsArgs, Uri};
use workload::Target;

use super::config::Config;
use super::fault::{Fault, rule};
use super::output::Reports;
use super::plan;
use super::verb::Protocol;
use super::words::Words;

/// Behaviour under this name.
const PERSONA: Persona = Persona::of_tool("rpc-perf");

/// Time before the first window of a run, in seconds.
const BEFORE_S: u64 = 1;

/// The job of a file; `words` stood beside it on the command line.
pub(super) fn job(config: Config, words: &Words) -> Result<Job, Fault> {
    let verdict = words.verdict.clone();
    let instead = "set this in the file instead";
    let tool = Tool { persona: PERSONA, format: Some("rpc-perf"), verdict, instead };
    let own = words.own.iter().map(OsString::from).collect();
    let (mut job, roles) = tool.job(own, |spec| {
        servers(&config, spec)?;
        load(&config, spec)?;
        plan::describe(&config, spec)
    })?;
    job.notes.clear();
    job.remarks.clone_from(&config.remarks);
    let several = job.several.is_some();
    job.output.reports = Some(Arc::new(Reports { config: Arc::new(config), roles, several }));
    Ok(job)
}

/// Says in `spec` where the servers of all endpoints are, which differ in nothing but that.
fn servers(config: &Config, spec: &mut LoadSpec) -> Result<(), Fault> {
    let memcache = config.general.protocol == Protocol::Memcache;
    spec.server.protocol = memcache.then_some(ProtocolArg::Memcache);
    spec.server.pool = Vec::new();
    for endpoint in &config.target.endpoints {
        tls(config, endpoint, &mut spec.tls)?;
    }
    let [first, others @ ..] = &config.target.endpoints[..] else { return Ok(()) };
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
    } else if config.general.protocol == Protocol::Memcache {
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
    let duration_s = u64::from(config.general.duration);
    // To each of them.
    let servers = 1 + spec.server.pool.len() as u32;
    let connections = client.poolsize.max(1).saturating_mul(servers);
    // One at a time, as there, where connections cannot be shared.
    let depth = if config.general.protocol == Protocol::Resp {
        client.concurrency.unwrap_or(1).max(1)
    } else {
        1
    };
    let load = &mut spec.load;
    load.connections = Some(Count(connections));
    load.threads = Some(Threads::Number(u32::from(client.threads.max(1)).min(connections).into()));
    load.pipeline = Some(Count(depth.into()));
    load.window = Some(WindowArg::Rolling);
    load.end_after(None, Some(Seconds(Duration::from_secs(duration_s))));
    (load.per_connection, load.arrivals) = (false, None);
    load.warmup = Some(Seconds(Duration::from_secs(BEFORE_S)));
    let timeout = Duration::from_millis(client.request_timeout.into());
    load.timeout = (!timeout.is_zero()).then_some(Milliseconds(timeout));
    load.reconnect = Some(YesNo::Yes);
    load.connecting.renew = client.reconnect_rate.filter(|rate| *rate > 0).map(Count);
    spec.recording.on_error = Some(OnErrorArg::Count);
    let seed = plan::seed(config.general.initial_seed.as_deref());
    spec.data.seed = Some(Count(seed));
    load.rate = config.workload.ratelimit.rate(duration_s, seed as u64)?;
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
    if config.general.protocol == Protocol::Resp && !endpoint.starts_with("rediss://") {
        return Err(rule(
            "[tls]: rpc-perf does not use it for Redis; write the endpoint as \
             rediss://HOST:PORT, or remove [tls]",
        ));
    }
    args.tls |= !endpoint.contains("://");
    args.insecure |= tls.verify_hostname == Some(false);
    let (cert, chain) = match (&tls.certificate, &tls.certificate_chain) {
        (None, chain) => (chain, &None),
        both => both,
    };
    for (option, file) in [
        (&mut args.cert, cert),
        (&mut args.cert_chain, chain),
        (&mut args.key, &tls.private_key),
        (&mut args.cacert, &tls.ca_file),
    ] {
        *option = option.take().or_else(|| file.as_ref().map(PathBuf::from));
    }
    args.key_password.clone_from(&tls.private_key_password);
    Ok(())
}
