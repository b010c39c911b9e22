//! The command line of `keystorm compare`: which two, and the options of a run.
//!
//! The two are the first words that are no options. All else is read by the classic front end, once
//! for each side, so that no option is defined twice; only the server is ours to say. Servers of
//! different protocols are [`terms`]'s.

mod side;
mod terms;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Command};
use lab::terms::Kind;
use lab::{Line, Takes};
use report::compare::ERRORS_DEFAULT;
use workload::{Plan, Target};

use super::lab::{again as shown, takes_of};
use super::redis_benchmark::{self, ProtocolArg, Typed, count_in};
use super::{FrontEnd, Intent, Job, Output, Several, UsageError};
use side::{Side, Word};
pub(crate) use terms::TermsSides;

/// See the module.
pub(crate) struct CompareFront;

/// What `keystorm compare` is to do.
pub(crate) struct CompareJob {
    pub(crate) sides: Sides,
    /// How results are laid out and where they are kept.
    pub(crate) output: Output,
    /// The per cent by which B may be worse.
    pub(crate) fail_on_regression: Option<f64>,
    /// The per cent of a side's requests that may fail.
    pub(crate) errors_allowed: f64,
    /// Whether the exit code is to tell what was found.
    pub(crate) is_gate: bool,
    /// The clients that carry it out, if they are several.
    pub(crate) several: Option<Several>,
    /// Warnings about the command line, for standard error.
    pub(crate) notes: Vec<String>,
    /// The command line, to be shown.
    pub(crate) again: String,
}

/// What is compared.
pub(crate) enum Sides {
    /// Two servers that speak one protocol.
    Live(Live),
    /// Two that do not.
    Terms(Box<TermsSides>),
    /// Two saved runs.
    Saved(Box<[PathBuf; 2]>),
}

/// Two servers, and what is done to both.
pub(crate) struct Live {
    /// The tests, for A and for B.
    pub(crate) plans: Vec<[Plan; 2]>,
    /// How many blocks of A B B A.
    pub(crate) blocks: u32,
}

const ABOUT: &str = "Compares two servers, or two saved runs. For each test, it prints the ratio \
    of B to A for throughput, latency percentiles and CPU per request, with a 95 % confidence \
    interval, whether they differ, and what limited each side. Both servers get the same load in \
    blocks of A B B A, so that a temporary slowdown of the machine affects both";

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
A and B stand before the command, among the options or not. They are host:port, a URI (redis://,
rediss://, valkey://, valkeys://, unix://), a unix socket, a program to start (a name or a path;
with arguments in one word), or both files that --json has kept.

Redis, or what else speaks RESP, and memcached are compared on equal terms: the same keys, values
and order, said in each one's words, in four tables: per core, per machine, latency at the same
rate, and multi-get. Their tests are get, set and mget with a number of keys, such as mget10, of
-r 100000 keys and -d 100 bytes unless said otherwise; a command or a mix is made of get, set and
mget.

Without -n or --duration each run takes 1 second after 0.2 of warm-up; without -t or a command the
tests are set and get; --repeat is the number of blocks of A B B A [default: 5].

Exit code 3: --fail-on-regression found B to be worse than allowed, or more requests failed than
--errors allows.

Examples:
  Two servers that are started for it:
    $ keystorm compare redis-server valkey-server -t get -P 16 --duration 0.3

  To fail a build if B is surely over 5 % worse:
    $ keystorm compare redis-server valkey-server -t set --duration 0.3 --fail-on-regression 5

  Redis beside memcached, one core each:
    $ keystorm compare redis-server memcached --tables core --duration 0.2";

