//! `--retry` and what goes with it: which requests are sent again.

use std::time::Duration;

use clap::Args;
use workload::{Backoff, Retry};

use super::values::milliseconds;

/// The wait before the first retry where none is given, and the longest of all.
const WAIT: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Args)]
pub(super) struct Retrying {
    /// Send a request again if it meets an error reply, or if its connection is lost and reopened, up
    /// to N times or `forever`. It counts once, with its last result, and its latency includes the waits
    #[arg(long, value_name = "N", value_parser = times)]
    retry: Option<Times>,
    /// Wait before the first retry of a request; without a unit, milliseconds. Each further wait is
    /// twice as long, up to 1 s [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = milliseconds, requires = "retry")]
    retry_wait: Option<Duration>,
    /// Errors to retry, by what they begin with, such as LOADING,BUSY [default: all but those that
    /// cannot pass, such as WRONGTYPE]
    #[arg(long, value_name = "LIST", requires = "retry")]
    retry_on: Option<String>,
}

/// How often; without end for `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times(Option<u32>);

fn times(text: &str) -> Result<Times, String> {
    if text == "forever" {
        return Ok(Times(None));
    }
    let most = text.parse().map_err(|_| "expected a whole number, or forever".to_owned())?;
    Ok(Times(Some(most)))
}

impl Retrying {
    /// What that means for connections with pipelines of this depth.
    pub(super) fn plan(&self, pipeline: u32) -> Option<Retry> {
        let Times(most) = self.retry.filter(|Times(most)| *most != Some(0))?;
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let first = self.retry_wait.unwrap_or(WAIT);
        let on = self.retry_on.as_deref().unwrap_or_default().split(',').map(str::trim);
        Some(Retry {
            most,
            backoff: Backoff {
                first_ns: ns(first),
                factor: 2.0,
                longest_ns: ns(LONGEST.max(first)),
            },
            jitter: 0.0,
            on: on.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            // A request that waits keeps its place in the pipeline.
            waiting_max: pipeline,
        })
    }
}
