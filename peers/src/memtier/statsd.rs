//! Figures as they come, to a StatsD server: a datagram each.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::Duration;

use measure::Tally;

use super::options::Options;
use crate::memtier::layout::{MemtierHistogram, Progress};

/// Time limit of sending an event.
const EVENT_PATIENCE: Duration = Duration::from_secs(1);

/// Sends datagrams. Losing one is harmless, so errors are ignored.
pub(super) struct Client {
    socket: UdpSocket,
    prefix: String,
    label: String,
    events: Option<(String, u16)>,
}

/// The line before the first run: where figures go, or why they go nowhere.
pub(super) fn announcement(options: &Options) -> Option<String> {
    let host = options.statsd_host.as_deref()?;
    let (shown, port) = (report::escape(host), options.statsd_port);
    let (prefix, label) = (report::escape(&options.statsd_prefix), label(options));
    Some(match socket(host, port) {
        Ok(_) => format!(
            "statsd: initialized, sending metrics to {shown}:{port} with prefix '{prefix}' run_label \
             '{label}'"
        ),
        Err(error) => format!(
            "statsd: failed to resolve host '{shown}': {error}\nwarning: failed to initialize StatsD \
             client, metrics will not be sent"
        ),
    })
}

fn socket(host: &str, port: u16) -> io::Result<UdpSocket> {
    let no_address = || io::Error::other("it has no address");
    let address = (host, port).to_socket_addrs()?.next().ok_or_else(no_address)?;
    let socket = UdpSocket::bind(if address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" })?;
    socket.connect(address)?;
    Ok(socket)
}

/// The label, with an underscore for each character that no name of a figure may have.
fn label(options: &Options) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    options.statsd_label.chars().map(|c| if kept(c) { c } else { '_' }).collect()
}

impl Client {
    /// The client, if a server is named and has an address.
    pub(super) fn new(options: &Options) -> Option<Self> {
        let host = options.statsd_host.as_deref()?;
        let socket = socket(host, options.statsd_port).ok()?;
        let label = label(options);
        let prefix = match options.statsd_prefix.as_str() {
            "" => label.clone(),
            prefix => format!("{prefix}.{label}"),
        };
        let events = options.graphite_port.map(|port| (host.to_owned(), port));
        Some(Self { socket, prefix, label, events })
    }

    fn say(&self, name: &str, value: &str, kind: &str) {
        let _ = self.socket.send(format!("{}.{name}:{value}|{kind}", self.prefix).as_bytes());
    }

    /// Posts an event to Graphite, if it is wanted. Like a figure it may get lost.
    pub(super) fn event(&self, what: &str) {
        let Some((host, port)) = &self.events else { return };
        let addresses = (host.as_str(), *port).to_socket_addrs();
        let Some(address) = addresses.ok().and_then(|mut all| all.next()) else { return };
        let Ok(mut stream) = TcpStream::connect_timeout(&address, EVENT_PATIENCE) else { return };
        let body = serde_json::json!({
            "what": format!("memtier_benchmark {what}"),
            "tags": ["memtier", self.label],
        });
        let body = body.to_string();
        let request = format!(
            "POST /events/ HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let patience = stream
            .set_write_timeout(Some(EVENT_PATIENCE))
            .and_then(|()| stream.set_read_timeout(Some(EVENT_PATIENCE)));
        let sent = patience.and_then(|()| stream.write_all(request.as_bytes()));
        // Closed before it has answered, some servers would drop it.
        let _ = sent.and_then(|()| stream.read(&mut [0; 64]));
    }

    /// Sends the figures of a progress line, and percentiles of all replies so far.
    pub(super) fn send(&self, line: &Progress, total: &Tally, percentiles: &[f64]) {
        let connections = u64::from(line.threads) * u64::from(line.clients);
        let [rate, mean_rate] = line.rates.map(|rate| rate as u64);
        let [bytes, mean_bytes] = line.bytes.map(|bytes| bytes as u64);
        for (name, value) in WHOLE.iter().zip([rate, mean_rate, bytes, mean_bytes, connections]) {
            self.say(name, &value.to_string(), "g");
        }
        self.say(PROGRESS, &format!("{:.6}", line.percent), "g");
        if line.sum.lost > 0 {
            self.say("connection_errors", &line.sum.lost.to_string(), "g");
        }
        for (name, ms) in ["latency_ms", "latency_avg_ms"].iter().zip(line.latencies_ms) {
            self.say(name, &format!("{ms:.3}"), "ms");
        }
        let cells = MemtierHistogram::from_latency(&total.service());
        for percentile in percentiles {
            let ms = cells.percentile_ms(*percentile);
            self.say(&called(*percentile), &format!("{ms:.6}"), "g");
        }
    }

    /// Leaves no figure of a run that has ended.
    pub(super) fn end(&self, percentiles: &[f64]) {
        WHOLE.iter().chain([&PROGRESS]).for_each(|name| self.say(name, "0", "g"));
        percentiles.iter().for_each(|percentile| self.say(&called(*percentile), "0.000000", "g"));
    }
}

/// Figures that are whole numbers.
const WHOLE: [&str; 5] = ["ops_sec", "ops_sec_avg", "bytes_sec", "bytes_sec_avg", "connections"];
const PROGRESS: &str = "progress_pct";

/// `latency_p99_9` of 99.9.
fn called(percentile: f64) -> String {
    format!("latency_p{}", percentile.to_string().replace('.', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_stated_where_figures_go() {
        let of = |host: &str, label: &str| {
            let (host, label) = (Some(host.to_owned()), label.to_owned());
            let options = Options { statsd_host: host, statsd_label: label, ..Options::new() };
            announcement(&options).unwrap()
        };
        assert_eq!(
            of("127.0.0.1", "a b"),
            "statsd: initialized, sending metrics to 127.0.0.1:8125 with prefix 'memtier' run_label 'a_b'"
        );
        let text = of("no such host", "a");
        assert!(text.starts_with("statsd: failed to resolve host 'no such host': "), "{text}");
        assert!(
            text.contains("\nwarning: failed to initialize StatsD client, metrics will "),
            "{text}"
        );
        assert_eq!(announcement(&Options::new()), None);
    }
}
