//! What was typed: every option of `redis-benchmark` and `valkey-benchmark`, and ours.
//!
//! Owns their names, help and shapes; what they mean together is [`super::plans`]'s business. Like
//! the peers it takes the word after an option as its value whatever it looks like, lets the last
//! of several count, and ends at the first word that is no option.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Parser};
use job::MetricsAt;
use report::slo::Slo;
use workload::{Content, KeyDist, Lifetime, Pick, RowBy, SizeBy};

use super::clients::ClientOptions;
use super::connecting::Connecting;
use super::keys::KeyOptions;
use super::payload::{Size, size};
use super::persona::PEERS;
use super::pool::Server;
use super::rank::shard;
use super::replicas::ReplicaOptions;
use super::retrying::Retrying;
use super::values::{
    ArrivalsArg, EngineArg, OnErrorArg, ProtocolArg, Threads, WindowArg, YesNo, count, count_in,
    ip, milliseconds, port, seconds, signed, small_count, start_at, test_name, threads,
};
use crate::show::format_name;
use crate::{PageOptions, Spread};

/// Load generator and benchmark for Redis, Valkey and memcached. Runs redis-benchmark and
/// valkey-benchmark command lines unchanged.
#[derive(Debug, Parser)]
#[command(
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true,
    next_line_help = false,
    max_term_width = 100,
    name = "keystorm",
    after_help = EXAMPLES,
)]
pub(crate) struct Options {
    #[command(flatten, next_help_heading = "Server")]
    pub(super) server: ServerOptions,
    #[command(flatten, next_help_heading = "TLS")]
    pub(super) tls: TlsArgs,
    #[command(flatten, next_help_heading = "Load")]
    pub(super) load: LoadOptions,
    #[command(flatten, next_help_heading = "Several clients")]
    pub(super) clients: ClientOptions,
    #[command(flatten, next_help_heading = "Commands, keys and values")]
    pub(super) data: DataOptions,
    #[command(flatten, next_help_heading = "Results")]
    pub(super) results: ResultOptions,
    #[command(flatten)]
    pub(super) later: LaterOptions,

    /// Print the plans as JSON instead of running them
    #[arg(long, help_heading = "Other")]
    pub(super) print_plan: bool,
    /// Print a --workload file that is equivalent to this command line
    #[arg(long, help_heading = "Other")]
    pub(super) print_workload: bool,
    /// No effect; accepted for old scripts
    #[arg(short = 'e', hide = true)]
    pub(super) exit_on_error: bool,
    /// Print this help
    #[arg(long, action = ArgAction::Help, help_heading = "Other")]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'v', long, help_heading = "Other")]
    version: bool,
    /// Behave as if called by that name: its tests, its output, and nothing else on standard error
    #[arg(long = "as", value_name = "NAME", value_parser = PEERS, help_heading = "Other")]
    called: Option<String>,

