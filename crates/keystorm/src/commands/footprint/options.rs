//! The command line of `keystorm footprint`: what is stored, in which servers.

use std::ffi::OsString;

use clap::Parser;
use cli::experiment::{ExperimentOptions, LOAD_OPTIONS, load, refuse_address};
use cli::job::{Job, UsageError};
use cli::run::ParsedArgs;
use lab::footprint::{ITEMS, Item, Type};
use spec::values::{Count, ProtocolArg, count, count_in};
use spec::{Program, ServerArgs};
use workload::Endpoint;

/// Measures the memory of a key, by type, size and encoding, and finds where the encoding changes. Each
/// server starts empty and is filled to three sizes, each twice the one before. The slope of its memory is
/// the cost of one more key, without what an empty server needs: of used_memory, the dataset, RSS, and the
/// allocator's share. Several starts of the server give each figure its margin of error.
///
/// KEY is string:SIZE, or a type with elements and their size: hash:10x20 list:100x20 set:100xint
/// zset:100x20 stream:100x20. `int` as a size stores integers, +ttl at the end gives each key a lifetime.
/// Without KEY, a list of all types is measured.
///
/// An existing server must be empty, and is empty again afterwards; only --spawn shows how much starts differ.
/// Takes the options of a run that name the server: -h, -p, -s, -u, -a, --spawn and the like (see keystorm
/// --help).
#[derive(Parser)]
#[allow(clippy::doc_markdown, reason = "the comment is the help, which is no Markdown")]
#[command(
    name = "keystorm footprint",
    override_usage = "keystorm footprint [OPTIONS] [OPTIONS OF THE SERVER] [KEY...]",
    after_help = EXAMPLE,
)]
pub(super) struct Options {
    /// Also store the keys in this server, a program with its arguments in one word; may be repeated
    #[arg(long, value_name = "PROGRAM", help_heading = "Keys")]
    beside: Vec<String>,
    /// Number of starts of each server; every key is measured in each
    #[arg(long, value_name = "TIMES", help_heading = "Keys", default_value = "3",
          value_parser = count_in(1..=100))]
    pub(super) starts: u32,
    /// Keys of the smallest fill, rounded up to a power of two [default: what suits each KEY]
    #[arg(long, value_name = "NUM", help_heading = "Keys", value_parser = count)]
    pub(super) keys: Option<u64>,
    /// Do not look for the lengths at which encodings change
    #[arg(long, help_heading = "Keys")]
    pub(super) no_steps: bool,
    /// Instead of keys, measure a workload with each of these limits of memory, as the server writes them:
    /// 64mb,128mb. Takes --workload, a command and the other options of a load, and requires --spawn
    #[arg(long, value_name = "LIST", help_heading = "Limits of memory", value_delimiter = ',')]
    maxmemory: Vec<String>,
    /// Eviction policy of the server (maxmemory-policy)
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Limits of memory",
        default_value = "allkeys-lru",
        requires = "maxmemory"
    )]
    pub(super) policy: String,
    #[command(flatten)]
    pub(super) output: ExperimentOptions,
    /// Items that are stored.
    #[arg(skip)]
    pub(super) items: Vec<Item>,
    /// A job for each server: the one that was named, then those beside it.
    #[arg(skip)]
    pub(super) servers: Vec<Job>,
    /// Limits of memory.
    #[arg(skip)]
    pub(super) limits: Vec<MemoryLimit>,
}

/// A limit of memory, with the workload on a server that has it.
pub(super) struct MemoryLimit {
    /// Limit as it was typed.
    pub(super) limit: String,
    load: ParsedArgs,
    pub(super) job: Job,
}

impl MemoryLimit {
    /// The workload in a closed loop of this many requests. `number` distinguishes their draws.
    ///
    /// # Errors
    /// Returns an error if the load makes no sense.
    pub(super) fn closed_loop(&self, requests: u64, number: u64) -> Result<Job, UsageError> {
        let seed = self.job.plans.first().map_or(0, |plan| plan.load.seed);
        self.load.job(|spec| {
            (spec.load.rate, spec.load.arrivals, spec.load.warmup) = (None, None, None);
            spec.load.end_after(Some(Count(requests)), None);
            // The same keys, in another order, but where values are checked.
            let number = if spec.data.verify { 0 } else { number };
            spec.data.seed = Some(Count(seed.wrapping_add(number) as i64));
        })
    }
}

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../help/footprint.txt").trim_ascii_end();

const NAME: &str = "keystorm footprint";
const KEYS_MAX: u64 = 100_000_000;

