//! The parsed options, with their defaults and the errors of single options.

mod reading;
mod take;

use workload::{JoinSchedule, ProtocolKind, Spacing};

use super::fault::{Fault, usage_error};
use super::prometheus::Prometheus;
use super::retrying::RetryOptions;
use super::statsd::Statsd;
use super::values::{Pattern, Requests, protocol};
use super::words::TypedOption;
pub(super) use reading::{FALLBACKS, NEAREST, PRIMARY, ReadOptions, SECONDARY};

/// A command of its user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) text: String,
    pub(super) ratio: u32,
    pub(super) pattern: Pattern,
    /// Set if replicas may answer it.
    pub(super) is_read: bool,
}

/// Sizes of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sizes {
    One(u32),
    Range(u32, u32),
    List(Vec<(u32, u32)>),
}

/// Use of the items of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Import {
    pub(super) file: Option<String>,
    /// Set if what was written is read again in the end, and if that is all.
    pub(super) verify: bool,
    pub(super) verify_only: bool,
    /// Set if keys are made up and not those of the file.
    pub(super) generate_keys: bool,
    pub(super) no_expiry: bool,
}

/// The options as typed; each field has the name of its option.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) unix_socket: Option<String>,
    /// 4 or 6.
    pub(super) ip_version: Option<u8>,
    pub(super) uri: Option<String>,
    pub(super) protocol: String,
    pub(super) authenticate: Option<String>,
    pub(super) select_db: Option<u32>,
    pub(super) tls: bool,
    pub(super) cert: Option<String>,
    pub(super) key: Option<String>,
    pub(super) cacert: Option<String>,
    pub(super) tls_skip_verify: bool,
    pub(super) sni: Option<String>,
    pub(super) tls_protocols: Option<String>,
    pub(super) run_count: u32,
    pub(super) out_file: Option<String>,
    pub(super) json_out_file: Option<String>,
    pub(super) hdr_file_prefix: Option<String>,
    pub(super) client_stats: Option<String>,
    pub(super) debug: bool,
    pub(super) show_config: bool,
    pub(super) hide_histogram: bool,
    pub(super) percentiles: Vec<f64>,
    pub(super) print_all_runs: bool,
    pub(super) by_line: bool,
    pub(super) cluster: bool,
    /// Nodes that answer reads.
    pub(super) reading: ReadOptions,
    /// Set if reads leave alone when a key was last used.
    pub(super) no_touch: bool,
    /// Seconds in which the first reply must have come; `None` without end.
    pub(super) stage_timeout: Option<u32>,
    /// Seconds that opening a lost connection again may take.
    pub(super) connection_timeout: Option<u32>,
    /// Number of times in a row that opening it again may fail.
    pub(super) reconnect_attempts: Option<u32>,
    /// Microseconds between two connections that a thread opens, at least and at most.
    pub(super) jitter: [u32; 2],
    pub(super) requests: Option<Requests>,
    pub(super) clients: u32,
    pub(super) threads: u32,
    pub(super) test_time: Option<u64>,
    /// Connections of a thread from the start, those that join each time, and seconds in between.
    pub(super) clients_start: Option<u32>,
    pub(super) clients_step: Option<u32>,
    pub(super) step_duration: Option<u32>,
    pub(super) rate_limiting: u64,
    /// SETs and GETs of a turn, where they were given.
    pub(super) ratio: Option<(u32, u32)>,
    pub(super) pipeline: u32,
    pub(super) reconnect_interval: u64,
    pub(super) reconnect_on_error: bool,
    pub(super) reconnect_backoff_factor: Option<f64>,
    /// Treatment of requests that fail.
    pub(super) retrying: RetryOptions,
    pub(super) multi_key_get: u32,
    pub(super) distinct_client_seed: bool,
    pub(super) randomize: bool,
    pub(super) wait_ratio: Option<(u32, u32)>,
    pub(super) num_slaves: (u32, u32),
    pub(super) wait_timeout: (u32, u32),
    pub(super) data_size: Option<u32>,
    pub(super) data_size_range: Option<(u32, u32)>,
    pub(super) data_size_list: Vec<(u32, u32)>,
    /// Set if sizes of a range go by the key.
    pub(super) size_by_key: bool,
    pub(super) data_offset: u32,
    pub(super) random_data: bool,
    pub(super) expiry_range: Option<(u64, u64)>,
    pub(super) import: Import,
    pub(super) key_prefix: String,
    pub(super) key_minimum: u64,
    pub(super) key_maximum: u64,
    /// Patterns of SETs and GETs, if given.
    pub(super) key_pattern: Option<[Pattern; 2]>,
    pub(super) key_stddev: Option<f64>,
    pub(super) key_median: Option<f64>,
    pub(super) key_zipf_exp: Option<f64>,
    pub(super) commands: Vec<Command>,
    /// Set if all commands, one after another, are one piece.
    pub(super) transaction: bool,
    pub(super) monitor_input: Option<String>,
    /// Set if lines of the capture are drawn.
    pub(super) monitor_random: bool,
    /// Set if cursors of SCAN are followed, and how often in a row.
    pub(super) scan_walk: bool,
    pub(super) scan_most: Option<u32>,
    pub(super) statsd: Statsd,
    /// Address at which figures are served over HTTP.
    pub(super) prometheus: Prometheus,
    /// Set if percentiles are printed during a run, and of how many of its last seconds.
    pub(super) realtime: bool,
    pub(super) latency_window: u32,
    /// Set if hits and misses of --command commands are counted, and the miss rate (%) above which a command is
    /// reported.
    pub(super) miss_tracking: bool,
    pub(super) miss_threshold: Option<f64>,
    /// CPU usage (%) above which a thread is reported.
    pub(super) cpu_warn: Option<f64>,
    /// Set if each thread has a CPU of its own.
    pub(super) pin_threads: bool,
    pub(super) print_plan: bool,
    pub(super) as_keystorm: bool,
    pub(super) help: bool,
    pub(super) version: bool,
}

