//! Two servers that speak different protocols: one load, read in the words of Redis, for both.

use std::ffi::OsString;

use clap::FromArgMatches;
use lab::terms::{ComparisonTerms, Side, TermKind, Test};
use naming::{
    CLEAN, CLUSTER, CPUS, DATASET, DBNUM, ENABLE_TRACKING, FAIL_ON_MISS, FILL, FILL_WITH,
    KEEP_ALIVE, NO_TOUCH, ON, OptionId, RATE, SERVER_CPUS, SPAWN_ARGS, STDIN_ARG, THREADS, VERIFY,
    WORKLOAD,
};
use workload::{Arg, Piece, Plan, PlanParts};

use super::super::run::ParsedArgs;
use super::super::side::Word;
use super::super::{Job, UsageError};
use super::arguments::{NAMED, SERVER_OPTIONS, TermsOptions};
use super::common::{SECONDS_DEFAULT, WARMUP_DEFAULT, blocks, refuse, usage};
use super::job::{Sides, TermsSides};
use spec::values::ProtocolArg;

/// The tests where none is named.
const TESTS_DEFAULT: &str = "set,get,mget10,mget100";
/// Maximum number of keys of one get.
const KEYS_MAX: usize = 1000;
/// The default number of keys, and the default size of a value in bytes.
const KEYS_DEFAULT: u64 = 100_000;
const BYTES_DEFAULT: u32 = 100;
const KEY: &str = "key:__rand_int__";

/// Options that have no place here, and why.
const REFUSED: [(OptionId, &str); 14] = [
    (
        SPAWN_ARGS,
        "would apply to servers of different kinds; write the arguments after each program, as \
         one word: 'memcached -m 4096'",
    ),
    (FILL_WITH, "is not needed: every key is stored before it is read"),
    (CLEAN, "works with one protocol only"),
    (VERIFY, "works with one protocol only"),
    (FAIL_ON_MISS, "works with one protocol only"),
    (WORKLOAD, "works with one protocol only; use a command, or a mix of get, set and mget"),
    (DATASET, "works with one protocol only"),
    (STDIN_ARG, "reads standard input, which several runs cannot share"),
    (ON, "works with one protocol only: this uses the same client for both"),
    (
        CLUSTER,
        "does not exist in memcached; use several processes, as the per-machine table \
        does",
    ),
    (DBNUM, "does not exist in memcached"),
    (ENABLE_TRACKING, "does not exist in memcached"),
    (NO_TOUCH, "does not exist in memcached"),
    (KEEP_ALIVE, "works with one protocol only"),
];

/// Returns the compared sides, and the job of the other options.
pub(super) fn sides(
    typed: &ParsedArgs,
    words: &[Word],
    asked: Option<ProtocolArg>,
) -> Result<(Sides, Job), UsageError> {
    refuse(
        typed,
        &[RATE],
        "needs no tables: the latency table chooses its own rates; add --slo for a decision at one rate",
    )?;
    let EqualLoad { sides, tests, job } = equal(typed, words, asked, TESTS_DEFAULT)?;
    let sides: [Side; 2] = sides
        .try_into()
        .map_err(|_| UsageError("the tables of equal terms compare two servers".to_owned()))?;
    let TermsOptions { tables, cores } = TermsOptions::from_arg_matches(typed.matches())
        .map_err(|error| UsageError(error.to_string()))?;
    let given = |options: &[OptionId]| typed.typed().any(|id| OptionId::any_has(options, id));
    let terms = ComparisonTerms {
        sides,
        tests,
        kinds: if tables.is_empty() { TermKind::ALL.to_vec() } else { tables },
        cores: cores.map(|cores| cores as usize),
        threads_given: given(&[THREADS]),
        cpus_given: given(&[CPUS, SERVER_CPUS]),
    };
    Ok((Sides::Terms(Box::new(TermsSides { terms, blocks: blocks(typed) })), job))
}

/// Load in the words of every server.
pub(super) struct EqualLoad {
    pub(super) sides: Vec<Side>,
    pub(super) tests: Vec<Test>,
    /// All else that was typed.
    pub(super) job: Job,
}

