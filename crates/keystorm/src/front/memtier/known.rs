//! Every option of memtier_benchmark from 2.3.1 to 2.5.0, and `--client-no-touch`: its names, and whether it
//! takes a value.

/// An option.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) short: Option<char>,
    pub(super) takes: bool,
}

const fn flag(name: &'static str) -> Known {
    Known { name, short: None, takes: false }
}

const fn value(name: &'static str) -> Known {
    Known { takes: true, ..flag(name) }
}

const fn short(name: &'static str, short: char) -> Known {
    Known { short: Some(short), ..value(name) }
}

const fn short_flag(name: &'static str, short: char) -> Known {
    Known { short: Some(short), ..flag(name) }
}

/// Every one, in the order of its usage.
pub(super) const KNOWN: &[Known] = &[
    short("host", 'h'),
    short("server", 's'),
    short("port", 'p'),
    short("unix-socket", 'S'),
    short_flag("ipv4", '4'),
    short_flag("ipv6", '6'),
    short("uri", 'u'),
    short("protocol", 'P'),
    short("authenticate", 'a'),
    flag("tls"),
    value("cert"),
    value("key"),
    value("cacert"),
    flag("tls-skip-verify"),
    value("tls-protocols"),
    value("sni"),
    short("run-count", 'x'),
    short_flag("debug", 'D'),
    value("client-stats"),
    short("out-file", 'o'),
    value("json-out-file"),
    value("hdr-file-prefix"),
    flag("show-config"),
    flag("hide-histogram"),
    value("print-percentiles"),
    flag("print-all-runs"),
    value("command-stats-breakdown"),
    flag("realtime-latencies"),
    value("latency-window"),
    value("command-miss-tracking"),
    value("miss-rate-threshold"),
    value("cpu-warn-threshold"),
    flag("pin-threads"),
    value("statsd-host"),
    value("statsd-port"),
    value("statsd-prefix"),
    value("statsd-run-label"),
    value("graphite-port"),
    value("prometheus-port"),
    value("prometheus-bind-addr"),
    value("prometheus-run-label"),
    value("prometheus-latency-buckets"),
    flag("cluster-mode"),
    value("connection-timeout"),
    value("connection-stage-timeout"),
    value("thread-conn-start-min-jitter-micros"),
    value("thread-conn-start-max-jitter-micros"),
    short("requests", 'n'),
    short("clients", 'c'),
    short("threads", 't'),
    value("test-time"),
    value("clients-start"),
    value("clients-step"),
    value("step-duration"),
    value("rate-limiting"),
    value("ratio"),
    value("pipeline"),
    value("reconnect-interval"),
    flag("reconnect-on-error"),
    value("max-reconnect-attempts"),
    value("reconnect-backoff-factor"),
    value("multi-key-get"),
    value("select-db"),
    flag("client-no-touch"),
    flag("distinct-client-seed"),
    flag("randomize"),
    value("wait-ratio"),
    value("num-slaves"),
    value("wait-timeout"),
    flag("transaction"),
    flag("retry-on-error"),
    value("max-retries"),
    value("retry-backoff-ms"),
    value("retry-backoff-factor"),
    value("retry-on"),
    value("max-retry-queue"),
    value("failed-keys-file"),
    short("data-size", 'd'),
    value("data-offset"),
    short_flag("random-data", 'R'),
    value("data-size-range"),
    value("data-size-list"),
    value("data-size-pattern"),
    value("expiry-range"),
    value("data-import"),
    flag("data-verify"),
    flag("verify-only"),
    flag("generate-keys"),
    flag("no-expiry"),
    value("key-prefix"),
    value("key-minimum"),
    value("key-maximum"),
    value("key-pattern"),
    value("key-stddev"),
    value("key-median"),
    value("key-zipf-exp"),
    value("command"),
    value("command-ratio"),
    value("command-key-pattern"),
    flag("command-is-read"),
    value("read-preference"),
    value("read-preference-fallback"),
    value("read-server"),
    value("replica-clients"),
    value("replicas-per-shard"),
    value("monitor-input"),
    value("monitor-pattern"),
    flag("scan-incremental-iteration"),
    value("scan-incremental-max-iterations"),
    flag("help"),
    short_flag("version", 'v'),
];

/// Those of ours that have no `ks-` before them; `--ks-verdict` and others have.
pub(super) const OURS: &[Known] = &[flag("print-plan"), value("as")];

/// The usage text.
pub(super) fn usage() -> String {
    let mut text = String::from(
        "Usage: memtier_benchmark [options]\n\
         A load generation and performance benchmarking tool for Redis, Valkey and memcached; this \
         one is keystorm (docs/memtier.md).\n\nOptions:\n",
    );
    for Known { name, short, takes } in KNOWN.iter().chain(OURS) {
        let short = short.map_or("    ".to_owned(), |short| format!("-{short}, "));
        let value = if *takes { "=VALUE" } else { "" };
        let option = format!("  {short}--{name}{value}");
        text += option.trim_end();
        text.push('\n');
    }
    text += "      --ks-OPTION        any option of keystorm, such as --ks-json FILE\n\
             \x20     --ks-verdict       say on standard error what limited the run\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_names_of_its_own() {
        for (at, known) in KNOWN.iter().enumerate() {
            for other in &KNOWN[..at] {
                assert_ne!(known.name, other.name);
                assert!(known.short.is_none() || known.short != other.short, "{}", known.name);
            }
            assert!(usage().contains(&format!("--{}", known.name)));
        }
    }
}