const DATA_SIZE: u32 = 32;
pub(super) const PORT: u16 = 6379;
pub(super) const RATIO: (u32, u32) = (1, 10);
pub(super) const REQUESTS: u64 = 10_000;

/// Longest run, in seconds.
const SECONDS_MAX: u64 = 366 * 86_400;

impl Options {
    /// Returns the options of an empty command line.
    pub(super) fn new() -> Self {
        Self {
            protocol: "redis".to_owned(),
            run_count: 1,
            percentiles: vec![50.0, 99.0, 99.9],
            stage_timeout: Some(30),
            clients: 50,
            threads: 4,
            pipeline: 1,
            key_prefix: "memtier-".to_owned(),
            key_maximum: 10_000_000,
            latency_window: 60,
            miss_tracking: true,
            ..Self::default()
        }
    }

    /// Reads what was given, the last of several.
    pub(super) fn read(given: &[TypedOption]) -> Result<Self, Fault> {
        let mut options = Self::new();
        for TypedOption { name, value } in given {
            options.take(name, value.as_deref().unwrap_or_default())?;
        }
        Ok(options)
    }

    /// Protocol of the server.
    pub(super) fn protocol_kind(&self) -> ProtocolKind {
        protocol(&self.protocol).unwrap_or(ProtocolKind::Resp2)
    }

    /// Returns whether all commands are sent in one piece; false for a walk, whose only command is anyway.
    pub(super) fn is_in_one_piece(&self) -> bool {
        self.transaction && !self.scan_walk
    }

    /// The SETs and GETs of a turn.
    pub(super) fn turn(&self) -> (u32, u32) {
        self.ratio.unwrap_or(RATIO)
    }

    /// Patterns by which SETs and GETs take their keys.
    pub(super) fn patterns(&self) -> [Pattern; 2] {
        self.key_pattern.unwrap_or([Pattern::Random; 2])
    }

    /// Sizes of the values.
    pub(super) fn sizes(&self) -> Sizes {
        match (self.data_size_range, &self.data_size_list[..]) {
            (Some((least, most)), _) => Sizes::Range(least, most),
            (None, []) => Sizes::One(self.data_size.unwrap_or(DATA_SIZE)),
            (None, list) => Sizes::List(list.to_vec()),
        }
    }

    /// Schedule by which the connections of a thread join the load, if not all carry it from the start.
    pub(super) fn joining(&self) -> Option<JoinSchedule> {
        let (first, step) = (self.clients_start?, self.clients_step?);
        Some(JoinSchedule { first, step, every_ns: u64::from(self.step_duration?) * 1_000_000_000 })
    }

    /// Time between two openings of connections by a thread, if it does not open them at once.
    pub(super) fn spacing(&self) -> Option<Spacing> {
        let [least_ns, most_ns] = self.jitter.map(|micros| u64::from(micros) * 1000);
        (most_ns > 0).then_some(Spacing { least_ns, most_ns })
    }

    /// Returns whether each client has a connection to every node of a cluster: of replicas it may have several, and
    /// then connections are shared.
    pub(super) fn has_clients(&self) -> bool {
        self.cluster && self.reading.replica_clients.is_none()
    }

    /// Connections of all threads.
    pub(super) fn connections(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.threads)
    }

    /// Number of keys.
    pub(super) fn keys(&self) -> u64 {
        (self.key_maximum - self.key_minimum).saturating_add(1)
    }

    /// Requests of each connection; `None` for as many as it can.
    pub(super) fn requests_each(&self) -> Option<u64> {
        let span = self.key_maximum - self.key_minimum;
        match self.requests {
            Some(Requests::Number(requests)) => Some(requests),
            Some(Requests::AllKeys) if self.key_pattern == Some([Pattern::Parallel; 2]) => {
                Some(span / self.connections() + 1)
            }
            Some(Requests::AllKeys) => Some(span.max(1)),
            None if self.test_time.is_some() => None,
            None => Some(REQUESTS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::option_list::{known, ours};
    use super::*;

    fn parsed(line: &str) -> Result<Options, Fault> {
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
            let given = TypedOption { name: known.name, value: known.takes().then(String::new) };
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