/// The tests of a command line, or these, for servers of different protocols.
pub(super) fn equal(
    typed: &ParsedArgs,
    words: &[Word],
    asked: Option<ProtocolArg>,
    tests_default: &str,
) -> Result<EqualLoad, UsageError> {
    refuse(typed, &SERVER_OPTIONS, NAMED)?;
    for (option, why) in REFUSED {
        refuse(typed, &[option], why)?;
    }
    // A command of both kinds of server, by which its server is read off a command line.
    let any = || vec![OsString::from("get"), OsString::from(KEY)];
    let job = |at: usize, words_sent: Vec<OsString>, reads: bool| {
        typed.job_with(|options| {
            options.send(words_sent.clone(), KEYS_DEFAULT, BYTES_DEFAULT);
            // Every key is stored before it is read, asked for or not.
            options.spec.data.fill = false;
            if !reads {
                options.read_nothing();
            }
            options.load_default("", SECONDS_DEFAULT, WARMUP_DEFAULT);
            let word = &words[at];
            let server = &mut options.spec.server;
            server.protocol = asked.filter(|_| word.is_memcache(asked));
            server.resp3 &= !word.is_memcache(asked);
            word.put(options, words);
        })
    };
    let side = |at: usize| -> Result<Side, UsageError> {
        let plan = first(job(at, any(), false)?)?;
        Ok(Side { target: plan.target.clone(), protocol: plan.protocol })
    };
    let sides: Vec<Side> = (0..words.len()).map(side).collect::<Result<_, _>>()?;
    let of_redis = words.iter().position(|word| !word.is_memcache(asked)).unwrap_or(0);
    let set = ["set", KEY, "__data__"].map(OsString::from).to_vec();
    let stored = first(job(of_redis, set.clone(), false)?)?;
    let stored = stored.sequence[0].args[2].clone();
    let (mut tests, mut seed) = (Vec::new(), None);
    let tests_named = named_tests(typed, tests_default)?;
    if typed.has(naming::NAME) {
        spec::single(naming::NAME, tests_named.len())?;
    }
    for (name, words) in tests_named {
        let plan = first(job(of_redis, words.clone(), words != set)?)?;
        let name = name.filter(|_| !plan.named).unwrap_or_else(|| plan.name.clone());
        let value = own_value(&plan).unwrap_or_else(|| stored.clone());
        // Of one seed, so that what one test has stored another finds.
        let seed = *seed.get_or_insert(plan.load.seed);
        let mut load = PlanParts { setup: Vec::new(), ..(*plan).clone() };
        load.load.seed = seed;
        let test = Test { name, load, value };
        for side in &sides {
            let translated = test.load.in_protocol(side.protocol, side.target.clone(), &test.value);
            let checked = translated.and_then(|parts| Ok(wire::check(&parts)?));
            checked.map_err(|why| UsageError(format!("{}: {why}", test.name)))?;
        }
        tests.push(test);
    }
    let mut job = job(of_redis, any(), false)?;
    if typed.has(FILL) {
        job.notes
            .push(format!("note: {FILL} is not needed: every key is stored before it is read"));
    }
    Ok(EqualLoad { sides, tests, job })
}

/// The one plan of a job.
fn first(job: Job) -> Result<Plan, UsageError> {
    let plan = job.plans.into_iter().next();
    plan.ok_or_else(|| UsageError("there is no test to compare".to_owned()))
}

/// Returns what a plan stores itself.
fn own_value(plan: &Plan) -> Option<Arg> {
    let set = plan.sequence.iter().find(|command| command.name() == "SET")?;
    set.args.get(2).filter(|value| value.pieces != [Piece::Bytes(Vec::new())]).cloned()
}

/// Words of a test, with its name in reports if that is not the words.
type NamedTest = (Option<String>, Vec<OsString>);

/// The tests that `-t` names, or the command that was typed.
fn named_tests(typed: &ParsedArgs, tests_default: &str) -> Result<Vec<NamedTest>, UsageError> {
    let matches = typed.matches();
    let command = typed.asked().command.clone();
    if !command.is_empty() {
        return Ok(vec![(None, command)]);
    }
    let asked = matches.get_one::<String>("tests").map_or(tests_default, String::as_str);
    let asked = asked.to_lowercase();
    let names: Vec<&str> =
        asked.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return usage(
            "-t: no test named; expected set, get, or mget with a number, such as mget10",
        );
    }
    names.into_iter().map(test).collect()
}

fn test(name: &str) -> Result<NamedTest, UsageError> {
    let words: Vec<&str> = match (name, name.strip_prefix("mget").map(str::parse)) {
        ("get", _) => vec!["get", KEY],
        ("set", _) => vec!["set", KEY, "__data__"],
        (_, Some(Ok(keys))) if (2..=KEYS_MAX).contains(&keys) => {
            std::iter::once("mget").chain(std::iter::repeat_n(KEY, keys)).collect()
        }
        _ => {
            return usage(&format!(
                "-t: unknown test {name:?} for servers of different protocols; expected set, \
                 get, or mget with a number from 2 to {KEYS_MAX}, such as mget10"
            ));
        }
    };
    let name = match name.strip_prefix("mget") {
        Some(keys) => format!("mget of {keys} keys"),
        None => name.to_owned(),
    };
    Ok((Some(name), words.into_iter().map(OsString::from).collect()))
}
