//! Every option of memtier_benchmark from 2.3.1 to 2.5.0, and `--client-no-touch`: its names, what its value is
//! called, and what it does.

/// An option.
#[derive(Debug)]
pub(super) struct OptionHelp {
    pub(super) name: &'static str,
    pub(super) short: Option<char>,
    /// Name of its value, if it takes one.
    pub(super) value: Option<&'static str>,
    /// Help in one line.
    help: &'static str,
}

impl OptionHelp {
    pub(super) const fn takes(&self) -> bool {
        self.value.is_some()
    }
}

const fn flag(name: &'static str, help: &'static str) -> OptionHelp {
    OptionHelp { name, short: None, value: None, help }
}

const fn value(name: &'static str, value: &'static str, help: &'static str) -> OptionHelp {
    OptionHelp { name, short: None, value: Some(value), help }
}

const fn short(letter: char, known: OptionHelp) -> OptionHelp {
    OptionHelp { short: Some(letter), ..known }
}

/// Options under a heading.
type Group = (&'static str, &'static [OptionHelp]);

/// Every one, in groups.
const GROUPS: &[Group] = &[
    ("Server", SERVER),
    ("Length and shape of the load", SHAPE),
    ("Keys", KEYS),
    ("Values", VALUES),
    ("Commands of your own", COMMANDS),
    ("Failures", FAILURES),
    ("Cluster and replicas", CLUSTER),
    ("WAIT", WAIT),
    ("Values from a file", IMPORT),
    ("Reports", REPORTS),
    ("While a run goes on", WATCHING),
    ("Help", HELP),
];

const SERVER: &[OptionHelp] = &[
    short('h', value("host", "ADDR", "address of the server (localhost)")),
    short('s', value("server", "ADDR", "the same as --host")),
    short('p', value("port", "PORT", "port of the server (6379)")),
    short('S', value("unix-socket", "PATH", "Unix socket, instead of address and port")),
    short('4', flag("ipv4", "use only IPv4 addresses of the host")),
    short('6', flag("ipv6", "use only IPv6 addresses of the host")),
    short(
        'u',
        value(
            "uri",
            "URI",
            "redis[s]://[[USER:]PASSWORD@]HOST[:PORT][/DB]; overrides other options",
        ),
    ),
    short(
        'P',
        value("protocol", "NAME", "redis, resp2, resp3, memcache_text or memcache_binary (redis)"),
    ),
    short('a', value("authenticate", "[USER:]PASSWORD", "password, and user, to log in with")),
    value("select-db", "N", "number of the Redis database (0)"),
    flag(
        "client-no-touch",
        "send CLIENT NO-TOUCH ON: reads do not change when a key was last used",
    ),
    flag("tls", "use TLS"),
    value("cert", "FILE", "client certificate, in PEM"),
    value("key", "FILE", "private key of --cert (in --cert)"),
    value("cacert", "FILE", "CA certificates to trust, in PEM"),
    flag("tls-skip-verify", "accept any server certificate"),
    value(
        "tls-protocols",
        "LIST",
        "versions to allow: TLSv1, TLSv1.1, TLSv1.2, TLSv1.3 (the last two)",
    ),
    value("sni", "NAME", "server name to request and to check the certificate against"),
];

