//! `--on local:N`: clients on this machine, as child processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Sender;
use std::time::Instant;
use std::{env, io};

use naming::ON;

use super::children::{self, ChildProcess};
use super::{ClientOutput, Event, Launcher};
use crate::{LaunchError, On};

pub(crate) const NAME: &str = "local";

/// Maximum number of clients on one machine.
const CLIENTS_MAX: u32 = 1000;

pub(super) fn check(on: &On) -> Result<u32, String> {
    let mut items = on.items();
    let count = items.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
    match (count, items.next(), on.setting_names().next()) {
        (Some(count), None, None) if count <= CLIENTS_MAX => Ok(count),
        (Some(_), None, None) => Err(format!("at most {CLIENTS_MAX} clients on one machine")),
        _ => Err("name the number of clients on this machine, such as local:4".to_owned()),
    }
}

pub(super) fn launch(on: &On, events: &Sender<Event>) -> Result<Box<dyn Launcher>, LaunchError> {
    let count = check(on).map_err(LaunchError)?;
    let program = env::current_exe().map_err(|e| LaunchError(format!("{ON} {on}: {e}")))?;
    let commands = (0..count).map(|_| (String::new(), held(&program))).collect();
    let children = Children::start(commands, events, |ended| ended.describe());
    children.map_err(|e| LaunchError(format!("{ON} {on}: starting a client: {e}")))
}

/// Builds a command that runs `program` as a client.
fn held(program: &Path) -> Command {
    let mut command = Command::new(PathBuf::from(program));
    command.arg("--hold");
    command
}

/// Clients that are child processes, one process each.
pub(super) struct Children {
    names: Vec<String>,
    children: Vec<ChildProcess>,
}

impl Children {
    /// Starts a client for each name. `why` words the end of one.
    pub(super) fn start(
        commands: Vec<(String, Command)>,
        events: &Sender<Event>,
        why: fn(&children::ChildExit) -> String,
    ) -> io::Result<Box<dyn Launcher>> {
        let mut all = Self { names: Vec::new(), children: Vec::new() };
        for (client, (name, command)) in commands.into_iter().enumerate() {
            let (says, ends) = (events.clone(), events.clone());
            // The receiver is gone only when everything is over.
            let line = move |at, line| {
                let _ =
                    says.send(Event { client: Some(client), at, what: ClientOutput::Line(line) });
            };
            all.names.push(name);
            all.children.push(ChildProcess::start(command, line, move |ended| {
                let what = ClientOutput::Lost(why(&ended));
                let _ = ends.send(Event { client: Some(client), at: Instant::now(), what });
            })?);
        }
        Ok(Box::new(all))
    }
}

impl Launcher for Children {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn tell(&mut self, client: usize, line: &str) -> io::Result<()> {
        self.children[client].tell(line)
    }

    fn cut(&mut self, client: usize) {
        self.children[client].kill();
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        children::end(std::mem::take(&mut self.children));
    }
}