    /// A command to send instead of the suite. Separate several with `;`; a number before a command
    /// repeats it. What follows `;>` is sent once the replies to what precedes it are in; what
    /// follows `;?`, only if one of them was a miss. Placeholders in arguments: __rand_int__, a
    /// random key number; __key__, one key number for the whole sequence; __rand_1st__ to
    /// __rand_9th__, nine more; __data__, a value of -d bytes; __field:name__, a field of the
    /// --dataset row
    #[arg(trailing_var_arg = true, value_name = "COMMAND ARGS", hide_possible_values = true)]
    pub(super) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServerOptions {
    /// Server hostname. Several memcached servers share the keys: a,b:11212,c [default: 127.0.0.1]
    #[arg(short = 'h', long, value_name = "HOST", allow_hyphen_values = true)]
    pub(crate) host: Option<String>,
    /// How keys are distributed over several memcached servers: `ketama` or `modulo`, both as in
    /// libmemcached, or `spymemcached` [default: ketama]
    #[arg(long, value_name = "HOW")]
    pub(crate) hash: Option<workload::RingHash>,
    /// Protocol: RESP (Redis, Valkey), memcached's text protocol, the text protocol with a suite of
    /// meta commands, or memcached's binary protocol; -u memcache:// and --spawn=memcached imply
    /// `memcache` [default: resp]
    #[arg(long, value_name = "PROTOCOL")]
    pub(crate) protocol: Option<ProtocolArg>,
    /// Server port [default: 6379; memcached: 11211]
    #[arg(short = 'p', long, value_name = "PORT", allow_hyphen_values = true,
          value_parser = port)]
    pub(crate) port: Option<u16>,
    /// Unix socket of the server, instead of host and port
    #[arg(short = 's', value_name = "PATH", allow_hyphen_values = true)]
    pub(crate) socket: Option<PathBuf>,
    /// Server URI: redis://[[user]:password@]host[:port][/db] or valkey://; rediss:// or valkeys://
    /// for TLS; memcache:// or memcaches://host[:port][,host...]; unix:///path?db=N; or
    /// redis-sentinel://[[user:]password@]host[:26379][,host...]/NAME[/db] for the primary that
    /// Sentinel reports. Percent-encode special characters; put IPv6 addresses in brackets
    #[arg(short = 'u', value_name = "URI", allow_hyphen_values = true)]
    pub(crate) uri: Option<String>,
    /// Password. Prefer the environment variable REDISCLI_AUTH, which other users of this machine
    /// cannot read
    #[arg(short = 'a', value_name = "PASSWORD", allow_hyphen_values = true)]
    pub(crate) password: Option<String>,
    /// No password is taken from the environment: the words are those of a tool that does not look there.
    #[arg(skip)]
    pub(crate) login_by_words: bool,
    /// ACL user; requires a password
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) user: Option<String>,
    /// Database number (SELECT) [default: 0]
    #[arg(long, value_name = "DB", allow_hyphen_values = true, value_parser = small_count)]
    pub(crate) dbnum: Option<u32>,
    /// Use RESP3 (HELLO 3)
    #[arg(short = '3')]
    pub(crate) resp3: bool,
    /// Send CLIENT TRACKING ON
    #[arg(long)]
    pub(crate) enable_tracking: bool,
    /// Send CLIENT NO-TOUCH on, so that reads do not change which keys the server evicts
    #[arg(long)]
    pub(crate) no_touch: bool,
    /// Use Multipath TCP
    #[arg(long)]
    pub(crate) mptcp: bool,
    /// Cluster mode: the server is any node, and each command goes to the node that owns its key's
    /// slot. {tag} in a key spreads keys over all slots
    #[arg(long, conflicts_with = "spawn")]
    pub(super) cluster: bool,
    #[command(flatten)]
    pub(crate) replicas: ReplicaOptions,
    /// Other servers, interchangeable with that of -h and -p: connections go to all of them in turn,
    /// and any request uses any connection. HOST:PORT or the path of a unix socket, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "spawn")]
    pub(crate) pool: Vec<Server>,
    /// Start a private server without persistence for this run, and stop it afterwards:
    /// valkey-server or redis-server, whichever is installed, or PROGRAM, such as memcached
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true,
          conflicts_with_all = ["host", "port", "socket", "uri"])]
    pub(crate) spawn: Option<Option<String>>,
    /// Further arguments for the spawned server, as one word: --spawn-args '--io-threads 2'
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) spawn_args: Option<String>,
    /// CPUs to pin the spawned server to, such as 0 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub(crate) server_cpus: Option<String>,
    /// Local addresses to connect from in turn, comma-separated. Each has its own ports, which
    /// allows more than 28,000 connections to one server address
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = ip)]
    pub(crate) source_ip: Vec<std::net::IpAddr>,
    /// Let the spawned server listen on a unix socket instead of a loopback port
    #[arg(long)]
    pub(crate) spawn_unix: bool,
}

