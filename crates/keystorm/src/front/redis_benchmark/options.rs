//! What was typed: every option of `redis-benchmark` and `valkey-benchmark`, and ours.
//!
//! Owns their names, help and shapes; what they mean together is [`super::plans`]'s business. Like
//! the peers it takes the word after an option as its value whatever it looks like, lets the last
//! of several count, and ends at the first word that is no option.

use std::path::PathBuf;
use std::time::Duration;

use crate::front::{PageOptions, Spread};
use clap::{ArgAction, Parser};
use workload::{Content, KeyDist, Lifetime};

use crate::front::MetricsAt;
use crate::front::show::format_name;

use super::clients::ClientOptions;
use super::payload::{Size, size};
use super::persona::PEERS;
use super::rank::shard;
use super::values::{
    ArrivalsArg, EngineArg, OnErrorArg, ProtocolArg, RfrArg, SizeByArg, Threads, WindowArg, YesNo,
    count, count_in, ip, milliseconds, port, seconds, signed, small_count, start_at, threads,
};

/// How fast is your Redis, really? Measures Redis, Valkey and whatever else speaks RESP. Takes the
/// command lines of redis-benchmark and valkey-benchmark unchanged.
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
pub(in crate::front) struct Options {
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
    /// Print the file for --workload that says what this command line says
    #[arg(long, help_heading = "Other")]
    pub(super) print_workload: bool,
    /// No effect; taken for the sake of old scripts
    #[arg(short = 'e', hide = true)]
    pub(super) exit_on_error: bool,
    /// Print this help
    #[arg(long, action = ArgAction::Help, help_heading = "Other")]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'v', long, help_heading = "Other")]
    version: bool,
    /// Take the place of that tool, as under its name: its tests, what it prints, and on standard
    /// error nothing of ours
    #[arg(long = "as", value_name = "NAME", value_parser = PEERS, help_heading = "Other")]
    called: Option<String>,

    /// A command to send instead of the suite; several with `;` between them, each after a repeat count if one is wanted. After `;>` stands what is sent once the replies to what is before
    /// it are in, after `;?` what is sent only if one of them was a miss. In its arguments __rand_int__ becomes a key number (fresh each
    /// time), __key__ one key number throughout the sequence, __rand_1st__ to __rand_9th__ nine
    /// more, __data__ a value of -d bytes, and __field:name__ a cell of the --dataset
    #[arg(trailing_var_arg = true, value_name = "COMMAND ARGS", hide_possible_values = true)]
    pub(super) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, clap::Args)]
