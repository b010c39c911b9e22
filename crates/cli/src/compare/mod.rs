//! The command line of `keystorm compare`: which servers, and the options of a run.
//!
//! They are the first words that are no options. All else is read by the classic front end, once
//! for each side, so that no option is defined twice; only the server is ours to say. Servers of
//! different protocols are [`terms`]'s.

mod decision;
mod side;
mod terms;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Command};
use job::{CompareJob, Inconclusive, LiveSides, Sides};
use lab::Slo;
use lab::terms::Kind;
use lab::{Line, Takes};
use report::compare::ERRORS_DEFAULT;
use workload::{Plan, PlanParts, Target, redis_commands};

use super::experiment::{again as shown, takes_of};
use super::run::{self, ProtocolArg, Typed, count_in};
use super::{FrontEnd, Intent, Job, UsageError};
use side::{Side, Word};

/// See the module.
pub(crate) struct CompareFront;

/// What becomes of a block that the client or the machine spoiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Disturbed {
    Repeat,
    Count,
}

const ABOUT: &str = "Compares servers, or two saved runs. For each test, it prints the ratio of \
    the second to the first for throughput, latency percentiles and CPU per request, with a 95 % \
    confidence interval, whether they differ, and what limited each. All servers get the same load \
    in turn, there and back, so that a temporary slowdown of the machine affects all. With --rps and \
    --slo it says which of two or more servers keeps the target, and at what cost";

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
The servers stand before the command, among the options or not. They are host:port, a URI (redis://,
rediss://, valkey://, valkeys://, unix://), a unix socket, or a program to start (a name or a path;
with arguments in one word). Instead of servers, two files that --json has kept are compared.

Redis, or what else speaks RESP, and memcached are compared on equal terms: the same keys, values
and order, said in each one's words, in four tables: per core, per machine, latency at the same
rate, and multi-get. Their tests are get, set and mget with a number of keys, such as mget10, of
-r 100000 keys and -d 100 bytes unless said otherwise; a command or a mix is made of get, set and
mget. With --rps, there is one table at that rate.

Without -n or --duration each run takes 1 second after 0.2 of warm-up; without -t or a command the
tests are set and get; --repeat is the number of blocks, in each of which every server
runs twice [default: 5]. Programs that are started, and the client, get CPUs of their own
where there are enough.

Exit code 3: --fail-on-regression found the second server to be worse than allowed, or more requests
failed than --errors allows. Exit code 4: the runs do not say (see --inconclusive).

Examples:
  Two servers that are started for it:
    $ keystorm compare redis-server valkey-server -t get -P 16 --duration 0.3

  To fail a build if the second is surely over 5 % worse:
    $ keystorm compare redis-server valkey-server -t set --duration 0.3 --fail-on-regression 5

  Redis beside memcached, one core each:
    $ keystorm compare redis-server memcached --tables core --duration 0.2

  Which of three servers keeps a target at a rate, and at what cost:
    $ keystorm compare redis-server valkey-server memcached --rps 2k --slo 'p99<50ms' -t get --duration 0.2";

/// The load where none is given.
const TESTS_DEFAULT: &str = "set,get";
const SECONDS_DEFAULT: f64 = 1.0;
const WARMUP_DEFAULT: f64 = 0.2;
/// Five ratios make an interval of 2.8 standard errors to either side; with three it is 4.3, and more
/// than ten gain little.
const BLOCKS_DEFAULT: u32 = 5;
/// Options that are of use without a server.
const OF_FILES: [&str; 11] = [
    "csv",
    "format",
    "json",
    "html",
    "svg",
    "png",
    REGRESSION,
    ERRORS,
    INCONCLUSIVE,
    NAME_A,
    NAME_B,
];
const ERRORS: &str = "errors";
const INCONCLUSIVE: &str = "inconclusive";
const SLO: &str = "slo";
const DISTURBED: &str = "disturbed";
const NAME_A: &str = "name_a";
const NAME_B: &str = "name_b";
const REGRESSION: &str = "fail_on_regression";
/// Options of servers of different protocols.
const TABLES: &str = "tables";
const CORES: &str = "cores";
/// Most cores of servers: as many processes are started.
const CORES_MAX: u32 = 256;
/// Options that the servers take the place of.
const OF_SERVERS: [&str; 5] = ["host", "port", "socket", "uri", "spawn"];
const NAMED: &str = "cannot be used here: the servers are named by the first words";
/// Options that make no sense for two.
const OF_ONE: [&str; 10] = [
    "probe",
    "clock",
    "hdr",
    "idle",
    "repeat",
    "start_at",
    "shard",
    "print_plan",
    "print_workload",
    "called",
];