/// The TLS options of the peers, with their names, and `--tls-resume`.
#[derive(Debug, clap::Args)]
pub(super) struct TlsArgs {
    /// Use TLS, as -u rediss:// and valkeys:// do. The server's certificate must be signed by a
    /// trusted CA and, unless keystorm is called redis-benchmark or valkey-benchmark, match the
    /// host
    #[arg(long)]
    pub(super) tls: bool,
    /// Server name to request (SNI) and to check the certificate against, instead of the host
    #[arg(long, value_name = "HOST", allow_hyphen_values = true)]
    pub(super) sni: Option<String>,
    /// PEM file with CA certificates to trust [default: the system's]
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) cacert: Option<PathBuf>,
    /// Directory with CA certificates to trust, hashed (openssl rehash)
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub(super) cacertdir: Option<PathBuf>,
    /// Accept any server certificate
    #[arg(long)]
    pub(super) insecure: bool,
    /// PEM file with the client certificate and its chain
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) cert: Option<PathBuf>,
    /// PEM file with the chain of --cert, if that file has only the certificate itself
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) cert_chain: Option<PathBuf>,
    /// PEM file with the private key of --cert. Its password, if it has one, is taken from the
    /// environment variable KEYSTORM_KEY_PASSWORD
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) key: Option<PathBuf>,
    /// Ciphers to offer up to TLS 1.2, in OpenSSL syntax
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) tls_ciphers: Option<String>,
    /// Cipher suites to offer in TLS 1.3, in OpenSSL syntax
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) tls_ciphersuites: Option<String>,
    /// Key exchange groups to offer, in OpenSSL syntax
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) tls_groups: Option<String>,
    /// TLS versions to offer, such as TLSv1.2,TLSv1.3 [default: as configured for OpenSSL]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) tls_protocols: Option<String>,
    /// Resume TLS sessions on new connections (with -k 0)
    #[arg(long)]
    pub(super) tls_resume: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct LoadOptions {
    /// Parallel connections. This and all other counts and sizes accept k, M and G: 10k, 5M
    #[arg(short = 'c', long, value_name = "CLIENTS", allow_hyphen_values = true,
          default_value = "50", value_parser = small_count)]
    pub(super) clients: u32,
    /// Total number of requests [default: 100000]
    #[arg(short = 'n', long, value_name = "REQUESTS", allow_hyphen_values = true,
          value_parser = count)]
    pub(super) requests: Option<u64>,
    /// Make -n the number of requests of each connection, and let each take operations and keys
    /// (--set order, --set keys-by) by itself
    #[arg(long)]
    pub(super) per_connection: bool,
    /// With -n, end after this time even if requests are left
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(super) time_limit: Option<Duration>,
    /// Run for this long instead of -n. This and all other times accept 500ms, 2s, 1.5m and 1h;
    /// without a unit, seconds
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(super) duration: Option<Duration>,
    /// Run for this long before measuring [default: 0]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(super) warmup: Option<Duration>,
    /// Requests per pipeline [default: 1]
    #[arg(short = 'P', long, value_name = "NUMREQ", allow_hyphen_values = true,
          value_parser = signed)]
    pub(super) pipeline: Option<i64>,
    /// When a pipeline sends again: `batch` after all its replies, `rolling` after each [default:
    /// batch, as in redis-benchmark; rolling with --rps]
    #[arg(long, value_name = "WHEN")]
    pub(super) window: Option<WindowArg>,
    /// Requests per second, on a schedule that slow replies do not delay: a rate, 10k; a ramp,
    /// 10k..100k/30s; steps, 10k,20k,40k/10s; or any of these in a row, 1k/60s,1k..5k/10s,5k. 0 is no
    /// limit [default: 0]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(super) rps: Option<String>,
    /// How --rps spaces requests: `constant`, or `poisson` for random arrivals as from independent
    /// users [default: constant]
    #[arg(long, value_name = "HOW", requires = "rps")]
    pub(super) arrivals: Option<ArrivalsArg>,
    /// Run share I of N, so that N processes make one run: -n, --rps, -c and -r are totals over all
    /// shares. `keystorm merge` adds up their --json files. `env` takes the rank from srun or
    /// mpirun, `env/N` from a Kubernetes Indexed Job
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(super) shard: Option<workload::Shard>,
    /// Start at this time (for a single test): 2026-05-01T12:00:00Z, seconds since 1970, or +5s for
    /// five seconds from now
    #[arg(long, value_name = "TIME", value_parser = start_at, conflicts_with_all = ["idle", "repeat"])]
    pub(super) start_at: Option<std::time::SystemTime>,
    /// Worker threads; `auto` for one per CPU that a local server leaves free, 0 for one that
    /// reports do not call multi-threaded [default: 0]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, value_parser = threads)]
    pub(super) threads: Option<Threads>,
    /// CPUs to pin worker threads to, one each in turn, such as 1 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub(super) cpus: Option<String>,
    /// I/O engine: io_uring (`uring`), `epoll`, or `auto` for the fastest available
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(super) engine: EngineArg,
    /// 1 keeps connections open, 0 opens one per pipeline
    #[arg(short = 'k', value_name = "BOOLEAN", allow_hyphen_values = true, default_value = "1",
          value_parser = signed)]
    pub(super) keep_alive: i64,
    /// Whether to reopen lost connections and continue [default: yes with --duration, unless the
    /// server is spawned; otherwise no: a lost connection ends the run, as in redis-benchmark]
    #[arg(long, value_name = "WHETHER")]
    pub(super) reconnect: Option<YesNo>,
    /// Time limit for a request; without a unit, milliseconds. A request that exceeds it is counted
    /// as timed out and its connection reopened; without --reconnect, the run ends [default: none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = milliseconds)]
    pub(super) timeout: Option<Duration>,
    #[command(flatten)]
    pub(super) connecting: Connecting,
    #[command(flatten)]
    pub(super) retrying: Retrying,
    /// Only open -c idle connections
    #[arg(short = 'I')]
    pub(super) idle: bool,
    /// Repeat the tests forever
    #[arg(short = 'l')]
    pub(super) repeat: bool,
    /// Run each test N times; also report means with 95 % confidence intervals, and whether these
    /// are narrow enough to draw conclusions
    #[arg(long = "repeat", value_name = "N", value_parser = count_in(1..=1_000),
          conflicts_with_all = ["repeat", "idle", "start_at"])]
    pub(super) repeats: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub(super) struct DataOptions {
    /// Take commands, keys, values, load and phases from a TOML file, or from a preset (see
    /// `keystorm presets`). Options given here override it
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) workload: Option<String>,
    /// Phases of the workload to run, comma-separated [default: all]
    #[arg(long, value_name = "NAMES", allow_hyphen_values = true, requires = "workload")]
    pub(super) phase: Option<String>,
    /// Tests of the suite to run, comma-separated [default: all]
    #[arg(short = 't', value_name = "TESTS", allow_hyphen_values = true)]
    pub(super) tests: Option<String>,
    /// Draw key numbers from 0 to N-1; without it, all requests use the same key
    #[arg(short = 'r', value_name = "KEYSPACE", allow_hyphen_values = true)]
    pub(super) keyspace: Option<String>,
    /// Use the keys of -r in order instead of at random
    #[arg(long, conflicts_with = "key_dist")]
    pub(super) sequential: bool,
    /// Key distribution: uniform, sequential, zipf[:S[,FIRST]], zipf-scattered[:S],
    /// hotspot:SHARE/KEYS, gaussian[:MEAN,SD] and exponential[:PERCENTILE/SHARE] in percent, or
    /// file:PATH[#COLUMN]
    /// [default: uniform]
    #[arg(long, value_name = "DIST", allow_hyphen_values = true)]
    pub(super) key_dist: Option<KeyDist>,
    #[command(flatten)]
    pub(super) keys: KeyOptions,
    /// Value size in bytes, or a distribution: uniform:MIN..MAX, sizes:SIZE=WEIGHT,…,
    /// lognormal:MEDIAN,SIGMA, pareto:SCALE,SHAPE or normal:MEAN,SD; the last three accept
    /// ,MIN..MAX as bounds [default: 3]
    #[arg(short = 'd', value_name = "SIZE", allow_hyphen_values = true, value_parser = size)]
    pub(super) data_size: Option<Size>,
    /// What a drawn size belongs to: the `key`; the `request`; the `rank` of the key, so that the key
    /// with the largest number has the largest value; or `turn:N`, which goes through all sizes in N
    /// requests of a connection [default: key]
    #[arg(long, hide = true, value_name = "BY")]
    pub(super) size_by: Option<SizeBy>,
    /// Content of values: classic (as in redis-benchmark), random, compressible:N for a ratio of N
    /// to 1, or same (the letter x) [default: classic; random if sizes are drawn]
    #[arg(long, value_name = "CONTENT")]
    pub(super) content: Option<Content>,
    /// Expire keys written by SET after this time, in whole seconds, or after a random time in a
    /// range, such as 60..300. In other commands, write __ttl__ where the time goes
    #[arg(long, value_name = "TIME")]
    pub(super) ttl: Option<Lifetime>,
    /// Before the tests, write every key that the commands read, once, with the value it should
    /// have: by SET, or by --fill-with
    #[arg(long)]
    pub(super) fill: bool,
    /// The command by which --fill writes a key that is not a string, such as 'hset user:__key__
    /// name __data__'; separate several with `;`
    #[arg(long, value_name = "COMMAND", requires = "fill")]
    pub(super) fill_with: Option<String>,
    /// Share of reads that find their key, from 0 to 1; the others read keys beyond -r, which
    /// nothing writes [default: 1]
    #[arg(long, value_name = "SHARE")]
    pub(super) hit_ratio: Option<String>,
    /// Compare each value that get, getex, getdel, mget, hget and hmget return with what was written, by
    /// this process or by another with the same --seed, -r, -d and --content (default here:
    /// random). A wrong value is an error, and the exit code is 1
    #[arg(long)]
    pub(super) verify: bool,
    /// Count a read that finds nothing as an error, report its key, and exit with code 1
    #[arg(long)]
    pub(super) fail_on_miss: bool,
    /// Draw one of the operations between `;` at a time; a number before one is its weight
    #[arg(long)]
    pub(super) mix: bool,
    /// Order of the operations of --mix: `drawn` by weight; in `turns`, each as often in a row as its
    /// weight says; or their numbers, such as 1,2:9 for the first once and the second nine times
    /// [default: drawn]
    #[arg(long, hide = true, value_name = "ORDER")]
    pub(super) order: Option<Pick>,
    /// Rare settings, and those of other tools' command lines: see `keystorm help settings`
    #[arg(long = "set", value_name = "NAME=VALUE", action = clap::ArgAction::Append)]
    pub(super) settings: Vec<String>,
    /// Read the last argument of the command from standard input
    #[arg(short = 'x')]
    pub(super) stdin_arg: bool,
    /// CSV, TSV (with a header line) or XML for __field:name__; each request uses the next row
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) dataset: Option<PathBuf>,
    /// Send the commands of a file that MONITOR has printed, in its order and from all connections; times
    /// and clients are not kept. Without -n or --duration, each is sent once
    #[arg(long, value_name = "FILE", allow_hyphen_values = true,
          conflicts_with_all = ["tests", "workload", "mix", "dataset", "stdin_arg"])]
    pub(super) replay: Option<PathBuf>,
    /// Which row of --dataset or --replay a request takes: the next one for each `request`; a `random`
    /// one; that of its `key`, __key__; or, in `turn`, the next one of its connection [default:
    /// request]
    #[arg(long, hide = true, value_name = "BY")]
    pub(super) rows_by: Option<RowBy>,
    /// With --verify, column of the dataset that holds the value of a key: reads are compared with that
    /// of their row
    #[arg(long, hide = true, value_name = "COLUMN", requires_all = ["dataset", "verify"])]
    pub(super) row_value: Option<String>,
    /// XML element that makes a row; its child elements are the fields
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(super) xml_root_element: Option<String>,
    /// Maximum number of dataset rows to read [default: all]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, value_parser = signed)]
    pub(super) maxdocs: Option<i64>,
    /// Functions in the library of test function_load
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, default_value = "10",
          value_parser = small_count)]
    pub(super) num_functions: u32,
    /// Keys passed to the function of test fcall
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, default_value = "1",
          value_parser = small_count)]
    pub(super) num_keys_in_fcall: u32,
    /// Seed for key numbers and everything else that is random; the same seed draws the same keys
    /// [default: the time]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, value_parser = signed)]
    pub(super) seed: Option<i64>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ResultOptions {
    /// Print one line per test
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
    /// Print CSV
    #[arg(long)]
    pub(super) csv: bool,
    /// Output format: text, quiet (-q), csv (--csv), redis (as redis-benchmark and
    /// valkey-benchmark), classic (as redis-benchmark 2.x to 5), memtier (as memtier_benchmark) or
    /// json [default: text]
    #[arg(long, value_name = "NAME", value_parser = format_name, conflicts_with_all = ["quiet", "csv"])]
    pub(super) format: Option<&'static str>,
    /// Latency distribution in the text report: `short`, or `full` for every step [default: short]
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(super) distribution: Spread,
    /// Call the test so in all results [default: its command; of a mix, its shares]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, value_parser = test_name,
          conflicts_with = "idle")]
    pub(super) name: Option<String>,
    /// Save the results to this file, after each test, for `keystorm show` and `keystorm merge`;
    /// `-` prints JSON instead of a report
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) json: Option<PathBuf>,
    /// A target to hold each test against, such as p99<2ms: kept, missed or undecided in every
    /// report. Exit code 3 if one is missed, 4 if one cannot be decided. Several bounds between
    /// commas: p50, p99 (or any percentile), mean or max below a time, errors below a share:
    /// 'p99<2ms,errors<0.1%'
    #[arg(long, value_name = "TARGET", value_parser = Slo::parse, conflicts_with = "idle")]
    pub(super) slo: Option<Slo>,
    #[command(flatten)]
    pub(super) pages: PageOptions,
    /// Log a histogram per interval to this file, in HdrHistogram log format
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) hdr: Option<PathBuf>,
    /// Serve OpenMetrics for Prometheus at /metrics while tests run: 9121 or :9121 on loopback
    /// only, ADDR:9121 on that address, 0 for any free port
    #[arg(long, value_name = "[ADDR:]PORT", allow_hyphen_values = true, conflicts_with = "idle",
          value_parser = MetricsAt::parse)]
    pub(super) metrics: Option<MetricsAt>,
    /// Significant digits of latencies, 1 to 4 [default: 3]
    #[arg(long, value_name = "DIGITS", allow_hyphen_values = true, value_parser = signed)]
    pub(super) precision: Option<i64>,
    /// Also report the latency to the first byte of a pipeline's replies, which redis-benchmark
    /// calls latency
    #[arg(long)]
    pub(super) first_byte: bool,
    /// Do not report what limited each test, or warnings. By default both are in the report, or on
    /// standard error if the format has no room for them; KEYSTORM_VERDICT=stderr, off or FILE
    /// overrides this
    #[arg(long)]
    pub(super) no_verdict: bool,
    /// Print a row of progress to standard error each time so much has passed, for logs
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(super) progress: Option<Duration>,
    /// Also sample the server (INFO) every second during a test, not only before and after
    #[arg(long)]
    pub(super) sample: bool,
    /// What an error reply does: `stop` ends the run, as in redis-benchmark; `count` counts it and
    /// continues [default: count if lost connections are reopened, otherwise stop]
    #[arg(long, value_name = "WHAT")]
    pub(super) on_error: Option<OnErrorArg>,
}

