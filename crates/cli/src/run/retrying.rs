//! `--retry` and what goes with it: which requests are sent again.

use clap::Args;
use workload::{Backoff, Retry};

use super::values::count_in;

/// Default of --retry-wait.
const WAIT: Backoff = Backoff { first_ns: 10_000_000, factor: 2.0, longest_ns: 1_000_000_000 };

/// The options of retries.
#[derive(Debug, Args)]
pub(super) struct RetryOptions {
    /// Send a request again, up to N times or forever, after an error reply or when its lost connection
    /// is open again
    #[arg(long, value_name = "N", value_parser = times)]
    retry: Option<Times>,
    /// Wait before a retry: the first wait, how many times as long each further one is, and the longest
    /// [default: 10ms,2,1s]
    #[arg(long, value_name = "WAIT", requires = "retry")]
    retry_wait: Option<Backoff>,
    /// Vary each wait by up to this share, such as 0.2 [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "retry")]
    retry_jitter: Option<f64>,
    /// Requests of a connection that may wait for their retry; with so many, it is given no others
    /// [default: as many as -P]
    #[arg(long, value_name = "N", value_parser = count_in(1..=u32::MAX), requires = "retry")]
    retry_queue: Option<u32>,
    /// Errors to retry, by what they begin with, such as LOADING,BUSY [default: all but those that
    /// cannot pass, such as WRONGTYPE]
    #[arg(long, value_name = "LIST", requires = "retry")]
    retry_on: Option<String>,
}

/// How many retries; any number for `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times(Option<u32>);

fn times(text: &str) -> Result<Times, String> {
    if text == "forever" {
        return Ok(Times(None));
    }
    let most = text.parse().map_err(|_| "expected a whole number, or forever".to_owned())?;
    Ok(Times(Some(most)))
}

/// A share of something, below all of it.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to below 1, such as 0.2".to_owned())
}

impl RetryOptions {
    /// The retries of connections with pipelines of this depth; `None` for no retries.
    pub(super) fn plan(&self, pipeline: u32) -> Option<Retry> {
        let Times(most) = self.retry.filter(|Times(most)| *most != Some(0))?;
        let on = self.retry_on.as_deref().unwrap_or_default().split(',').map(str::trim);
        Some(Retry {
            most,
            backoff: self.retry_wait.unwrap_or(WAIT),
            jitter: self.retry_jitter.unwrap_or(0.0),
            on: on.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            // A request that waits keeps its place in the pipeline.
            waiting_max: self.retry_queue.unwrap_or(pipeline),
        })
    }
}
