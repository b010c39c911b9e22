//! What a server says of itself.

use serde::Serialize;

/// What was learnt of the server before the run. Every field is `None` where the server did not
/// say or did not allow the question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ServerFacts {
    /// `redis`, `valkey`, or what else its `INFO` names.
    pub product: Option<String>,
    /// Its version, such as `7.0.15`.
    pub version: Option<String>,
    /// Settings that the classic report prints.
    pub config: Option<ServerConfig>,
}

/// Settings that bear on speed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ServerConfig {
    /// `CONFIG GET save`.
    pub save: String,
    /// `CONFIG GET appendonly`.
    pub appendonly: String,
}
