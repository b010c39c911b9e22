//! Figures as they come, to a StatsD server: a datagram each.

use std::net::UdpSocket;

use measure::Tally;
use report::memtier::{Cells, Progress};

/// Where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statsd {
    pub(super) host: Option<String>,
    pub(super) port: u16,
    pub(super) prefix: String,
    pub(super) label: String,
}

impl Default for Statsd {
    fn default() -> Self {
        let (prefix, label) = ("memtier".to_owned(), "default".to_owned());
        Self { host: None, port: 8125, prefix, label }
    }
}

/// Sends datagrams. What does not arrive is missed by nobody, so no fault is told.
pub(super) struct Client {
    socket: UdpSocket,
    prefix: String,
}

impl Statsd {
    /// The client, if a server is named and has an address.
    pub(super) fn client(&self) -> Option<Client> {
        let host = self.host.as_deref()?;
        let local = if host.contains(':') { "[::]:0" } else { "0.0.0.0:0" };
        let socket = UdpSocket::bind(local).ok()?;
        socket.connect((host, self.port)).ok()?;
        Some(Client { socket, prefix: format!("{}.{}", self.prefix, self.label) })
    }
}

impl Client {
    fn say(&self, name: &str, value: &str, kind: &str) {
        let _ = self.socket.send(format!("{}.{name}:{value}|{kind}", self.prefix).as_bytes());
    }

    /// Sends what a line of progress says, and percentiles of all replies so far.
    pub(super) fn send(&self, line: &Progress, total: &Tally, percentiles: &[f64]) {
        let connections = u64::from(line.threads) * u64::from(line.clients);
        let whole = |number: f64| (number as u64).to_string();
        self.say("ops_sec", &whole(line.rates[0]), "g");
        self.say("ops_sec_avg", &whole(line.rates[1]), "g");
        self.say("bytes_sec", &whole(line.bytes[0]), "g");
        self.say("bytes_sec_avg", &whole(line.bytes[1]), "g");
        self.say("connections", &connections.to_string(), "g");
        self.say("progress_pct", &format!("{:.6}", line.percent), "g");
        if line.connection_errors > 0 {
            self.say("connection_errors", &line.connection_errors.to_string(), "g");
        }
        self.say("latency_ms", &format!("{:.3}", line.latencies_ms[0]), "ms");
        self.say("latency_avg_ms", &format!("{:.3}", line.latencies_ms[1]), "ms");
        let cells = Cells::of(&total.service());
        for percentile in percentiles {
            self.say(
                &called(*percentile),
                &format!("{:.3}", cells.percentile_ms(*percentile)),
                "g",
            );
        }
    }

    /// Leaves no figure of a run that has ended.
    pub(super) fn end(&self, percentiles: &[f64]) {
        let names = ["ops_sec", "ops_sec_avg", "bytes_sec", "bytes_sec_avg", "connections"];
        let names = names.map(str::to_owned).into_iter().chain(["progress_pct".to_owned()]);
        let latencies = percentiles.iter().map(|percentile| called(*percentile));
        names.chain(latencies).for_each(|name| self.say(&name, "0", "g"));
    }
}

/// `latency_p99_9` of 99.9.
fn called(percentile: f64) -> String {
    format!("latency_p{}", percentile.to_string().replace('.', "_"))
}
