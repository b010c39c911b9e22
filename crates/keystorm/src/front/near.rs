//! What was typed and is not there, and what there is for it: by meaning first, then by spelling.
//!
//! People come from other tools, whose words for the same things are others.

use std::borrow::Cow;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use strsim::damerau_levenshtein;

use super::UsageError;

/// Words of other tools, and options of ours for the same thing, of which the first that a command
/// has is told. Hyphens do not count.
const MEANINGS: [(&[&str], &[&str]); 31] = [
    (&["connections", "connection", "conns", "concurrency", "concurrent", "parallel"], &["-c"]),
    (&["client", "numclients"], &["-c"]),
    (&["time", "seconds", "testtime", "runtime", "length", "runfor", "period"], &["--duration", "--seconds"]),
    (&["duration"], &["--seconds"]),
    (&["password", "pass", "passwd", "auth", "authenticate", "requirepass"], &["-a"]),
    (&["username", "acluser", "login"], &["--user"]),
    (&["rate", "qps", "ops", "throughput", "ratelimit", "ratelimiting", "targetqps"], &["--rps", "--start"]),
    (&["request", "num", "number", "count", "numrequests", "total", "iterations"], &["-n"]),
    (&["size", "datasize", "valuesize", "valuelength", "payload", "payloadsize", "bytes"], &["-d", "--bulk"]),
    (&["keyspace", "keyspacelen", "keyrange", "keycount", "numkeys", "keymaximum", "keys", "random", "keymax"], &["-r"]),
    (&["test", "tests", "workload", "commands", "type"], &["-t"]),
    (&["hostname", "server", "address", "addr"], &["-h", "--bind"]),
    (&["socket", "unix", "unixsocket"], &["-s"]),
    (&["uri", "url"], &["-u"]),
    (&["db", "database", "selectdb"], &["--dbnum"]),
    (&["resp3", "hello3", "protocol"], &["-3"]),
    (&["pipelining", "pipelines", "depth", "batch", "batchsize"], &["-P"]),
    (&["thread", "workers", "numthreads", "cores"], &["--threads"]),
    (&["keepalive", "reuse"], &["-k"]),
    (&["loop", "forever", "infinite"], &["-l"]),
    (&["idle"], &["-I"]),
    (&["stdin"], &["-x"]),
    (&["runs", "repeats", "runcount", "times", "repetitions"], &["--repeat"]),
    (&["output", "out", "outfile", "jsonoutfile", "save", "file", "outputfile"], &["--json", "-o"]),
    (&["page", "htmlreport", "report"], &["--html"]),
    (&["requesttimeout", "readtimeout", "commandtimeout"], &["--timeout"]),
    (&["ramp", "schedule", "steps", "rampup"], &["--rps"]),
    (&["skipverify", "tlsskipverify", "noverify", "tlsinsecure"], &["--insecure"]),
    (&["ca", "cafile", "tlscacert", "tlscacertfile"], &["--cacert"]),
    (&["clustermode", "osscluster", "nodes"], &["--cluster"]),
    (&["target", "latency", "limit"], &["--slo"]),
];

/// A command line that clap refuses, in words: where an option is not there, with the one that is.
pub(super) fn explained(mut error: clap::Error, command: &Command) -> UsageError {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg)
        && let Some(meant) = meant(typed, command)
    {
        let tip = format!("the option for that is {}", written(meant));
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    UsageError(error.render().to_string())
}

/// Refuses an option that `command` does not have, nor `also`, whose options it takes too.
pub(super) fn no_option(typed: &str, command: &mut Command, also: &Command) -> UsageError {
    let usage = command.render_usage();
    let error = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(command);
    let mut error = error;
    error.insert(ContextKind::InvalidArg, ContextValue::String(typed.to_owned()));
    error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    let longs = |command: &Command| -> Vec<String> {
        command.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect()
    };
    let all = [longs(command), longs(also)].concat();
    if let Some(near) = nearest(typed, all.iter().map(String::as_str)) {
        let near = ContextValue::String(near.to_owned());
        error.insert(ContextKind::SuggestedArg, near);
    }
    match meant(typed, command) {
        Some(_) => explained(error, command),
        None => explained(error, also),
    }
}

