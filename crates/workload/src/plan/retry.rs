//! Rules for reopening lost connections and retrying failed requests.

use std::fmt;
use std::str::FromStr;

use naming::{RETRY, text};
use serde::{Deserialize, Serialize};

use super::check::refuse;
use super::{Mix, MixStep, Operation, Pick, PlanError, PlanParts, StepCondition, limits};
use crate::quantity::{self, DefaultUnit};

/// Wait before each try after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    /// Nanoseconds before the first try.
    pub first_ns: u64,
    /// Factor by which the wait grows with each try.
    pub factor: f64,
    /// Longest wait in nanoseconds.
    pub longest_ns: u64,
}

impl Backoff {
    /// Returns the wait after this many failed tries.
    pub fn delay_ns(self, failed: u32) -> u64 {
        let factor = self.factor.powi(failed.min(1 << 20) as i32);
        // More than any number, and none at all, are the longest.
        ((self.first_ns as f64 * factor) as u64).min(self.longest_ns)
    }

    fn is_possible(self) -> bool {
        self.factor.is_finite() && self.factor > 0.0 && self.longest_ns <= limits::DURATION_NS_MAX
    }
}

/// Default factor.
const FACTOR: f64 = 2.0;
const LONGEST_NS: u64 = 1_000_000_000;

/// Parses `FIRST[,FACTOR[,LONGEST]]`: times, in milliseconds by default, and the factor between consecutive
/// waits.
impl FromStr for Backoff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let time = |default: u64, part: Option<&str>| match part {
            None => Ok(default),
            Some(part) => quantity::time_ns(part, DefaultUnit::Milliseconds),
        };
        let first_ns = time(0, parts.next())?;
        let fault = || format!("{text:?}: expected FIRST[,FACTOR[,LONGEST]], such as 10ms,2,1s");
        let factor = parts.next().map_or(Some(FACTOR), |factor| factor.parse().ok());
        let factor = factor.filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
        let factor = factor.ok_or_else(fault)?;
        let longest_ns = time(LONGEST_NS.max(first_ns), parts.next())?;
        match parts.next() {
            None => Ok(Self { first_ns, factor, longest_ns }),
            Some(_) => Err(fault()),
        }
    }
}

/// Writes the shortest form.
impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first_ns, factor, longest_ns } = *self;
        f.write_str(&quantity::shown(first_ns))?;
        let is_longest = longest_ns == LONGEST_NS.max(first_ns);
        if factor != FACTOR || !is_longest {
            write!(f, ",{factor}")?;
        }
        if is_longest { Ok(()) } else { write!(f, ",{}", quantity::shown(longest_ns)) }
    }
}

/// Limits of reopening a lost connection; `None` means the runner's default.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconnectLimits {
    /// Nanoseconds that a try may take, including login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ns: Option<u64>,
    /// Consecutive tries that may fail; one more ends the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
}

/// Rule for retrying a failed request: after a temporary error reply, and after the loss of its connection
/// once that is reopened. It counts once, with its last result, and from its first due time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// Maximum number of retries; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// Wait after a failure; 0 for none.
    pub backoff: Backoff,
    /// Share, below 1, by which each wait randomly varies; 0 for none.
    #[serde(default)]
    pub jitter: f64,
    /// Beginnings of the error replies that are retried; empty for all but permanent errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// Maximum number of waiting requests of a connection; with this many it gets no others.
    pub waiting_max: u32,
}

/// Permanent errors, which every retry of a request meets.
const LASTING: &[&str] = &[
    "WRONGTYPE",
    "NOAUTH",
    "NOPERM",
    "NOSCRIPT",
    "NOREPLICAS",
    "ERR wrong number of arguments",
    "ERR syntax error",
    "ERR unknown command",
    "ERR Unknown subcommand",
    "CLIENT_ERROR",
];

impl Retry {
    /// Returns whether a request answered with this error is retried: a named error, or without names any
    /// temporary one.
    pub fn applies_to(&self, error: &str) -> bool {
        let begins_with = |start: &str| {
            error.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
        };
        if self.on.is_empty() {
            !LASTING.iter().any(|start| begins_with(start))
        } else {
            self.on.iter().any(|start| begins_with(start))
        }
    }

    /// Returns whether a request with this many retries may have another.
    pub fn allows(&self, times: u32) -> bool {
        self.most.is_none_or(|most| times < most)
    }
}

impl PlanParts {
    /// Adds retries of failed requests. A single command becomes the only operation of a mix, since
    /// operations are what is retried.
    pub fn retrying(mut self, retry: Retry) -> Self {
        if let (None, [command]) = (&self.mix, &self.sequence[..]) {
            let steps = vec![MixStep { commands: 1, when: StepCondition::Always }];
            let operation = Operation { name: command.name(), weight: 1, steps, keys: None };
            self.mix = Some(Mix { operations: vec![operation], pick: Pick::Drawn });
        }
        self.recovery.retry = Some(retry);
        self
    }

