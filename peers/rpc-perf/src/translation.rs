//! From a configuration file to a job: keystorm's words for the target, the plan, and the reports.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use cli::own;
use cli::run::{ParsedArgs, verdict_place};
use host::Questions;
use job::{Job, UsageError};
use report::{NodeNames, Persona, ProgressFigures};
use workload::{Endpoint, PlanParts, Target};

use super::config::{Config, Protocol};
use super::fault::{Fault, rule};
use super::output::Reports;
use super::plan;
use super::words::Words;

/// Behaviour under this name.
const PERSONA: Persona = Persona {
    program: "rpc-perf",
    imitates: true,
    nodes: NodeNames::Masters,
    progress: ProgressFigures::Means,
    questions: Questions::None,
    mentions_shortfall: false,
    suite_of_redis: false,
};

/// Time before the first window of a run, in seconds.
const BEFORE_S: u64 = 1;

/// The job of a file; `words` stood beside it on the command line.
pub(super) fn job(config: &Config, words: &Words) -> Result<Job, Fault> {
    let mut jobs = Vec::new();
    for endpoint in &config.endpoints {
        jobs.push(based_on(config, endpoint, words)?);
    }
    let targets: Vec<Target> = jobs.iter().map(|(_, base)| base.target.clone()).collect();
    let (mut job, mut base) = jobs.swap_remove(0);
    if !words.spawns() {
        base.target = all_of(targets)?;
    }
    let (parts, roles): (PlanParts, _) = plan::parts(config, &base)?;
    let plan = parts.build().map_err(|why| rule(why.to_string()))?;
    wire::check(&plan).map_err(rule)?;
    runner::check_memory(&plan).map_err(rule)?;
    let reports = Reports::new(config, roles, job.several.is_some());
    job.plans = vec![plan];
    let output = &mut job.output;
    own::check_output(output).map_err(rule)?;
    output.options.persona = PERSONA;
    (output.options.verdict, output.options.suite) = (false, false);
    output.verdict = verdict_place(PERSONA, false, words.verdict.clone());
    (output.live, output.format) = (None, "rpc-perf");
    output.reports = Some(Arc::new(reports));
    job.notes.clear();
    job.remarks.clone_from(&config.remarks);
    Ok(job)
}

/// Translates a file that has this endpoint alone: a job, and its plan.
fn based_on(config: &Config, endpoint: &str, words: &Words) -> Result<(Job, PlanParts), Fault> {
    let typed = |why: UsageError| rule(why.0);
    let line = keystorm_words(config, endpoint, words)?.into_iter().map(OsString::from).collect();
    let mut job = match ParsedArgs::read("rpc-perf", |command| command, line).map_err(typed)? {
        Ok(read) => read.job_of_peer().map_err(typed)?,
        Err(_) => {
            return Err(rule(
                "--ks-help and --ks-version are not available; run keystorm \
            --help",
            ));
        }
    };
    let base = job.plans.pop().ok_or_else(|| rule("there is nothing to send"))?;
    let mut base = PlanParts::clone(&base);
    if let (Some(tls), Some(settings)) = (&mut base.target.tls, &config.tls) {
        // Of these there are no words.
        tls.key_password.clone_from(&settings.private_key_password);
        tls.cert_chain = settings.certificate_chain.as_ref().map(PathBuf::from);
    }
    Ok((job, base))
}

/// The servers of all endpoints, which differ in nothing but where they are.
fn all_of(mut targets: Vec<Target>) -> Result<Target, Fault> {
    let servers: Vec<Endpoint> = targets.iter().map(|target| target.endpoint.clone()).collect();
    let mut target = targets.swap_remove(0);
    let place = target.endpoint.clone();
    if !targets.into_iter().all(|other| Target { endpoint: place.clone(), ..other } == target) {
        return Err(rule("[target] endpoints: login, database and TLS must be the same for all"));
    }
    if servers.len() > 1 {
        target.endpoint = Endpoint::Pool { servers };
    }
    Ok(target)
}

/// Translates a file into keystorm's own words: the server, if it is not one that is started, and the shape of
/// the load.
fn keystorm_words(config: &Config, endpoint: &str, words: &Words) -> Result<Vec<String>, Fault> {
    let mut line: Vec<String> = Vec::new();
    let mut say = |option: &str, value: &str| line.extend([option.to_owned(), value.to_owned()]);
    let memcache = config.protocol == Protocol::Memcache;
    let spawned = words.spawns();
    if memcache {
        say("--protocol", "memcache");
    }
    match endpoint.contains("://") {
        _ if spawned => {}
        true if memcache => {
            return Err(rule(format!(
                "[target] endpoints: {endpoint}: memcache endpoints must be \
                ADDRESS:PORT"
            )));
        }
        true => say("-u", endpoint),
        false => {
            let (host, port) = host_and_port(endpoint)?;
            say("-h", host);
            say("-p", port);
        }
    }
    tls(config, endpoint, &mut say)?;
    let client = &config.client;
    // One at a time, as there, where connections cannot be shared.
    let depth = if config.protocol == Protocol::Resp { client.concurrency } else { 1 };
    // To each of them.
    let servers = if spawned { 1 } else { config.endpoints.len() as u32 };
    let connections = client.poolsize.saturating_mul(servers);
    say("-c", &connections.to_string());
    say("--threads", &u32::from(client.threads).min(connections).to_string());
    say("-P", &depth.to_string());
    say("--window", "rolling");
    say("--duration", &config.duration_s.to_string());
    say("--warmup", &BEFORE_S.to_string());
    if client.request_timeout_ms > 0 {
        say("--timeout", &client.request_timeout_ms.to_string());
    }
    say("--on-error", "count");
    say("--reconnect", "yes");
    if config.tls.is_some() && !endpoint.contains("://") {
        line.push("--tls".to_owned());
    }
    if config.tls.as_ref().is_some_and(|tls| !tls.verifies) {
        line.push("--insecure".to_owned());
    }
    line.extend(words.own.iter().cloned());
    // What is sent takes its place.
    line.extend(["-r", "1", "--", "get", "__rand_int__"].map(str::to_owned));
    Ok(line)
}

/// A host and a port; an address of IPv6 in brackets.
fn host_and_port(endpoint: &str) -> Result<(&str, &str), Fault> {
    let fault = || {
        rule(format!(
            "[target] endpoints: {:?} is not ADDRESS:PORT, such as \"127.0.0.1:6379\"",
            workload::typed_login::shown_address(endpoint)
        ))
    };
    let (host, port) = endpoint.rsplit_once(':').ok_or_else(fault)?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let possible = !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
    if possible { Ok((host, port)) } else { Err(fault()) }
}

fn tls(config: &Config, endpoint: &str, say: &mut impl FnMut(&str, &str)) -> Result<(), Fault> {
    let Some(tls) = &config.tls else { return Ok(()) };
    if config.protocol == Protocol::Resp && !endpoint.starts_with("rediss://") {
        return Err(rule(
            "[tls]: rpc-perf does not use it for Redis; write the endpoint as \
             rediss://HOST:PORT, or remove [tls]",
        ));
    }
    let files =
        [("--cert", &tls.certificate), ("--key", &tls.private_key), ("--cacert", &tls.ca_file)];
    for (option, file) in files {
        file.iter().for_each(|file| say(option, file));
    }
    Ok(())
}
