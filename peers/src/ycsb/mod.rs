//! The command line of YCSB: `bin/ycsb load|run redis|memcached …`.
//!
//! [`arguments`] reads the words, [`properties`] the files, [`workload`] what `CoreWorkload`'s properties
//! mean, [`redis`] and [`memcached`] have the commands of each database; [`plans`] makes a plan of all that.
//! [`results`] chooses the reports, [`status`] prints lines during a run, and [`raw`] writes each operation.

mod arguments;
mod field;
mod known;
mod layout;
mod lengths;
mod memcached;
mod plans;
mod properties;
mod raw;
mod redis;
mod results;
mod status;
mod vocabulary;
mod workload;
mod workloads;

use std::borrow::Cow;
use std::ffi::OsString;

use cli::as_keystorm::in_own_words;
use cli::job::{FrontEnd, Intent, UsageError};
use naming::OptionId;
use report::Persona;

use arguments::Arguments;

/// Differences from keystorm under this name.
const PERSONA: Persona = Persona { mentions_shortfall: true, ..Persona::of_tool("ycsb") };

/// The command line of this tool.
pub struct YcsbFront;

impl FrontEnd for YcsbFront {
    fn names(&self) -> &'static [&'static str] {
        &["ycsb", "ycsb.sh"]
    }

    fn word(&self, option: OptionId) -> Option<Cow<'static, str>> {
        vocabulary::word(option)
    }

    fn formats(&self) -> &'static [report::FormatRow] {
        &[("ycsb", |_| Box::new(layout::Ycsb::default()))]
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        let Some(arguments) = Arguments::read(args).map_err(UsageError)? else {
            return Ok(Intent::Say(HELP.to_owned()));
        };
        let job = plans::job(&arguments)?;
        if arguments.as_keystorm {
            let text = in_own_words(&job, "YCSB");
            return Ok(Intent::Say(text));
        }
        if arguments.print_plan {
            return Intent::plans(&job.plans);
        }
        Ok(Intent::Run(Box::new(job)))
    }
}

const HELP: &str = include_str!("help.txt");

#[cfg(test)]
mod golden {
    use cli::job::FrontEnd;
    use report::conformance;

    /// After an intended change, `INSTA_UPDATE=always cargo test -p keystorm-peers` rewrites the file.
    #[test]
    fn its_layout_of_every_run() {
        let front = super::YcsbFront;
        let [(name, build)] = front.formats() else { unreachable!("one layout") };
        insta::assert_snapshot!(*name, conformance::golden(*build));
        conformance::check(*build);
    }
}
