//! The options that hold, as its JSON file and `--show-config` tell them.

use super::options::{Options, PORT, Sizes};
use crate::memtier::layout::{Entry, Json};
use workload::typed_login::shown_address;

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

/// Name of a file without its folder, to hide the location of certificates.
fn file_name(path: &Option<String>) -> Json {
    Json::Text(path.as_ref().map(|path| path.rsplit('/').next().unwrap_or_default().to_owned()))
}

/// Entries of a configuration in its file, in its order; passwords are not shown.
pub(super) fn entries(options: &Options) -> Vec<Entry> {
    let mut entries = server(options);
    entries.extend(load(options));
    entries.extend(data(options));
    entries.extend(connections(options));
    entries.extend(reports(options));
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
    entries.extend(
        steps.into_iter().filter_map(|(key, number)| Some((key.to_owned(), whole(number?)))),
    );
    entries
}

/// Entries with the names that they have there.
type Entries = Vec<(&'static str, Json)>;

fn whole(number: u32) -> Json {
    Json::whole(u64::from(number))
}

fn ratio((a, b): (u64, u64)) -> Json {
    Json::text(format!("{a}:{b}"))
}

fn server(options: &Options) -> Entries {
    let family = match options.ip_version {
        Some(4) => "AF_INET",
        Some(6) => "AF_INET6",
        _ => "Unspecified",
    };
    // Options that a Unix socket replaces have no default.
    let of_tcp = options.unix_socket.is_none();
    let host = options.host.clone().or(of_tcp.then(|| "localhost".to_owned()));
    let port = options.port.or(of_tcp.then_some(PORT)).unwrap_or(0);
    vec![
        ("server", Json::Text(host)),
        ("port", Json::whole(port.into())),
        ("uri", Json::text(options.uri.as_deref().map(shown_address).unwrap_or_default())),
        ("unix socket", text(&options.unix_socket)),
        ("address family", Json::text(family)),
        ("protocol", Json::text(options.protocol.clone())),
        ("out_file", text(&options.out_file)),
        ("tls", yes_no(options.tls)),
        ("cert", file_name(&options.cert)),
        ("key", file_name(&options.key)),
        ("cacert", file_name(&options.cacert)),
        ("tls_skip_verify", yes_no(options.tls_skip_verify)),
        ("sni", text(&options.sni)),
        ("client_stats", text(&options.client_stats)),
    ]
}

fn load(options: &Options) -> Entries {
    let turn = options.turn();
    vec![
        ("run_count", whole(options.run_count)),
        ("debug", whole(u32::from(options.debug))),
        ("requests", Json::whole(options.requests_each().unwrap_or(0))),
        ("rate_limit", Json::whole(options.rate_limiting)),
        ("clients", whole(options.clients)),
        ("threads", whole(options.threads)),
        ("test_time", Json::whole(options.test_time.unwrap_or(0))),
        ("ratio", ratio((turn.0.into(), turn.1.into()))),
        ("pipeline", whole(options.pipeline)),
        ("transaction", yes_no(options.transaction)),
    ]
}

fn data(options: &Options) -> Entries {
    let patterns = options.patterns().map(super::values::Pattern::letter);
    let list = options.data_size_list.iter().map(|(size, weight)| format!("{size}:{weight}"));
    let list = list.collect::<Vec<_>>().join(",");
    let range = options.data_size_range.map_or((0, 0), |(a, b)| (a.into(), b.into()));
    let decimal = |number: Option<f64>| Json::Number(format!("{:.6}", number.unwrap_or(0.0)));
    // Options that a file replaces have no default.
    let is_imported = options.import.file.is_some();
    let of_keys = options.import.generate_keys || !is_imported;
    let size = match options.sizes() {
        Sizes::One(size) if !is_imported => size,
        _ => 0,
    };
    vec![
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
        ("key_prefix", Json::Text(of_keys.then(|| options.key_prefix.clone()))),
        ("key_minimum", wide(options.key_minimum)),
        ("key_maximum", wide(if of_keys { options.key_maximum } else { 0 })),
        ("key_pattern", Json::text(format!("{}:{}", patterns[0], patterns[1]))),
        ("key_stddev", decimal(options.key_stddev)),
        ("key_median", decimal(options.key_median)),
        ("key_zipf_exp", decimal(options.key_zipf_exp)),
    ]
}

fn connections(options: &Options) -> Entries {
    let replicas = options.num_slaves;
    let waits = options.wait_ratio.map_or((0, 0), |(a, b)| (a.into(), b.into()));
    vec![
        ("reconnect_interval", Json::whole(options.reconnect_interval)),
        ("connection_timeout", whole(options.connection_timeout.unwrap_or(0))),
        ("connection_stage_timeout", whole(options.stage_timeout.unwrap_or(0))),
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
    ]
}

fn reports(options: &Options) -> Entries {
    let prometheus = &options.prometheus;
    let address = prometheus.address.map_or("127.0.0.1".to_owned(), |ip| ip.to_string());
    let labels = prometheus.labels.iter().map(|(name, value)| format!("{name}={value}"));
    let labels = labels.collect::<Vec<_>>();
    let buckets = prometheus.buckets.as_ref().map_or("default".to_owned(), |bounds| {
        bounds.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    });
    vec![
        ("print-all-runs", yes_no(options.print_all_runs)),
        // The one truth value of its file.
        ("pin_threads", Json::Number(options.pin_threads.to_string())),
        ("read_preference", Json::text(options.reading.preference)),
        ("read_preference_fallback", Json::text(options.reading.fallback())),
        ("replica_clients", whole(options.reading.replica_clients.unwrap_or(0))),
        ("replicas_per_shard", whole(options.reading.replicas_per_shard.unwrap_or(0))),
        (
            "read_servers",
            Json::text(
                options
                    .reading
                    .servers
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(","),
            ),
        ),
        (
            "prometheus-port",
            Json::Number(prometheus.port.map_or("-1".to_owned(), |port| port.to_string())),
        ),
        ("prometheus-bind-addr", Json::text(address)),
        ("prometheus-run-labels", Json::text(labels.join(","))),
        ("prometheus-latency-buckets", Json::text(buckets)),
    ]
}

/// Options that `--show-config` has, in its order, a line each; later ones follow it.
const SHOWN: &str = include_str!("shown_options.txt");
/// Option that only `--show-config` has.
const JSON_FILE: &str = "json-out-file";
/// Ranges, which have a dash there and a colon in JSON.
const RANGES: [&str; 3] = ["data_size_range", "expiry_range", "num-slaves"];

/// The options that hold, a line each.
pub(super) fn shown(options: &Options) -> String {
    let mut entries = entries(options);
    entries.push((JSON_FILE.to_owned(), text(&options.json_out_file)));
    // Entries that are in no list follow in their order.
    entries
        .sort_by_key(|(key, _)| SHOWN.lines().position(|shown| shown == key).unwrap_or(usize::MAX));
    let lines = entries.iter().map(|(key, value)| {
        let value = match value {
            Json::Number(number) => number.trim().to_owned(),
            Json::Text(None) => "(null)".to_owned(),
            Json::Text(Some(text)) => match text.as_str() {
                "true" => "yes".to_owned(),
                "false" => "no".to_owned(),
                range if RANGES.contains(&key.as_str()) => range.replacen(':', "-", 1),
                text => report::escape(text),
            },
            Json::Object(_) | Json::Array(_) => String::new(),
        };
        format!("{key} = {value}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        let options = Options {
            authenticate: Some("user:geheim".into()),
            uri: Some("redis://user:geheim@host".into()),
            ..Options::new()
        };
        let text = format!("{:?} {}", entries(&options), shown(&options));
        assert!(!text.contains("geheim"), "{text}");
    }

    #[test]
    fn every_option_has_a_line_as_there() {
        let options = Options { data_size_range: Some((3, 9)), ..Options::new() };
        let shown = shown(&options);
        let lines: Vec<&str> = shown.lines().collect();
        for (line, name) in lines.iter().zip(SHOWN.lines()) {
            assert!(line.starts_with(&format!("{name} = ")), "{line}: {name}");
        }
        for line in [
            "ratio = 1:10",
            "tls = no",
            "unix socket = (null)",
            "uri = ",
            "data_size_range = 3-9",
            "num-slaves = 0-0",
            "wait-ratio = 0:0",
            "key_maximum = 10000000",
            "json-out-file = (null)",
        ] {
            assert!(lines.contains(&line), "{line}: {shown}");
        }
    }

    #[test]
    fn what_another_option_takes_the_place_of_has_no_default() {
        let of = |options: &Options, key: &str| {
            let entries = entries(options);
            entries.iter().find(|(known, _)| known == key).unwrap().1.clone()
        };
        let socket = Options { unix_socket: Some("s".into()), ..Options::new() };
        assert_eq!(
            (of(&socket, "server"), of(&socket, "port")),
            (Json::Text(None), Json::whole(0))
        );
        let mut import = Options::new();
        import.import.file = Some("f".into());
        assert_eq!(
            ["data_size", "key_prefix", "key_maximum"].map(|key| of(&import, key)),
            [Json::whole(0), Json::Text(None), wide(0)]
        );
        import.import.generate_keys = true;
        assert_eq!(of(&import, "key_prefix"), Json::text("memtier-"));
    }
}
