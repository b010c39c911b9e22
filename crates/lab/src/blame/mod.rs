//! Which kind of a mix makes the others wait: each is thinned or left out in short segments, and the effect on the rest
//! is estimated.
//!
//! [`design`] says which segments are run, [`effects`] what they say together. Here is the document that keeps both
//! with every run. Carrying the segments out is left to the binary.

pub mod design;
pub mod effects;

use report::{Cause, CpuFigures, Disturbance, RecordError, Run, Summary};
use serde::{Deserialize, Serialize};
use workload::Plan;

pub use design::{Segment, Treatment};
pub use effects::{Cost, Culprit, Effects, Figure, Level, Outcome, Wait};

use crate::csv::Csv;
use crate::document::Document;
use crate::runs::Runs;

/// The name of the document's layout.
const SCHEMA: &str = "keystorm.blame/1";
/// A percentile of fewer replies in a segment is none.
pub const REPLIES_MIN: u64 = 100;

/// The experiment, as far as it has come. Reads and writes as the document `keystorm.blame/1`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Blame {
    schema: String,
    /// Whether every segment was run.
    complete: bool,
    /// The test's title.
    pub test: String,
    /// The server, by product and version.
    pub server: String,
    /// Each kind of the mix.
    pub kinds: Vec<Kind>,
    /// The loads, as shares of the capacity: 0.5 for half of it.
    pub loads: Vec<f64>,
    /// What the segments say together.
    pub effects: Effects,
    /// Every segment, in the order in which they were run.
    pub segments: Vec<SegmentResult>,
    run: Runs,
}

/// A kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// Its name in the mix, safe for a terminal.
    pub name: String,
    /// Its share of the mix, 0 to 1.
    pub share: f64,
}

/// A segment, and what was measured in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SegmentResult {
    /// Which it is.
    #[serde(flatten)]
    pub segment: Segment,
    /// Requests of all kinds per second that the mix would have had whole; `None` for a closed loop.
    pub rate_per_s: Option<f64>,
    /// Requests of all kinds per second that were answered.
    pub answered_per_s: f64,
    /// The 99th percentile of response times of each kind, in milliseconds; `None` of one that was left out, or had
    /// too few replies.
    pub p99_ms: Vec<Option<f64>>,
    /// How many cores the server used, where that is known.
    pub server_cores: Option<f64>,
    /// What set the limit of a closed loop.
    pub limited_by: Option<report::LimitedBy>,
    /// Why it is left out: what the machine or the client did just then.
    pub void: Option<Cause>,
}

impl SegmentResult {
    /// Reads it off a run. `kinds` is how many the whole mix has.
    #[must_use]
    pub fn from_run(segment: Segment, rate_per_s: Option<f64>, kinds: usize, run: &Run) -> Self {
        let summary = Summary::from_run(run);
        let sent = |kind: &usize| segment.treatment.share_of(*kind) > 0.0;
        let mut p99_ms = vec![None; kinds];
        for (kind, of) in (0..kinds).filter(sent).zip(&summary.operations) {
            let p99 = of.tally.response().quantile_ns(0.99);
            let p99 = p99.filter(|ns| *ns > 0 && of.count >= REPLIES_MIN);
            p99_ms[kind] = p99.map(|ns| ns as f64 / 1e6);
        }
        let cause = Disturbance::from_run(run).map(|found| found.cause);
        Self {
            segment,
            rate_per_s,
            answered_per_s: summary.counted_rps(),
            p99_ms,
            server_cores: CpuFigures::from_summary(&summary).server_cores,
            limited_by: rate_per_s.is_none().then_some(run.verdict.limited_by),
            void: cause.filter(|cause| cause.is_passing()),
        }
    }

    /// Whether it counts.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.void.is_none()
    }
}

impl Blame {
    /// An experiment without segments, on the mix of a plan.
    #[must_use]
    pub fn new(plan: &Plan, loads: Vec<f64>, server: String) -> Self {
        let kinds = plan.mix.as_ref().map_or_else(Vec::new, |mix| {
            let named = mix.operations.iter().zip(design::shares(mix));
            named.map(|(of, share)| Kind { name: report::escape(&of.name), share }).collect()
        });
        Self {
            schema: SCHEMA.to_owned(),
            complete: false,
            test: plan.name.clone(),
            server,
            kinds,
            loads,
            effects: Effects::default(),
            segments: Vec::new(),
            run: Runs::default(),
        }
    }

    /// Adds the run of a segment, and says whether it counts.
    ///
    /// # Errors
    /// A count is too large to be written.
    pub fn add(
        &mut self,
        segment: Segment,
        rate_per_s: Option<f64>,
        counts_void: bool,
        run: &Run,
    ) -> Result<bool, RecordError> {
        self.run.put(run)?;
        let mut measured = SegmentResult::from_run(segment, rate_per_s, self.kinds.len(), run);
        if counts_void {
            measured.void = None;
        }
        let is_valid = measured.is_valid();
        self.segments.push(measured);
        Ok(is_valid)
    }

    /// Estimates what the segments so far say together.
    pub fn settle(&mut self) {
        self.effects = Effects::estimate(&self.kinds, &self.loads, &self.segments);
    }

    /// Notes that no segment is left to run.
    pub fn set_complete(&mut self) {
        self.run.set_complete();
        self.complete = true;
    }

    /// Whether every segment was run.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// What it comes to.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.effects.outcome
    }

    /// CSV: a line for each load, kind that waits and kind that makes it wait.
    #[must_use]
    pub fn to_csv(&self) -> String {
        const COLUMNS: [&str; 11] = [
            "load",
            "rate_per_s",
            "waits",
            "p99_ms",
            "because_of",
            "per_s",
            "cost_ms",
            "cost_low_ms",
            "cost_high_ms",
            "p99_without_ms",
            "blamed",
        ];
        let mut table = Csv::of(&COLUMNS);
        let ms = |ms: Option<f64>| ms.map_or(String::new(), |ms| format!("{ms:.4}"));
        for level in &self.effects.levels {
            for (at, wait) in level.waits.iter().enumerate() {
                for (by, cost) in wait.costs.iter().enumerate() {
                    let figure = cost.as_ref().map(|cost| cost.p99_ms);
                    let blamed = self.effects.is_blamed(level.load, at, by);
                    table.write([
                        format!("{:.2}", level.load),
                        format!("{:.1}", level.rate_per_s),
                        self.kinds[at].name.clone(),
                        ms(wait.p99_ms),
                        self.kinds[by].name.clone(),
                        self.effects.unit_per_s.to_string(),
                        ms(figure.map(|figure| figure.value)),
                        ms(figure.map(|figure| figure.low)),
                        ms(figure.map(|figure| figure.high)),
                        ms(cost.as_ref().and_then(|cost| cost.p99_without_ms)),
                        blamed.to_string(),
                    ]);
                }
            }
        }
        table.text()
    }
}

impl Document for Blame {
    fn runs(&self) -> &Runs {
        &self.run
    }
}
