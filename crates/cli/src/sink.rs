//! The command line of `keystorm sink`: where it listens and what it says.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use job::SinkJob;
use sink::{BULK_MAX, EngineChoice};

use super::front::{Front, command, with_options};
use super::{Intent, UsageError};
use spec::values::{Cpus, count_in, ip, port};

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
pub(super) enum SinkProtocol {
    Resp,
    Memcache,
}

/// An engine as an option.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum EngineArg {
    Auto,
    Uring,
    Epoll,
}

impl EngineArg {
    /// The engine that was named; `None` for `auto`.
    pub(super) fn choice(self) -> Option<EngineChoice> {
        match self {
            Self::Auto => None,
            Self::Uring => Some(EngineChoice::Uring),
            Self::Epoll => Some(EngineChoice::Epoll),
        }
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
    parse: |args| with_options(args, intent),
};

/// Returns what the options mean.
fn intent(options: Options) -> Result<Intent, UsageError> {
    let memcache = options.protocol == SinkProtocol::Memcache;
    let port = match (options.port, &options.unix) {
        (None, None) if memcache => Some(MEMCACHE_PORT_DEFAULT),
        (None, None) => Some(PORT_DEFAULT),
        (port, _) => port,
    };
    Ok(Intent::Sink(SinkJob {
        tcp: port.map(|port| SocketAddr::new(options.bind, port)),
        unix: options.unix,
        engine: options.engine.choice(),
        memcache,
        bulk: options.bulk,
        connections: options.clients,
        cpus: options.cpus.map_or(Vec::new(), |Cpus(cpus)| cpus),
    }))
}
