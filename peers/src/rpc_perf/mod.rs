//! The command line and the files of `rpc-perf`.
//!
//! [`words`] reads the command line; [`config`], [`keyspace`] and [`rate`] are the file, which [`document`] reads;
//! [`commands`] turns verbs into commands, [`plan`] makes a plan of all that, [`translation`] combines it with
//! keystorm's own options, and [`output`] prints windows while it runs. Settings that are not supported are
//! refused by name; docs/rpc-perf.md lists the differences.

mod admin;
mod commands;
mod config;
mod convert;
mod document;
mod fault;
mod keyspace;
mod layout;
mod output;
mod plan;
mod rate;
mod translation;
mod verb;
mod versions;
mod vocabulary;
mod words;

use std::borrow::Cow;
use std::ffi::OsString;

use cli::as_keystorm::in_own_words;
use cli::job::{FrontEnd, Intent, UsageError};
use cli::workload_file::read_text;
use naming::OptionId;

use config::Config;
use fault::{Fault, rule};
use words::Words;

/// The version whose ways are kept.
const VERSION: &str = "5.25.0";

/// The command line of this tool.
pub struct RpcPerf;

impl FrontEnd for RpcPerf {
    fn names(&self) -> &'static [&'static str] {
        &["rpc-perf"]
    }

    fn word(&self, option: OptionId) -> Option<Cow<'static, str>> {
        vocabulary::word(option)
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        Ok(parse(args).unwrap_or_else(|fault: Fault| Intent::Tool(fault.describe())))
    }
}

fn parse(args: Vec<OsString>) -> Result<Intent, Fault> {
    let words = Words::read(args)?;
    if words.help {
        return Ok(Intent::Say(HELP.to_owned()));
    }
    if words.version {
        let keystorm = env!("CARGO_PKG_VERSION");
        return Ok(Intent::Say(format!("rpc-perf {VERSION} (keystorm {keystorm})\n")));
    }
    let Some(file) = &words.file else {
        return Err(Fault::File(format!("rpc-perf: no file given\n\n{HELP}")));
    };
    let source = read_text(file).map_err(|why| Fault::File(format!("{file}: {why}")))?;
    if words.convert {
        return convert::converted(&source).map(Intent::Say);
    }
    let config = Config::read(&source)?;
    let job = translation::job(config, &words)?;
    if words.print_plan {
        return Intent::plans(&job.plans).map_err(|UsageError(why)| rule(why));
    }
    if words.as_keystorm {
        return Ok(Intent::Say(in_own_words(&job, "rpc-perf")));
    }
    Ok(Intent::Run(Box::new(job)))
}

const HELP: &str = include_str!("help.txt");
