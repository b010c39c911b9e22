//! Cost of a crash: acknowledged writes that are missing afterwards, how old they were, and how long nobody could
//! write; and what safer settings cost without a crash.
//!
//! [`Setting`] and [`CrashKind`] say what can be tried, [`Crash::judge`] holds a server's content against the ledger of
//! a run, [`Target`] is a gate. Servers are started, loaded, crashed and read by the binary.

mod crash;
mod setting;
mod target;

use serde::{Deserialize, Serialize};

use crate::origin::Origin;

pub use crash::{Content, Crash, LANE};
pub use setting::{CrashKind, SETTINGS, Setting, SettingsFile};
pub use target::Target;

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.durability/1";

/// Measurements so far. Saved as the document `keystorm.durability/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Durability {
    /// The name of the layout.
    pub schema: String,
    /// Set if everything has been measured as planned.
    pub complete: bool,
    /// Time, client and machine.
    #[serde(flatten)]
    pub origin: Origin,
    /// Server with its version: `redis 7.0.15`.
    pub server: String,
    /// Program or address of the server.
    pub target: String,
    /// Identity of the load: equal for equal loads, whatever the server.
    pub load: String,
    /// The load as options and their values.
    pub options: Vec<(String, String)>,
    /// Crash in words: `kill -9`.
    pub crash: String,
    /// Number of crashes planned for each setting.
    pub planned: u32,
    /// Results of each setting.
    pub settings: Vec<SettingResult>,
    /// Targets that results are held against.
    pub targets: Vec<Target>,
}

/// Results of one setting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SettingResult {
    /// Name of the setting, as on the command line.
    pub name: String,
    /// Options of the server, and the command that follows each write.
    pub about: String,
    /// Acknowledged writes per second without a crash.
    pub throughput_rps: Option<f64>,
    /// 99th percentile of the latency of a write without a crash.
    pub p99_ms: Option<f64>,
    /// Every crash.
    pub crashes: Vec<Crash>,
    /// Reason why it was left out or ended early.
    pub failure: Option<String>,
}

impl Durability {
    /// Returns the targets that some setting misses, in words.
    pub fn missed(&self) -> Vec<String> {
        let lines = self.settings.iter().filter_map(|setting| {
            let clauses = self.targets.iter().filter_map(|target| target.missed(&setting.crashes));
            let missed = clauses.collect::<Vec<_>>().join(", ");
            (!missed.is_empty()).then(|| format!("{}: {missed}", setting.name))
        });
        lines.collect()
    }
}

impl SettingResult {
    /// Number of writes that all crashes together could have lost.
    pub fn acknowledged(&self) -> u64 {
        self.crashes.iter().map(|crash| crash.acknowledged).sum()
    }

    /// Number of acknowledged writes that were lost.
    pub fn lost(&self) -> u64 {
        self.crashes.iter().map(|crash| crash.lost).sum()
    }

    /// Number of crashes that lost an acknowledged write.
    pub fn lossy(&self) -> usize {
        self.crashes.iter().filter(|crash| crash.lost > 0).count()
    }

    /// The crash that lost the oldest write.
    pub fn worst(&self) -> Option<&Crash> {
        let lossy = self.crashes.iter().filter(|crash| crash.lost > 0);
        lossy.max_by(|a, b| a.rpo_s.unwrap_or(0.0).total_cmp(&b.rpo_s.unwrap_or(0.0)))
    }

    /// Longest time in seconds without a successful write; `None` if there is none, or one crash was not survived.
    pub fn longest_outage_s(&self) -> Option<f64> {
        let outages: Option<Vec<f64>> = self.crashes.iter().map(|crash| crash.rto_s).collect();
        outages?.into_iter().reduce(f64::max)
    }
}

/// Greatest share of writes that crashes like these lose, at a confidence of 95 %, where none of `writes` was lost
/// (the rule of three: Hanley and Lippman-Hand, 1983).
pub fn greatest_share(writes: u64) -> f64 {
    -(0.05_f64.ln()) / (writes.max(1) as f64)
}