/// The option that does what another tool's option of this name does.
fn meant<'c>(typed: &str, command: &'c Command) -> Option<&'c Arg> {
    let word = typed.strip_prefix("--")?.split('=').next()?.replace(['-', '_'], "").to_lowercase();
    let meanings = MEANINGS.iter().filter(|(words, _)| words.contains(&&word[..]));
    let mut options = meanings.flat_map(|(_, options)| options.iter());
    options.find_map(|option| named(command, option))
}

/// The option of a name with its hyphens.
pub(super) fn named<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let mut args = command.get_arguments();
    match name.strip_prefix("--") {
        Some(long) => args.find(|arg| arg.get_long() == Some(long)),
        None => args.find(|arg| arg.get_short().is_some() && arg.get_short() == name.chars().nth(1)),
    }
}

/// An option by its names, and what it takes.
fn written(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes = arg.get_action().takes_values();
    let value = arg.get_value_names().and_then(|names| names.first()).filter(|_| takes);
    let value = value.map(|value| format!(" <{value}>"));
    format!("'{}{}'", names.join(", "), value.unwrap_or_default())
}

/// What to say of a first word that surely is a subcommand with a slip in it; `None` for one that may
/// be a command for the server.
pub(super) fn subcommand<'n>(
    word: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<String> {
    let lower = word.to_lowercase();
    let near = nearest(&lower, names)?;
    let word = shell_words::quote(word);
    Some(format!(
        "error: there is no subcommand '{word}'; did you mean 'keystorm {near}'?\n\n\
         To send it to the server as a command: keystorm [OPTIONS] -- {word} ..."
    ))
}

/// What to say to somebody who asks for help with a subcommand that there is not.
pub(super) fn no_subcommand<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let near = nearest(&word.to_lowercase(), names.iter().copied());
    let meant = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    let word: Cow<'_, str> = shell_words::quote(word);
    format!("error: there is no subcommand '{word}'{meant}\n\nThere are {}", names.join(", "))
}

/// The name that is one slip away, or two if it is long.
fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let slips = names.map(|name| (damerau_levenshtein(word, name), name));
    let near = slips.filter(|(slips, name)| *slips <= if name.len() > 5 { 2 } else { 1 });
    near.min_by_key(|(slips, _)| *slips).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::redis_benchmark::vocabulary;

    #[test]
    fn every_meaning_leads_to_an_option() {
        let command = vocabulary();
        let mut led: Vec<&str> = Vec::new();
        for (words, options) in &MEANINGS {
            for word in *words {
                assert!(!led.contains(word), "{word} stands twice");
                led.push(word);
                assert_eq!(*word, word.replace('-', "").to_lowercase(), "{word}");
            }
            let ours = options.iter().any(|option| named(&command, option).is_some());
            let others = ["--seconds", "--slo"].iter().any(|option| options.contains(option));
            assert!(ours || others, "{words:?}");
        }
    }

    #[test]
    fn the_option_for_it_is_told() {
        let command = vocabulary();
        for (typed, told) in [
            ("--connections", "'-c, --clients <CLIENTS>'"),
            ("--concurrency=5", "'-c, --clients <CLIENTS>'"),
            ("--time", "'--duration <TIME>'"),
            ("--password", "'-a <PASSWORD>'"),
            ("--qps", "'--rps <RATE>'"),
            ("--rate-limiting", "'--rps <RATE>'"),
            ("--data-size", "'-d <SIZE>'"),
            ("--key_maximum", "'-r <KEYSPACE>'"),
        ] {
            assert_eq!(meant(typed, &command).map(written).as_deref(), Some(told), "{typed}");
        }
        assert!(meant("--no-such-option", &command).is_none());
        assert!(meant("-Z", &command).is_none());
    }

    #[test]
    fn slips_are_told_from_other_words() {
        let names = ["search", "sink", "show", "help", "compare"];
        let near = |word: &str| nearest(word, names.iter().copied());
        assert_eq!(near("serch"), Some("search"));
        assert_eq!(near("saerch"), Some("search"));
        assert_eq!(near("shwo"), Some("show"));
        assert_eq!(near("comapre"), Some("compare"));
        for word in ["get", "set", "sync", "sort", "hello", "ping", "", "scan", "select", "echo"] {
            assert_eq!(near(word), None, "{word}");
        }
    }
}
