//! Suggestions for words that are unknown: by meaning first, then by spelling.
//!
//! Users of other tools type the words of those tools.

use std::borrow::Cow;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use strsim::damerau_levenshtein;
use workload::typed_login::shown_address;

use super::experiment::typed_line::TypedLine;
use super::registry::commands;
use super::run::vocabulary;
use super::{FrontEnd, UsageError};

/// Options of keystorm, one line per meaning, followed by the words of other tools; the first option that the
/// subcommand has is suggested. Hyphens do not count.
const MEANINGS: &str = include_str!("meanings.txt");

/// Options with the words of other tools that mean them.
fn meanings() -> impl Iterator<Item = (Vec<&'static str>, Vec<&'static str>)> {
    let split = |text: &'static str| text.split(' ').collect();
    let lines = MEANINGS.lines().filter_map(|line| line.split_once(": "));
    lines.map(move |(options, words)| (split(options), split(words)))
}

/// Explains a command line that clap refuses: each option by all its names, the nearest existing option, and
/// the command's usage.
pub(super) fn explained(error: clap::Error, command: &Command) -> UsageError {
    explained_among(error, command, &[command])
}

/// Explains an error if options of several commands may be meant.
fn explained_among(mut error: clap::Error, command: &Command, all: &[&Command]) -> UsageError {
    // Suggestions of clap are often unrelated.
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::SuggestedValue);
    for kind in [ContextKind::InvalidArg, ContextKind::PriorArg] {
        let named = match error.get(kind) {
            Some(ContextValue::String(one)) => ContextValue::String(in_full(one, command)),
            Some(ContextValue::Strings(all)) => {
                ContextValue::Strings(all.iter().map(|one| in_full(one, command)).collect())
            }
            _ => continue,
        };
        error.insert(kind, named);
    }
    if error.kind() == ErrorKind::UnknownArgument {
        // The hint that it could be an argument helps nobody.
        error.remove(ContextKind::Suggested);
        let typed = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(typed)) => typed.clone(),
            _ => String::new(),
        };
        let args = || all.iter().flat_map(|of| of.get_arguments()).filter(|arg| !arg.is_hide_set());
        // Without hyphens, which would make names look alike.
        let longs = args().filter_map(clap::Arg::get_long);
        let option = typed.split('=').next().and_then(|option| option.strip_prefix("--"));
        let tip = |tip: String| ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        if let Some(meant) = meant(&typed, command) {
            error.insert(ContextKind::Suggested, tip(format!("use '{}' for that", written(meant))));
        } else if let Some(option) = option {
            let all = options_of_all();
            if let Some(text) = owners(option, &all) {
                error.insert(ContextKind::Suggested, tip(text));
            } else if let Some(near) = nearest(option, longs) {
                let near = ContextValue::String(format!("--{near}"));
                error.insert(ContextKind::SuggestedArg, near);
            } else if let Some(near) = nearest(option, all.iter().map(|(long, _)| &**long)) {
                let text = owners(near, &all).map(tip);
                text.and_then(|text| error.insert(ContextKind::Suggested, text));
            }
        }
    }
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidValue)
        && takes_address(&error)
    {
        let shown = ContextValue::String(shown_address(typed));
        error.insert(ContextKind::InvalidValue, shown);
    }
    // Typed text may contain control characters: a CR at the end of a line of a script would hide the error.
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue] {
        if let Some(ContextValue::String(typed)) = error.get(kind) {
            let shown = ContextValue::String(report::escape(typed));
            error.insert(kind, shown);
        }
    }
    if let (Some(ContextValue::String(typed)), Some(ContextValue::Strings(valid))) =
        (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue))
        && let Some(near) = nearest(typed, valid.iter().map(String::as_str))
    {
        let near = ContextValue::String(near.to_owned());
        error.insert(ContextKind::SuggestedValue, near);
    }
    if error.get(ContextKind::Usage).is_none() {
        let usage = command.clone().render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    let rendered = error.render().to_string();
    // The caller adds this to errors of every kind.
    UsageError(rendered.trim_start_matches("error: ").to_owned())
}

/// Returns whether the refused value could hold a password, as an address may.
fn takes_address(error: &clap::Error) -> bool {
    const ADDRESSES: [&str; 7] = ["HOST", "PORT", "URI", "SERVER", "--replicas", "--pool", "--on "];
    let named = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(named)) => named.as_str(),
        _ => return false,
    };
    ADDRESSES.iter().any(|name| named.contains(name))
}

/// Refuses an option that neither `command` nor `also` has; the command takes the options of both.
pub(super) fn no_option(typed: &str, command: &Command, also: &Command) -> UsageError {
    let mut error = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(command);
    let usage = ContextValue::StyledStr(command.clone().render_usage());
    error.insert(ContextKind::Usage, usage);
    error.insert(ContextKind::InvalidArg, ContextValue::String(typed.to_owned()));
    let of = if meant(typed, command).is_some() { command } else { also };
    explained_among(error, of, &[command, also])
}

