//! Commands of keystorm's own, which the program registers, so that help, man pages, completions and advice know them.

use std::sync::OnceLock;

use crate::job::FrontEnd;

/// Command lines that are understood.
pub type FrontEnds = &'static [&'static dyn FrontEnd];

static COMMANDS: OnceLock<FrontEnds> = OnceLock::new();

/// Registers commands, so that help, man pages and completions know them.
pub fn add_commands(commands: FrontEnds) {
    let _ = COMMANDS.set(commands);
}

/// Every command of keystorm's own but a run.
pub fn commands() -> impl Iterator<Item = &'static dyn FrontEnd> {
    COMMANDS.get().copied().unwrap_or_default().iter().copied()
}
