//! The command line of `memtier_benchmark`.
//!
//! Words are parsed as by getopt ([`words`], with the table [`option_list`]), become [`options`], are checked
//! for conflicts ([`checks`]) and turn into a job: [`translation`] sets the target and the loop, [`plan`] the
//! commands. [`output`] prints the results. Options that are not supported are refused by name; docs/memtier.md
//! lists the differences.

mod address;
mod checks;
mod commands;
mod configuration;
mod debug;
mod error_lines;
mod exporter;
mod failed_keys;
mod fault;
mod import;
mod items;
mod layout;
mod monitor;
mod operations;
mod option_list;
mod options;
mod order;
mod output;
mod plan;
mod progress;
mod prometheus;
mod reading;
mod retrying;
mod staircase;
mod statsd;
mod threads;
mod translation;
mod user_commands;
mod values;
mod verification;
mod vocabulary;
mod waiting;
mod words;

use std::borrow::Cow;
use std::ffi::OsString;

use cli::as_keystorm::in_own_words;
use cli::job::{FrontEnd, Intent, UsageError};
use cli::ks_options;
use naming::OptionId;

use fault::{Fault, check_error};
use option_list::VERSION;
use options::Options;

/// The command line of this tool.
pub struct Memtier;

impl FrontEnd for Memtier {
    fn names(&self) -> &'static [&'static str] {
        &["memtier_benchmark", "memtier"]
    }

    fn word(&self, option: OptionId) -> Option<Cow<'static, str>> {
        vocabulary::word(option)
    }

    fn formats(&self) -> &'static [report::FormatRow] {
        &[("memtier", |_| Box::new(layout::MemtierText::default()))]
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        let intent = parse(args).unwrap_or_else(|fault: Fault| Intent::Tool(fault.describe()));
        Ok(intent)
    }
}

fn parse(args: Vec<OsString>) -> Result<Intent, Fault> {
    let texts = args.into_iter().map(|word| {
        word.into_string().map_err(|word| check_error(format!("{word:?} is not UTF-8 text")))
    });
    let args = texts.collect::<Result<Vec<String>, Fault>>()?;
    let read = words::read(&args, ks_options::takes_value);
    let read = read.map_err(|line| Fault::Usage(format!("memtier_benchmark: {line}")))?;
    let mut options = Options::read(&read.given)?;
    if options.help {
        return Ok(translation::say(option_list::USAGE.to_owned(), 2));
    }
    if options.version {
        return Ok(translation::say(version(), 0));
    }
    let unread = read.others.iter().map(|word| {
        let word = report::escape(word);
        format!("warning: '{word}' is not an option and has no effect")
    });
    let mut notes: Vec<String> = unread.collect();
    notes.extend(address::apply_uri(&mut options)?);
    // Options that a URI replaces cause no conflict.
    let replaced: &[&str] = if options.uri.is_some() { &["host", "server", "port"] } else { &[] };
    let order = read.given.iter().map(|given| given.name);
    let order: Vec<&'static str> = order.filter(|name| !replaced.contains(name)).collect();
    checks::check(&options, &order)?;
    let mut job = translation::job(&options, read)?;
    if options.print_plan {
        return translation::printed(&job);
    }
    if options.as_keystorm {
        return Ok(Intent::Say(in_own_words(&job, "memtier_benchmark")));
    }
    notes.extend(monitor::unused(&options));
    notes.extend(reading::notes(&options));
    notes.extend(exporter::notes(&options));
    job.notes.splice(0..0, notes);
    if options.show_config {
        job.notes.push("============== Configuration values: ==============".to_owned());
    }
    Ok(Intent::Run(Box::new(job)))
}

/// Returns the error of a run without a result. If a connection was never set up, the text has the words that users of
/// the original look for; if a server refused to set it up, the exit code is 2, as there.
fn failure(error: &anyhow::Error, why: String) -> anyhow::Error {
    let is_password = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(host::ProbeError::WrongPassword(_)))
    };
    if !error.chain().any(|cause| cause.is::<host::ProbeError>()) {
        return anyhow::Error::msg(why);
    }
    let stage = if error.chain().any(is_password) {
        "authentication failed"
    } else {
        "the connection could not be set up"
    };
    let text = format!(
        "{why}. memtier_benchmark: aborting after the first try: {stage}. See \
         --connection-stage-timeout."
    );
    // A connection that there is none of, or that ends, is a failure of another kind there.
    let lost = error.chain().any(|cause| {
        use host::ProbeError::{Broken, NoPort, Unreachable};
        match cause.downcast_ref() {
            Some(Unreachable(_) | NoPort(_)) => true,
            Some(Broken(why)) => why.is_lost(),
            _ => false,
        }
    });
    if lost {
        return anyhow::Error::msg(text);
    }
    // Errors that exit with 2 begin with a word of their own.
    UsageError(text.trim_start_matches("Error: ").to_owned()).into()
}

fn version() -> String {
    let bits = usize::BITS;
    format!(
        "memtier_benchmark v={VERSION} sha=00000000:0 bits={bits} keystorm={}\n\
         keystorm, called as memtier_benchmark; see docs/memtier.md for what differs.\n\
         This is free software under the terms of Apache-2.0 or MIT, at your option.\n\
         There is NO WARRANTY, to the extent permitted by law.\n",
        env!("CARGO_PKG_VERSION"),
    )
}

#[cfg(test)]
mod golden {
    use cli::job::FrontEnd;
    use report::conformance;

    /// After an intended change, `INSTA_UPDATE=always cargo test -p keystorm-peers` rewrites the file.
    #[test]
    fn its_layout_of_every_run() {
        let front = super::Memtier;
        let [(name, build)] = front.formats() else { unreachable!("one layout") };
        insta::assert_snapshot!(*name, conformance::golden(*build));
        conformance::check(*build);
    }
}