/// The options of a run as those of a comparison.
fn explained(run: Command) -> Command {
    let refused = |arg: &Arg| {
        let id = arg.get_id().as_str();
        OF_ONE.contains(&id) || OF_SERVERS.contains(&id)
    };
    run.about(ABOUT)
        .mut_args(|arg| if refused(&arg) { arg.hide(true) } else { arg })
        .override_usage("keystorm compare SERVER SERVER... [OPTIONS] [--] [COMMAND ARGS...]")
        .after_help(EXAMPLES)
        .arg(
            Arg::new(REGRESSION)
                .long("fail-on-regression")
                .value_name("PCT")
                .value_parser(percent)
                .help_heading("Results")
                .help(
                    "Exit with code 3 if the second server's throughput is lower, or its p99 \
                     higher, by more than PCT percent, at a confidence of 95 % over all tests \
                     together",
                ),
        )
        .arg(
            Arg::new(ERRORS)
                .long("errors")
                .value_name("PCT")
                .value_parser(share)
                .help_heading("Results")
                .help(
                    "The percentage of a server's requests that may fail. Above it there is no \
                     ratio, and the exit code is 3 where this or --fail-on-regression is given \
                     [default: 0.1]",
                ),
        )
        .arg(
            Arg::new(SLO)
                .long("slo")
                .value_name("TARGET")
                .value_parser(Slo::parse)
                .help_heading("Results")
                .help(
                    "What response times are to keep at --rps, such as p99<2ms; the answer says which \
                     server keeps it",
                ),
        )
        .arg(
            Arg::new(INCONCLUSIVE)
                .long("inconclusive")
                .value_name("WHAT")
                .value_parser(clap::value_parser!(Inconclusive))
                .hide_possible_values(true)
                .help_heading("Results")
                .help(
                    "Where the runs do not say whether --fail-on-regression is passed: pass (exit \
                     code 0), fail (3), or repeat (double the blocks, twice at most) [default: exit \
                     code 4]",
                ),
        )
        .arg(
            Arg::new(DISTURBED)
                .long("disturbed")
                .value_name("WHAT")
                .value_parser(clap::value_parser!(Disturbed))
                .hide_possible_values(true)
                .help_heading("Results")
                .help(
                    "What becomes of a block of runs that other programs, the hypervisor or a late \
                     client spoiled: repeat (as many as --repeat at most) or count [default: repeat]",
                ),
        )
        .arg(name_of(NAME_A, "name-a", "first"))
        .arg(name_of(NAME_B, "name-b", "second"))
        .arg(
            Arg::new(TABLES)
                .long("tables")
                .value_name("LIST")
                .value_parser(kind)
                .value_delimiter(',')
                .help_heading("Equal terms")
                .help(
                    "Tables of Redis and memcached, comma-separated: core, machine, latency \
                     (requires core) and mget [default: all]",
                ),
        )
        .arg(
            Arg::new(CORES)
                .long("cores")
                .value_name("NUM")
                .value_parser(count_in(1..=CORES_MAX))
                .help_heading("Equal terms")
                .help(
                    "Cores for the servers in the per-machine table [default: half of all \
                    cores]",
                ),
        )
}

fn name_of(id: &'static str, long: &'static str, which: &str) -> Arg {
    Arg::new(id)
        .long(long)
        .value_name("NAME")
        .help_heading("Results")
        .help(format!("Call the {which} server so [default: product and version, or what differs]"))
}