pub(in crate::front) struct ServerOptions {
    /// Server hostname; several memcached servers, which share out keys: a,b:11212,c
    /// [default: 127.0.0.1]
    #[arg(short = 'h', long, value_name = "HOST", allow_hyphen_values = true)]
    pub(in crate::front) host: Option<String>,
    /// How several memcached servers share out keys: `ketama` or `modulo`, as libmemcached does both,
    /// or `spymemcached` [default: ketama]
    #[arg(long, value_name = "HOW")]
    pub(in crate::front) hash: Option<workload::RingHash>,
    /// What the server speaks: RESP, which is Redis and Valkey, or memcached's text protocol, the
    /// same with meta commands in the suite, or its binary one; -u memcache:// and --spawn=memcached
    /// say the second, too [default: resp]
    #[arg(long, value_name = "PROTOCOL")]
    pub(in crate::front) protocol: Option<ProtocolArg>,
    /// Server port [default: 6379, of memcached 11211]
    #[arg(short = 'p', long, value_name = "PORT", allow_hyphen_values = true,
          value_parser = port)]
    pub(in crate::front) port: Option<u16>,
    /// Unix socket of the server (instead of host and port)
    #[arg(short = 's', value_name = "PATH", allow_hyphen_values = true)]
    pub(in crate::front) socket: Option<PathBuf>,
    /// Server address: redis://[[user]:password@]host[:port][/db], likewise valkey://, in TLS
    /// rediss:// and valkeys://, or memcache:// and memcaches:// (host[:port][,host...]), or
    /// unix:///path?db=N, or the primary that sentinels watch:
    /// redis-sentinel://[[user:]password@]host[:26379][,host...]/NAME[/db]. Percent-encoded where
    /// needed, IPv6 in brackets
    #[arg(short = 'u', value_name = "URI", allow_hyphen_values = true)]
    pub(in crate::front) uri: Option<String>,
    /// Password; better in the environment variable REDISCLI_AUTH, which other users of the
    /// machine cannot see
    #[arg(short = 'a', value_name = "PASSWORD", allow_hyphen_values = true)]
    pub(in crate::front) password: Option<String>,
    /// ACL user; needs a password
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(in crate::front) user: Option<String>,
    /// Database to SELECT
    #[arg(long, value_name = "DB", allow_hyphen_values = true, value_parser = small_count)]
    pub(in crate::front) dbnum: Option<u32>,
    /// Speak RESP3 (HELLO 3)
    #[arg(short = '3')]
    pub(in crate::front) resp3: bool,
    /// Send CLIENT TRACKING on
    #[arg(long)]
    pub(in crate::front) enable_tracking: bool,
    /// Connect with Multipath TCP
    #[arg(long)]
    pub(in crate::front) mptcp: bool,
    /// The server is a node of a cluster: each command goes to the node that owns its key's slot,
    /// and {tag} in a key spreads the keys over all slots
    #[arg(long, conflicts_with = "spawn")]
    pub(super) cluster: bool,
    /// Which nodes of a cluster answer commands that only read: `no` for the masters, `yes` for
    /// the replicas, `all` for both [default: no]
    #[arg(long, value_name = "WHO")]
    pub(super) rfr: Option<RfrArg>,
    /// Start a private server for this run, without persistence, and stop it afterwards:
    /// valkey-server or redis-server, whichever is installed, or the one named, such as memcached
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true,
          conflicts_with_all = ["host", "port", "socket", "uri"])]
    pub(in crate::front) spawn: Option<Option<String>>,
    /// More arguments for that server, in one word: --spawn-args '--io-threads 2'
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub(in crate::front) spawn_args: Option<String>,
    /// CPUs for that server, such as 0 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub(in crate::front) server_cpus: Option<String>,
    /// Local addresses to connect from, between commas, in turn: each has ports of its own, so
    /// that there can be more than 28,000 connections to one server address
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = ip)]
    pub(in crate::front) source_ip: Vec<std::net::IpAddr>,
    /// Let that server listen on a unix socket instead of a loopback port
    #[arg(long)]
    pub(in crate::front) spawn_unix: bool,
}