/// Options of the peers that this version does not have. Known, so that they are refused by name.
#[derive(Debug, clap::Args)]
pub(super) struct LaterOptions {
    #[arg(long, hide = true)]
    rdma: bool,
    #[arg(long, hide = true)]
    fuzz: bool,
    #[arg(long, hide = true, allow_hyphen_values = true)]
    fuzz_mode: Option<String>,
    #[arg(long, hide = true, allow_hyphen_values = true)]
    fuzz_loglevel: Option<String>,
}

impl LaterOptions {
    /// Why the command line cannot be carried out by this version, if it asks for what it lacks.
    pub(super) fn refused(&self) -> Option<String> {
        let asked = [
            (self.rdma, "--rdma", "RDMA"),
            (self.fuzz, "--fuzz", "fuzzing"),
            (self.fuzz_mode.is_some(), "--fuzz-mode", "fuzzing"),
            (self.fuzz_loglevel.is_some(), "--fuzz-loglevel", "fuzzing"),
        ];
        let (_, option, what) = asked.into_iter().find(|(given, ..)| *given)?;
        Some(format!("{option}: keystorm does not support {what}"))
    }
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
Examples:
  Start a private server, measure it, and stop it:
    $ keystorm --spawn -q

  The whole suite against 127.0.0.1:6379:
    $ keystorm

