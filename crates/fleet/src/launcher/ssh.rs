//! `--on ssh:HOST,…`: a client on each host, over the system's `ssh` with the user's configuration.

use std::process::Command;
use std::sync::mpsc::Sender;

use naming::ON;

use super::children::ChildExit;
use super::local::Children;
use super::{Event, Launcher};
use crate::{LaunchError, On};

pub(super) const NAME: &str = "ssh";

/// Exit code with which the remote shell reports a missing program.
const NOT_FOUND: i32 = 127;

pub(super) fn check(on: &On) -> Result<u32, String> {
    if let Some(name) = on.setting_names().find(|name| *name != "program") {
        return Err(format!(
            "unknown setting {name:?}; expected host names, and program=PATH for keystorm's path \
             there"
        ));
    }
    // One that begins with a hyphen would be an option of ssh.
    if let Some(host) = on.items().find(|host| host.starts_with('-') || host.contains(' ')) {
        return Err(format!("{host:?} is not a host"));
    }
    match on.items().count() {
        0 => Err("name the hosts, such as ssh:load1,load2".to_owned()),
        count => Ok(count as u32),
    }
}

pub(super) fn launch(on: &On, events: &Sender<Event>) -> Result<Box<dyn Launcher>, LaunchError> {
    check(on).map_err(LaunchError)?;
    let program = on.setting("program").unwrap_or("keystorm");
    let commands = on.items().map(|host| (host.to_owned(), at(host, program))).collect();
    Children::start(commands, events, why).map_err(|e| {
        LaunchError(format!("{ON} {on}: ssh cannot be started: {e}; is it installed?"))
    })
}

fn at(host: &str, program: &str) -> Command {
    let mut command = Command::new("ssh");
    // No terminal there: what ends our input is to end theirs. A host that has gone is noticed.
    command.args(["-T", "-o", "ServerAliveInterval=3", "-o", "ServerAliveCountMax=3", "--", host]);
    command.arg(format!("exec {} --hold", quoted(program)));
    command
}

/// A word quoted for the remote shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn why(ended: &ChildExit) -> String {
    match ended.code {
        Some(NOT_FOUND) => format!(
            "keystorm was not found there ({}); install it on the PATH of non-interactive \
             logins, or name its path: {ON} ssh:…,program=/path/to/keystorm",
            ended.last_lines
        ),
        // ssh's own.
        Some(255) => {
            format!("ssh: {}", ended.last_lines.strip_prefix("ssh: ").unwrap_or(&ended.last_lines))
        }
        _ => ended.describe(),
    }
}
