//! Launchers, which only place clients, carry lines and report losses.
//!
//! Two are built in. Another is a program `keystorm-on-NAME` on the PATH ([`program`]), so that one can be
//! added in any language without a change here.

mod children;
mod local;
mod program;
mod ssh;

use std::io;
use std::str::FromStr;
use std::sync::mpsc::Sender;
use std::time::Instant;

use naming::ON;

use crate::{LaunchError, On};

/// Files open beside clients' own: the server's, the terminal's, those of results.
const OTHER_FILES: u64 = 32;

/// A report of a launcher on a client.
#[derive(Debug)]
pub(crate) struct Event {
    /// Number of the client, from 0; `None` for all clients.
    pub(crate) client: Option<usize>,
    /// Arrival time of the report.
    pub(crate) at: Instant,
    pub(crate) what: ClientOutput,
}

/// A client's line, or its loss.
#[derive(Debug)]
pub(crate) enum ClientOutput {
    /// A line that it printed.
    Line(String),
    /// The loss of the client, for this reason.
    Lost(String),
}

/// Clients that have been placed. Dropping it ends them.
pub(crate) trait Launcher: Send {
    /// Returns the name of each client: its host, or empty for this one.
    fn names(&self) -> Vec<String>;

    /// Hands a client a line, including its end, without waiting for it to be read.
    ///
    /// # Errors
    /// Returns an error if the client is gone, which an event reports too.
    fn tell(&mut self, client: usize, line: &str) -> io::Result<()>;

    /// Gives a client up, and ends it if possible.
    fn cut(&mut self, client: usize);
}

struct BuiltIn {
    name: &'static str,
    check: fn(&On) -> Result<u32, String>,
    launch: Launch,
}

/// Places the clients of `--on`.
type Launch = fn(&On, &Sender<Event>) -> Result<Box<dyn Launcher>, LaunchError>;

const BUILT_IN: [BuiltIn; 2] = [
    BuiltIn { name: local::NAME, check: local::check, launch: local::launch },
    BuiltIn { name: ssh::NAME, check: ssh::check, launch: ssh::launch },
];

fn built_in(on: &On) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|launcher| launcher.name == on.launcher)
}

impl On {
    /// Returns the number of clients, if the settings give it.
    pub fn count(&self) -> Option<u32> {
        built_in(self).and_then(|launcher| (launcher.check)(self).ok())
    }

    /// Returns whether all clients are on this machine.
    pub fn is_here(&self) -> bool {
        self.launcher == local::NAME
    }
}

/// Refuses settings that no launcher understands.
impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (launcher, settings) = text.split_once(':').unwrap_or((text, ""));
        let on = Self { launcher: launcher.to_owned(), settings: settings.to_owned() };
        match built_in(&on) {
            Some(launcher) => (launcher.check)(&on).map(drop)?,
            None => program::find(&on.launcher).map(drop)?,
        }
        Ok(on)
    }
}

/// Places clients, whose lines and losses are sent to `events`.
///
/// # Errors
/// Returns an error if they cannot be placed.
pub(crate) fn launch(on: &On, events: &Sender<Event>) -> Result<Box<dyn Launcher>, LaunchError> {
    match built_in(on) {
        Some(launcher) => {
            let children = (launcher.check)(on).map_err(LaunchError)?;
            allow_files(on, u64::from(children))?;
            (launcher.launch)(on, events)
        }
        None => program::launch(on, events),
    }
}

/// Ensures that this process may hold the standard streams of this many children.
fn allow_files(on: &On, children: u64) -> Result<(), LaunchError> {
    let needed = 3 * children + OTHER_FILES;
    host::allow_open_files(0, needed).map_err(|refused| {
        LaunchError(format!(
            "{ON} {on}: {children} clients need {needed} open files here, and this process may \
             open {}: raise the limit with `ulimit -n {needed}`, or use fewer clients",
            refused.allowed
        ))
    })
}