const SHAPE: &[OptionHelp] = &[
    short(
        'n',
        value("requests", "N", "requests of each client, or allkeys: one for each key (10000)"),
    ),
    value("test-time", "SECONDS", "run for this long, instead of --requests"),
    short('c', value("clients", "N", "clients of each thread (50)")),
    short('t', value("threads", "N", "threads (4)")),
    value("pipeline", "N", "requests that a client has in flight (1)"),
    value("ratio", "SETS:GETS", "number of SETs and of GETs in each turn (1:10)"),
    value("rate-limiting", "N", "requests per second of each connection (no limit)"),
    short('x', value("run-count", "N", "runs, one after another (1)")),
    value("clients-start", "N", "clients of each thread at the start; the others join in steps"),
    value("clients-step", "N", "clients of each thread that join at each step"),
    value("step-duration", "SECONDS", "time from one step to the next"),
    value("multi-key-get", "N", "keys per GET: MGET, or memcached's get (1)"),
    value("reconnect-interval", "N", "close and reopen a connection after this many requests"),
    value(
        "thread-conn-start-min-jitter-micros",
        "MICROS",
        "shortest wait between two connections of a thread (0)",
    ),
    value(
        "thread-conn-start-max-jitter-micros",
        "MICROS",
        "longest wait between two connections of a thread (0)",
    ),
    flag("distinct-client-seed", "give each client its own keys (all have the same)"),
    flag("randomize", "use a new seed for each start"),
    flag("pin-threads", "pin each thread to its own CPU"),
];

const KEYS: &[OptionHelp] = &[
    value("key-prefix", "TEXT", "prefix of all keys (memtier-)"),
    value("key-minimum", "N", "smallest key number (0)"),
    value("key-maximum", "N", "largest key number (10000000)"),
    value(
        "key-pattern",
        "SET:GET",
        "R random, S in order, P in order with its own part for each client, G Gaussian, Z Zipf (R:R)",
    ),
    value("key-stddev", "N", "standard deviation of G (a sixth of the range)"),
    value("key-median", "N", "median of G (the middle of the range)"),
    value("key-zipf-exp", "N", "exponent of Z, between 0 and 5 (1)"),
];

const VALUES: &[OptionHelp] = &[
    short('d', value("data-size", "BYTES", "size of a value (32)")),
    value("data-size-range", "MIN-MAX", "draw sizes from this range"),
    value("data-size-pattern", "R|S", "sizes from the range: R random, S growing with the key (R)"),
    value("data-size-list", "SIZE:WEIGHT,...", "these sizes in turn, each as often as its weight"),
    short('R', flag("random-data", "random bytes instead of the letter x")),
    value("data-offset", "BYTES", "use SETRANGE and GETRANGE at this offset (0: SET and GET)"),
    value("expiry-range", "MIN-MAX", "lifetime of values in seconds (no expiry)"),
];

const COMMANDS: &[OptionHelp] = &[
    value(
        "command",
        "TEXT",
        "a command instead of SET and GET, with __key__ and __data__; several take turns",
    ),
    value("command-ratio", "N", "times in a row that the preceding command is sent (1)"),
    value("command-key-pattern", "R|S|P|G|Z", "key pattern of the preceding command (R)"),
    flag("command-is-read", "replicas may answer the preceding command"),
    flag("transaction", "send all commands of a turn together, with one key"),
    value(
        "monitor-input",
        "FILE",
        "a capture of MONITOR, for --command=__monitor_line1__ and so on, or line@ for all",
    ),
    value("monitor-pattern", "S|R", "use the lines of --monitor-input in order or at random (S)"),
    flag(
        "scan-incremental-iteration",
        "follow the cursor of the SCAN, which must be the only command",
    ),
    value(
        "scan-incremental-max-iterations",
        "N",
        "follow a cursor this often, then start over (0: to the end)",
    ),
    value(
        "command-stats-breakdown",
        "command|line",
        "one row for each command name, or for each --command (command)",
    ),
    value("command-miss-tracking", "auto|off", "count hits and misses of commands (auto)"),
    value("miss-rate-threshold", "PERCENT", "warn about commands that miss more often (1)"),
];