impl FrontEnd for CompareFront {
    fn names(&self) -> &'static [&'static str] {
        &["compare"]
    }

    fn command(&self) -> Option<Command> {
        Some(explained(run::vocabulary()))
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        let (sides, args) = sides_and_rest(args);
        let again = again(sides.as_deref(), &args);
        let typed = match Typed::read("keystorm compare", explained, args)? {
            Ok(typed) => typed,
            Err(intent) => return Ok(intent),
        };
        let Some(sides) = sides else {
            return usage(
                "name the servers, two or more: keystorm compare redis-server valkey-server",
            );
        };
        let slo = typed.matches().get_one::<Slo>(SLO).cloned();
        let fail_on_regression = typed.matches().get_one::<f64>(REGRESSION).copied();
        let words = sides.iter().map(|side| side::shown(&side.to_string_lossy())).collect();
        let errors = typed.matches().get_one::<f64>(ERRORS).copied();
        refuse(&typed, &OF_ONE, "works with one server only")?;
        let sides = sides.iter().map(|word| Side::of(word)).collect::<Result<Vec<_>, _>>();
        let (sides, job) = match two_kinds(sides.map_err(UsageError)?)? {
            Kinds::Files(files) => {
                let files: [PathBuf; 2] = files
                    .try_into()
                    .map_err(|_| UsageError("saved runs are compared two at a time".to_owned()))?;
                let [a, b] = files;
                saved(&typed, a, b)?
            }
            Kinds::Servers(words) => servers(&typed, words, slo)?,
        };
        let Job { output, several, notes, .. } = job;
        if typed.typed().any(|id| id == INCONCLUSIVE) && fail_on_regression.is_none() {
            return usage("--inconclusive requires --fail-on-regression");
        }
        if fail_on_regression.is_some() && typed.matches().get_one::<u32>("repeats") == Some(&1) {
            return usage("--fail-on-regression requires --repeat 2 or more");
        }
        if !matches!(output.format, "text" | "csv" | "json") {
            return usage("the output formats of compare are text, csv and json");
        }
        Ok(Intent::Compare(Box::new(CompareJob {
            sides,
            output,
            fail_on_regression,
            inconclusive: typed.matches().get_one::<Inconclusive>(INCONCLUSIVE).copied(),
            repeats_void: typed.matches().get_one::<Disturbed>(DISTURBED)
                != Some(&Disturbed::Count),
            words,
            names: [NAME_A, NAME_B]
                .map(|id| typed.matches().get_one::<String>(id).cloned())
                .to_vec(),
            errors_allowed: errors.unwrap_or(ERRORS_DEFAULT),
            is_gate: fail_on_regression.is_some() || errors.is_some(),
            several,
            notes,
            again,
        })))
    }
}

/// What sides are: all of one kind.
enum Kinds {
    Files(Vec<PathBuf>),
    Servers(Vec<Word>),
}

fn two_kinds(sides: Vec<Side>) -> Result<Kinds, UsageError> {
    let (mut files, mut servers) = (Vec::new(), Vec::new());
    for side in sides {
        match side {
            Side::File(file) => files.push(file),
            Side::Server(word) => servers.push(word),
        }
    }
    match (files.first(), servers.is_empty()) {
        (Some(file), false) => usage(&format!(
            "{} is a file and the other side is a server; compare two of the same kind",
            file.display()
        )),
        (Some(_), true) => Ok(Kinds::Files(files)),
        (None, _) => Ok(Kinds::Servers(servers)),
    }
}

/// What is done to servers.
fn servers(typed: &Typed, words: Vec<Word>, slo: Option<Slo>) -> Result<(Sides, Job), UsageError> {
    let asked = typed.matches().get_one::<ProtocolArg>("protocol").copied();
    let mixed = words.iter().any(|word| word.is_memcache(asked) != words[0].is_memcache(asked));
    let at_a_rate = mixed && typed.typed().any(|id| id == "rps");
    let pair = <[Word; 2]>::try_from(words);
    match pair {
        Ok(pair) if slo.is_none() && !at_a_rate => match mixed {
            true => terms::sides(typed, &pair, asked),
            false => {
                let why = "requires servers of different protocols, such as redis-server and \
                    memcached";
                refuse(typed, &[TABLES, CORES], why)?;
                live(typed, &pair)
            }
        },
        pair => {
            let words = pair.map_or_else(|words| words, Vec::from);
            let why = "is of two servers of different protocols without --rps";
            refuse(typed, &[TABLES, CORES], why)?;
            decision::sides(typed, &words, asked, slo)
        }
    }
}