  Some tests, 20 connections, 50,000 requests each, as CSV:
    $ keystorm -t ping,set,get -c 20 -n 50000 --csv

  Fill the server with a million keys, each exactly once:
    $ keystorm -t set -n 1000000 -r 1000000 --sequential -P 16 -q

  GETs at 10,000 requests per second for 2 seconds, with the keys written first:
    $ keystorm -t get --fill -r 100k --rps 10000 --duration 2

  Any command, here with a random key and 100 bytes of data:
    $ keystorm -r 10000 -n 10000 -d 100 set user:__rand_int__ __data__

  Read and then write each key, with a few hot keys:
    $ keystorm --fill -r 10k -n 10000 --key-dist zipf get user:__key__ ';' set user:__key__ __data__

  Nine reads to one write, drawn at random; and a cache that fills on a miss:
    $ keystorm --mix --fill -r 10k -n 10000 -- 9 get user:__key__ ';' 1 set user:__key__ __data__
    $ keystorm -r 1000 -n 10000 get user:__key__ ';?' set user:__key__ __data__

  A preset workload, with more keys and at a fixed rate:
    $ keystorm --workload ycsb-b -r 10k -n 10000 --rps 10k -P 16

  A cluster, through any of its nodes:
    keystorm --cluster -h 10.0.0.1 -r 1000000 set user:__rand_int__ __data__

