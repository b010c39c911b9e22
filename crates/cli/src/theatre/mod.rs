//! The command line of `keystorm theatre`: a steady load, and the acts beside it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use job::{StagedAct, TheatreJob};
use lab::theatre::{Act, Family};
use lab::words::{Line, TypedOption};
use report::slo::Slo;
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};
use workload::PlanParts;

use super::experiment::{
    ExperimentOptions, job, names_test, one_seed, with_split, with_those_of_a_run,
};
use super::front::{Front, command};
use super::{Intent, UsageError, near};
use spec::values::{seconds, seconds_in};

/// Those that come with it.
const ACTS: &str = include_str!("acts.toml");
/// A larger file of acts is none.
const FILE_MAX: u64 = 1 << 20;

/// Measures what operations cost those who use the server meanwhile. Sends a steady load on a schedule that slow
/// replies do not delay, and beside it one act after another, with rests between: BGSAVE, BGREWRITEAOF, a full sync,
/// DEL and UNLINK of a large key, KEYS, a slow script and others. Prints for each the highest p99, how long until
/// latency was as before, by how much users waited longer than the target, requests that failed, memory, and what the
/// server's own monitors say. Takes every option of a run (see keystorm --help) except -n and --duration.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm theatre",
    override_usage = "keystorm theatre [OPTIONS] [OPTIONS OF A RUN] [--] [COMMAND ARGS...]",
    after_help = EXAMPLE,
)]
struct Options {
    /// Play only these acts, in the order of their file: bgsave,del,script
    #[arg(long, value_name = "LIST", help_heading = "Acts", value_delimiter = ',')]
    act: Vec<String>,
    /// Read the acts from this TOML file
    #[arg(long, value_name = "FILE", help_heading = "Acts")]
    acts: Option<PathBuf>,
    /// Print the file of acts and do nothing
    #[arg(long, help_heading = "Acts")]
    print_acts: bool,
    /// How long nothing is done before each act, and after the last
    #[arg(long, value_name = "TIME", help_heading = "Acts", default_value = "5s",
          value_parser = seconds)]
    rest: Duration,
    /// Give up on an act that has not ended after this time
    #[arg(long, value_name = "TIME", help_heading = "Acts", default_value = "1m",
          value_parser = seconds)]
    act_timeout: Duration,
    /// Count how long users wait beyond this target, such as 'p99<5ms'
    #[arg(long, value_name = "TARGET", help_heading = "Acts", value_parser = Slo::parse)]
    slo: Option<Slo>,
    /// Go ahead with a server that keystorm did not start
    #[arg(long, help_heading = "Acts")]
    yes: bool,
    #[command(flatten)]
    output: ExperimentOptions,
}

/// What stands below the options.
const EXAMPLE: &str = "\
Settings that an act changes are put back when it has ended, and keys that acts wrote are removed at the end, also after
Ctrl-C. Acts that destroy data (maxmemory, flushall, ...) are left out at a server that keystorm did not start, unless
--act names them.

Examples:
  What a snapshot and a slow script cost 2,000 requests a second, on a private server:
    $ keystorm theatre --spawn --rps 2k --act bgsave,script --rest 2s --slo 'p99<5ms'
  All acts, as a page:
    $ keystorm theatre --spawn --rps 5k --html prices.html --json prices.json";

/// Requests per second where the line does not say.
const RATE: &str = "1k";

/// Its front end.
pub(crate) const FRONT: Front = Front {
    names: &["theatre"],
    command: || with_those_of_a_run(command::<Options>(), &["-n", "--duration"]),
    parse: |args| with_split(args, intent),
};