/// The words that name servers or files, wherever they stand before the command, and the others. The first
/// two that are no options are names whatever they are; further ones, as long as they can be nothing else.
fn sides_and_rest(args: Vec<OsString>) -> (Option<Vec<OsString>>, Vec<OsString>) {
    let mut words = args.clone();
    let (mut sides, mut options) = (Vec::new(), Vec::new());
    loop {
        let Line { options: given, rest } = Line::of(words, takes);
        options.extend(given);
        let is_side = |word: &OsString| word != "--" && (sides.len() < 2 || names_a_server(word));
        if sides.len() < SIDES_MAX && rest.first().is_some_and(is_side) {
            let mut rest = rest.into_iter();
            sides.extend(rest.next());
            words = rest.collect();
            continue;
        }
        return match sides.len() {
            // Not two: whoever reads the line says what is wrong with it.
            0 | 1 => (None, args),
            _ => (Some(sides), Line { options, rest }.words()),
        };
    }
}

/// Whether a word can only be a server: no command of one has such a name.
fn names_a_server(word: &OsString) -> bool {
    match Side::of(word) {
        Ok(Side::Server(Word::Program { program, args })) => {
            let is_path = program.contains('/');
            is_path || !args.is_empty() || redis_commands::known(&program, None).is_none()
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Most servers of a comparison: all of them run at the same time.
const SIDES_MAX: usize = 16;

/// What an option of this command line takes.
fn takes(name: &str) -> Option<Takes> {
    match name {
        "--fail-on-regression"
        | "--errors"
        | "--tables"
        | "--cores"
        | "--inconclusive"
        | "--slo"
        | "--disturbed"
        | "--name-a"
        | "--name-b" => Some(Takes::Value),
        _ => takes_of(&run::vocabulary(), name),
    }
}

/// The command line to be shown: without passwords.
fn again(sides: Option<&[OsString]>, args: &[OsString]) -> String {
    let sides = sides.into_iter().flatten().map(|side| side.to_string_lossy());
    let sides: Vec<String> = sides.map(|side| side::shown(&side)).collect();
    let name = format!("keystorm compare {}", shell_words::join(sides));
    shown(&name, &Line::of(args.to_vec(), takes))
}

/// Two files, and what else was typed.
fn saved(typed: &Typed, a: PathBuf, b: PathBuf) -> Result<(Sides, Job), UsageError> {
    if let Some(option) = typed.typed().find(|id| !OF_FILES.contains(id)) {
        return usage(&format!(
            "{} is an option for live runs; {} and {} are saved runs",
            typed.written(option),
            a.display(),
            b.display()
        ));
    }
    Ok((Sides::Saved(Box::new([a, b])), typed.job(|_| ())?))
}

/// Two servers, and what else was typed.
fn live(typed: &Typed, sides: &[Word; 2]) -> Result<(Sides, Job), UsageError> {
    refuse(typed, &OF_SERVERS, NAMED)?;
    let any_spawned = sides.iter().any(|side| matches!(side, Word::Program { .. }));
    let job = |side: &Word| {
        typed.job(|options| {
            options.load_default(TESTS_DEFAULT, SECONDS_DEFAULT, WARMUP_DEFAULT);
            options.count_errors();
            side.put(options.server(), any_spawned);
        })
    };
    let [a, b] = sides;
    let (mut of_a, of_b) = (job(a)?, job(b)?);
    let target = of_b.plans.first().map(|plan| plan.target.clone()).unwrap_or_default();
    let blocks = blocks(typed);
    let plans = std::mem::take(&mut of_a.plans).into_iter().map(|plan| {
        let other = on(&plan, &target)?;
        Ok([plan, other])
    });
    let plans = plans.collect::<Result<_, UsageError>>()?;
    Ok((Sides::Live(LiveSides { plans, blocks, places: places(typed, sides) }), of_a))
}

/// The same plan for another server: the seed included, which a second parse would choose anew.
fn on(plan: &Plan, target: &Target) -> Result<Plan, UsageError> {
    let mut parts: PlanParts = (**plan).clone();
    parts.target = target.clone();
    parts.build().map_err(|e| UsageError(e.to_string()))
}

/// Whether servers and client are to have CPUs of their own: where all servers are started here, by this
/// process, and nobody has placed anybody.
fn places(typed: &Typed, words: &[Word]) -> bool {
    let own = words.iter().all(|word| matches!(word, Word::Program { .. }));
    own && !typed.typed().any(|id| ["cpus", "server_cpus", "on"].contains(&id))
}

/// How many blocks, in each of which every server runs twice.
fn blocks(typed: &Typed) -> u32 {
    typed.matches().get_one::<u32>("repeats").copied().unwrap_or(BLOCKS_DEFAULT)
}

fn kind(text: &str) -> Result<Kind, String> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == text.trim());
    found.ok_or_else(|| "expected core, machine, latency or mget".to_owned())
}

fn usage<T>(text: &str) -> Result<T, UsageError> {
    Err(UsageError(text.to_owned()))
}

fn refuse(typed: &Typed, options: &[&str], why: &str) -> Result<(), UsageError> {
    match typed.typed().find(|id| options.contains(id)) {
        Some(id) => usage(&format!("{} {why}", typed.written(id))),
        None => Ok(()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = run::percent(text).ok();
    let percent = percent.filter(|percent| (0.0..100.0).contains(percent));
    percent.ok_or_else(|| "expected a percentage from 0 to below 100".to_owned())
}

/// A percentage of which 100 is all.
fn share(text: &str) -> Result<f64, String> {
    let percent = run::percent(text).ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "expected a percentage from 0 to 100".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_stand_anywhere_before_the_command() {
        let of = |text: &str| {
            let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
            let (sides, rest) = sides_and_rest(words(text));
            let told = |words: &[OsString]| {
                words.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
            };
            (sides.map_or(String::new(), |sides| told(&sides)), told(&rest))
        };
        for (line, rest) in [
            ("A B -t set,get -P 16", "-t set,get -P 16"),
            ("-t set,get A B -P 16", "-t set,get -P 16"),
            ("-t set,get A -P16 B", "-t set,get -P 16"),
            ("--fail-on-regression 5 -q A B get k", "--fail-on-regression=5 -q get k"),
            ("A B -n 5 -- get -c", "-n 5 -- get -c"),
        ] {
            assert_eq!(of(line), ("A B".to_owned(), rest.to_owned()), "{line}");
        }
        // A word that can only be a server is none of the command's.
        let (sides, rest) =
            sides_and_rest(["A", "B", "h:1", "/bin/sh", "get", "k"].map(OsString::from).to_vec());
        assert_eq!((sides.map(|sides| sides.len()), rest.len()), (Some(4), 2));
        let (sides, rest) = sides_and_rest(["A", "B", "sh", "ping"].map(OsString::from).to_vec());
        assert_eq!((sides.map(|sides| sides.len()), rest), (Some(3), vec![OsString::from("ping")]));
        for line in ["A", "-n 5 A", "A -- B", "--help"] {
            assert_eq!(of(line), (String::new(), line.to_owned()));
        }
        let words = ["redis://u:pw@h", "B"].map(OsString::from);
        let args = ["-a", "pw"].map(OsString::from);
        assert_eq!(again(Some(&words), &args), "keystorm compare 'redis://***@h' B -a '***'");
    }

    #[test]
    fn per_cent_are_below_a_hundred() {
        assert_eq!((percent("5"), percent("2.5%")), (Ok(5.0), Ok(2.5)));
        for text in ["", "x", "-1", "100", "nan", "inf"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