  A transaction:
    $ keystorm -r 1000 -n 20000 -- multi ';' set k:__rand_1st__ __data__ ';' incr hits ';' exec

Command lines of other tools, also accepted under their own names:
  keystorm memtier     memtier_benchmark
  keystorm ycsb        YCSB, for Redis and memcached
  keystorm rpc-perf    rpc-perf, for Redis and memcached

Subcommands, each with its own --help:
  keystorm compare     compare two servers or saved runs: ratios with confidence intervals
  keystorm sweep       run every combination of listed option values: a table and a chart
  keystorm search      find the highest rate that keeps a target such as p99<1ms
  keystorm survey      measure how fast Redis is on this machine: a page with charts
  keystorm presets     list the presets of --workload
  keystorm calibrate   measure the limits of this client on this machine
  keystorm doctor      check this machine and a server for what distorts results
  keystorm sink        serve canned replies, to measure clients against
  keystorm show        print a saved run in any format
  keystorm merge       add up saved runs of several clients
  keystorm report      make a page with charts of saved runs
  keystorm man         print the man pages or write them to a directory
  keystorm completions print completions for bash, zsh or fish
  keystorm help        print this help, that of a subcommand, or a topic:
                       applications, workloads, cluster, memcached, redis-and-memcached, lab,
                       automation, installing, results, comparing, fleet, memtier, ycsb,
                       rpc-perf, publishing, measuring, doctor, reports, performance,
                       architecture, dependencies";
