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

use arguments::CommandLine;

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
        let arguments = match CommandLine::new(args).map_err(UsageError)? {
            CommandLine::Help => return Ok(Intent::Say(HELP.to_owned())),
            CommandLine::Arguments(arguments) => arguments,
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

const HELP: &str = "Usage: ycsb load|run redis|memcached [OPTIONS]

  -P FILE         read properties from a file; workloads/workloada to workloadf need none
  -p NAME=VALUE   set a property
  -threads N      connections, each with one operation at a time
  -target N       operations per second, on a schedule that slow replies do not delay
  -s              print the progress to standard error every ten seconds
  -l TEXT         prefix of those lines
  -db CLASS       site.ycsb.db.RedisClient or site.ycsb.db.MemcachedClient
  --print-plan    print the plan as JSON instead of running it
  --as keystorm   print the equivalent keystorm command line
  --ks-verdict stderr|off|FILE
                  where to write what limited the run
  --ks-OPTION     a keystorm option, such as --ks-json FILE, --ks-html FILE, --ks-tls, --ks-on

Examples:
         ycsb load redis -P workloads/workloada -p redis.host=127.0.0.1
         ycsb run redis -P workloads/workloada -p redis.host=127.0.0.1 -threads 8 -target 5000 -s

docs/ycsb.md lists the differences from YCSB.
";

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