const FAILURES: &[OptionHelp] = &[
    value("connection-timeout", "SECONDS", "time limit for reopening a lost connection (0: none)"),
    value(
        "connection-stage-timeout",
        "SECONDS",
        "time limit for the first reply, then exit with 2 (30; 0: none)",
    ),
    flag("reconnect-on-error", "reopen lost connections and go on"),
    value(
        "max-reconnect-attempts",
        "N",
        "failed attempts in a row before the run ends (0: no limit)",
    ),
    value("reconnect-backoff-factor", "N", "factor by which each wait grows"),
    flag("retry-on-error", "retry failed requests"),
    value("max-retries", "N", "retries of each request (-1: no limit)"),
    value("retry-backoff-ms", "MS", "wait before the first retry (0)"),
    value(
        "retry-backoff-factor",
        "N",
        "factor by which each wait before a retry grows (0: constant)",
    ),
    value("retry-on", "PREFIX,...", "retry only errors with these prefixes (all that may pass)"),
    value(
        "max-retry-queue",
        "N",
        "requests of a connection that may wait for a retry (0: 4 pipelines, at least 64)",
    ),
    value("failed-keys-file", "FILE", "write requests that failed for good to this file, as CSV"),
];

const CLUSTER: &[OptionHelp] = &[
    flag("cluster-mode", "the server is a node of a Redis cluster"),
    value(
        "read-preference",
        "NAME",
        "nodes that answer reads: primary, secondary, secondaryPreferred or nearest (primary)",
    ),
    value(
        "read-preference-fallback",
        "NAME",
        "reads if no replica is there: error, queue or primary (error)",
    ),
    value("read-server", "HOST:PORT", "a replica outside a cluster; may be repeated"),
    value("replica-clients", "N", "connections of a thread to each replica (as to a primary)"),
    value("replicas-per-shard", "N", "replicas of each shard that answer reads (all)"),
];

const WAIT: &[OptionHelp] = &[
    value("wait-ratio", "WAITS:SETS", "number of WAITs and of SETs in each turn (no WAITs)"),
    value("num-slaves", "MIN-MAX", "replicas that a WAIT asks for"),
    value("wait-timeout", "MIN-MAX", "timeout of a WAIT, in milliseconds"),
];

const IMPORT: &[OptionHelp] = &[
    value("data-import", "FILE", "write the items of a memcached dump in CSV"),
    flag("data-verify", "read back what was written, and compare"),
    flag("verify-only", "only compare, write nothing"),
    flag("generate-keys", "write the dump's values under generated keys"),
    flag("no-expiry", "ignore the dump's lifetimes"),
];

const REPORTS: &[OptionHelp] = &[
    short('o', value("out-file", "FILE", "write the tables to this file, not to standard output")),
    value("json-out-file", "FILE", "results as JSON"),
    value("hdr-file-prefix", "PREFIX", "histograms as PREFIX_FULL_RUN_1.txt, .hgrm and so on"),
    value("client-stats", "PREFIX", "write a file for each client, with its latencies per second"),
    value("print-percentiles", "LIST", "percentiles of the tables (50,99,99.9)"),
    flag("print-all-runs", "with --run-count, print the tables of every run"),
    flag("hide-histogram", "leave out the latency distribution"),
    flag("show-config", "print the options in effect"),
];

const WATCHING: &[OptionHelp] = &[
    short('D', flag("debug", "print details on standard error")),
    flag("realtime-latencies", "print percentiles every second"),
    value(
        "latency-window",
        "SECONDS",
        "also print percentiles of this many last seconds (60; 0: none)",
    ),
    value("cpu-warn-threshold", "PERCENT", "warn about threads that use more of a CPU"),
    value("statsd-host", "HOST", "send figures to a StatsD server every second"),
    value("statsd-port", "PORT", "port of the StatsD server (8125)"),
    value("statsd-prefix", "TEXT", "prefix of metric names (memtier)"),
    value("statsd-run-label", "TEXT", "label that follows the prefix (default)"),
    value(
        "graphite-port",
        "PORT",
        "port of Graphite on --statsd-host, which is sent the start and end of runs",
    ),
    value("prometheus-port", "PORT", "serve figures to Prometheus (0: any free port)"),
    value("prometheus-bind-addr", "IP", "address to serve them at (127.0.0.1)"),
    value("prometheus-run-label", "NAME=VALUE", "a label of all figures; may be repeated"),
    value("prometheus-latency-buckets", "LIST", "bounds of the latency buckets"),
];