/// What the options mean.
fn intent(options: Options, mut line: Line, command_line: String) -> Result<Intent, UsageError> {
    let Options { act, acts, print_acts, rest, act_timeout, slo, yes, output } = options;
    if print_acts {
        return Ok(Intent::Say(ACTS.to_owned()));
    }
    let output = output.settled()?;
    for option in ["-n", "--duration"] {
        if line.has(option) {
            return Err(UsageError(format!(
                "{option}: the load lasts as long as the acts; see --rest"
            )));
        }
    }
    let within = |option, time, most| seconds_in(option, time, 0.5..=most).map_err(UsageError);
    let rest_s = within("--rest", rest, 3600.0)?;
    let timeout_s = within("--act-timeout", act_timeout, 86_400.0)?;
    if yes {
        line.options.push(TypedOption { name: "--yes".to_owned(), value: None });
    }
    if !line.has("--rps") {
        line.options.push(TypedOption::new("--rps", RATE));
    }
    if !line.has("--on-error") {
        line.options.push(TypedOption::new("--on-error", "count"));
    }
    if !line.has("--reconnect") {
        line.options.push(TypedOption::new("--reconnect", "yes"));
    }
    if !names_test(&line) {
        default_load(&mut line);
    }
    one_seed(&mut line);
    line.options.push(TypedOption::new("--duration", "1h"));
    let job = job("keystorm theatre", line.words())?;
    let [plan] = &job.plans[..] else {
        let text = format!("theatre works with a single test, and these are {}", job.plans.len());
        return Err(UsageError(text));
    };
    slo.iter().try_for_each(|slo| slo.check_plans(&job.plans)).map_err(UsageError)?;
    if output.print_plan {
        let text = job::printed_plans(&job.plans);
        return text.map(Intent::Say).map_err(|error| UsageError(error.to_string()));
    }
    let all = match &acts {
        None => parse("the acts of keystorm", ACTS)?,
        Some(path) => read(path)?,
    };
    let family = if plan.protocol.is_memcache() { Family::Memcached } else { Family::Redis };
    let named = act;
    let acts = chosen(all, &named, family)?.into_iter().map(|act| staged(act, plan));
    let acts = acts.collect::<Result<Vec<_>, _>>()?;
    let job = TheatreJob {
        acts,
        named: !named.is_empty(),
        rest_s,
        timeout_s,
        slo,
        yes,
        output,
        command_line,
        job,
    };
    Ok(Intent::Theatre(Box::new(job)))
}

/// Reads and writes of the keys of a cache, all of which are there.
fn default_load(line: &mut Line) {
    for (name, value) in [("-t", "get"), ("-r", "100k"), ("-d", "100")] {
        if !line.has(name) {
            line.options.push(TypedOption::new(name, value));
        }
    }
    if !line.has("--fill") {
        line.options.push(TypedOption { name: "--fill".to_owned(), value: None });
    }
}

fn read(path: &Path) -> Result<Vec<Act>, UsageError> {
    let name = format!("--acts {}", path.display());
    let fault = |error: std::io::Error| UsageError(format!("{name}: {error}"));
    let size = std::fs::metadata(path).map_err(fault)?.len();
    if size > FILE_MAX {
        return Err(UsageError(format!("{name}: a file of acts has at most 1 MiB")));
    }
    parse(&name, &std::fs::read_to_string(path).map_err(fault)?)
}

fn parse(name: &str, text: &str) -> Result<Vec<Act>, UsageError> {
    let fault = |why: String| UsageError(format!("{name}: {why}"));
    let table = DeTable::parse(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        fault(format!("line {}: {}", before.matches('\n').count() + 1, error.message()))
    })?;
    let mut acts = Vec::new();
    for (key, value) in table.get_ref().iter() {
        let (key, DeValue::Array(tables)) = (key.get_ref(), value.get_ref()) else {
            return Err(fault(format!("{} is no [[act]]", key.get_ref())));
        };
        if *key != "act" {
            return Err(fault(format!("{key} is no [[act]]")));
        }
        for table in tables.iter() {
            let act = Act::read(json(table.get_ref()).map_err(fault)?).map_err(fault)?;
            act.check().map_err(fault)?;
            acts.push(act);
        }
    }
    let mut names = BTreeSet::new();
    if let Some(act) = acts.iter().find(|act| !names.insert(act.name.as_str())) {
        return Err(fault(format!("two acts are called {}", act.name)));
    }
    if acts.is_empty() {
        return Err(fault("it has no [[act]]".to_owned()));
    }
    Ok(acts)
}