/// The load where none is given.
const TESTS_DEFAULT: &str = "set,get";
const SECONDS_DEFAULT: f64 = 1.0;
const WARMUP_DEFAULT: f64 = 0.2;
/// Five ratios make an interval of 2.8 standard errors to either side; with three it is 4.3, and more
/// than ten gain little.
const BLOCKS_DEFAULT: u32 = 5;
/// Options that are of use without a server.
const OF_FILES: [&str; 8] = ["csv", "format", "json", "html", "svg", "png", REGRESSION, ERRORS];
const ERRORS: &str = "errors";
const REGRESSION: &str = "fail_on_regression";
/// Options of servers of different protocols.
const TABLES: &str = "tables";
const CORES: &str = "cores";
/// Most cores of servers: as many processes are started.
const CORES_MAX: u32 = 256;
/// Options that A and B take the place of.
const OF_SERVERS: [&str; 5] = ["host", "port", "socket", "uri", "spawn"];
const NAMED: &str = "cannot be used here: A and B name the servers";
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
        .override_usage("keystorm compare A B [OPTIONS] [--] [COMMAND ARGS...]")
        .after_help(EXAMPLES)
        .arg(
            Arg::new(REGRESSION)
                .long("fail-on-regression")
                .value_name("PCT")
                .value_parser(percent)
                .help_heading("Results")
                .help(
                    "Exit with code 3 if B's throughput is lower, or its p99 higher, by more \
                     than PCT percent, at a confidence of 95 % over all tests together",
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

impl FrontEnd for CompareFront {
    fn names(&self) -> &'static [&'static str] {
        &["compare"]
    }

    fn command(&self) -> Option<Command> {
        Some(explained(redis_benchmark::vocabulary()))
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        let (sides, args) = sides_and_rest(args);
        let again = again(sides.as_ref(), &args);
        let typed = match Typed::read("keystorm compare", explained, args)? {
            Ok(typed) => typed,
            Err(intent) => return Ok(intent),
        };
        let Some(sides) = sides else {
            return usage("name A and B: keystorm compare A B [options of a run]");
        };
        let fail_on_regression = typed.matches().get_one::<f64>(REGRESSION).copied();
        let errors = typed.matches().get_one::<f64>(ERRORS).copied();
        let [a, b] = [0, 1].map(|at| Side::of(&sides[at]));
        let (a, b) = (a.map_err(UsageError)?, b.map_err(UsageError)?);
        refuse(&typed, &OF_ONE, "works with one server only")?;
        let (sides, job) = match (a, b) {
            (Side::File(a), Side::File(b)) => saved(&typed, a, b)?,
            (Side::Server(a), Side::Server(b)) => {
                let asked = typed.matches().get_one::<ProtocolArg>("protocol").copied();
                match [&a, &b].map(|side| side.is_memcache(asked)) {
                    [a_is, b_is] if a_is != b_is => terms::sides(&typed, &[a, b], asked)?,
                    _ => {
                        let why = "requires servers of different protocols, such as redis-server \
                            and memcached";
                        refuse(&typed, &[TABLES, CORES], why)?;
                        live(&typed, &[a, b])?
                    }
                }
            }
            (Side::File(file), _) | (_, Side::File(file)) => {
                let file = file.display();
                return usage(&format!(
                    "{file} is a file and the other side is a server; compare two of the same \
                     kind"
                ));
            }
        };
        let Job { output, several, notes, .. } = job;
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
            errors_allowed: errors.unwrap_or(ERRORS_DEFAULT),
            is_gate: fail_on_regression.is_some() || errors.is_some(),
            several,
            notes,
            again,
        })))
    }
}

/// The first two words that are no options, wherever they stand, and the others.
fn sides_and_rest(args: Vec<OsString>) -> (Option<[OsString; 2]>, Vec<OsString>) {
    let mut words = args.clone();
    let (mut sides, mut options) = (Vec::new(), Vec::new());
    while sides.len() < 2 {
        let Line { options: given, rest } = Line::of(words, takes);
        options.extend(given);
        let mut rest = rest.into_iter();
        match rest.next() {
            Some(word) if word != "--" => sides.push(word),
            // Not two: whoever reads the line says what is wrong with it.
            _ => return (None, args),
        }
        words = rest.collect();
    }
    let Line { options: given, rest } = Line::of(words, takes);
    options.extend(given);
    (sides.try_into().ok(), Line { options, rest }.words())
}

/// What an option of this command line takes.
fn takes(name: &str) -> Option<Takes> {
    match name {
        "--fail-on-regression" | "--errors" | "--tables" | "--cores" => Some(Takes::Value),
        _ => takes_of(&redis_benchmark::vocabulary(), name),
    }
}

/// The command line to be shown: without passwords.
fn again(sides: Option<&[OsString; 2]>, args: &[OsString]) -> String {
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
    let plans = std::mem::take(&mut of_a.plans).into_iter().map(|plan| on(plan, &target));
    let plans = plans.collect::<Result<_, _>>()?;
    Ok((Sides::Live(Live { plans, blocks }), of_a))
}

/// A plan for A, and the same for B: the seed included, which a second parse would choose anew.
fn on(plan: Plan, target: &Target) -> Result<[Plan; 2], UsageError> {
    let mut parts = (*plan).clone();
    parts.target = target.clone();
    let other = parts.build().map_err(|e| UsageError(e.to_string()))?;
    Ok([plan, other])
}

/// How many blocks of A B B A.
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
    let percent = redis_benchmark::percent(text).ok();
    let percent = percent.filter(|percent| (0.0..100.0).contains(percent));
    percent.ok_or_else(|| "expected a percentage from 0 to below 100".to_owned())
}

/// A percentage of which 100 is all.
fn share(text: &str) -> Result<f64, String> {
    let percent = redis_benchmark::percent(text).ok();
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