const HELP: &[OptionHelp] =
    &[flag("help", "print this help"), short('v', flag("version", "print the version"))];

/// keystorm's options that need no `ks-` prefix here; `--ks-verdict` and others do.
pub(super) const OURS: &[OptionHelp] = &[
    flag("print-plan", "print the plan as JSON, and stop"),
    value("as", "keystorm", "print the equivalent keystorm command line, and stop"),
];

/// Lines of this help that are about several options.
const OURS_BEHIND_KS: [(&str, &str); 2] = [
    ("--ks-OPTION", "any option of keystorm, such as --ks-json FILE"),
    ("--ks-verdict", "report what limited the run on standard error"),
];

/// Every option of the original's.
pub(super) fn known() -> impl Iterator<Item = &'static OptionHelp> {
    GROUPS.iter().flat_map(|(_, group)| *group)
}

const USAGE: &str = "Usage: memtier_benchmark [options]\n";
/// Rightmost column at which help begins on a line.
const COLUMN: usize = 38;
const WIDTH: usize = 100;

/// The error for a command line that makes no sense.
pub(super) fn short_usage() -> String {
    format!(
        "{USAGE}See memtier_benchmark --help for the options (-h is --host), docs/memtier.md for what differs.\n"
    )
}

/// Every option, with what it does.
pub(super) fn usage() -> String {
    let mut text = format!(
        "{USAGE}Generates load for Redis, Valkey and memcached, and measures it. This is keystorm, called as \
         memtier_benchmark (docs/memtier.md). Defaults are in parentheses.\n"
    );
    for (heading, group) in GROUPS.iter().chain([&("Of keystorm", OURS)]) {
        text += &format!("\n{heading}:\n");
        group.iter().for_each(|known| text += &line(&left(known), known.help));
    }
    OURS_BEHIND_KS.iter().for_each(|(name, help)| text += &line(&format!("      {name}"), help));
    text
}

fn left(OptionHelp { name, short, value, .. }: &OptionHelp) -> String {
    let short = short.map_or("    ".to_owned(), |short| format!("-{short}, "));
    let value = value.map_or(String::new(), |value| format!("={value}"));
    format!("  {short}--{name}{value}")
}

/// An option and its help beside it, or below where there is no room.
fn line(left: &str, help: &str) -> String {
    let mut out = if left.len() + 2 > COLUMN {
        format!("{left}\n{:COLUMN$}", "")
    } else {
        format!("{left:COLUMN$}")
    };
    let mut at = COLUMN;
    for (number, word) in help.split(' ').enumerate() {
        if number > 0 && at + 1 + word.len() > WIDTH {
            out += &format!("\n{:COLUMN$}", "");
            at = COLUMN;
        } else if number > 0 {
            out.push(' ');
            at += 1;
        }
        out += word;
        at += word.len();
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_names_and_help_of_its_own() {
        let all: Vec<&OptionHelp> = known().collect();
        for (at, known) in all.iter().enumerate() {
            for other in &all[..at] {
                assert_ne!(known.name, other.name);
                assert_ne!(known.help, other.help, "{} and {}", known.name, other.name);
                assert!(known.short.is_none() || known.short != other.short, "{}", known.name);
            }
            assert!(known.help.contains(' '), "{}", known.name);
            assert!(usage().contains(&format!("--{}", known.name)));
        }
    }

    #[test]
    fn lines_of_help_fit_a_terminal() {
        for line in usage().lines().skip(2) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        assert!(
            usage().contains("\n  -p, --port=PORT                     port of the server (6379)\n")
        );
        assert!(short_usage().lines().count() == 2);
    }
}
