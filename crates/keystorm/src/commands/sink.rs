//! `keystorm sink`: listens, prints the address, and serves until asked to stop.
//!
//! A request to stop is the normal end of a server, so the exit code after Ctrl-C is 0.

use anyhow::{Context, Result, anyhow};
use console::diagnostics;
use host::affinity;
use job::{End, SinkJob};
use sink::{EngineChoice, Listener, MemcacheReplies, Replies};

use crate::commands::run::say;
use crate::signals;

/// Open files other than connections: standard streams, pollers, timers, listeners.
const OTHER_FILES: u64 = 32;

/// Serves until Ctrl-C.
///
/// # Errors
/// Returns the reason why it cannot listen or serve, in words for a person.
pub(crate) fn sink(job: &SinkJob) -> Result<End> {
    let stop = signals::interrupted()?;
    host::allow_open_files(u64::from(job.connections), OTHER_FILES)?;
    affinity::pin(&job.cpus)
        .with_context(|| format!("--cpus: the sink cannot be pinned to {:?}", job.cpus))?;
    let engine = engine(job.engine)?;
    let listeners = listeners(job)?;
    let places: Vec<String> = listeners.iter().map(|l| l.address().to_string()).collect();
    let places = report::escape(places.join(" and "));
    let places = diagnostics::concealed(&places);
    let name = engine.name();
    say(&format!(
        "keystorm sink listens on {places} (engine {name}). It stores nothing: measurements \
         against it are of the client. Ctrl-C ends it.\n"
    ))?;
    let served = if job.memcache {
        let replies = MemcacheReplies::new(job.bulk);
        engine.serve(&listeners, job.connections, &replies, stop)
    } else {
        engine.serve(&listeners, job.connections, &Replies::new(job.bulk), stop)
    };
    let served = served.context("serving")?;
    let (requests, connections) = (served.requests, served.connections);
    say(&format!("Answered {requests} requests on {connections} connections.\n"))
}

/// The requested engine, or the fastest that works here.
fn engine(asked: Option<EngineChoice>) -> Result<EngineChoice> {
    if let Some(engine) = asked {
        engine.probe().with_context(|| format!("--engine {} does not work here", engine.name()))?;
        return Ok(engine);
    }
    let mut refusals = Vec::new();
    for engine in EngineChoice::ALL {
        match engine.probe() {
            Ok(()) => return Ok(engine),
            Err(error) => refusals.push(format!("{}: {error}", engine.name())),
        }
    }
    Err(anyhow!("no I/O engine works here: {}", refusals.join("; ")))
}

fn listeners(job: &SinkJob) -> Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    if let Some(address) = job.tcp {
        if !address.ip().is_loopback() {
            let warning = "warning: anyone who can reach this machine can connect to the sink";
            diagnostics::say(format_args!("{warning} on {address}"))?;
        }
        let listener = Listener::tcp(address)
            .with_context(|| format!("cannot listen on {address} (--port, --bind)"))?;
        listeners.push(listener);
    }
    if let Some(path) = &job.unix {
        let listener = Listener::unix(path.clone())
            .with_context(|| format!("cannot listen on {} (--unix)", path.display()))?;
        listeners.push(listener);
    }
    Ok(listeners)
}
