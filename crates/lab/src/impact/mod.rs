//! What operations cost those who wait: a price list of acts beside a steady load, or of the kinds of the load itself.
//!
//! [`act`] is what a file of acts holds, [`timeline`] reads their prices off a run. [`design`] says which segments of a
//! mix are run, [`effects`] what they say together, [`mix`] keeps both. Here is the document of them all; how acts and
//! segments are carried out is left to the binary.

pub mod act;
pub mod design;
pub mod effects;
pub mod mix;
pub mod timeline;

use report::slo::Slo;
use report::{RecordError, Run};
use serde::{Deserialize, Serialize};

pub use act::{Act, Condition, Family};
pub use design::{Segment, Treatment};
pub use effects::{Cost, Effects, Figure, Judgement};
pub use mix::{Kind, MixRecord, REPLIES_MIN, SegmentResult};
pub use timeline::ActRecord;

use crate::document::Document;
use crate::runs::Runs;

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.impact/1";
/// The end of an event of an act that is a command by which keystorm itself follows the act.
pub const OWN_QUESTION: &str = " (asked by keystorm)";
/// Name of those who wait for an act: every request.
pub const EVERYBODY: &str = "all";

/// A price list. Reads and writes as the document `keystorm.impact/1`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Impact {
    schema: String,
    /// Set if every act was played, or every segment run.
    pub(crate) complete: bool,
    /// The server, by product and version.
    pub server: String,
    /// Requests per second of the load beside acts.
    pub rate_per_s: Option<f64>,
    /// The target that waiting is counted beyond, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// The prices: of acts in their order, of the kinds of a mix by load.
    pub prices: Vec<Price>,
    /// Mix and segments that the prices of a mix follow from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<MixRecord>,
    pub(crate) run: Runs,
}

/// Price of an operation for somebody who waits for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Price {
    /// The act, or the kind of the mix.
    pub operation: String,
    /// Description of an act.
    pub about: String,
    /// Outcome of the operation.
    pub outcome: Outcome,
    /// The load of a mix, as a share of the capacity.
    pub load: Option<f64>,
    /// The kind that waits, or [`EVERYBODY`].
    pub waits: String,
    /// The 99th percentile without the operation, in milliseconds: in the rest before an act, in segments without the
    /// kind.
    pub without_ms: Option<f64>,
    /// Latency with the operation: the highest of an interval of an act, the usual one of the whole mix.
    pub with_ms: Option<f64>,
    /// Milliseconds of the 99th percentile for each unit of a kind.
    pub cost_ms: Option<Figure>,
    /// By how much leaving out a kind lowers that percentile, in milliseconds, as the regression has it.
    pub saves_ms: Option<f64>,
    /// Set if the operation surely costs more than the same number of other requests.
    pub surely: bool,
    /// Start of an act, in seconds since the measured part began.
    pub from_s: Option<f64>,
    /// Seconds that it lasted; `None` if it had not ended when it was given up on.
    pub lasted_s: Option<f64>,
    /// The longest response time, in milliseconds.
    pub max_ms: Option<f64>,
    /// Seconds from its start until latency was as before again; `None` if it was not before the next act.
    pub back_s: Option<f64>,
    /// By how much users waited longer than the target, all together, in seconds.
    pub user_seconds: Option<f64>,
    /// Requests that failed: error replies, and those that were lost or timed out.
    pub failed: Option<u64>,
    /// Bytes that the server held before.
    pub memory_before: Option<u64>,
    /// The most that it held.
    pub memory_peak: Option<u64>,
    /// Events that the server reports of an act: of its latency monitor, forks, slow commands.
    pub events: Vec<String>,
}

/// Outcome of an operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Operation was measured.
    #[default]
    Measured,
    /// The server lacks what it needs; why.
    NotSupported(String),
    /// Operation was left out; why.
    LeftOut(String),
}

impl Outcome {
    /// The outcome in words for people, and why it has no price.
    #[must_use]
    pub fn words(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Measured => ("measured", None),
            Self::NotSupported(why) => ("not supported here", Some(why)),
            Self::LeftOut(why) => ("left out", Some(why)),
        }
    }
}

impl Price {
    /// Returns whether there is a price.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.outcome == Outcome::Measured
    }

    /// Returns how much more memory the server held than before, in bytes.
    #[must_use]
    pub fn memory_more(&self) -> Option<u64> {
        Some(self.memory_peak?.saturating_sub(self.memory_before?))
    }

    /// Returns what is priced: two lists are compared by prices with the same subject.
    pub(crate) fn subject(&self) -> (&str, &str, Option<u64>) {
        (&self.operation, &self.waits, self.load.map(f64::to_bits))
    }
}

impl Impact {
    /// A list without prices.
    #[must_use]
    pub fn new(server: String) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            complete: false,
            server,
            rate_per_s: None,
            slo: None,
            prices: Vec::new(),
            mix: None,
            run: Runs::default(),
        }
    }

    /// Adds a run.
    ///
    /// # Errors
    /// A count is too large to be written.
    pub fn add_run(&mut self, run: &Run) -> Result<(), RecordError> {
        self.run.put(run).map(drop)
    }

    /// Estimates the prices of a mix from the segments so far.
    pub fn settle(&mut self) {
        if let Some(mix) = &mut self.mix {
            (mix.effects, self.prices) = Effects::estimate(&mix.kinds, &mix.loads, &mix.segments);
        }
    }

    /// The bound of latency in the target, in nanoseconds.
    #[must_use]
    pub fn target_ns(&self) -> Option<f64> {
        self.slo.as_ref()?.latency().map(|clause| clause.below)
    }

    /// Returns whether every act was played, or every segment run.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// Reads a document.
    ///
    /// # Errors
    /// It is none of this layout.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        let list: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if list.schema == SCHEMA {
            Ok(list)
        } else {
            Err(format!("its schema is {:?}, not {SCHEMA}", list.schema))
        }
    }
}

impl Document for Impact {
    fn runs(&self) -> &Runs {
        &self.run
    }
}
