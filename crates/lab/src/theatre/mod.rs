//! A price list of operations: a steady load, one act after another beside it, and what each cost.
//!
//! [`act`] is what a file of acts holds, [`price`] what is read off the timeline. Here is the document that keeps
//! them with the run. How acts are played is left to the binary.

pub mod act;
pub mod price;

use report::Run;
use report::slo::Slo;
use serde::{Deserialize, Serialize};

pub use act::{Act, Condition, Family};
pub use price::{ActRecord, Price};

use crate::csv::Csv;
use crate::document::Document;
use crate::runs::Runs;

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.theatre/1";
/// How a command ends, among the events of an act, that keystorm itself asks to follow the act.
pub const OWN_QUESTION: &str = " (asked by keystorm)";

/// A price list. Reads and writes as the document `keystorm.theatre/1`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PriceList {
    schema: String,
    /// Whether every act was played to its end.
    complete: bool,
    /// Requests per second of the load beside the acts.
    pub rate_per_s: f64,
    /// The target that waiting is counted beyond, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// The server, by product and version.
    pub server: String,
    /// The acts, in their order.
    pub acts: Vec<Line>,
    run: Runs,
}

/// An act of a price list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub about: String,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What became of an act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was played.
    Price(Price),
    /// The server lacks what it needs; why.
    NotSupported(String),
    /// It was left out; why.
    LeftOut(String),
}

impl Line {
    /// The price, if it was played.
    #[must_use]
    pub fn price(&self) -> Option<&Price> {
        match &self.outcome {
            Outcome::Price(price) => Some(price),
            Outcome::NotSupported(_) | Outcome::LeftOut(_) => None,
        }
    }
}

impl PriceList {
    /// A list without acts, of this load.
    #[must_use]
    pub fn new(rate_per_s: f64, slo: Option<Slo>, server: String) -> Self {
        let (schema, run) = (SCHEMA.to_owned(), Runs::default());
        Self { schema, complete: false, rate_per_s, slo, server, acts: Vec::new(), run }
    }

    /// Adds the run of the load.
    ///
    /// # Errors
    /// A count is too large to be written.
    pub fn set_run(&mut self, run: &Run) -> Result<(), report::RecordError> {
        self.run.put(run).map(drop)
    }

    /// Notes that every act was played.
    pub fn set_complete(&mut self) {
        self.run.set_complete();
        self.complete = true;
    }

    /// Whether every act was played.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// The bound of latency in the target, in nanoseconds.
    #[must_use]
    pub fn target_ns(&self) -> Option<f64> {
        self.slo.as_ref()?.latency().map(|clause| clause.below)
    }

    /// Reads a document.
    ///
    /// # Errors
    /// It is none of this layout.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        let list: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match list.schema == SCHEMA {
            true => Ok(list),
            false => Err(format!("its schema is {:?}, not {SCHEMA}", list.schema)),
        }
    }

    /// CSV: a line for each act.
    #[must_use]
    pub fn to_csv(&self) -> String {
        const COLUMNS: [&str; 13] = [
            "act",
            "outcome",
            "from_s",
            "lasted_s",
            "before_p99_ms",
            "peak_p99_ms",
            "max_ms",
            "back_s",
            "user_seconds_above_target",
            "failed",
            "memory_before_bytes",
            "memory_peak_bytes",
            "events",
        ];
        let mut table = Csv::of(&COLUMNS);
        let seconds = |s: Option<f64>| s.map(|s| format!("{s:.3}")).unwrap_or_default();
        let bytes = |bytes: Option<u64>| bytes.map(|n| n.to_string()).unwrap_or_default();
        for Line { name, outcome, .. } in &self.acts {
            let word = match outcome {
                Outcome::Price(_) => "played",
                Outcome::NotSupported(_) => "not supported",
                Outcome::LeftOut(_) => "left out",
            };
            let mut cells = vec![name.clone(), word.to_owned()];
            match outcome {
                Outcome::Price(price) => cells.extend([
                    seconds(Some(price.from_s)),
                    seconds(price.lasted_s),
                    format!("{:.3}", price.before_p99_ms),
                    format!("{:.3}", price.peak_p99_ms),
                    format!("{:.3}", price.max_ms),
                    seconds(price.back_s),
                    seconds(price.user_seconds),
                    price.failed.to_string(),
                    bytes(price.memory_before),
                    bytes(price.memory_peak),
                    price.events.join("; "),
                ]),
                Outcome::NotSupported(why) | Outcome::LeftOut(why) => {
                    cells.resize(COLUMNS.len() - 1, String::new());
                    cells.push(why.clone());
                }
            }
            table.write(cells.into_iter().map(report::escape));
        }
        table.text()
    }
}

impl Document for PriceList {
    fn runs(&self) -> &Runs {
        &self.run
    }
}
