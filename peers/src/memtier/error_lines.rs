//! A line on standard error for each error reply, as scripts look for them: up to a bound, beyond which they are
//! counted in one line.

use std::fmt::Write as _;
use std::net::ToSocketAddrs as _;

use measure::ErrorCounts;
use workload::Endpoint;

/// Lines of one kind of error in one interval of a run.
const LINES_MAX: u64 = 100;

/// The lines of the errors of an interval, from the server at `address`.
pub(super) fn error_lines(errors: &ErrorCounts, address: &str) -> String {
    let mut out = String::new();
    for (kind, count) in errors.by_kind() {
        let of_kind =
            errors.examples().iter().filter(|text| text.split_whitespace().next() == Some(kind));
        let texts: Vec<&String> = of_kind.collect();
        for number in 0..(*count).min(LINES_MAX) {
            let text = texts.get(number as usize % texts.len().max(1));
            let text = report::escape(text.map_or(kind.as_str(), |text| text.as_str()));
            let _ = writeln!(out, "server {address} handle error response: -{text}");
        }
        if *count > LINES_MAX {
            let more = count - LINES_MAX;
            let kind = report::escape(kind);
            let _ = writeln!(out, "server {address} handle error response: -{kind} ({more} more)");
        }
    }
    out
}

/// Returns the name of a server in lines: its address, as scripts expect.
pub(super) fn address_of(endpoint: &Endpoint) -> String {
    let found = match endpoint {
        Endpoint::Tcp { host, port } => (host.as_str(), *port).to_socket_addrs().ok(),
        _ => None,
    };
    let first = found.and_then(|mut all| all.next());
    first.map_or_else(|| report::escape(endpoint.to_string()), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_a_line_until_they_are_too_many() {
        let mut errors = ErrorCounts::default();
        errors.add("OOM", "OOM command not allowed");
        errors.add("ERR", "ERR a");
        (0..149).for_each(|_| errors.add("ERR", "ERR b"));
        let lines = error_lines(&errors, "127.0.0.1:1");
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 102);
        assert_eq!(lines[0], "server 127.0.0.1:1 handle error response: -OOM command not allowed");
        assert_eq!(lines[2], "server 127.0.0.1:1 handle error response: -ERR b");
        assert_eq!(lines[101], "server 127.0.0.1:1 handle error response: -ERR (50 more)");
    }

    #[test]
    fn a_server_is_named_by_its_address() {
        let host = "127.0.0.1".to_owned();
        assert_eq!(address_of(&Endpoint::Tcp { host, port: 7 }), "127.0.0.1:7");
        assert_eq!(address_of(&Endpoint::Unix("/s".into())), "/s");
    }
}