/// Gives each option of a line one name for lookups: the short one if it has one.
pub(super) fn shorten_names<'c>(line: &mut TypedLine, find: impl Fn(&str) -> Option<&'c Arg>) {
    for given in &mut line.options {
        if let Some(short) = find(&given.name).and_then(Arg::get_short) {
            given.name = format!("-{short}");
        }
    }
}

/// Returns clap's name of an option, with its short name before the long one.
fn in_full(called: &str, command: &Command) -> String {
    let long = called.split([' ', '[', '=']).next().unwrap_or_default();
    let arg = long.strip_prefix("--").and_then(|_| named(command, long));
    match arg.and_then(Arg::get_short) {
        Some(short) => format!("-{short}, {called}"),
        None => called.to_owned(),
    }
}

/// The option for the same thing as another tool's option of this name, even with a typo.
fn meant<'c>(typed: &str, command: &'c Command) -> Option<&'c Arg> {
    let word = typed.strip_prefix("--")?.split('=').next()?.replace(['-', '_'], "").to_lowercase();
    // A typo in one of keystorm's own options is likelier than another tool's word.
    let ours = command.get_arguments().filter_map(Arg::get_long);
    if !meanings().any(|(_, words)| words.contains(&&*word))
        && nearest(typed.strip_prefix("--")?.split('=').next()?, ours).is_some()
    {
        return None;
    }
    let word = nearest(&word, meanings().flat_map(|(_, words)| words))?;
    let meant = meanings().filter(|(_, words)| words.contains(&word));
    meant.flat_map(|(options, _)| options).find_map(|option| named(command, option))
}

/// Maximum number of commands named as having an option.
const OWNERS_NAMED: usize = 3;

/// A command that has an option; `None` for a run.
type Owner = Option<&'static dyn FrontEnd>;

/// The options of all commands, without hyphens, each with the command that has it.
fn options_of_all() -> Vec<(String, Owner)> {
    let of_run = std::iter::once((vocabulary(), None));
    let others = commands().filter_map(|front| Some((front.command()?, Some(front))));
    let options = of_run.chain(others).flat_map(|(command, owner)| {
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let longs = shown.filter_map(Arg::get_long);
        longs.map(|long| (long.to_owned(), owner)).collect::<Vec<_>>()
    });
    options.collect()
}

/// Lists which commands have the option of this name without hyphens; `None` if none has.
fn owners(name: &str, all: &[(String, Owner)]) -> Option<String> {
    let mut owners: Vec<String> = Vec::new();
    for (_, owner) in all.iter().filter(|(long, _)| long == name) {
        let command = owner.and_then(|front| front.names().first());
        let path = command.map_or("keystorm".to_owned(), |name| format!("keystorm {name}"));
        let kinds = owner.map_or(Vec::new(), |front| front.kinds_with(name));
        owners.extend(kinds.iter().map(|kind| format!("{path} {kind}")));
        if kinds.is_empty() {
            owners.push(path);
        }
    }
    let more = if owners.len() > OWNERS_NAMED { ", ..." } else { "" };
    owners.truncate(OWNERS_NAMED);
    let named = owners.join(", ");
    (!owners.is_empty()).then(|| format!("'--{name}' is an option of {named}{more}"))
}

/// The option of a name with its hyphens.
pub(super) fn named<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let mut args = command.get_arguments();
    match name.strip_prefix("--") {
        Some(long) => args.find(|arg| arg.get_long() == Some(long)),
        None => {
            args.find(|arg| arg.get_short().is_some() && arg.get_short() == name.chars().nth(1))
        }
    }
}

/// The names of an option, and its value.
pub fn written(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let takes = arg.get_action().takes_values();
    let value = arg.get_value_names().and_then(|names| names.first()).filter(|_| takes);
    let value = value.map(|value| format!(" <{value}>"));
    format!("{}{}", names.join(", "), value.unwrap_or_default())
}

/// Former subcommands that are now options of others.
const FORMER: [(&str, &str); 6] = [
    ("blame", "impact --of mix"),
    ("calibrate", "doctor --client"),
    ("rehearse", "compare A B --replay FILE"),
    ("report", "show FILE --html PAGE"),
    ("theatre", "impact"),
    ("weigh", "footprint"),
];

/// Returns the message for a first word that is a misspelt or former subcommand; `None` if it may be a command
/// for the server.
pub(super) fn subcommand<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    // An option may have the name of a subcommand, such as --replay.
    let lower = Some(word.to_lowercase()).filter(|word| !word.starts_with('-'))?;
    let near = nearest(&lower, names.chain(FORMER.iter().map(|(name, _)| *name)))?;
    let word = shell_words::quote(word);
    let now = FORMER.iter().find(|(former, _)| *former == near).map(|(_, now)| *now);
    if let Some(now) = now.filter(|_| lower == near) {
        return Some(format!("keystorm {word} is now keystorm {now}"));
    }
    let near = now.unwrap_or(near);
    Some(format!(
        "unknown subcommand '{word}'; did you mean 'keystorm {near}'?\n\nTo send it to \
         the server as a command: keystorm [OPTIONS] -- {word} ..."
    ))
}

