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
    short('p', value("port", "PORT", "its port (6379)")),
    short('S', value("unix-socket", "PATH", "Unix socket in the place of an address and a port")),
    short('4', flag("ipv4", "use the IPv4 addresses of the host's name")),
    short('6', flag("ipv6", "use its IPv6 addresses")),
    short(
        'u',
        value("uri", "URI", "redis[s]://[[USER:]PASSWORD@]HOST[:PORT][/DB], before other options"),
    ),
    short(
        'P',
        value("protocol", "NAME", "redis, resp2, resp3, memcache_text or memcache_binary (redis)"),
    ),
    short('a', value("authenticate", "[USER:]PASSWORD", "log in with it")),
    value("select-db", "N", "number of the Redis database (0)"),
    flag("client-no-touch", "leave alone when a key was last used"),
    flag("tls", "use TLS"),
    value("cert", "FILE", "certificate to show, in PEM"),
    value("key", "FILE", "its private key (in --cert)"),
    value("cacert", "FILE", "authorities to trust"),
    flag("tls-skip-verify", "take any certificate"),
    value(
        "tls-protocols",
        "LIST",
        "versions allowed: TLSv1, TLSv1.1, TLSv1.2, TLSv1.3 (the last two)",
    ),
    value("sni", "NAME", "server name to ask for, and to check the certificate against"),
];

const SHAPE: &[OptionHelp] = &[
    short(
        'n',
        value("requests", "N", "requests of each client, or allkeys: one for each key (10000)"),
    ),
    value("test-time", "SECONDS", "run for so long, in the place of --requests"),
    short('c', value("clients", "N", "clients of each thread (50)")),
    short('t', value("threads", "N", "threads (4)")),
    value("pipeline", "N", "requests that a client has in flight (1)"),
    value("ratio", "SETS:GETS", "SETs and GETs that take turns (1:10)"),
    value("rate-limiting", "N", "requests per second of each connection (no limit)"),
    short('x', value("run-count", "N", "runs, one after another (1)")),
    value("clients-start", "N", "clients of each thread that begin; others join in steps"),
    value("clients-step", "N", "how many join at each step"),
    value("step-duration", "SECONDS", "time from one step to the next"),
    value("multi-key-get", "N", "keys of each GET: MGET, or get of memcached (1)"),
    value(
        "reconnect-interval",
        "N",
        "close a connection after so many requests, and open it again",
    ),
    value(
        "thread-conn-start-min-jitter-micros",
        "MICROS",
        "least time between two connections of a thread (0)",
    ),
    value("thread-conn-start-max-jitter-micros", "MICROS", "greatest time between them (0)"),
    flag("distinct-client-seed", "give each client keys of its own (all have the same)"),
    flag("randomize", "take another seed at each start"),
    flag("pin-threads", "keep each thread on a CPU of its own"),
];

const KEYS: &[OptionHelp] = &[
    value("key-prefix", "TEXT", "what keys begin with (memtier-)"),
    value("key-minimum", "N", "least number of a key (0)"),
    value("key-maximum", "N", "greatest number of a key (10000000)"),
    value(
        "key-pattern",
        "SET:GET",
        "R random, S in order, P in order with a part of its own for each client, G Gaussian, Z Zipf (R:R)",
    ),
    value("key-stddev", "N", "standard deviation of G (a sixth of the range)"),
    value("key-median", "N", "middle of G (that of the range)"),
    value("key-zipf-exp", "N", "exponent of Z, between 0 and 5 (1)"),
];

const VALUES: &[OptionHelp] = &[
    short('d', value("data-size", "BYTES", "size of a value (32)")),
    value("data-size-range", "MIN-MAX", "sizes between these"),
    value("data-size-pattern", "R|S", "of that range: R random, S larger with the key (R)"),
    value("data-size-list", "SIZE:WEIGHT,...", "sizes in turn, each as often as its weight says"),
    short('R', flag("random-data", "random bytes in the place of x")),
    value("data-offset", "BYTES", "SETRANGE and GETRANGE from there on (0: SET and GET)"),
    value("expiry-range", "MIN-MAX", "seconds that values live (for ever)"),
];

const COMMANDS: &[OptionHelp] = &[
    value(
        "command",
        "TEXT",
        "a command in the place of SET and GET, with __key__ and __data__; several take turns",
    ),
    value("command-ratio", "N", "how often the command before it comes in a row (1)"),
    value("command-key-pattern", "R|S|P|G|Z", "how the command before it takes its keys (R)"),
    flag("command-is-read", "replicas may answer the command before it"),
    flag("transaction", "send all commands of a turn in one piece, with one key"),
    value(
        "monitor-input",
        "FILE",
        "a capture of MONITOR, for --command=__monitor_line1__ and so on, or line@ for all",
    ),
    value("monitor-pattern", "S|R", "take its lines in order or at random (S)"),
    flag("scan-incremental-iteration", "follow the cursors of the one SCAN given"),
    value(
        "scan-incremental-max-iterations",
        "N",
        "as often as that, then begin anew (0: to the end)",
    ),
    value(
        "command-stats-breakdown",
        "command|line",
        "a row for each name of a command, or for each --command (command)",
    ),
    value("command-miss-tracking", "auto|off", "count hits and misses of commands (auto)"),
    value("miss-rate-threshold", "PERCENT", "warn of commands that miss more often (1)"),
];

