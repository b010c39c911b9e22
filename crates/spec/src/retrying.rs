//! `--retry` and its options: requests that are sent again.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};
use workload::{Backoff, Retry};

use crate::text::as_text;
use crate::values::{Positive, written};

/// Default of --retry-wait.
const WAIT: Backoff = Backoff { first_ns: 10_000_000, factor: 2.0, longest_ns: 1_000_000_000 };

/// The options of retries.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RetryOptions {
    /// Send a request again, up to N times or forever, after an error reply or when its lost connection
    /// is open again
    #[arg(long, value_name = "N")]
    pub retry: Option<Times>,
    /// Wait before a retry: the first wait, how many times as long each further one is, and the longest
    /// [default: 10ms,2,1s]
    #[arg(long, value_name = "WAIT", requires = "retry")]
    #[serde(with = "crate::text")]
    pub retry_wait: Option<Backoff>,
    /// Vary each wait by up to this share, such as 0.2 [default: 0]
    #[arg(long, value_name = "SHARE", requires = "retry")]
    pub retry_jitter: Option<Jitter>,
    /// Requests of a connection that may wait for a retry; at this number, the connection gets no others
    /// [default: as many as -P]
    #[arg(long, value_name = "N", requires = "retry")]
    pub retry_queue: Option<Positive>,
    /// Errors to retry, by what they begin with, such as LOADING,BUSY [default: all but those that
    /// cannot pass, such as WRONGTYPE]
    #[arg(long, value_name = "LIST", requires = "retry")]
    pub retry_on: Option<String>,
}

/// Number of retries; any number for `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times(
    /// The number.
    pub Option<u32>,
);

impl FromStr for Times {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "forever" {
            return Ok(Self(None));
        }
        let most = text.parse().map_err(|_| "expected a whole number, or forever".to_owned())?;
        Ok(Self(Some(most)))
    }
}

/// A share of a wait, below all of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter(
    /// The share.
    pub f64,
);

impl FromStr for Jitter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
        share.map(Self).ok_or_else(|| "expected a number from 0 to below 1, such as 0.2".to_owned())
    }
}

written! {
    Times Self(most) => most.map_or("forever".to_owned(), |most| most.to_string());
    Jitter Self(share) => share.to_string();
}

impl RetryOptions {
    /// The retries of connections with pipelines of this depth; `None` for no retries.
    pub fn plan(&self, pipeline: u32) -> Option<Retry> {
        let Times(most) = self.retry.filter(|Times(most)| *most != Some(0))?;
        let on = self.retry_on.as_deref().unwrap_or_default().split(',').map(str::trim);
        Some(Retry {
            most,
            backoff: self.retry_wait.unwrap_or(WAIT),
            jitter: self.retry_jitter.map_or(0.0, |Jitter(share)| share),
            on: on.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            // A request that waits keeps its place in the pipeline.
            waiting_max: self.retry_queue.map_or(pipeline, |Positive(most)| most),
        })
    }
}
