//! The options, a row each: its field, its default, how its text is read, and its name in the configuration.

mod derived;

use std::net::IpAddr;

use spec::{Address, host_and_port};
use workload::typed_login::shown_address;

use super::configuration::{decimals, file_name, json, list, pair, wide};
use super::fault::{Fault, usage_error};
use super::prometheus;
use super::values::{
    FALLBACKS, PREFERENCES, PRIMARY, Pattern, Requests, decimal, exponent, flag, limit, natural,
    non_empty, one_of, percent, percentiles, port, positive, protocol, ratio, read_server,
    requests, retries, retry_factor, seconds, size_list, sizes, small_range, span, text,
    tls_protocols, whole, word,
};
use super::words::TypedOption;
use crate::memtier::layout::{Entry, Json};
pub(super) use derived::Sizes;

/// A command of its user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) text: String,
    pub(super) ratio: u32,
    pub(super) pattern: Pattern,
    /// Set if replicas may answer it.
    pub(super) is_read: bool,
}

pub(super) const PORT: u16 = 6379;

/// Makes the struct of the options, its defaults, its readers and its entries in the configuration from rows.
///
/// A row is a field, its default if that is not the one of its type, the options that set it (each with the reader of
/// its text), and its key in the configuration, if it has one, with its value there if that is not the field as it is.
macro_rules! options {
    ($(
        $field:ident: $type:ty $(= $default:expr)?, from [$($name:literal = $read:expr),*]
        $(, shown $key:literal $(= $show:expr)?)?;
    )*) => {
        /// The options as typed.
        #[derive(Debug, Clone, Default)]
        pub(super) struct Options {
            $(pub(super) $field: $type,)*
        }

        impl Options {
            /// Returns the options of an empty command line.
            pub(super) fn new() -> Self {
                Self { $($($field: $default,)?)* ..Self::default() }
            }

            /// Reads one option.
            fn take(&mut self, name: &'static str, text: &str) -> Result<(), Fault> {
                match name {
                    $($($name => {
                        let read: fn(&'static str, &str) -> Result<_, Fault> = $read;
                        self.$field = read(name, text)?.into();
                    })*)*
                    _ => self.take_part(name, text)?,
                }
                Ok(())
            }

            /// Entries of the configuration in the order of its file; passwords are not shown.
            pub(super) fn entries(&self) -> Vec<Entry> {
                let mut entries = Vec::new();
                $($(entries.push(($key.to_owned(), options!(@shown self $field $($show)?)));)?)*
                let steps = [
                    ("clients_start", self.clients_start),
                    ("clients_step", self.clients_step),
                    ("step_duration", self.step_duration),
                ];
                let given = steps.into_iter().filter(|(_, number)| number.is_some());
                entries.extend(given.map(|(key, number)| (key.to_owned(), json(&number))));
                entries
            }
        }
    };
    (@shown $options:ident $field:ident) => { json(&$options.$field) };
    (@shown $options:ident $field:ident $show:expr) => {{
        let show: fn(&Options) -> Json = $show;
        show($options)
    }};
}

options! {
    // In the order of the configuration. Options that a Unix socket or a file replaces have no default there.
    host: Option<String>, from [],
        shown "server" = |o| json(&o.host.clone().or(o.of_tcp("localhost".to_owned())));
    port: Option<u16>, from ["port" = port], shown "port" = |o| json(&o.port.or(o.of_tcp(PORT)).unwrap_or(0));
    uri: Option<String>, from ["uri" = text],
        shown "uri" = |o| Json::text(o.uri.as_deref().map(shown_address).unwrap_or_default());
    unix_socket: Option<String>, from ["unix-socket" = text], shown "unix socket";
    ip_version: Option<u8>, from ["ipv4" = |_, _| Ok(4u8), "ipv6" = |_, _| Ok(6u8)],
        shown "address family" = |o| Json::text(match o.ip_version {
            Some(4) => "AF_INET",
            Some(_) => "AF_INET6",
            None => "Unspecified",
        });
    protocol: String = "redis".to_owned(), from ["protocol" = protocol], shown "protocol";
    out_file: Option<String>, from ["out-file" = text], shown "out_file";
    tls: bool, from ["tls" = flag], shown "tls";
    cert: Option<String>, from ["cert" = text], shown "cert" = |o| file_name(&o.cert);
    key: Option<String>, from ["key" = text], shown "key" = |o| file_name(&o.key);
    cacert: Option<String>, from ["cacert" = text], shown "cacert" = |o| file_name(&o.cacert);
    tls_skip_verify: bool, from ["tls-skip-verify" = flag], shown "tls_skip_verify";
    sni: Option<String>, from ["sni" = text], shown "sni";
    client_stats: Option<String>, from ["client-stats" = non_empty], shown "client_stats";
    run_count: u32 = 1, from ["run-count" = |_, text| positive("run count", text)], shown "run_count";
    debug: bool, from ["debug" = flag], shown "debug" = |o| json(&u32::from(o.debug));
    requests: Option<Requests>, from ["requests" = requests],
        shown "requests" = |o| json(&o.requests_each().unwrap_or(0));
    rate_limiting: u64, from ["rate-limiting" = whole], shown "rate_limit";
    clients: u32 = 50, from ["clients" = positive], shown "clients";
    threads: u32 = 4, from ["threads" = positive], shown "threads";
    test_time: Option<u64>, from ["test-time" = seconds],
        shown "test_time" = |o| json(&o.test_time.unwrap_or(0));
    // SETs and GETs of a turn.
    ratio: Option<(u32, u32)>, from ["ratio" = ratio], shown "ratio" = |o| pair(o.turn());
    pipeline: u32 = 1, from ["pipeline" = positive], shown "pipeline";
    // All commands, one after another, are one piece.
    transaction: bool, from ["transaction" = flag], shown "transaction";
    data_size: Option<u32>, from ["data-size" = positive], shown "data_size" = |o| match o.sizes() {
        Sizes::One(size) if o.data_import.is_none() => json(&size),
        _ => json(&0),
    };
    data_offset: u32, from ["data-offset" = natural], shown "data_offset";
    random_data: bool, from ["random-data" = flag], shown "random_data";
    data_size_range: Option<(u32, u32)>, from ["data-size-range" = sizes],
        shown "data_size_range" = |o| pair(o.data_size_range.unwrap_or_default());
    data_size_list: Vec<(u32, u32)>, from [],
        shown "data_size_list" = |o| list(o.data_size_list.iter().map(|(size, weight)| format!("{size}:{weight}")));
    // Sizes of a range go by the key.
    size_by_key: bool, from ["data-size-pattern" = |name, text| one_of(name, text, "R", "S")],
        shown "data_size_pattern" = |o| Json::text(if o.size_by_key { "S" } else { "R" });
    expiry_range: Option<(u64, u64)>, from ["expiry-range" = span],
        shown "expiry_range" = |o| pair(o.expiry_range.unwrap_or_default());
    data_import: Option<String>, from ["data-import" = text], shown "data_import";
    // What was written is read again in the end, which may be all that is done.
    data_verify: bool, from ["data-verify" = flag], shown "data_verify";
    verify_only: bool, from [], shown "verify_only";
    // Keys are made up and not those of the file.
    generate_keys: bool, from ["generate-keys" = flag], shown "generate_keys";
    key_prefix: String = "memtier-".to_owned(), from ["key-prefix" = text],
        shown "key_prefix" = |o| json(&o.makes_keys().then_some(&o.key_prefix));
    key_minimum: u64, from ["key-minimum" = whole], shown "key_minimum" = |o| wide(o.key_minimum);
    key_maximum: u64 = 10_000_000, from ["key-maximum" = whole],
        shown "key_maximum" = |o| wide(if o.makes_keys() { o.key_maximum } else { 0 });
    // Of SETs and GETs.
    key_pattern: Option<[Pattern; 2]>, from ["key-pattern" = Pattern::pair],
        shown "key_pattern" = |o| pair(o.patterns().map(Pattern::letter).into());
    key_stddev: Option<f64>, from ["key-stddev" = decimal], shown "key_stddev" = |o| decimals(o.key_stddev);
    key_median: Option<f64>, from ["key-median" = decimal], shown "key_median" = |o| decimals(o.key_median);
    key_zipf_exp: Option<f64>, from ["key-zipf-exp" = exponent],
        shown "key_zipf_exp" = |o| decimals(o.key_zipf_exp);
    reconnect_interval: u64, from ["reconnect-interval" = whole], shown "reconnect_interval";
    retry_on_error: bool, from ["retry-on-error" = flag], shown "retry_on_error";
    // Without a limit by default.
    max_retries: Option<u32>, from ["max-retries" = retries],
        shown "max_retries" = |o| json(&o.max_retries.map_or(-1, i64::from));
    retry_backoff_ms: u32, from ["retry-backoff-ms" = natural], shown "retry_backoff_ms";
    // 0 for always the same wait.
    retry_backoff_factor: f64, from ["retry-backoff-factor" = retry_factor],
        shown "retry_backoff_factor" = |o| decimals(Some(o.retry_backoff_factor));
    retry_on: String, from ["retry-on" = text], shown "retry_on";
    // 0 for the size that the pipeline needs.
    max_retry_queue: u32, from ["max-retry-queue" = natural], shown "max_retry_queue";
    failed_keys_file: Option<String>, from ["failed-keys-file" = non_empty],
        shown "failed_keys_file" = |o| Json::text(o.failed_keys_file.clone().unwrap_or_default());
    // Seconds that opening a lost connection again may take, and in which the first reply must have come.
    connection_timeout: Option<u32>, from ["connection-timeout" = limit],
        shown "connection_timeout" = |o| json(&o.connection_timeout.unwrap_or(0));
    stage_timeout: Option<u32> = Some(30), from ["connection-stage-timeout" = limit],
        shown "connection_stage_timeout" = |o| json(&o.stage_timeout.unwrap_or(0));
    // Microseconds between two connections that a thread opens.
    min_jitter: u32, from ["thread-conn-start-min-jitter-micros" = natural],
        shown "thread_conn_start_min_jitter_micros";
    max_jitter: u32, from ["thread-conn-start-max-jitter-micros" = natural],
        shown "thread_conn_start_max_jitter_micros";
    multi_key_get: u32, from ["multi-key-get" = positive], shown "multi_key_get";
    authenticate: Option<String>, from ["authenticate" = text],
        shown "authenticate" = |o| Json::text(if o.authenticate.is_some() { "***" } else { "" });
    select_db: Option<u32>, from ["select-db" = natural],
        shown "select-db" = |o| json(&o.select_db.unwrap_or(0));
    no_expiry: bool, from ["no-expiry" = flag], shown "no-expiry";
    wait_ratio: Option<(u32, u32)>, from ["wait-ratio" = ratio],
        shown "wait-ratio" = |o| pair(o.wait_ratio.unwrap_or_default());
    num_slaves: (u32, u32), from ["num-slaves" = small_range], shown "num-slaves" = |o| pair(o.num_slaves);
    wait_timeout: (u32, u32), from ["wait-timeout" = small_range],
        shown "wait-timeout" = |o| Json::text(format!("{}-{}", o.wait_timeout.0, o.wait_timeout.1));
    print_all_runs: bool, from ["print-all-runs" = flag], shown "print-all-runs";
    // The one truth value of the file.
    pin_threads: bool, from ["pin-threads" = flag],
        shown "pin_threads" = |o| Json::Number(o.pin_threads.to_string());
    read_preference: &'static str = PRIMARY, from ["read-preference" = |name, text| word(name, text, PREFERENCES)],
        shown "read_preference";
    // What reads do that are for a replica where there is none.
    read_fallback: &'static str = FALLBACKS[0],
        from ["read-preference-fallback" = |name, text| word(name, text, FALLBACKS)],
        shown "read_preference_fallback";
    // Connections of a thread to each replica, where that is not as many as to a primary.
    replica_clients: Option<u32>, from ["replica-clients" = limit],
        shown "replica_clients" = |o| json(&o.replica_clients.unwrap_or(0));
    replicas_per_shard: Option<u32>, from ["replicas-per-shard" = limit],
        shown "replicas_per_shard" = |o| json(&o.replicas_per_shard.unwrap_or(0));
    // Replicas outside of a cluster.
    read_servers: Vec<Address>, from [], shown "read_servers" = |o| list(&o.read_servers);
    // 0 for a free one.
    prometheus_port: Option<u16>, from ["prometheus-port" = prometheus::port],
        shown "prometheus-port" = |o| json(&o.prometheus_port.map_or(-1, i32::from));
    prometheus_address: Option<IpAddr>, from ["prometheus-bind-addr" = prometheus::address],
        shown "prometheus-bind-addr" = |o| {
            Json::text(o.prometheus_address.map_or("127.0.0.1".to_owned(), |ip| ip.to_string()))
        };
    prometheus_labels: Vec<(String, String)>, from [],
        shown "prometheus-run-labels" = |o| {
            list(o.prometheus_labels.iter().map(|(name, value)| format!("{name}={value}")))
        };
    // Upper bounds in seconds.
    prometheus_buckets: Option<Vec<f64>>, from ["prometheus-latency-buckets" = prometheus::buckets],
        shown "prometheus-latency-buckets" = |o| {
            o.prometheus_buckets.as_ref().map_or(Json::text("default"), list)
        };
    // Connections of a thread from the start, those that join each time, and seconds in between.
    clients_start: Option<u32>, from ["clients-start" = positive];
    clients_step: Option<u32>, from ["clients-step" = positive];
    step_duration: Option<u32>, from ["step-duration" = positive];
    tls_protocols: Option<String>, from ["tls-protocols" = tls_protocols];
    json_out_file: Option<String>, from ["json-out-file" = text];
    hdr_file_prefix: Option<String>, from ["hdr-file-prefix" = non_empty];
    show_config: bool, from ["show-config" = flag];
    hide_histogram: bool, from ["hide-histogram" = flag];
    percentiles: Vec<f64> = vec![50.0, 99.0, 99.9], from ["print-percentiles" = percentiles];
    by_line: bool,
        from ["command-stats-breakdown" = |name, text| one_of(name, &text.to_lowercase(), "command", "line")];
    cluster: bool, from ["cluster-mode" = flag];
    // Reads leave alone when a key was last used.
    no_touch: bool, from ["client-no-touch" = flag];
    // Number of times in a row that opening a lost connection again may fail.
    reconnect_attempts: Option<u32>, from ["max-reconnect-attempts" = limit];
    reconnect_on_error: bool, from ["reconnect-on-error" = flag];
    reconnect_backoff_factor: Option<f64>, from ["reconnect-backoff-factor" = decimal];
    distinct_client_seed: bool, from ["distinct-client-seed" = flag];
    randomize: bool, from ["randomize" = flag];
    commands: Vec<Command>, from [];
    monitor_input: Option<String>, from ["monitor-input" = text];
    // Lines of the capture are drawn.
    monitor_random: bool, from ["monitor-pattern" = |name, text| one_of(name, &text.to_uppercase(), "S", "R")];
    // Cursors of SCAN are followed, and how often in a row.
    scan_walk: bool, from ["scan-incremental-iteration" = flag];
    scan_most: Option<u32>, from ["scan-incremental-max-iterations" = limit];
    statsd_host: Option<String>, from ["statsd-host" = text];
    statsd_port: u16 = 8125, from ["statsd-port" = port];
    statsd_prefix: String = "memtier".to_owned(), from ["statsd-prefix" = text];
    statsd_label: String = "default".to_owned(), from ["statsd-run-label" = text];
    // Port of a Graphite server on the same host that gets an event when a run begins and ends.
    graphite_port: Option<u16>, from ["graphite-port" = port];
    // Percentiles are printed during a run, also of this many of its last seconds.
    realtime: bool, from ["realtime-latencies" = flag];
    latency_window: u32 = 60, from ["latency-window" = natural];
    // Hits and misses of commands of the user's own are counted, and the miss rate (%) above which one is reported.
    miss_tracking: bool = true,
        from ["command-miss-tracking" = |name, text| Ok(!one_of(name, text, "auto", "off")?)];
    miss_threshold: Option<f64>, from ["miss-rate-threshold" = percent];
    // CPU usage (%) above which a thread is reported.
    cpu_warn: Option<f64>, from ["cpu-warn-threshold" = percent];
    print_plan: bool, from ["print-plan" = flag];
    as_keystorm: bool, from [];
    help: bool, from ["help" = flag];
    version: bool, from ["version" = flag];
}

impl Options {
    /// Reads what was given, the last of several.
    pub(super) fn read(given: &[TypedOption]) -> Result<Self, Fault> {
        let mut options = Self::new();
        for TypedOption { name, value } in given {
            options.take(name, value.as_deref().unwrap_or_default())?;
        }
        Ok(options)
    }

    /// Reads an option that adds to what others said, or sets several fields.
    fn take_part(&mut self, name: &'static str, text: &str) -> Result<(), Fault> {
        match name {
            "host" | "server" => {
                let (host, port) = host_and_port(text);
                self.host = Some(host);
                self.port = port.or(self.port);
            }
            "data-size-list" => self.data_size_list.extend(size_list(text)?),
            "verify-only" => (self.data_verify, self.verify_only) = (true, true),
            "read-server" => self.read_servers.push(read_server(text)?),
            "prometheus-run-label" => {
                let label = prometheus::label(text, &self.prometheus_labels)?;
                self.prometheus_labels.push(label);
            }
            "command" => self.commands.push(Command {
                text: text.to_owned(),
                ratio: 1,
                pattern: Pattern::Random,
                is_read: false,
            }),
            "command-ratio" => {
                let ratio = positive(name, text)
                    .map_err(|_| usage_error("--command-ratio must be a positive integer."))?;
                self.last_command()?.ratio = ratio;
            }
            "command-key-pattern" => {
                let pattern = Pattern::read(name, text)?;
                self.last_command()?.pattern = pattern;
            }
            "command-is-read" => {
                let last = self.commands.last_mut();
                last.ok_or_else(|| usage_error("--command-is-read must follow a --command."))?
                    .is_read = true;
            }
            "as" if text == "keystorm" => self.as_keystorm = true,
            "as" => {
                return Err(usage_error(format!("--as {text}: only keystorm is possible.")));
            }
            _ => unreachable!("{name} is in the table of options, and is read nowhere"),
        }
        Ok(())
    }

    fn last_command(&mut self) -> Result<&mut Command, Fault> {
        self.commands.last_mut().ok_or_else(|| usage_error("no arbitrary command found."))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::option_list::{known, ours};
    use super::*;

    /// The options of a command line.
    pub(in crate::memtier) fn parsed(line: &str) -> Result<Options, Fault> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let words = super::super::words::read(&words, |_| None).unwrap();
        Options::read(&words.given)
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let options = parsed("").unwrap();
        assert_eq!((options.connections(), options.requests_each()), (200, Some(10_000)));
        assert_eq!((options.turn(), options.sizes()), ((1, 10), Sizes::One(32)));
        assert_eq!((options.keys(), &options.key_prefix[..]), (10_000_001, "memtier-"));
    }

    #[test]
    fn all_keys_are_divided_among_parallel_connections_only() {
        let each = |line: &str| parsed(line).unwrap().requests_each();
        let range = "-n allkeys --key-minimum=1 --key-maximum=500000";
        assert_eq!(each(&format!("{range} -t 2 -c 10 --key-pattern=P:P")), Some(25_000));
        assert_eq!(each(&format!("{range} -t 1 -c 1 --key-pattern=S:S")), Some(499_999));
        assert_eq!((each("--test-time 5"), each("-n 7")), (None, Some(7)));
    }

    #[test]
    fn every_option_is_read() {
        for known in known().chain(ours()) {
            let given = TypedOption { name: known.name, value: known.takes.then(String::new) };
            // One that is read nowhere panics.
            let _ = Options::read(&[given]);
        }
    }

    #[test]
    fn what_one_option_has_wrong_is_reported_with_the_usage() {
        for (line, says) in [
            ("--key-minimum 0", "key-minimum must be greater than zero."),
            ("-d 0", "data-size must be greater than zero."),
            ("-c 0", "clients must be greater than zero."),
            ("-p 65536", "port must be a number in the range [1-65535]."),
            ("--ratio 0:0", "ratio must be expressed as [0-n]:[0-n]."),
            ("--key-pattern=P:R", "parallel key-pattern must be configured for both"),
            ("--key-pattern=r:r", "key-pattern must be in the format"),
            ("--command-ratio 2 --command PING", "no arbitrary command found."),
            ("--run-count -1", "run count must be greater than zero."),
            ("-n x", "requests must be greater than zero."),
        ] {
            let Err(Fault::Usage(error)) = parsed(line) else { panic!("{line}") };
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