/// The TLS options of the peers, with their names, and `--tls-resume`.
#[derive(Debug, clap::Args)]
pub(super) struct TlsArgs {
    /// Speak TLS; so does -u rediss:// or valkeys://. The server's certificate must be by a trusted
    /// CA and, unless keystorm is called redis-benchmark or valkey-benchmark, be for the host
    #[arg(long)]
    pub(super) tls: bool,
    /// Name to ask the server for, and to check its certificate for, instead of the host
    #[arg(long, value_name = "HOST", allow_hyphen_values = true)]
    pub(super) sni: Option<String>,
    /// PEM file of the CA certificates to trust [default: those that the system trusts]
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) cacert: Option<PathBuf>,
    /// Directory of CA certificates to trust, by their hash (openssl rehash)
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub(super) cacertdir: Option<PathBuf>,
    /// Accept any certificate of the server
    #[arg(long)]
    pub(super) insecure: bool,
    /// PEM file of the client's certificate and its chain, for servers that ask for one
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) cert: Option<PathBuf>,
    /// PEM file of its private key
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) key: Option<PathBuf>,
    /// Ciphers to offer up to TLS 1.2, as OpenSSL lists them
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) tls_ciphers: Option<String>,
    /// Ciphers to offer in TLS 1.3, as OpenSSL lists them
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) tls_ciphersuites: Option<String>,
    /// Groups to offer for the exchange of keys, as OpenSSL lists them
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) tls_groups: Option<String>,
    /// Versions to offer, such as TLSv1.2,TLSv1.3 [default: those of OpenSSL's configuration]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) tls_protocols: Option<String>,
    /// Let a new connection take up the session of an earlier one (with -k 0)
    #[arg(long)]
    pub(super) tls_resume: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct LoadOptions {
    /// Parallel connections; here and for every other count or size, 10k is 10000 and 5M 5000000
    #[arg(short = 'c', long, value_name = "CLIENTS", allow_hyphen_values = true,
          default_value = "50", value_parser = small_count)]
    pub(super) clients: u32,
    /// Requests in all [default: 100000]
    #[arg(short = 'n', long, value_name = "REQUESTS", allow_hyphen_values = true,
          value_parser = count)]
    pub(super) requests: Option<u64>,
    /// How long to run, instead of -n; here and for every other time, 500ms, 2s, 1.5m and 1h are
    /// understood, and a number alone is seconds
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(super) duration: Option<Duration>,
    /// How long to run before measuring
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(super) warmup: Option<Duration>,
    /// Requests per pipeline [default: 1]
    #[arg(short = 'P', long, value_name = "NUMREQ", allow_hyphen_values = true,
          value_parser = signed)]
    pub(super) pipeline: Option<i64>,
    /// When a pipeline goes on: `batch` when all its replies are in, `rolling` as each comes
    /// [default: batch, as in the peers; rolling with --rps]
    #[arg(long, value_name = "WHEN")]
    pub(super) window: Option<WindowArg>,
    /// Requests per second, on a schedule that no reply delays: 10k; a ramp 10k..100k/30s; steps
    /// 10k,20k,40k/10s. 0 for as many as possible
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(super) rps: Option<String>,
    /// How requests spread around that rate: at equal distances, or at random as independent users
    /// send them [default: constant]
    #[arg(long, value_name = "HOW", requires = "rps")]
    pub(super) arrivals: Option<ArrivalsArg>,
    /// Carry out share I of N, so that N processes make one run: requests, rate, connections and
    /// keys are those of all shares together. `keystorm merge` adds up what they keep with --json. `env` takes
    /// the rank that srun or mpirun gives, `env/N` that of a Kubernetes Indexed Job
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(super) shard: Option<workload::Shard>,
    /// Begin at this instant (of one test), such as 2026-05-01T12:00:00Z, seconds since 1970, or
    /// +5s for five seconds from now
    #[arg(long, value_name = "TIME", value_parser = start_at, conflicts_with_all = ["idle", "repeat"])]
    pub(super) start_at: Option<std::time::SystemTime>,
    /// Worker threads; `auto` for one on each CPU that a server on this machine leaves free, 0
    /// for one that is not called multi-threaded
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, value_parser = threads)]
    pub(super) threads: Option<Threads>,
    /// CPUs to pin the worker threads to, one each in turn, such as 1 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub(super) cpus: Option<String>,
    /// What moves the bytes: io_uring (`uring`), `epoll`, or `auto` for the fastest that this
    /// machine allows
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(super) engine: EngineArg,
    /// 1 keeps connections, 0 opens one for each pipeline
    #[arg(short = 'k', value_name = "BOOLEAN", allow_hyphen_values = true, default_value = "1",
          value_parser = signed)]
    pub(super) keep_alive: i64,
    /// Whether a connection that is lost is opened again, and the run goes on [default: yes with
    /// --duration, unless the server is spawned; no otherwise: its loss ends the run, as in the peers]
    #[arg(long, value_name = "WHETHER")]
    pub(super) reconnect: Option<YesNo>,
    /// How long a request may take, where a number alone is milliseconds; one that takes longer is
    /// counted apart, and its connection is opened again (or the run ends, without --reconnect)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = milliseconds)]
    pub(super) timeout: Option<Duration>,
    /// Only hold -c idle connections
    #[arg(short = 'I')]
    pub(super) idle: bool,
    /// Repeat the tests for ever
    #[arg(short = 'l')]
    pub(super) repeat: bool,
    /// Carry out each test N times, and report the means with their 95 % confidence intervals too,
    /// and whether they are narrow enough to conclude from
    #[arg(long = "repeat", value_name = "N", value_parser = count_in(1..=1_000),
          conflicts_with_all = ["repeat", "idle", "start_at"])]
    pub(super) repeats: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub(super) struct DataOptions {
    /// Take commands, keys, values, load and phases from this TOML file, or from the preset of that
    /// name, which `keystorm presets` lists; what stands beside it here counts instead
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) workload: Option<String>,
    /// Phases of the workload to run, between commas [default: all]
    #[arg(long, value_name = "NAMES", allow_hyphen_values = true, requires = "workload")]
    pub(super) phase: Option<String>,
    /// Tests of the suite to run, between commas [default: all]
    #[arg(short = 't', value_name = "TESTS", allow_hyphen_values = true)]
    pub(super) tests: Option<String>,
    /// Key numbers 0 to N-1 for the placeholders; without it, all requests use one key
    #[arg(short = 'r', value_name = "KEYSPACE", allow_hyphen_values = true)]
    pub(super) keyspace: Option<String>,
    /// Go through the keys of -r in order instead of at random
    #[arg(long, conflicts_with = "key_dist")]
    pub(super) sequential: bool,
    /// How keys are drawn: uniform, sequential, zipf[:S], zipf-scattered[:S], hotspot:SHARE/KEYS,
    /// gaussian[:MEAN,SD] and exponential[:PERCENTILE/SHARE] in percent, or file:PATH[#COLUMN]
    /// [default: uniform]
    #[arg(long, value_name = "DIST", allow_hyphen_values = true)]
    pub(super) key_dist: Option<KeyDist>,
    /// Bytes of a value, or how sizes are drawn: uniform:MIN..MAX, sizes:SIZE=WEIGHT,…,
    /// lognormal:MEDIAN,SIGMA, pareto:SCALE,SHAPE or normal:MEAN,SD, the last three cut to ,MIN..MAX if that follows [default: 3]
    #[arg(short = 'd', value_name = "SIZE", allow_hyphen_values = true, value_parser = size)]
    pub(super) data_size: Option<Size>,
    /// Whether a size belongs to the key, which keeps it, or to the request [default: key]
    #[arg(long, value_name = "BY", hide_possible_values = true)]
    pub(super) size_by: Option<SizeByArg>,
    /// What values are made of: classic (the bytes of redis-benchmark), random, compressible:N
    /// for N to 1, or same (the letter x) [default: classic; random where sizes are drawn]
    #[arg(long, value_name = "CONTENT")]
    pub(super) content: Option<Content>,
    /// How long keys that a SET writes live, in seconds, or from..to for a random time in between;
    /// __ttl__ stands for it in other commands
    #[arg(long, value_name = "TIME")]
    pub(super) ttl: Option<Lifetime>,
    /// Before the tests, write every key that the commands read, once each and with the value that it
    /// must have: by SET, or by what --fill-with says
    #[arg(long)]
    pub(super) fill: bool,
    /// The command that --fill writes a key with, where it is no string, such as
    /// 'hset user:__key__ name __data__'; several with `;` between them
    #[arg(long, value_name = "COMMAND", requires = "fill")]
    pub(super) fill_with: Option<String>,
    /// Which share of what is read is there, from 0 to 1: the other reads are of as many keys beyond -r,
    /// which nothing writes
    #[arg(long, value_name = "SHARE")]
    pub(super) hit_ratio: Option<String>,
    /// Compare every value that get, getex, getdel, mget or hget brings with what was written under
    /// its key, by this process or another with the same --seed, -r, -d and --content (random, unless
    /// that says otherwise): a wrong one is an error, and the exit code is 1
    #[arg(long)]
    pub(super) verify: bool,
    /// A read that finds nothing is an error, told with its key, and the exit code is 1; with --verify
    /// this shows that nothing was lost
    #[arg(long)]
    pub(super) fail_on_miss: bool,
    /// The commands between `;` are operations, of which one is drawn at a time; the number before
    /// each is its weight
    #[arg(long)]
    pub(super) mix: bool,
    /// Read the last argument of the command from standard input
    #[arg(short = 'x')]
    pub(super) stdin_arg: bool,
    /// CSV or TSV file with a header line, or XML file, for __field:name__ placeholders; each
    /// request takes the next row
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) dataset: Option<PathBuf>,
    /// Name of the elements that are the rows of an XML file; the elements within are their fields
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(super) xml_root_element: Option<String>,
    /// Rows of the dataset to read [default: all]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, value_parser = signed)]
    pub(super) maxdocs: Option<i64>,
    /// Functions in the library of the test function_load
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, default_value = "10",
          value_parser = small_count)]
    pub(super) num_functions: u32,
    /// Keys passed to the function of the test fcall
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, default_value = "1",
          value_parser = small_count)]
    pub(super) num_keys_in_fcall: u32,
    /// Where the key numbers come from: one seed, one stream of keys [default: the time]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, value_parser = signed)]
    pub(super) seed: Option<i64>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ResultOptions {
    /// Only a line for each test
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
    /// CSV
    #[arg(long)]
    pub(super) csv: bool,
    /// Layout: text, quiet (-q), csv (--csv), redis (the report of redis-benchmark and
    /// valkey-benchmark), classic (redis-benchmark 2.x to 5), memtier (the tables of
    /// memtier_benchmark) or json
    #[arg(long, value_name = "NAME", value_parser = format_name, conflicts_with_all = ["quiet", "csv"])]
    pub(super) format: Option<&'static str>,
    /// Steps of the distributions in our own report: `short`, or `full` for all [default: short]
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(super) distribution: Spread,
    /// Keep the results in this file, which `keystorm show` prints and `keystorm merge` adds up;
    /// written after each test. `-` prints them as JSON instead of a report
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) json: Option<PathBuf>,
    #[command(flatten)]
    pub(super) pages: PageOptions,
    /// Log a histogram for each interval to this file, in the HdrHistogram log format
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) hdr: Option<PathBuf>,
    /// Serve figures to Prometheus while tests run, as OpenMetrics at /metrics: 9121 or :9121 for
    /// this machine only, an address before it for others, 0 for a free port
    #[arg(long, value_name = "[ADDR:]PORT", allow_hyphen_values = true, conflicts_with = "idle",
          value_parser = MetricsAt::parse)]
    pub(super) metrics: Option<MetricsAt>,
    /// Significant digits of latencies, 1 to 4 [default: 3]
    #[arg(long, value_name = "DIGITS", allow_hyphen_values = true, value_parser = signed)]
    pub(super) precision: Option<i64>,
    /// Also report the latency to the first byte of a pipeline's replies, which is what the peers
    /// call latency
    #[arg(long)]
    pub(super) first_byte: bool,
    /// Leave out what limited each test and what spoiled it. By default that is in the report, or on
    /// standard error where the layout has no room for it; KEYSTORM_VERDICT=stderr, =off or =FILE
    /// has it there
    #[arg(long)]
    pub(super) no_verdict: bool,
    /// Also look at the server (INFO) once a second while load runs, not only before and after
    #[arg(long)]
    pub(super) sample: bool,
    /// What an error reply does: `stop` ends the run, as in the peers; `count` goes on [default:
    /// count where lost connections are opened again, stop otherwise]
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
        Some(format!("{option}: this version of keystorm does not do {what} yet"))
    }
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
Examples:
  Measure a server that is started for it and gone afterwards:
    $ keystorm --spawn -q

  The whole suite against 127.0.0.1:6379:
    $ keystorm

  Some tests, 20 connections, 50,000 requests each, as CSV:
    $ keystorm -t ping,set,get -c 20 -n 50000 --csv

  Fill the server with a million keys, each exactly once:
    $ keystorm -t set -n 1000000 -r 1000000 --sequential -P 16 -q

  A schedule of 10,000 requests per second for 2 seconds, of keys that are filled first:
    $ keystorm -t get --fill -r 100k --rps 10000 --duration 2

  Any command, here with a random key and 100 bytes of data:
    $ keystorm -r 10000 -n 10000 -d 100 set user:__rand_int__ __data__

  Keys of which a few are hot, each read and then written:
    $ keystorm --fill -r 10k -n 10000 --key-dist zipf get user:__key__ ';' set user:__key__ __data__

  Nine reads to one write, drawn at random; and a cache that is filled on a miss:
    $ keystorm --mix --fill -r 10k -n 10000 -- 9 get user:__key__ ';' 1 set user:__key__ __data__
    $ keystorm -r 1000 -n 10000 get user:__key__ ';?' set user:__key__ __data__

  A workload that comes with keystorm, with more keys and at a rate:
    $ keystorm --workload ycsb-b -r 10k -n 10000 --rps 10k -P 16

  A cluster, from any of its nodes; the keys fall on the nodes that own them:
    keystorm --cluster -h 10.0.0.1 -r 1000000 set user:__rand_int__ __data__

  A transaction:
    $ keystorm -r 1000 -n 20000 -- multi ';' set k:__rand_1st__ __data__ ';' incr hits ';' exec

Command lines of other tools, also taken by these tools' names:
  keystorm memtier     memtier_benchmark
  keystorm ycsb        YCSB, for Redis and memcached

Subcommands, each with a --help of its own:
  keystorm compare     two servers, or two saved runs: ratios and how sure they are
  keystorm sweep       options with lists or ranges: a table and a chart of every combination
  keystorm search      the highest rate that keeps a target such as p99<1ms
  keystorm survey      how fast Redis is on this machine, as a page with charts
  keystorm presets     the workloads that --workload knows by name
  keystorm calibrate   the ceiling of this client on this machine, measured without a server
  keystorm doctor      what on this machine and on a server spoils results
  keystorm sink        a server that does as little as a server can
  keystorm show        a run that was kept with --json, in any layout
  keystorm merge       runs of several clients, added up
  keystorm report      saved runs as a page with charts
  keystorm man         man pages, to print or to write into a directory
  keystorm completions what bash, zsh or fish is told to complete all of this
  keystorm help        this help, with a name that of a subcommand, or one of the pages
                       applications, automation, publishing, measuring, results, reports,
                       comparing, workloads, lab, cluster, memcached, fleet";
