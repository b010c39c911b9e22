//! The command line of `redis-benchmark` and `valkey-benchmark`.
//!
//! Two stages: [`options`] holds what was typed, [`plans`] what it means.

mod dataset;
mod options;
mod plans;
mod rate;
mod tls;
mod uri;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches};

use super::{FrontEnd, Intent, UsageError};
use crate::execute;
use options::Options;

// What other front ends ask of a server and of numbers is asked in these words too.
pub(super) use options::{ServerOptions, count, small_count};
pub(super) use plans::target;

/// See the module.
pub(crate) struct RedisBenchmark;

impl FrontEnd for RedisBenchmark {
    fn names(&self) -> &'static [&'static str] {
        &["redis-benchmark", "valkey-benchmark"]
    }

    fn parse(&self, called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        let name = called_as.unwrap_or("keystorm");
        let usage = format!("{name} [OPTIONS] [--] [COMMAND ARGS...]");
        let command = Options::command().bin_name(name).override_usage(usage);
        let words = std::iter::once(OsString::from(name)).chain(args);
        let matches = match command.try_get_matches_from(words) {
            Ok(matches) => matches,
            Err(said) if !said.use_stderr() => return Ok(Intent::Say(said.render().to_string())),
            Err(error) => return Err(UsageError(error.render().to_string())),
        };
        let options = Options::from_arg_matches(&matches)
            .map_err(|error| UsageError(error.render().to_string()))?;
        let print_plan = options.print_plan;
        let job = plans::job(options, name).map_err(UsageError)?;
        if print_plan {
            let text = execute::printed_plans(&job.plans);
            return text.map(Intent::Say).map_err(|e| UsageError(e.to_string()));
        }
        Ok(Intent::Run(job))
    }
}
