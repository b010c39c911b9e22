//! `keystorm sink`: its options and its output. It listens, prints its addresses, and serves until asked to stop.
//!
//! A request to stop is the normal end of a server, so the exit code after Ctrl-C is 0.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use clap::{Parser, ValueEnum};
use cli::console::diagnostics;
use cli::front::{Front, command, with_options};
use cli::job::{End, Intent};
use host::affinity;
use sink::{BULK_MAX, EngineChoice, Listener, MemcacheReplies, Replies};
use spec::values::{Cpus, EngineArg, count_in, ip, port};

use crate::commands::run::say;
use crate::signals;

/// A server that does as little as possible, to measure clients against. It parses each request and
/// answers it with a canned reply of the right type and size. It stores nothing. Results against it
/// are about the client, never about a server. Ctrl-C ends it with exit code 0.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm sink",
    override_usage = "keystorm sink [OPTIONS]",
    after_help = EXAMPLE,
)]
struct Options {
    /// TCP port; 0 for any free port [default: 6379, for memcached 11211; none if --unix is given]
    #[arg(short = 'p', long, value_name = "PORT", help_heading = "Where", value_parser = port)]
    port: Option<u16>,
    /// Address to listen on; anyone who can reach it can connect
    #[arg(long, value_name = "ADDR", help_heading = "Where",
          default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_parser = ip)]
    bind: IpAddr,
    /// Unix socket, instead of or beside a port
    #[arg(short = 's', long, value_name = "PATH", help_heading = "Where")]
    unix: Option<PathBuf>,
    /// Protocol: `resp`, or `memcache` for memcached's text protocol with meta commands
    #[arg(
        long,
        value_name = "PROTOCOL",
        help_heading = "What",
        default_value = "resp",
        hide_possible_values = true
    )]
    protocol: SinkProtocol,
    /// Bytes of the strings in replies
    #[arg(long, value_name = "BYTES", help_heading = "What", default_value = "3",
          value_parser = count_in(0..=BULK_MAX))]
    bulk: u32,
    /// I/O engine: io_uring (`uring`), `epoll`, or `auto` for the fastest that this machine allows
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "How",
        default_value = "auto",
        hide_possible_values = true
    )]
    engine: EngineArg,
    /// Maximum number of connections
    #[arg(short = 'c', long, value_name = "CLIENTS", help_heading = "How", default_value = "10000",
          value_parser = count_in(1..=1_000_000))]
    clients: u32,
    /// CPUs to keep the sink on, such as 1 or 0,2-3
    #[arg(long, value_name = "LIST", help_heading = "How")]
    cpus: Option<Cpus>,
}

/// Protocol of a sink, as an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SinkProtocol {
    Resp,
    Memcache,
}

/// Returns the engine that was named; `None` for `auto`.
pub(crate) fn choice(engine: EngineArg) -> Option<EngineChoice> {
    match engine {
        EngineArg::Auto => None,
        EngineArg::Uring => Some(EngineChoice::Uring),
        EngineArg::Epoll => Some(EngineChoice::Epoll),
    }
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Example:
  A sink on port 7777 that answers with values of 100 bytes, and load for it:
    $ keystorm sink --port 7777 --bulk 100
    $ keystorm -p 7777 -t get";

const PORT_DEFAULT: u16 = 6379;
const MEMCACHE_PORT_DEFAULT: u16 = 11211;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["sink"],
    command: command::<Options>,
    parse: |args| with_options(args, |options: Options| Ok(Intent::carry(move || sink(&options)))),
};

impl Options {
    /// Returns the TCP address that the sink listens on.
    fn tcp(&self) -> Option<SocketAddr> {
        let port = match (self.port, &self.unix) {
            (None, None) if self.protocol == SinkProtocol::Memcache => Some(MEMCACHE_PORT_DEFAULT),
            (None, None) => Some(PORT_DEFAULT),
            (port, _) => port,
        };
        port.map(|port| SocketAddr::new(self.bind, port))
    }
}

/// Open files other than connections: standard streams, pollers, timers, listeners.
const OTHER_FILES: u64 = 32;

/// Serves until Ctrl-C.
///
/// # Errors
/// Returns an error if the sink cannot listen or serve.
fn sink(options: &Options) -> Result<End> {
    let stop = signals::interrupted()?;
    host::allow_open_files(u64::from(options.clients), OTHER_FILES)?;
    let cpus = options.cpus.as_ref().map_or(&[][..], |Cpus(cpus)| cpus);
    affinity::pin(cpus)
        .with_context(|| format!("--cpus: the sink cannot be pinned to {cpus:?}"))?;
    let engine = engine(choice(options.engine))?;
    let listeners = listeners(options)?;
    let places: Vec<String> = listeners.iter().map(|l| l.address().to_string()).collect();
    let places = report::escape(places.join(" and "));
    let places = diagnostics::concealed(&places);
    let name = engine.name();
    say(&format!(
        "keystorm sink listens on {places} (engine {name}). It stores nothing: measurements \
         against it are of the client. Ctrl-C ends it.\n"
    ))?;
    let served = if options.protocol == SinkProtocol::Memcache {
        let replies = MemcacheReplies::new(options.bulk);
        engine.serve(&listeners, options.clients, &replies, stop)
    } else {
        engine.serve(&listeners, options.clients, &Replies::new(options.bulk), stop)
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

fn listeners(options: &Options) -> Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    if let Some(address) = options.tcp() {
        if !address.ip().is_loopback() {
            let warning = "warning: anyone who can reach this machine can connect to the sink";
            diagnostics::say(format_args!("{warning} on {address}"))?;
        }
        let listener = Listener::tcp(address)
            .with_context(|| format!("cannot listen on {address} (--port, --bind)"))?;
        listeners.push(listener);
    }
    if let Some(path) = &options.unix {
        let listener = Listener::unix(path.clone())
            .with_context(|| format!("cannot listen on {} (--unix)", path.display()))?;
        listeners.push(listener);
    }
    Ok(listeners)
}
