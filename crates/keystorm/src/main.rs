//! How fast is your Redis, really?
//!
//! The whole story: arguments become a job, the job's plans are carried out one after another, and each
//! measurement becomes figures that a format lays out.

#![deny(clippy::print_stderr, clippy::print_stdout)]

mod commands;
mod defect;
mod deliveries;
mod experiment;
mod fill;
mod fill_record;
mod harmful;
mod info;
mod item_limit;
mod keep;
mod latency_settings;
mod local_ports;
mod machine;
mod markdown;
mod password;
mod probe;
mod records;
mod replicas;
mod sentinel;
mod server;
mod server_clock;
mod setting;
mod signals;
mod speaker;
mod test_bed;
mod tls;

use std::process::ExitCode;

use cli::console::diagnostics::{self, ClosedPipe};
use cli::console::{print, wrap};
use cli::job::{End, FrontEnd, Intent, ToolMessage, UsageError};
use fleet::LaunchError;
use workload::typed_login::TypedLogins;

/// Other tools whose command lines are understood: a module of peers/ for each, and a row here.
const PEERS: &[&dyn FrontEnd] =
    &[&peers::memtier::Memtier, &peers::ycsb::YcsbFront, &peers::rpc_perf::RpcPerf];

/// Exit code of a failed run.
const FAILED: u8 = 1;
/// Exit code of an invalid command line.
const USAGE: u8 = 2;
/// Exit code of a comparison that found the second worse than allowed.
const REGRESSED: u8 = 3;
/// Exit code without a conclusion: the machine was too busy, or the figures too unsteady.
const INCONCLUSIVE: u8 = 4;
/// Exit code after Ctrl-C, as shells report it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    defect::tell_of_panics(FAILED);
    let mut args = std::env::args_os();
    let called_as = args.next().unwrap_or_default();
    let args: Vec<_> = args.collect();
    if args.first().is_some_and(|a| a == host::guard::GUARD_ARG) {
        return guard(args);
    }
    diagnostics::conceal(TypedLogins::new(args.iter().filter_map(|word| word.to_str())));
    let mut own_words = true;
    cli::add_commands(commands::COMMANDS);
    let own = cli::is_own(PEERS, &called_as, &args);
    let intent = cli::parse(PEERS, &called_as, args);
    if intent.as_ref().map_or(own, Intent::is_ours) {
        wrap::allow();
    }
    let outcome = match intent {
        Ok(Intent::Say(text)) => commands::run::say(&text),
        Ok(Intent::Read(page)) => commands::help::read(&page),
        Ok(Intent::Run(job)) => {
            own_words = job.output.options.persona.own_words;
            commands::run::run(&job)
        }
        Ok(Intent::Carry(command)) => command(),
        Ok(Intent::Hold) => commands::client::client(),
        Ok(Intent::Tool(message)) => return tell(&message),
        Err(UsageError(text)) => return print_failure("error: ", text.trim_end(), USAGE),
    };
    exit_code(outcome, own_words)
}

/// Returns the program's exit code, and prints the reason if there is no result.
fn exit_code(outcome: anyhow::Result<End>, own_words: bool) -> ExitCode {
    match outcome {
        Ok(End::Complete) => ExitCode::SUCCESS,
        Ok(End::Interrupted) => ExitCode::from(INTERRUPTED),
        Ok(End::Failed) => ExitCode::from(FAILED),
        Ok(End::Regressed) => ExitCode::from(REGRESSED),
        Ok(End::Unanswered) => ExitCode::from(USAGE),
        Ok(End::Inconclusive) => ExitCode::from(INCONCLUSIVE),
        Err(error) if error.is::<ClosedPipe>() => signals::end_of_pipe(),
        Err(error) => {
            let usage = error.is::<LaunchError>() || error.is::<UsageError>();
            let why = in_words(&error);
            // A peer's error begins with a word of its own, and so does an error reply.
            let has_prefix = !usage && (!own_words || server::is_error_reply(&error));
            let code = match () {
                // The user who stopped it knows why there is no result.
                () if signals::have_come() => INTERRUPTED,
                () if usage => USAGE,
                () => FAILED,
            };
            print_failure(if has_prefix { "" } else { "error: " }, &why, code)
        }
    }
}

/// Prints the reason why there is no result, after the word that errors begin with.
fn print_failure(prefix: &str, why: &str, code: u8) -> ExitCode {
    match diagnostics::say(format_args!("{prefix}{}", diagnostics::concealed(why))) {
        Ok(()) => ExitCode::from(code),
        Err(ClosedPipe) => signals::end_of_pipe(),
    }
}

/// Prints the text of the imitated tool, and exits with its code.
fn tell(message: &ToolMessage) -> ExitCode {
    match (diagnostics::put(&diagnostics::concealed(&message.err)), print::text(&message.out)) {
        (Ok(()), Ok(())) => ExitCode::from(message.code),
        _ => signals::end_of_pipe(),
    }
}

/// An error in words, and the last lines of a server that did not start.
fn in_words(error: &anyhow::Error) -> String {
    let mut text = report::escape(format!("{error:#}"));
    let spawn = error.chain().find_map(|cause| cause.downcast_ref::<host::SpawnError>());
    if let Some(lines @ [_, ..]) = spawn.map(host::SpawnError::last_lines) {
        text += ". Its last output:";
        lines.iter().for_each(|line| text += &format!("\n  {}", report::escape(line)));
    }
    text
}

/// Becomes a server that dies with the keystorm that started this process.
fn guard(args: Vec<std::ffi::OsString>) -> ExitCode {
    match host::guard::exec(args.into_iter().skip(1)) {
        Ok(never) => match never {},
        Err(error) => print_failure("error: ", &error.to_string(), FAILED),
    }
}
