//! `keystorm profile`: instructions of a server for each request, by function.

mod counting;
mod options;
mod steps;

use std::ffi::OsString;

use cli::front::Front;
use cli::job::{Intent, UsageError};

pub(crate) use counting::{Instrument, Instruments, Start};
pub(crate) use options::counted_server;

/// Front end of the command.
pub(crate) const FRONT: Front = Front { names: &["profile"], command: options::described, parse };

fn parse(args: Vec<OsString>) -> Result<Intent, UsageError> {
    options::parse(args, |job| {
        if job.output.print_plan {
            return Intent::plans(job.servers.iter().flat_map(|server| &server.job.plans));
        }
        Ok(Intent::carry(move || steps::profile(&job)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> String {
        let words = shell_words::split(line).unwrap().into_iter().map(OsString::from);
        let Err(UsageError(why)) = parse(words.collect()) else { panic!("{line}") };
        why
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_to_do() {
        for (line, part) in [
            ("-t get", "name the server to start"),
            ("a b c", "an old and a new one"),
            ("a -h host", "-h does not apply"),
            ("a --duration 5", "--duration does not apply"),
            ("a --fail-on-regression 1", "requires two servers"),
            ("a b --starts 1 --fail-on-regression 1", "--starts 2 or more"),
            ("a -n 1", "-n 2"),
            ("a --with nothing", "nothing"),
        ] {
            let why = refusal(line);
            assert!(why.contains(part), "{line}: {why}");
        }
    }
}
