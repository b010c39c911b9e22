//! Cost of operations to other users: a price list of acts under a steady load, or of the kinds of the load
//! itself.
//!
//! [`act`] is the content of a file of acts, [`timeline`] takes their prices from a run. [`design`] plans the
//! segments of a mix, [`effects`] evaluates them, [`mix`] keeps both. This file has their document; the
//! binary carries out acts and segments.

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
pub use effects::{Cost, Effects, Figure, Judgement, MixRecord};
pub use mix::{REPLIES_MIN, RequestKind, SegmentResult};
pub use timeline::ActRecord;

use crate::document::Document;
use crate::runs::Runs;

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.impact/1";
/// Suffix of an act's event that is a command with which keystorm itself follows the act.
pub const OWN_QUESTION: &str = " (asked by keystorm)";
/// Name of everybody who waits for an act: all requests.
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
    /// The target beyond which waiting counts, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// The prices: of acts in their order, or of the kinds of a mix by load.
    pub prices: Vec<Price>,
    /// Mix and segments behind the prices of a mix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<MixRecord>,
    pub(crate) run: Runs,
}

/// Price of an operation for its waiting users.
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
    /// The waiting kind, or [`EVERYBODY`].
    pub waits: String,
    /// 99th percentile without the operation, in milliseconds: in the rest before an act, or in segments
    /// without the kind.
    pub without_ms: Option<f64>,
    /// Latency with the operation: the highest of an interval of an act, the usual one of the whole mix.
    pub with_ms: Option<f64>,
    /// Milliseconds of the 99th percentile for each unit of a kind.
    pub cost_ms: Option<Figure>,
    /// Reduction of that percentile by leaving out a kind, in milliseconds, according to the regression.
    pub saves_ms: Option<f64>,
    /// Set if the operation surely costs more than the same number of other requests.
    pub surely: bool,
    /// Start of an act, in seconds since the measured part began.
    pub from_s: Option<f64>,
    /// Duration in seconds; `None` if it had not ended when it was given up.
    pub lasted_s: Option<f64>,
    /// The longest response time, in milliseconds.
    pub max_ms: Option<f64>,
    /// Seconds from its start until latency was back to normal; `None` if that was not before the next act.
    pub back_s: Option<f64>,
    /// Total time in seconds by which users waited longer than the target.
    pub user_seconds: Option<f64>,
    /// Requests that failed: error replies, and those that were lost or timed out.
    pub failed: Option<u64>,
    /// Memory of the server before, in bytes.
    pub memory_before: Option<u64>,
    /// Largest memory of the server, in bytes.
    pub memory_peak: Option<u64>,
    /// Events of an act that the server reports: of its latency monitor, forks, slow commands.
    pub events: Vec<String>,
}

/// Outcome of an operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The operation was measured.
    #[default]
    Measured,
    /// The server cannot do it; the text says what it lacks.
    NotSupported(String),
    /// The operation was left out; the text says why.
    LeftOut(String),
}

impl Outcome {
    /// The outcome in words for people, and the reason why it has no price.
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
    pub fn is_measured(&self) -> bool {
        self.outcome == Outcome::Measured
    }

    /// Returns how much more memory the server held than before, in bytes.
    pub fn memory_more(&self) -> Option<u64> {
        Some(self.memory_peak?.saturating_sub(self.memory_before?))
    }

    /// Returns the subject of the price: two lists are compared by prices with the same subject.
    pub(crate) fn subject(&self) -> (&str, &str, Option<u64>) {
        (&self.operation, &self.waits, self.load.map(f64::to_bits))
    }
}

impl Impact {
    /// A list without prices.
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
    /// Returns an error if a count is too large to be written.
    pub fn add_run(&mut self, run: &Run) -> Result<(), RecordError> {
        self.run.put(run).map(drop)
    }

    /// Estimates the prices of a mix from the segments so far.
    pub fn estimate_prices(&mut self) {
        if let Some(mix) = &mut self.mix {
            (mix.effects, self.prices) = Effects::estimate(&mix.kinds, &mix.loads, &mix.segments);
        }
    }

    /// The bound of latency in the target, in nanoseconds.
    pub fn target_ns(&self) -> Option<f64> {
        self.slo.as_ref()?.latency().map(|clause| clause.below)
    }

    /// Returns whether every act was played, or every segment run.
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// Parses a document.
    ///
    /// # Errors
    /// Returns an error if it has another layout.
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