const FAILURES: &[OptionHelp] = &[
    value(
        "connection-timeout",
        "SECONDS",
        "time that a lost connection has to be opened again (0: any)",
    ),
    value(
        "connection-stage-timeout",
        "SECONDS",
        "time for the first reply; then give up, exit code 2 (30; 0: any)",
    ),
    flag("reconnect-on-error", "open lost connections again and go on"),
    value("max-reconnect-attempts", "N", "tries in a row (0: any)"),
    value("reconnect-backoff-factor", "N", "each wait is so many times as long as the last"),
    flag("retry-on-error", "send requests again that failed"),
    value("max-retries", "N", "how often each (-1: any)"),
    value("retry-backoff-ms", "MS", "wait before the first of them (0)"),
    value(
        "retry-backoff-factor",
        "N",
        "each wait is so many times as long as the last (0: all alike)",
    ),
    value("retry-on", "PREFIX,...", "only errors that begin so (all that may pass)"),
    value(
        "max-retry-queue",
        "N",
        "requests of a connection that wait for it (0: 4 pipelines, 64 at least)",
    ),
    value("failed-keys-file", "FILE", "list requests that failed for good, as CSV"),
];

const CLUSTER: &[OptionHelp] = &[
    flag("cluster-mode", "the server is a node of a Redis cluster"),
    value(
        "read-preference",
        "NAME",
        "who answers reads: primary, secondary, secondaryPreferred or nearest (primary)",
    ),
    value(
        "read-preference-fallback",
        "NAME",
        "reads without a replica: error, queue or primary (error)",
    ),
    value("read-server", "HOST:PORT", "a replica outside of a cluster; may be repeated"),
    value("replica-clients", "N", "connections of a thread to each replica (as to a primary)"),
    value("replicas-per-shard", "N", "replicas of each shard that are read (all)"),
];

const WAIT: &[OptionHelp] = &[
    value("wait-ratio", "WAITS:SETS", "WAITs among the SETs (none)"),
    value("num-slaves", "MIN-MAX", "replicas that a WAIT asks for"),
    value("wait-timeout", "MIN-MAX", "milliseconds that it waits for them"),
];

const IMPORT: &[OptionHelp] = &[
    value("data-import", "FILE", "write the items of a dump of memcached, as CSV"),
    flag("data-verify", "read again what was written, and compare"),
    flag("verify-only", "compare, and write nothing"),
    flag("generate-keys", "write its values under generated keys"),
    flag("no-expiry", "leave its times to live out"),
];

const REPORTS: &[OptionHelp] = &[
    short('o', value("out-file", "FILE", "tables go there, and not to standard output")),
    value("json-out-file", "FILE", "results as JSON"),
    value("hdr-file-prefix", "PREFIX", "histograms as PREFIX_FULL_RUN_1.txt, .hgrm and so on"),
    value("client-stats", "PREFIX", "a file for each client: its seconds and latencies"),
    value("print-percentiles", "LIST", "percentiles of the tables (50,99,99.9)"),
    flag("print-all-runs", "with --run-count, tables of every run"),
    flag("hide-histogram", "leave the distribution of latencies out"),
    flag("show-config", "print the options that hold"),
];

const WATCHING: &[OptionHelp] = &[
    short('D', flag("debug", "say more on standard error")),
    flag("realtime-latencies", "percentiles every second"),
    value("latency-window", "SECONDS", "also those of so many last seconds (60; 0: none)"),
    value("cpu-warn-threshold", "PERCENT", "warn of threads that use more of a CPU"),
    value("statsd-host", "HOST", "send figures to a StatsD server every second"),
    value("statsd-port", "PORT", "its port (8125)"),
    value("statsd-prefix", "TEXT", "what names of figures begin with (memtier)"),
    value("statsd-run-label", "TEXT", "what follows in them (default)"),
    value("graphite-port", "PORT", "tell Graphite on that host when runs begin and end"),
    value("prometheus-port", "PORT", "serve figures to Prometheus (0: any free port)"),
    value("prometheus-bind-addr", "IP", "at this address (127.0.0.1)"),
    value("prometheus-run-label", "NAME=VALUE", "a label of all figures; may be repeated"),
    value("prometheus-latency-buckets", "LIST", "bounds of its latency buckets"),
];

const HELP: &[OptionHelp] =
    &[flag("help", "this text"), short('v', flag("version", "the version whose ways are kept"))];

/// keystorm's options that need no `ks-` prefix here; `--ks-verdict` and others do.
pub(super) const OURS: &[OptionHelp] = &[
    flag("print-plan", "print what would be run as JSON, and stop"),
    value("as", "keystorm", "print the keystorm command line that does the same, and stop"),
];

/// Lines of this help that are about several options.
const OURS_BEHIND_KS: [(&str, &str); 2] = [
    ("--ks-OPTION", "any option of keystorm, such as --ks-json FILE"),
    ("--ks-verdict", "say on standard error what limited the run"),
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
        "{USAGE}Generates load for Redis, Valkey and memcached, and measures it; this one is keystorm \
         (docs/memtier.md). What holds where nothing is said stands in brackets.\n"
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
        assert!(usage().contains("\n  -p, --port=PORT                     its port (6379)\n"));
        assert!(short_usage().lines().count() == 2);
    }
}
