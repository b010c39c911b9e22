//! `--on NAME`: the program `keystorm-on-NAME`, which places clients in its own way.
//!
//! It is started with the settings as its one argument and communicates in lines of JSON. Out:
//! `{"placed":["NAME",…]}` first, one name for each client; then `{"from":2,"line":"…"}` and
//! `{"lost":2,"why":"…"}`; instead of all that `{"unfit":"why"}`. In: `{"to":2,"line":"…"}` and `{"cut":2}`.
//! Clients count from 0, and lines are without their ends. The end of its input ends it and its clients.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use naming::ON;
use serde::{Deserialize, Serialize};

use super::children::{self, ChildProcess};
use super::{ClientOutput, Event, Launcher};
use crate::{LaunchError, On};

/// Longest time for a launcher to place clients, as a cluster may have to grow for them.
const PLACING: Duration = Duration::from_secs(600);

#[derive(Deserialize)]
#[serde(untagged)]
enum LauncherMessage {
    Placed { placed: Vec<String> },
    From { from: usize, line: String },
    Lost { lost: usize, why: String },
    Unfit { unfit: String },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToProgram<'l> {
    To { to: usize, line: &'l str },
    Cut { cut: usize },
}

/// Finds the launcher's program.
pub(super) fn find(name: &str) -> Result<PathBuf, String> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return Err(format!(
            "{name:?} is not a valid launcher name; use local:N, ssh:HOST,… or NAME for a \
             program keystorm-on-NAME"
        ));
    }
    let program = format!("keystorm-on-{name}");
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|dir| dir.join(&program)).find(|p| is_program(p));
    found.ok_or_else(|| match name {
        "ray" => "install the Python package: pip install 'keystorm[ray]'".to_owned(),
        _ => format!(
            "unknown launcher {name:?}: local and ssh are built in, and {program} is not on the \
             PATH"
        ),
    })
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

pub(super) fn launch(on: &On, events: &Sender<Event>) -> Result<Box<dyn Launcher>, LaunchError> {
    let unfit = |why: String| LaunchError(format!("{ON} {on}: {why}"));
    let program = find(&on.launcher).map_err(unfit)?;
    let mut command = Command::new(&program);
    command.arg(&on.settings);
    let (placed, was_placed) = channel::<Result<Vec<String>, String>>();
    let (says, ends, ended_early) = (events.clone(), events.clone(), placed.clone());
    let mut count = 0;
    let line = move |at: Instant, text: String| {
        let event = |client, what| {
            let _ = says.send(Event { client: Some(client), at, what });
        };
        match serde_json::from_slice(text.as_bytes()) {
            Ok(LauncherMessage::Placed { placed: names }) if count == 0 => {
                count = names.len();
                let _ = placed.send(Ok(names));
            }
            Ok(LauncherMessage::From { from, line }) if from < count => {
                event(from, ClientOutput::Line(line))
            }
            Ok(LauncherMessage::Lost { lost, why }) if lost < count => {
                event(lost, ClientOutput::Lost(why))
            }
            Ok(LauncherMessage::Unfit { unfit }) => drop(placed.send(Err(unfit))),
            Ok(_) | Err(_) => {
                let why = format!("it sent a line that is not part of the protocol: {text:.200}");
                let _ = placed.send(Err(why.clone()));
                (0..count).for_each(|client| event(client, ClientOutput::Lost(why.clone())));
            }
        }
    };
    let name = format!("keystorm-on-{}", on.launcher);
    let talking = ChildProcess::start(command, line, move |ended| {
        let why = format!("{name}: {}", ended.describe());
        let _ = ended_early.send(Err(why.clone()));
        let _ =
            ends.send(Event { client: None, at: Instant::now(), what: ClientOutput::Lost(why) });
    });
    let talking =
        talking.map_err(|e| unfit(format!("{} cannot be run: {e}", program.display())))?;
    let names = placing(&was_placed).map_err(unfit)?;
    Ok(Box::new(Program { names, talking: Some(talking) }))
}

fn placing(placed: &Receiver<Result<Vec<String>, String>>) -> Result<Vec<String>, String> {
    match placed.recv_timeout(PLACING) {
        Ok(Ok(names)) if names.is_empty() => Err("it placed no client".to_owned()),
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => {
            Err(format!("it placed no client within {} s", PLACING.as_secs()))
        }
        Err(RecvTimeoutError::Disconnected) => Err("it ended".to_owned()),
    }
}

struct Program {
    names: Vec<String>,
    talking: Option<ChildProcess>,
}

impl Program {
    fn say(&mut self, text: &ToProgram<'_>) -> io::Result<()> {
        let talking = self.talking.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        talking.tell(&(serde_json::to_string(text)? + "\n"))
    }
}

impl Launcher for Program {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn tell(&mut self, client: usize, line: &str) -> io::Result<()> {
        self.say(&ToProgram::To { to: client, line: line.trim_end_matches('\n') })
    }

    fn cut(&mut self, client: usize) {
        let _ = self.say(&ToProgram::Cut { cut: client });
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        children::end(self.talking.take().into_iter().collect());
    }
}