    pub(super) fn check_retry(&self) -> Result<(), PlanError> {
        refuse(self.recovery.backoff.is_none_or(Backoff::is_possible), || {
            "the factor between two waits of a connection must be above 0, and a wait at most 366 days".to_owned()
        })?;
        let Some(retry) = &self.recovery.retry else { return Ok(()) };
        refuse(retry.backoff.is_possible() && (0.0..1.0).contains(&retry.jitter), || {
            "the factor between two waits of a request must be above 0, and a wait at most 366 days"
                .to_owned()
        })?;
        refuse(retry.waiting_max > 0, || {
            "at least one request must be able to wait for its retry".to_owned()
        })?;
        // What else was sent with it may have been carried out.
        let steps = self.mix.iter().flat_map(|mix| &mix.operations).flat_map(|o| &o.steps);
        let alone = self.mix.is_some() && steps.into_iter().all(|step| step.commands == 1);
        refuse(alone, || {
            text!("{RETRY}: commands that are sent together (;) cannot be retried one by one")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommandSpec;
    use crate::plan::tests::parts;

    fn retry() -> Retry {
        Retry {
            most: Some(2),
            backoff: Backoff { first_ns: 0, factor: 1.0, longest_ns: 0 },
            jitter: 0.0,
            on: Vec::new(),
            waiting_max: 64,
        }
    }

    #[test]
    fn waits_are_read_as_they_are_written() {
        for (text, first_ns, factor, longest_ns) in [
            ("10ms", 10_000_000, 2.0, 1_000_000_000),
            ("3s", 3_000_000_000, 2.0, 3_000_000_000),
            ("0s,1", 0, 1.0, 1_000_000_000),
            ("1s,1.5,60s", 1_000_000_000, 1.5, 60_000_000_000),
        ] {
            let backoff = Backoff { first_ns, factor, longest_ns };
            assert_eq!(text.parse(), Ok(backoff));
            assert_eq!(backoff.to_string(), text);
        }
        assert_eq!("5".parse::<Backoff>().unwrap().first_ns, 5_000_000);
        for bad in ["1s,x", "1s,0", "1s,-1", "1s,2,3s,4"] {
            assert!(bad.parse::<Backoff>().unwrap_err().to_string().contains("10ms,2,1s"), "{bad}");
        }
        assert!("x".parse::<Backoff>().unwrap_err().to_string().contains("500ms"));
    }

    #[test]
    fn errors_that_stay_are_not_retried_and_others_where_they_are_named() {
        let any = retry();
        assert!(any.applies_to("LOADING Redis is loading") && any.applies_to("ERR odd"));
        for stays in ["WRONGTYPE x", "wrongtype", "ERR unknown command 'x'", "NOREPLICAS"] {
            assert!(!any.applies_to(stays), "{stays}");
        }
        let some = Retry { on: vec!["loading".into(), "WRONGTYPE".into()], ..retry() };
        assert!(some.applies_to("LOADING"));
        assert!(some.applies_to("WRONGTYPE"), "who names it wants it");
        assert!(!some.applies_to("BUSY") && !some.applies_to("NOAUTH"));
        assert!(!some.applies_to("LOADIN") && !some.applies_to("\u{e9}"));
        assert_eq!([0, 1, 2].map(|times| any.allows(times)), [true, true, false]);
    }

    #[test]
    fn what_cannot_be_retried_is_refused() {
        let with = |commands: u32, retry: Retry| {
            let mut parts = parts();
            parts.sequence = vec![CommandSpec::from_words(["PING"]); commands as usize];
            let steps = vec![MixStep { commands, when: StepCondition::Always }];
            let ping = Operation { name: "PING".into(), weight: 1, steps, keys: None };
            parts.mix = Some(crate::Mix { operations: vec![ping], pick: Pick::InOrder });
            parts.recovery.retry = Some(retry);
            parts.build().map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(with(1, retry()), Ok(()));
        assert!(with(2, retry()).unwrap_err().to_string().contains("sent together"));
        assert!(
            with(1, Retry { waiting_max: 0, ..retry() })
                .unwrap_err()
                .to_string()
                .contains("at least one")
        );
        let shrinking = Backoff { factor: 0.0, ..retry().backoff };
        assert!(
            with(1, Retry { backoff: shrinking, ..retry() })
                .unwrap_err()
                .to_string()
                .contains("factor")
        );
        let mut whole = parts();
        whole.recovery.retry = Some(retry());
        assert!(whole.clone().build().unwrap_err().to_string().contains("sent together"));
        let plan = whole.retrying(retry()).build().unwrap();
        assert_eq!(plan.operation_names().collect::<Vec<_>>(), ["PING"]);
        assert!(!plan.counts_operations());
    }
}
