//! Origin of a document: the time, the client and the machine, by which a history tells results apart.

use serde::{Deserialize, Serialize};

/// Time, client and machine of a document's measurements.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Time of the first measurement, in milliseconds since 1970.
    pub started_ms: u64,
    /// Version of keystorm.
    pub client: String,
    /// Name of the machine.
    pub machine: String,
    /// Processor of the machine.
    pub cpu: String,
    /// Kernel of the machine.
    pub kernel: String,
}
