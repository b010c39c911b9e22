//! `--retry-on-error` and its options: requests that are sent again, and the list of those that fail for good.

use spec::Times;
use spec::values::Positive;
use workload::Backoff;

use super::fault::{Fault, usage_error};
use super::values::{finite, small};
use crate::memtier::layout::{Entry, Json};

/// No wait is longer, as there.
const LONGEST_NS: u64 = 60_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// The retry options; each field has the name of its option.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RetryOptions {
    pub(super) on_error: bool,
    /// Unlimited by default.
    max_retries: Option<u32>,
    backoff_ms: u32,
    /// 0 for always the same.
    backoff_factor: f64,
    retry_on: String,
    /// 0 for the size that the pipeline needs.
    max_queue: u32,
    pub(super) failed_keys: Option<String>,
}

impl RetryOptions {
    pub(super) fn take(&mut self, name: &str, text: &str) -> Result<(), Fault> {
        match name {
            "retry-on-error" => self.on_error = true,
            "max-retries" if text == "-1" => self.max_retries = None,
            "max-retries" => {
                let most = small(name, text, 0).map_err(|_| {
                    usage_error(
                        "max-retries must be -1 (unlimited), 0 (disabled) or a positive number.",
                    )
                })?;
                self.max_retries = Some(most);
            }
            "retry-backoff-ms" => self.backoff_ms = small(name, text, 0)?,
            "retry-backoff-factor" => {
                let factor = finite(text).filter(|factor| *factor >= 0.0);
                self.backoff_factor = factor.ok_or_else(|| {
                    usage_error(format!("{name} must be greater than or equal to zero."))
                })?;
            }
            "retry-on" => self.retry_on = text.to_owned(),
            "max-retry-queue" => self.max_queue = small(name, text, 0)?,
            _ => self.failed_keys = Some(text.to_owned()).filter(|path| !path.is_empty()),
        }
        Ok(())
    }

    /// Returns whether anything is sent again.
    pub(super) fn is_on(&self) -> bool {
        self.on_error && self.max_retries != Some(0)
    }

    /// Returns the same for a load whose connections have pipelines of this depth.
    pub(super) fn of_load(&self, pipeline: u32) -> spec::RetryOptions {
        if !self.is_on() {
            return spec::RetryOptions::default();
        }
        let factor = if self.backoff_factor > 0.0 { self.backoff_factor } else { 1.0 };
        let first_ns = u64::from(self.backoff_ms) * NS_PER_MS;
        spec::RetryOptions {
            retry: Some(Times(self.max_retries)),
            retry_wait: Some(Backoff { first_ns, factor, longest_ns: LONGEST_NS }),
            retry_jitter: None,
            retry_queue: Some(Positive(match self.max_queue {
                0 => pipeline.saturating_mul(4).max(64),
                most => most,
            })),
            retry_on: Some(self.retry_on.clone()),
        }
    }

    /// Entries of the JSON file and of `--show-config`.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let most = self.max_retries.map_or("-1".to_owned(), |most| most.to_string());
        let entries = [
            ("retry_on_error", Json::text(if self.on_error { "true" } else { "false" })),
            ("max_retries", Json::Number(most)),
            ("retry_backoff_ms", Json::whole(self.backoff_ms.into())),
            ("retry_backoff_factor", Json::Number(format!("{:.6}", self.backoff_factor))),
            ("retry_on", Json::text(self.retry_on.clone())),
            ("max_retry_queue", Json::whole(self.max_queue.into())),
            ("failed_keys_file", Json::text(self.failed_keys.clone().unwrap_or_default())),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(options: &[(&str, &str)]) -> Result<RetryOptions, Fault> {
        let mut retrying = RetryOptions::default();
        options.iter().try_for_each(|(name, text)| retrying.take(name, text))?;
        Ok(retrying)
    }

    #[test]
    fn nothing_is_retried_unless_that_is_asked_for() {
        for options in
            [&[("max-retries", "3")][..], &[("retry-on-error", ""), ("max-retries", "0")]]
        {
            assert!(!parsed(options).unwrap().is_on(), "{options:?}");
            assert!(parsed(options).unwrap().of_load(1).retry.is_none(), "{options:?}");
        }
        let retry = |retrying: RetryOptions, pipeline| retrying.of_load(pipeline).plan(1).unwrap();
        let all = retry(parsed(&[("retry-on-error", "")]).unwrap(), 1);
        assert_eq!((all.most, all.backoff.delay_ns(9), all.waiting_max), (None, 0, 64));
        let all = [
            ("retry-on-error", ""),
            ("max-retries", "3"),
            ("retry-backoff-ms", "10"),
            ("retry-backoff-factor", "2"),
            ("retry-on", " LOADING,,BUSY "),
        ];
        let some = retry(parsed(&all).unwrap(), 100);
        assert_eq!((some.most, some.waiting_max), (Some(3), 400));
        assert_eq!((some.backoff.delay_ns(2), some.backoff.delay_ns(99)), (40_000_000, LONGEST_NS));
        assert_eq!(some.on, ["LOADING", "BUSY"]);
    }

    #[test]
    fn numbers_are_checked() {
        assert_eq!(parsed(&[("max-retries", "-1")]).unwrap(), RetryOptions::default());
        for (name, text) in [
            ("max-retries", "-5"),
            ("max-retries", "x"),
            ("retry-backoff-ms", "-1"),
            ("retry-backoff-factor", "-1"),
            ("retry-backoff-factor", "nan"),
        ] {
            let Err(Fault::Usage(why)) = parsed(&[(name, text)]) else { panic!("{name} {text}") };
            assert!(why.contains(name), "{why}");
        }
    }
}
