//! Reading each option: by its name, its text into its field.

use spec::host_and_port;

use super::{Command, Fault, Options, SECONDS_MAX, usage_error};
use crate::memtier::values::{
    Pattern, at_least, decimal, exponent, limit, one_of, percent, percentiles, port, protocol,
    range, ratio, requests, size_list, sizes, small, small_range, tls_protocols,
};

/// Reads an option into its field, if it is one of its group; whether it is.
type Group = fn(&mut Options, &'static str, &str) -> Result<bool, Fault>;

impl Options {
    /// Reads one option.
    pub(super) fn take(&mut self, name: &'static str, text: &str) -> Result<(), Fault> {
        let groups: [Group; 7] = [
            Self::take_connection,
            Self::take_load,
            Self::take_data,
            Self::take_command,
            Self::take_report,
            Self::take_live,
            Self::take_other,
        ];
        for group in groups {
            if group(self, name, text)? {
                return Ok(());
            }
        }
        unreachable!("{name} is in the table of options, and is read nowhere")
    }

    /// Takes an option of the server, of the protocol, or of how connections are opened.
    fn take_connection(&mut self, name: &'static str, text: &str) -> Result<bool, Fault> {
        let own = || text.to_owned();
        match name {
            "host" | "server" => {
                let (host, port) = host_and_port(text);
                self.host = Some(host);
                self.port = port.or(self.port);
            }
            "port" => self.port = Some(port(text)?),
            "unix-socket" => self.unix_socket = Some(own()),
            "ipv4" => self.ip_version = Some(4),
            "ipv6" => self.ip_version = Some(6),
            "uri" => self.uri = Some(own()),
            "protocol" => {
                protocol(text)?;
                self.protocol = own();
            }
            "authenticate" => self.authenticate = Some(own()),
            "select-db" => self.select_db = Some(small(name, text, 0)?),
            "tls" => self.tls = true,
            "cert" => self.cert = Some(own()),
            "key" => self.key = Some(own()),
            "cacert" => self.cacert = Some(own()),
            "tls-skip-verify" => self.tls_skip_verify = true,
            "sni" => self.sni = Some(own()),
            "tls-protocols" => self.tls_protocols = Some(tls_protocols(text)?),
            "cluster-mode" => self.cluster = true,
            "read-preference"
            | "read-preference-fallback"
            | "read-server"
            | "replica-clients"
            | "replicas-per-shard" => self.reading.take(name, text)?,
            "client-no-touch" => self.no_touch = true,
            "connection-timeout" => self.connection_timeout = limit(name, text)?,
            "max-reconnect-attempts" => self.reconnect_attempts = limit(name, text)?,
            "thread-conn-start-min-jitter-micros" => self.jitter[0] = small(name, text, 0)?,
            "thread-conn-start-max-jitter-micros" => self.jitter[1] = small(name, text, 0)?,
            "connection-stage-timeout" => self.stage_timeout = limit(name, text)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes an option of the amount, the rate or the handling of errors.
    fn take_load(&mut self, name: &'static str, text: &str) -> Result<bool, Fault> {
        match name {
            "requests" => self.requests = Some(requests(text)?),
            "clients" => self.clients = small(name, text, 1)?,
            "threads" => self.threads = small(name, text, 1)?,
            "test-time" => {
                let seconds = at_least(name, text, 1)?;
                self.test_time = Some(seconds.min(SECONDS_MAX));
            }
            "clients-start" => self.clients_start = Some(small(name, text, 1)?),
            "clients-step" => self.clients_step = Some(small(name, text, 1)?),
            "step-duration" => self.step_duration = Some(small(name, text, 1)?),
            "rate-limiting" => self.rate_limiting = at_least(name, text, 1)?,
            "ratio" => self.ratio = Some(ratio(name, text)?),
            "pipeline" => self.pipeline = small(name, text, 1)?,
            "reconnect-interval" => self.reconnect_interval = at_least(name, text, 1)?,
            "reconnect-on-error" => self.reconnect_on_error = true,
            "reconnect-backoff-factor" => {
                self.reconnect_backoff_factor = Some(decimal(name, text)?);
            }
            "retry-on-error"
            | "max-retries"
            | "retry-backoff-ms"
            | "retry-backoff-factor"
            | "retry-on"
            | "max-retry-queue"
            | "failed-keys-file" => self.retrying.take(name, text)?,
            "multi-key-get" => self.multi_key_get = small(name, text, 1)?,
            "distinct-client-seed" => self.distinct_client_seed = true,
            "randomize" => self.randomize = true,
            "wait-ratio" => self.wait_ratio = Some(ratio(name, text)?),
            "num-slaves" => self.num_slaves = small_range(name, text, 0)?,
            "wait-timeout" => self.wait_timeout = small_range(name, text, 0)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Values and keys.
    fn take_data(&mut self, name: &'static str, text: &str) -> Result<bool, Fault> {
        let own = || text.to_owned();
        match name {
            "data-size" => self.data_size = Some(small(name, text, 1)?),
            "data-offset" => self.data_offset = small(name, text, 0)?,
            "random-data" => self.random_data = true,
            "data-size-range" => self.data_size_range = Some(sizes(name, text)?),
            "data-size-list" => self.data_size_list.extend(size_list(text)?),
            "data-size-pattern" => self.size_by_key = one_of(name, text, "R", "S")?,
            "expiry-range" => self.expiry_range = Some(range(name, text, 0)?),
            "data-import" => self.import.file = Some(own()),
            "data-verify" => self.import.verify = true,
            "verify-only" => (self.import.verify, self.import.verify_only) = (true, true),
            "generate-keys" => self.import.generate_keys = true,
            "no-expiry" => self.import.no_expiry = true,
            "key-prefix" => self.key_prefix = own(),
            "key-minimum" => self.key_minimum = at_least(name, text, 1)?,
            "key-maximum" => self.key_maximum = at_least(name, text, 1)?,
            "key-pattern" => self.key_pattern = Some(Pattern::pair(text)?),
            "key-stddev" => self.key_stddev = Some(decimal(name, text)?),
            "key-median" => self.key_median = Some(decimal(name, text)?),
            "key-zipf-exp" => self.key_zipf_exp = Some(exponent(text)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Commands of the user's own.
    fn take_command(&mut self, name: &'static str, text: &str) -> Result<bool, Fault> {
        let own = || text.to_owned();
        match name {
            "command" => self.commands.push(Command {
                text: own(),
                ratio: 1,
                pattern: Pattern::Random,
                is_read: false,
            }),
            "command-ratio" => {
                let ratio = small(name, text, 1)
                    .map_err(|_| usage_error("--command-ratio must be a positive integer."))?;
                self.last_command()?.ratio = ratio;
            }
            "command-key-pattern" => {
                let pattern = Pattern::read("command-key-pattern", text)?;
                self.last_command()?.pattern = pattern;
            }
            "command-is-read" => {
                let last = self.commands.last_mut();
                last.ok_or_else(|| usage_error("--command-is-read must follow a --command."))?
                    .is_read = true;
            }
            "transaction" => self.transaction = true,
            "monitor-input" => self.monitor_input = Some(own()),
            "monitor-pattern" => {
                self.monitor_random = one_of(name, &text.to_uppercase(), "S", "R")?;
            }
            "scan-incremental-iteration" => self.scan_walk = true,
            "scan-incremental-max-iterations" => {
                self.scan_most = limit(name, text)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reports of runs that have ended.
    fn take_report(&mut self, name: &'static str, text: &str) -> Result<bool, Fault> {
        let own = || text.to_owned();
        match name {
            "run-count" => self.run_count = small("run count", text, 1)?,
            "out-file" => self.out_file = Some(own()),
            "json-out-file" => self.json_out_file = Some(own()),
            "client-stats" => self.client_stats = Some(own()).filter(|p| !p.is_empty()),
            "hdr-file-prefix" => self.hdr_file_prefix = Some(own()).filter(|p| !p.is_empty()),
            "debug" => self.debug = true,
            "show-config" => self.show_config = true,
            "hide-histogram" => self.hide_histogram = true,
            "print-percentiles" => self.percentiles = percentiles(text)?,
            "print-all-runs" => self.print_all_runs = true,
            "command-stats-breakdown" => {
                self.by_line = one_of(name, &text.to_lowercase(), "command", "line")?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes an option of the output during a run.
    fn take_live(&mut self, name: &'static str, text: &str) -> Result<bool, Fault> {
        let own = || text.to_owned();
        match name {
            "statsd-host" => self.statsd.host = Some(own()),
            "statsd-port" => self.statsd.port = port(text)?,
            "statsd-prefix" => self.statsd.prefix = own(),
            "statsd-run-label" => self.statsd.label = own(),
            "graphite-port" => self.statsd.events = Some(port(text)?),
            "prometheus-port" => self.prometheus.take_port(text)?,
            "prometheus-bind-addr" => self.prometheus.take_address(text)?,
            "prometheus-run-label" => self.prometheus.take_label(text)?,
            "prometheus-latency-buckets" => self.prometheus.take_buckets(text)?,
            "realtime-latencies" => self.realtime = true,
            "latency-window" => self.latency_window = small(name, text, 0)?,
            "command-miss-tracking" => self.miss_tracking = !one_of(name, text, "auto", "off")?,
            "miss-rate-threshold" => self.miss_threshold = Some(percent(name, text)?),
            "cpu-warn-threshold" => self.cpu_warn = Some(percent(name, text)?),
            "pin-threads" => self.pin_threads = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes an option for an action other than a run.
    fn take_other(&mut self, name: &'static str, text: &str) -> Result<bool, Fault> {
        match name {
            "print-plan" => self.print_plan = true,
            "as" if text == "keystorm" => self.as_keystorm = true,
            "as" => {
                return Err(usage_error(format!("--as {text}: only keystorm is possible.")));
            }
            "help" => self.help = true,
            "version" => self.version = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn last_command(&mut self) -> Result<&mut Command, Fault> {
        self.commands.last_mut().ok_or_else(|| usage_error("no arbitrary command found."))
    }
}