/// A value of TOML as one of JSON, which the structure of an act is read from.
fn json(value: &DeValue<'_>) -> Result<Value, String> {
    Ok(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(is) => Value::Bool(*is),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            Value::from(number.map_err(|error| error.to_string())?)
        }
        DeValue::Array(items) => {
            items.iter().map(|item| json(item.get_ref())).collect::<Result<Vec<_>, _>>()?.into()
        }
        DeValue::Table(table) => {
            let pair = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                Ok::<_, String>((key.to_string(), json(value.get_ref())?))
            };
            Value::Object(table.iter().map(pair).collect::<Result<Map<_, _>, _>>()?)
        }
        DeValue::Float(_) | DeValue::Datetime(_) => {
            return Err("a value is neither text, list, whole number, true nor false".to_owned());
        }
    })
}

/// Those that are named; without names all that are for such servers.
fn chosen(all: Vec<Act>, named: &[String], family: Family) -> Result<Vec<Act>, UsageError> {
    let known: Vec<&str> = all.iter().map(|act| act.name.as_str()).collect();
    if let Some(wrong) = named.iter().find(|name| !known.contains(&name.as_str())) {
        let nearest = near::nearest(wrong, known.iter().copied());
        return Err(UsageError(near::one_of("act", wrong, nearest, &known)));
    }
    let is_chosen = |act: &Act| match named {
        [] => act.server == family,
        named => named.contains(&act.name),
    };
    let chosen: Vec<Act> = all.into_iter().filter(is_chosen).collect();
    match chosen.iter().find(|act| act.server != family) {
        Some(act) => Err(UsageError(format!("act {}: it is for another kind of server", act.name))),
        None if chosen.is_empty() => Err(UsageError("no act is for such a server".to_owned())),
        None => Ok(chosen),
    }
}

/// The act with the plan of its load, at the same server.
fn staged(act: Act, beside: &PlanParts) -> Result<StagedAct, UsageError> {
    let Some(words) = &act.load else { return Ok(StagedAct { act, load: None }) };
    let fault = |why: String| UsageError(format!("act {}: load: {why}", act.name));
    let words = shell_words::split(words).map_err(|error| fault(error.to_string()))?;
    let words = match beside.protocol.is_memcache() {
        true => [vec!["--protocol".to_owned(), "memcache".to_owned()], words].concat(),
        false => words,
    };
    let words = words.into_iter().map(OsString::from).collect();
    let job = job("keystorm theatre", words).map_err(|UsageError(why)| fault(why))?;
    let [plan] = &job.plans[..] else { return Err(fault("it is not one test".to_owned())) };
    let mut parts: PlanParts = (**plan).clone();
    parts.target = beside.target.clone();
    parts.protocol = beside.protocol;
    parts.engine = beside.engine;
    let load = parts.build().map_err(|error| fault(error.to_string()))?;
    Ok(StagedAct { act, load: Some(load) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_acts_that_come_with_it_are_valid_and_of_both_kinds_of_server() {
        let all = parse("acts", ACTS).unwrap();
        let of = |family| chosen(all.clone(), &[], family).unwrap().len();
        assert_eq!((of(Family::Redis), of(Family::Memcached)), (16, 3));
        assert!(
            chosen(all.clone(), &["bgsav".to_owned()], Family::Redis)
                .unwrap_err()
                .0
                .contains("bgsave")
        );
        assert!(chosen(all, &["slabs".to_owned()], Family::Redis).is_err());
    }

    #[test]
    fn what_a_file_says_wrong_is_named() {
        for (text, part) in [
            ("", "no [[act]]"),
            ("[[act]]\nname = \"a\"", "act a: nothing starts it"),
            ("[[act]]\nname = \"a\"\nstrat = [\"PING\"]", "strat"),
            (
                "[[act]]\nname=\"a\"\nstart=[\"PING\"]\n[[act]]\nname=\"a\"\nstart=[\"PING\"]",
                "two acts",
            ),
        ] {
            let UsageError(why) = parse("f.toml", text).unwrap_err();
            assert!(why.contains(part) && why.starts_with("f.toml"), "{why}");
        }
    }
}
