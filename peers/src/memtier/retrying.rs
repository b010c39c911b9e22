//! `--retry-on-error` and its options as a load has them: requests that are sent again.

use spec::Times;
use spec::values::Positive;
use workload::Backoff;

use super::options::Options;

/// No wait is longer, as there.
const LONGEST_NS: u64 = 60_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// Requests that are sent again.
pub(super) fn of_load(options: &Options) -> spec::RetryOptions {
    if !options.retries() {
        return spec::RetryOptions::default();
    }
    let factor = Some(options.retry_backoff_factor).filter(|factor| *factor > 0.0).unwrap_or(1.0);
    let first_ns = u64::from(options.retry_backoff_ms) * NS_PER_MS;
    spec::RetryOptions {
        retry: Some(Times(options.max_retries)),
        retry_wait: Some(Backoff { first_ns, factor, longest_ns: LONGEST_NS }),
        retry_jitter: None,
        retry_queue: Some(Positive(match options.max_retry_queue {
            0 => options.pipeline.saturating_mul(4).max(64),
            most => most,
        })),
        retry_on: Some(options.retry_on.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memtier::fault::Fault;
    use crate::memtier::words::TypedOption;

    fn parsed(options: &[(&'static str, &str)]) -> Result<Options, Fault> {
        let typed = |(name, text): &(&'static str, &str)| TypedOption {
            name,
            value: Some((*text).to_owned()),
        };
        Options::read(&options.iter().map(typed).collect::<Vec<_>>())
    }

    #[test]
    fn nothing_is_retried_unless_that_is_asked_for() {
        for options in
            [&[("max-retries", "3")][..], &[("retry-on-error", ""), ("max-retries", "0")]]
        {
            assert!(!parsed(options).unwrap().retries(), "{options:?}");
            assert!(of_load(&parsed(options).unwrap()).retry.is_none(), "{options:?}");
        }
        let retry = |options: &[_], pipeline| {
            let options = Options { pipeline, ..parsed(options).unwrap() };
            of_load(&options).plan(1).unwrap()
        };
        let all = retry(&[("retry-on-error", "")], 1);
        assert_eq!((all.most, all.backoff.delay_ns(9), all.waiting_max), (None, 0, 64));
        let all = [
            ("retry-on-error", ""),
            ("max-retries", "3"),
            ("retry-backoff-ms", "10"),
            ("retry-backoff-factor", "2"),
            ("retry-on", " LOADING,,BUSY "),
        ];
        let some = retry(&all, 100);
        assert_eq!((some.most, some.waiting_max), (Some(3), 400));
        assert_eq!((some.backoff.delay_ns(2), some.backoff.delay_ns(99)), (40_000_000, LONGEST_NS));
        assert_eq!(some.on, ["LOADING", "BUSY"]);
    }

    #[test]
    fn numbers_are_checked() {
        assert_eq!(parsed(&[("max-retries", "-1")]).unwrap().max_retries, None);
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
