//! Settings of a server by how much they promise, and the crashes that put them to the test.

use serde::Deserialize;

/// The settings that come with keystorm, in TOML.
pub const SETTINGS: &str = include_str!("settings.toml");

/// A file of settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsFile {
    /// The settings, in their order.
    pub setting: Vec<Setting>,
}

/// A setting of the server and of its writers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name on the command line and in results.
    pub name: String,
    /// Options of the server.
    #[serde(default)]
    pub options: Vec<String>,
    /// Command after each write, whose reply acknowledges it; empty for none.
    #[serde(default)]
    pub wait: String,
    /// Set if it needs a replica.
    #[serde(default, rename = "replica")]
    pub has_replica: bool,
}

impl Setting {
    /// The options of the server and the command after each write, for a table.
    pub fn about(&self) -> String {
        let parts = [self.options.join(" "), self.wait.clone()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { "no persistence".to_owned() } else { parts.join("; ") }
    }
}

/// A kind of crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CrashKind {
    /// The server is killed and started again with what it had written to files.
    Kill,
    /// The server is killed and started again with what it had synchronised to disk.
    Power,
    /// The server is killed, and its replica takes its place.
    Failover,
    /// The server is stopped, its replica takes its place, and it goes on.
    Stop,
    /// The server loses its replica, which takes its place; its clients notice later.
    Cut,
    /// A command of the user's.
    Command(String),
}

impl CrashKind {
    /// Reads a word; what is no kind is a command.
    pub fn parse(word: &str) -> Self {
        match word {
            "kill" => Self::Kill,
            "power" => Self::Power,
            "failover" => Self::Failover,
            "stop" => Self::Stop,
            "cut" => Self::Cut,
            command => Self::Command(command.to_owned()),
        }
    }

    /// The crash in a few words.
    pub fn phrase(&self) -> String {
        let words = match self {
            Self::Kill => "kill -9 and restart",
            Self::Power => "loss of power",
            Self::Failover => "kill -9 and failover",
            Self::Stop => "standstill and failover",
            Self::Cut => "network cut and failover",
            Self::Command(command) => return format!("running {command:?}"),
        };
        words.to_owned()
    }

    /// Returns whether a replica takes the server's place.
    pub fn promotes(&self) -> bool {
        matches!(self, Self::Failover | Self::Stop | Self::Cut)
    }

    /// Names of the settings that are compared unless others are asked for.
    pub fn usual_settings(&self) -> &'static [&'static str] {
        match self {
            Self::Kill | Self::Power => &["none", "everysec", "always"],
            Self::Failover | Self::Stop | Self::Cut => &["none", "wait1"],
            Self::Command(_) => &["none"],
        }
    }
}
