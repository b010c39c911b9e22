//! The options that hold, as its JSON file and `--show-config` tell them.

use report::memtier::{Entry, Json};

use super::address::shown as shown_uri;
use super::options::{DATA_SIZE, Options};

/// Numbers that its file cuts to 32 bits, at least eleven characters wide.
fn wide(number: u64) -> Json {
    Json::Number(format!("{:>11}", number))
}

fn yes_no(flag: bool) -> Json {
    Json::text(if flag { "true" } else { "false" })
}

fn text(text: &Option<String>) -> Json {
    Json::Text(text.clone())
}

/// Everything that its file has of a configuration, in its order; passwords are not shown.
pub(super) fn entries(options: &Options) -> Vec<Entry> {
    let whole = |number: u32| Json::whole(u64::from(number));
    let replicas = options.num_slaves;
    let ratio = |(a, b): (u64, u64)| Json::text(format!("{a}:{b}"));
    let family = match options.ip_version {
        Some(4) => "AF_INET",
        Some(6) => "AF_INET6",
        _ => "Unspecified",
    };
    let turn = options.turn();
    let patterns = options.patterns().map(super::values::Pattern::letter);
    let list = options.data_size_list.iter().map(|(size, weight)| format!("{size}:{weight}"));
    let list = list.collect::<Vec<_>>().join(",");
    let range = options.data_size_range.map_or((0, 0), |(a, b)| (a.into(), b.into()));
    let waits = options.wait_ratio.map_or((0, 0), |(a, b)| (a.into(), b.into()));
    let decimal = |number: Option<f64>| Json::Number(format!("{:.6}", number.unwrap_or(0.0)));
    let size = if options.data_size_list.is_empty() && options.data_size_range.is_none() {
        options.data_size.unwrap_or(DATA_SIZE)
    } else {
        0
    };
    let prometheus = &options.prometheus;
    let address = prometheus.address.map_or("127.0.0.1".to_owned(), |ip| ip.to_string());
    let labels = prometheus.labels.iter().map(|(name, value)| format!("{name}={value}"));
    let labels = labels.collect::<Vec<_>>();
    let buckets = prometheus.buckets.as_ref().map_or("default".to_owned(), |bounds| {
        bounds.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    });
    let entries: Vec<(&str, Json)> = vec![
        ("server", Json::text(options.host.clone().unwrap_or_else(|| "localhost".into()))),
        ("port", Json::whole(options.port.unwrap_or(6379).into())),
        ("uri", Json::text(options.uri.as_deref().map(shown_uri).unwrap_or_default())),
        ("unix socket", text(&options.unix_socket)),
        ("address family", Json::text(family)),
        ("protocol", Json::text(options.protocol.clone())),
        ("out_file", text(&options.out_file)),
        ("tls", yes_no(options.tls)),
        ("cert", text(&options.cert)),
        ("key", text(&options.key)),
        ("cacert", text(&options.cacert)),
        ("tls_skip_verify", yes_no(options.tls_skip_verify)),
        ("sni", text(&options.sni)),
        ("client_stats", text(&options.client_stats)),
        ("run_count", whole(options.run_count)),
        ("debug", whole(u32::from(options.debug))),
        ("requests", Json::whole(options.requests_each().unwrap_or(0))),
        ("rate_limit", Json::whole(options.rate_limiting)),
        ("clients", whole(options.clients)),
        ("threads", whole(options.threads)),
        ("test_time", Json::whole(options.test_time.unwrap_or(0))),
        ("ratio", ratio((turn.0.into(), turn.1.into()))),
        ("pipeline", whole(options.pipeline)),
        ("data_size", whole(size)),
        ("data_offset", whole(options.data_offset)),
        ("random_data", yes_no(options.random_data)),
        ("data_size_range", ratio(range)),
        ("data_size_list", Json::text(list)),
        ("data_size_pattern", Json::text(if options.size_by_key { "S" } else { "R" })),
        ("expiry_range", ratio(options.expiry_range.unwrap_or((0, 0)))),
        ("data_import", text(&options.import.file)),
        ("data_verify", yes_no(options.import.verify)),
        ("verify_only", yes_no(options.import.verify_only)),
        ("generate_keys", yes_no(options.import.generate_keys)),
        ("key_prefix", Json::text(options.key_prefix.clone())),
        ("key_minimum", wide(options.key_minimum)),
        ("key_maximum", wide(options.key_maximum)),
        ("key_pattern", Json::text(format!("{}:{}", patterns[0], patterns[1]))),
        ("key_stddev", decimal(options.key_stddev)),
        ("key_median", decimal(options.key_median)),
        ("key_zipf_exp", decimal(options.key_zipf_exp)),
        ("reconnect_interval", Json::whole(options.reconnect_interval)),
        ("connection_timeout", whole(options.connection_timeout.unwrap_or(0))),
        ("thread_conn_start_min_jitter_micros", whole(options.jitter[0])),
        ("thread_conn_start_max_jitter_micros", whole(options.jitter[1])),
        ("multi_key_get", whole(options.multi_key_get)),
        ("authenticate", Json::text(if options.authenticate.is_some() { "***" } else { "" })),
        ("select-db", whole(options.select_db.unwrap_or(0))),
        ("no-expiry", yes_no(options.import.no_expiry)),
        ("wait-ratio", ratio(waits)),
        ("num-slaves", ratio((replicas.0.into(), replicas.1.into()))),
        (
            "wait-timeout",
            Json::text(format!("{}-{}", options.wait_timeout.0, options.wait_timeout.1)),
        ),
        ("print-all-runs", yes_no(options.print_all_runs)),
        // The one truth value of its file.
        ("pin_threads", Json::Number(options.pin_threads.to_string())),
        ("read_preference", Json::text(options.reading.preference)),
        ("read_preference_fallback", Json::text(options.reading.fallback())),
        ("replica_clients", whole(options.reading.replica_clients.unwrap_or(0))),
        ("replicas_per_shard", whole(options.reading.replicas_per_shard.unwrap_or(0))),
        ("read_servers", Json::text(options.reading.servers.join(","))),
        (
            "prometheus-port",
            Json::Number(prometheus.port.map_or("-1".to_owned(), |port| port.to_string())),
        ),
        ("prometheus-bind-addr", Json::text(address)),
        ("prometheus-run-labels", Json::text(labels.join(","))),
        ("prometheus-latency-buckets", Json::text(buckets)),
    ];
    let mut entries: Vec<Entry> =
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let behind = entries.iter().position(|(key, _)| key == "connection_timeout");
    let at = behind.unwrap_or(entries.len());
    entries.splice(at..at, options.retrying.entries());
    let steps = [
        ("clients_start", options.clients_start),
        ("clients_step", options.clients_step),
        ("step_duration", options.step_duration),
    ];
    let given = |(key, number): (&str, Option<u32>)| Some((key.to_owned(), whole(number?)));
    entries.extend(steps.into_iter().filter_map(given));
    entries
}

/// The same, a line each.
pub(super) fn shown(entries: &[Entry]) -> String {
    let line = |(key, value): &Entry| {
        let value = match value {
            Json::Number(number) => number.trim().to_owned(),
            Json::Text(text) => match text.as_deref().unwrap_or_default() {
                "true" => "yes".to_owned(),
                "false" => "no".to_owned(),
                text => report::escape(text),
            },
            Json::Object(_) | Json::Array(_) => String::new(),
        };
        format!("{key} = {value}\n")
    };
    entries.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        let options = Options {
            authenticate: Some("user:geheim".into()),
            uri: Some("redis://user:geheim@host".into()),
            ..Options::default()
        };
        let text = format!("{:?} {}", entries(&options), shown(&entries(&options)));
        assert!(!text.contains("geheim"), "{text}");
        assert!(text.contains("ratio = 1:10\n") && text.contains("tls = no\n"), "{text}");
    }
}