/// Returns what the options mean.
pub(super) fn read(
    mut options: Options,
    words: Vec<OsString>,
    load: ParsedArgs,
    shown: String,
) -> Result<Options, UsageError> {
    options.output.resolve(shown)?;
    if !options.maxmemory.is_empty() {
        return memory(options, words, load);
    }
    if let Some(option) = LOAD_OPTIONS.iter().find(|option| load.has(**option)) {
        return Err(UsageError(format!(
            "{option}: footprint stores keys and measures no load; name sizes as string:100, or measure a workload with \
             --maxmemory"
        )));
    }
    if options.keys.is_some_and(|keys| !(1..=KEYS_MAX).contains(&keys)) {
        return Err(UsageError(format!("--keys: must be between 1 and {KEYS_MAX}")));
    }
    for word in words.iter().map(|word| word.to_string_lossy()) {
        // No type has a dot in its name, and an item looks like an address otherwise.
        if word.contains('.') || word.starts_with("localhost:") {
            refuse_address(&word, NAME)?;
        }
    }
    let items: Result<Vec<Item>, String> = match words.len() {
        0 => ITEMS.iter().map(|text| Item::parse(text)).collect(),
        _ => words.iter().map(|word| Item::parse(&word.to_string_lossy())).collect(),
    };
    let items = items.map_err(UsageError)?;
    let mut servers = vec![load.job(|_| ())?];
    for program in &options.beside {
        servers.push(beside_job(program)?);
    }
    let strings = items.iter().any(|item| item.of == Type::String);
    if servers.iter().any(|job| job.plans.first().is_some_and(|plan| plan.protocol.is_memcache()))
        && !strings
    {
        return Err(UsageError("memcached has strings only: add one, as string:100".to_owned()));
    }
    let several = servers.iter().find(|job| {
        let target = job.plans.first().map(|plan| &plan.target);
        let endpoint = target.map(|target| &target.endpoint);
        target.is_some_and(|target| target.cluster.is_some())
            || !matches!(
                endpoint,
                Some(Endpoint::Spawned { .. } | Endpoint::Tcp { .. } | Endpoint::Unix(_))
            )
    });
    if several.is_some() {
        return Err(UsageError(
            "footprint takes one server, with -h and -p, -s, or --spawn".to_owned(),
        ));
    }
    if options.output.print_plan {
        return Err(UsageError(
            "--print-plan: footprint has no plan; it stores what KEY says".to_owned(),
        ));
    }
    (options.items, options.servers) = (items, servers);
    Ok(options)
}

/// A workload on a server with each limit of memory.
fn memory(
    mut options: Options,
    words: Vec<OsString>,
    mut load: ParsedArgs,
) -> Result<Options, UsageError> {
    let key = words.first().map(|word| word.to_string_lossy());
    if let Some(key) = key.filter(|key| Item::parse(key).is_ok()) {
        return Err(UsageError(format!("{key}: --maxmemory measures a workload, not keys")));
    }
    load.complete(move |spec| spec.command.clone_from(&words));
    if !load.names_test() {
        let text = "--maxmemory: name what is measured, with --workload FILE, -t or a command";
        return Err(UsageError(text.to_owned()));
    }
    let Some(Program(program)) = &load.asked().server.spawn else {
        let text = "--maxmemory requires --spawn: the server is started with each limit";
        return Err(UsageError(text.to_owned()));
    };
    let is_memcached =
        program.as_ref().is_some_and(|name| name.rsplit('/').next() == Some("memcached"));
    let of_limit = |limit: &String| -> Result<MemoryLimit, UsageError> {
        let args = if is_memcached {
            vec!["-m".to_owned(), megabytes(limit)?.to_string()]
        } else {
            ["--maxmemory", limit, "--maxmemory-policy", &options.policy]
                .map(str::to_owned)
                .to_vec()
        };
        let given = load.asked().server.spawn_args.iter().flat_map(|ServerArgs(given)| given);
        let args: Vec<String> = given.cloned().chain(args).collect();
        let mut load = load.clone();
        load.complete(move |spec| spec.server.spawn_args = Some(ServerArgs(args.clone())));
        let job = load.job(|_| ())?;
        Ok(MemoryLimit { limit: limit.clone(), load, job })
    };
    options.limits = options.maxmemory.iter().map(of_limit).collect::<Result<_, _>>()?;
    if is_memcached {
        options.policy = "memcached's own LRU".to_owned();
    }
    Ok(options)
}

/// A limit of memory in megabytes, as memcached's -m takes it.
fn megabytes(limit: &str) -> Result<u64, UsageError> {
    let text = limit.to_lowercase();
    let text = text.trim_end_matches('b');
    let (digits, factor) = match text.strip_suffix('g') {
        Some(digits) => (digits, 1024),
        None => (text.trim_end_matches('m'), 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number.ok_or_else(|| {
        UsageError(format!("--maxmemory {limit}: memcached takes megabytes: 64m, 1g"))
    })
}

/// A job that starts the program of --beside.
fn beside_job(text: &str) -> Result<Job, UsageError> {
    let words =
        shell_words::split(text).map_err(|why| UsageError(format!("--beside {text}: {why}")))?;
    let Some((program, args)) = words.split_first() else {
        return Err(UsageError("--beside: name a program, such as valkey-server".to_owned()));
    };
    let is_memcached = program.rsplit('/').next() == Some("memcached");
    load(NAME, Vec::new())?.job(|spec| {
        spec.server.spawn = Some(Program(Some(program.clone())));
        spec.server.spawn_args = (!args.is_empty()).then(|| ServerArgs(args.to_vec()));
        spec.server.protocol = is_memcached.then_some(ProtocolArg::Memcache);
    })
}
