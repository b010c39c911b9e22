//! How much a server is asked of itself, and what a look at it found.

use crate::ServerFacts;

/// How much a server is asked of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Questions {
    /// Nothing: it is connected to, and logged in to where there are credentials.
    None,
    /// `CONFIG GET save` and `CONFIG GET appendonly`, which redis-benchmark prints.
    Settings,
    /// What it is and how it is set; before and after load also what it counts and uses.
    #[default]
    All,
}

/// What a look at a server found.
#[derive(Debug, Clone, Default)]
pub struct ProbeResult {
    /// What it said of itself.
    pub facts: ServerFacts,
    /// Why it says no more, in words for a person: it closes connections that ask, or never
    /// answers. Another question would fare no better.
    pub silence: Option<String>,
}
