//! Effect of a cache's size on hits, latency, and the misses that a database behind it would get.

use report::{RecordError, Run, Summary};
use serde::{Deserialize, Serialize};

use crate::document::Document;
use crate::figures::Figures;
use crate::runs::Runs;

use super::{Settling, Steadiness};

/// The name of the document's layout.
const SCHEMA: &str = "keystorm.memory/1";

/// A workload at several limits of memory. Reads and writes as the document `keystorm.memory/1`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MemoryCurve {
    schema: String,
    /// Set if every limit has been measured.
    pub complete: bool,
    /// The server, by product and version.
    pub server: String,
    /// Eviction policy of the server.
    pub policy: String,
    /// The limits, in the order of the command line.
    pub points: Vec<MemoryPoint>,
    /// Every run, as `keystorm.run/1`.
    pub(crate) run: Runs,
}

/// A limit of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryPoint {
    /// The limit, as on the command line.
    pub limit: String,
    /// Limit in bytes, as the server reports it.
    pub limit_bytes: u64,
    /// Share of hits among lookups, 0 to 1; `None` without lookups.
    pub hit_ratio: Option<f64>,
    /// Steadiness of the hit ratio; `None` if unknown, as for a load that changes nothing.
    pub settled: Option<Steadiness>,
    /// Requested rate; `None` for full speed.
    pub rate_per_s: Option<f64>,
    /// Misses per second at that rate.
    pub misses_per_s: f64,
    /// Number of evicted keys, if the server reports it.
    pub evicted_keys: Option<u64>,
    /// The figures of the run.
    pub figures: Figures,
    /// Number of the point's test among the tests of `run`.
    pub test: usize,
}

impl MemoryCurve {
    /// A curve without points.
    pub fn new(server: String, policy: String) -> Self {
        let schema = SCHEMA.to_owned();
        Self { schema, complete: false, server, policy, points: Vec::new(), run: Runs::default() }
    }

    /// Adds the run at a limit, after its rounds.
    ///
    /// # Errors
    /// Returns an error if a count is too large to be written.
    pub fn add(
        &mut self,
        limit: &str,
        limit_bytes: u64,
        settling: &Settling,
        run: &Run,
    ) -> Result<(), RecordError> {
        let summary = Summary::from_run(run);
        let rate = run.plan.load.pace.schedule().and_then(|schedule| schedule.rate_per_s());
        let report::Lookups { hits, misses } = summary.lookups;
        let looked_up = (hits as f64) + (misses as f64);
        let ratio = summary.hit_ratio().map(|hundredths| hundredths / 100.0);
        let evicted = run.watched.servers.iter().map(|server| server.evicted_keys);
        self.points.push(MemoryPoint {
            limit: limit.to_owned(),
            limit_bytes,
            settled: settling.with(summary.lookups),
            rate_per_s: rate.map(|rate| run.plan.own_rate_per_s(rate)),
            hit_ratio: ratio.or((looked_up > 0.0).then_some(1.0)),
            misses_per_s: if summary.elapsed_s > 0.0 {
                misses as f64 / summary.elapsed_s
            } else {
                0.0
            },
            evicted_keys: evicted.sum(),
            figures: Figures::from_run(run),
            test: self.run.put(run)?,
        });
        Ok(())
    }
}

impl Document for MemoryCurve {
    fn runs(&self) -> &Runs {
        &self.run
    }
}