/// Returns the error for a word that has no page of help.
pub(super) fn no_help<'n>(
    word: &str,
    subcommands: impl Iterator<Item = &'n str>,
    topics: impl Iterator<Item = &'n str>,
) -> String {
    let (subcommands, topics): (Vec<&str>, Vec<&str>) = (subcommands.collect(), topics.collect());
    let names = subcommands.iter().chain(&topics).copied();
    let near = nearest(&word.to_lowercase(), names);
    let meant = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    let word: Cow<'_, str> = shell_words::quote(word);
    let (subcommands, topics) = (subcommands.join(", "), topics.join(", "));
    format!(
        "unknown subcommand or topic '{word}'{meant}\n\nSubcommands: \
         {subcommands}\nTopics: {topics}"
    )
}

/// Returns the error for an unknown name, with the nearest of the `known` ones, or all of them if none is near.
pub fn one_of(what: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("unknown {what} {name:?}; did you mean {meant}?"),
        None if known.is_empty() => format!("unknown {what} {name:?}; there is none"),
        None => format!("unknown {what} {name:?}; available: {}", known.join(", ")),
    }
}

/// The name nearest to the word: equal to it, or up to two typos away if both are long enough.
pub fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let slips = names.map(|name| (damerau_levenshtein(word, name), name));
    let allowed = |name: &str| match name.len().min(word.len()) {
        ..=3 => 0,
        4..=5 => 1,
        _ => 2,
    };
    let near = slips.filter(|(slips, name)| *slips <= allowed(name));
    near.min_by_key(|(slips, _)| *slips).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meaning_leads_to_an_option() {
        let command = vocabulary();
        let mut led: Vec<&str> = Vec::new();
        for (options, words) in meanings() {
            for word in &words {
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
    fn the_option_for_it_is_reported() {
        let command = vocabulary();
        for (typed, text) in [
            ("--connections", "-c, --clients <CLIENTS>"),
            ("--conections", "-c, --clients <CLIENTS>"),
            ("--concurrency=5", "-c, --clients <CLIENTS>"),
            ("--time", "--duration <TIME>"),
            ("--password", "-a <PASSWORD>"),
            ("--qps", "--rps <RATE>"),
            ("--rate-limiting", "--rps <RATE>"),
            ("--data-size", "-d <SIZE>"),
            ("--key_maximum", "-r <KEYSPACE>"),
        ] {
            assert_eq!(meant(typed, &command).map(written).as_deref(), Some(text), "{typed}");
        }
        assert!(meant("--no-such-option", &command).is_none());
        assert!(meant("-Z", &command).is_none());
    }

    #[test]
    fn what_only_looks_alike_is_no_tip() {
        let refused = |line: &str| {
            let mut command = vocabulary();
            let words = std::iter::once("keystorm").chain(line.split(' '));
            let error = command.try_get_matches_from_mut(words).unwrap_err();
            explained(error, &command).0
        };
        for (line, tip) in [
            ("--blocks 3", "'--repeat <N>'"),
            ("--rounds 3", "'--repeat <N>'"),
            ("--read-ratio 0.9", "'--mix'"),
            ("--wramup 1", "'--warmup'"),
            ("--arrivals posson", "'poisson'"),
        ] {
            let usage = refused(line);
            let message = usage.lines().find(|line| line.contains("tip: ")).unwrap_or_default();
            assert!(message.contains(tip), "{line}: {usage}");
        }
        for line in ["--frob", "--arrivals memtier_benchmark", "--as memtier_bench"] {
            let usage = refused(line);
            assert!(!usage.contains("tip: "), "{line}: {usage}");
        }
    }

    #[test]
    fn an_option_is_no_subcommand_with_a_slip() {
        assert_eq!(subcommand("--replay", ["replay"].into_iter()), None);
        assert!(subcommand("repaly", ["replay"].into_iter()).is_some());
    }

    #[test]
    fn a_former_name_is_answered_with_the_new_one() {
        let said = |word: &str| subcommand(word, ["doctor", "show"].into_iter());
        assert_eq!(
            said("calibrate").as_deref(),
            Some("keystorm calibrate is now keystorm doctor --client")
        );
        assert!(said("calibrat").unwrap().contains("'keystorm doctor --client'"));
        for (former, now) in FORMER {
            assert!(said(former).unwrap().ends_with(now));
        }
    }

    #[test]
    fn slips_are_distinguished_from_other_words() {
        let names = ["search", "sink", "show", "help", "compare", "presets"];
        let near = |word: &str| nearest(word, names.iter().copied());
        assert_eq!(near("serch"), Some("search"));
        assert_eq!(near("saerch"), Some("search"));
        assert_eq!(near("shwo"), Some("show"));
        assert_eq!(near("comapre"), Some("compare"));
        for word in
            ["get", "set", "sync", "sort", "hello", "ping", "", "scan", "select", "echo", "reset"]
        {
            assert_eq!(near(word), None, "{word}");
        }
    }
}
