//! Questions to a server about itself, and the answers.

use crate::ServerFacts;

/// The questions that a server is asked about itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Questions {
    /// No question: connect, and log in if there are credentials.
    None,
    /// `CONFIG GET save` and `CONFIG GET appendonly`, which redis-benchmark prints.
    Settings,
    /// Facts and settings; before and after load also counts and resource use.
    #[default]
    All,
}

/// The result of a look at a server.
#[derive(Debug, Clone, Default)]
pub struct ProbeResult {
    /// Facts that it gave about itself.
    pub facts: ServerFacts,
    /// Reason why it reports no more, in words for a person: it closes connections with questions, or never
    /// answers.
    pub silence: Option<String>,
}
