//! The command line of `keystorm compare`: which two, and the options of a run.
//!
//! The two are the first words that are no options. All else is read by the classic front end, once
//! for each side, so that no option is defined twice; only the server is ours to say.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::{Arg, Command};
use lab::{Line, Takes};
use workload::{Plan, Target};

use super::lab::{again as shown, masked_uri, takes_of};
use super::redis_benchmark::{self, ServerOptions, Typed};
use super::{FrontEnd, Intent, Job, Output, Several, UsageError};

/// See the module.
pub(crate) struct CompareFront;

/// What `keystorm compare` is to do.
pub(crate) struct CompareJob {
    pub(crate) sides: Sides,
    /// How results are laid out and where they are kept.
    pub(crate) output: Output,
    /// The per cent by which B may be worse.
    pub(crate) fail_on_regression: Option<f64>,
    /// The clients that carry it out, if they are several.
    pub(crate) several: Option<Several>,
    /// Warnings about the command line, for standard error.
    pub(crate) notes: Vec<String>,
    /// The command line, to be shown.
    pub(crate) again: String,
}

/// What is compared.
pub(crate) enum Sides {
    /// Two servers.
    Live(Live),
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

const ABOUT: &str = "Compares two servers, or two saved runs. Says for each test how B's \
    throughput, latency percentiles and CPU per request relate to A's: the ratio, the interval that \
    holds the true one 95 times in 100, whether they differ, and what limited each side. Servers \
    get the same load in blocks of A B B A, so that what slows the machine for a while slows both";

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
A and B stand before the command, among the options or not. They are host:port, a URI (redis://, rediss://, valkey://, valkeys://, unix://), a unix socket, a
program to start (a name or a path), or both files that --json has kept.

Without -n or --duration each run takes 1 second after 0.2 of warm-up; without -t or a command the
tests are set and get; --repeat is the number of blocks of A B B A [default: 5].

Exit code 3: --fail-on-regression found B to be worse than allowed.

Examples:
  Two servers that are started for it:
    $ keystorm compare redis-server valkey-server -t get -P 16 --duration 0.3

  To fail a build if B is surely over 5 % worse:
    $ keystorm compare redis-server valkey-server -t set --duration 0.3 --fail-on-regression 5";

/// The load where none is given.
const TESTS_DEFAULT: &str = "set,get";
const SECONDS_DEFAULT: f64 = 1.0;
const WARMUP_DEFAULT: f64 = 0.2;
/// Five ratios make an interval of 2.8 standard errors to either side; with three it is 4.3, and more
/// than ten gain little.
const BLOCKS_DEFAULT: u32 = 5;
/// Options that are of use without a server.
const OF_FILES: [&str; 7] = ["csv", "format", "json", "html", "svg", "png", REGRESSION];
const REGRESSION: &str = "fail_on_regression";
/// Options that A and B take the place of.
const OF_SERVERS: [&str; 5] = ["host", "port", "socket", "uri", "spawn"];
/// Options that make no sense for two.
const OF_ONE: [&str; 9] = [
    "probe",
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
    run.about(ABOUT)
        .override_usage("keystorm compare A B [OPTIONS] [--] [COMMAND ARGS...]")
        .after_help(EXAMPLES)
        .arg(
            Arg::new(REGRESSION)
                .long("fail-on-regression")
                .value_name("PCT")
                .value_parser(percent)
                .help_heading("Results")
                .help(
                    "Exit with code 3 if B's throughput is lower, or its p99 higher, by more than \
                     PCT per cent, and surely so: with 5 % to be wrong about any of them",
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
        let [a, b] = [0, 1].map(|at| Side::of(&sides[at]));
        let (a, b) = (a.map_err(UsageError)?, b.map_err(UsageError)?);
        refuse(&typed, &OF_ONE, "is for one server at a time")?;
        let (sides, job) = match (a, b) {
            (Side::File(a), Side::File(b)) => saved(&typed, a, b)?,
            (Side::Server(a), Side::Server(b)) => live(&typed, &[a, b], fail_on_regression)?,
            (Side::File(file), _) | (_, Side::File(file)) => {
                let file = file.display();
                return usage(&format!(
                    "{file} is a file and the other a server; compare two of a kind"
                ));
            }
        };
        let Job { output, several, notes, .. } = job;
        if !matches!(output.format, "text" | "csv" | "json") {
            return usage("a comparison is printed as text, csv or json");
        }
        Ok(Intent::Compare(Box::new(CompareJob {
            sides,
            output,
            fail_on_regression,
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
    let regression = name == "--fail-on-regression";
    let of_run = || takes_of(&redis_benchmark::vocabulary(), name);
    if regression { Some(Takes::Value) } else { of_run() }
}

/// The command line to be shown: without passwords.
fn again(sides: Option<&[OsString; 2]>, args: &[OsString]) -> String {
    let sides = sides.into_iter().flatten().map(|side| side.to_string_lossy());
    let sides: Vec<String> =
        sides.map(|side| masked_uri(&side).unwrap_or_else(|| side.into_owned())).collect();
    let name = format!("keystorm compare {}", shell_words::join(sides));
    shown(&name, &Line::of(args.to_vec(), takes))
}

/// Two files, and what else was typed.
fn saved(typed: &Typed, a: PathBuf, b: PathBuf) -> Result<(Sides, Job), UsageError> {
    if let Some(option) = typed.typed().find(|id| !OF_FILES.contains(id)) {
        return usage(&format!(
            "{} is an option of a run, and those of {} and {} are over",
            typed.written(option),
            a.display(),
            b.display()
        ));
    }
    Ok((Sides::Saved(Box::new([a, b])), typed.job(|_| ())?))
}

/// Two servers, and what else was typed.
fn live(
    typed: &Typed,
    sides: &[Word; 2],
    fail_on_regression: Option<f64>,
) -> Result<(Sides, Job), UsageError> {
    refuse(typed, &OF_SERVERS, "has no place here: A and B name the servers")?;
    let any_spawned = sides.iter().any(|side| matches!(side, Word::Program(_)));
    let job = |side: &Word| {
        typed.job(|options| {
            options.load_default(TESTS_DEFAULT, SECONDS_DEFAULT, WARMUP_DEFAULT);
            side.put(options.server(), any_spawned);
        })
    };
    let [a, b] = sides;
    let (mut of_a, of_b) = (job(a)?, job(b)?);
    let target = of_b.plans.first().map(|plan| plan.target.clone()).unwrap_or_default();
    let blocks = typed.matches().get_one::<u32>("repeats").copied().unwrap_or(BLOCKS_DEFAULT);
    if fail_on_regression.is_some() && blocks < 2 {
        return usage("--fail-on-regression needs an interval, which takes --repeat 2 at least");
    }
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
    percent.ok_or_else(|| "a number of per cent is needed, from 0 to below 100".to_owned())
}

/// A or B, as it was typed.
#[derive(Debug, PartialEq)]
enum Side {
    /// A saved run.
    File(PathBuf),
    /// A server.
    Server(Word),
}

/// A server, as it was typed.
#[derive(Debug, PartialEq)]
enum Word {
    Uri(String),
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
    Program(String),
}

impl Side {
    fn of(word: &OsStr) -> Result<Self, String> {
        let path = Path::new(word);
        let text = word.to_str();
        if let Some(uri) = text.filter(|text| text.contains("://")) {
            return Ok(Self::Server(Word::Uri(uri.to_owned())));
        }
        if let Ok(file) = std::fs::metadata(path) {
            let program = file.permissions().mode() & 0o111 != 0;
            if file.file_type().is_socket() {
                return Ok(Self::Server(Word::Unix(path.to_owned())));
            }
            if file.is_file() && !program {
                return Ok(Self::File(path.to_owned()));
            }
            if file.is_file()
                && let Some(text) = text
            {
                // A name without a slash would be looked for on the PATH.
                let text = if text.contains('/') { text.to_owned() } else { format!("./{text}") };
                return Ok(Self::Server(Word::Program(text)));
            }
        }
        if let Some((host, port)) = text.and_then(|text| text.rsplit_once(':'))
            && let Ok(port) = port.parse()
        {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let host = if host.is_empty() { "127.0.0.1" } else { host };
            return Ok(Self::Server(Word::Tcp { host: host.to_owned(), port }));
        }
        let shown = path.display();
        match text {
            Some(name) if !name.contains('/') && is_on_path(name) => {
                Ok(Self::Server(Word::Program(name.to_owned())))
            }
            _ => Err(format!(
                "{shown}: no such file or program here, and no address either, which is host:port"
            )),
        }
    }
}

fn is_on_path(name: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|dir| dir.join(name).is_file())
}

impl Word {
    /// Makes this the server of a command line. What is for a server that is started is left out of
    /// the other side.
    fn put(&self, server: &mut ServerOptions, any_spawned: bool) {
        match self {
            Self::Uri(uri) => server.uri = Some(uri.clone()),
            Self::Unix(path) => server.socket = Some(path.clone()),
            Self::Tcp { host, port } => {
                (server.host, server.port) = (Some(host.clone()), Some(*port));
            }
            Self::Program(program) => server.spawn = Some(Some(program.clone())),
        }
        if any_spawned && server.spawn.is_none() {
            (server.spawn_args, server.server_cpus, server.spawn_unix) = (None, None, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(word: &str) -> Side {
        Side::of(OsStr::new(word)).unwrap()
    }

    #[test]
    fn addresses_are_told_from_files_and_programs() {
        let tcp = |host: &str, port| Side::Server(Word::Tcp { host: host.into(), port });
        assert_eq!(side("10.0.0.1:7000"), tcp("10.0.0.1", 7000));
        assert_eq!(side("[::1]:7000"), tcp("::1", 7000));
        assert_eq!(side(":7000"), tcp("127.0.0.1", 7000));
        assert_eq!(side("redis://h/1"), Side::Server(Word::Uri("redis://h/1".into())));
        assert_eq!(side("sh"), Side::Server(Word::Program("sh".into())));
        assert_eq!(side("/bin/sh"), Side::Server(Word::Program("/bin/sh".into())));
        let dir = tempfile::tempdir().unwrap();
        let (file, socket) = (dir.path().join("run.json"), dir.path().join("s"));
        std::fs::write(&file, "{}").unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(Side::of(file.as_os_str()).unwrap(), Side::File(file));
        assert_eq!(Side::of(socket.as_os_str()).unwrap(), Side::Server(Word::Unix(socket)));
        for word in ["no-such-program", "/no/such", "host", "host:99999", ""] {
            assert!(Side::of(OsStr::new(word)).unwrap_err().contains("host:port"), "{word}");
        }
    }

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
