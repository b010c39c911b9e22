//! Execution times of commands by the server's own count: the histograms of `LATENCY HISTOGRAM` (Redis 7,
//! Valkey), which begin at its start, and so are read before and after the load.
//!
//! Owns the difference of two of them. Their buckets are powers of two of microseconds, so percentiles are
//! only bounded from above.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::resp::Value;

use crate::{Client, Transport};

/// Use of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandUse {
    /// Name in lower case, with its subcommand after `|`.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// The server's time for executing it, in microseconds.
    pub usec: u64,
}

/// Execution time of a command in a server, by the server's own count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandRunTime {
    /// Name in lower case, with its subcommand after `|`.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Mean run time, in microseconds.
    pub mean_us: f64,
    /// Upper bound in microseconds for half of the calls; `None` without histograms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_at_most_us: Option<u64>,
    /// Upper bound in microseconds for 99 of 100 calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_at_most_us: Option<u64>,
    /// Upper bound in microseconds for all calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_at_most_us: Option<u64>,
}

/// For each command, the calls since the server's start by upper bound in microseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RunTimes(BTreeMap<String, BTreeMap<u64, u64>>);

impl RunTimes {
    /// Reads the server's histograms; empty if it has none, or refuses.
    pub(super) fn read(client: &mut Client<Transport>) -> Self {
        let reply = client.ask(&[b"LATENCY", b"HISTOGRAM"]).ok();
        Self(reply.as_ref().map(of_reply).unwrap_or_default())
    }

    /// Computes the run time of each of these commands between two looks.
    pub(super) fn between(before: &Self, after: &Self, used: &[CommandUse]) -> Vec<CommandRunTime> {
        let each = used.iter().filter(|used| used.calls > 0).map(|used| {
            let (old, new) = (before.0.get(&used.name), after.0.get(&used.name));
            let grown = new.map(|new| grown(old, new)).unwrap_or_default();
            CommandRunTime {
                name: used.name.clone(),
                calls: used.calls,
                mean_us: used.usec as f64 / used.calls as f64,
                p50_at_most_us: at_most(&grown, 0.5),
                p99_at_most_us: at_most(&grown, 0.99),
                max_at_most_us: at_most(&grown, 1.0),
            }
        });
        each.collect()
    }
}

/// Counts the additional calls by upper bound in microseconds. The server only lists bounds that add calls to
/// the previous one.
fn grown(old: Option<&BTreeMap<u64, u64>>, new: &BTreeMap<u64, u64>) -> Vec<(u64, u64)> {
    let below = |bound: u64| {
        old.and_then(|old| old.range(..=bound).next_back()).map_or(0, |(_, calls)| *calls)
    };
    new.iter().map(|(bound, calls)| (*bound, calls.saturating_sub(below(*bound)))).collect()
}

/// The least bound that includes this share of the calls; `None` without calls.
fn at_most(grown: &[(u64, u64)], share: f64) -> Option<u64> {
    let all = grown.last().map(|(_, calls)| *calls).filter(|calls| *calls > 0)?;
    let wanted = (share * all as f64).ceil() as u64;
    grown.iter().find(|(_, calls)| *calls >= wanted).map(|(bound, _)| *bound)
}

/// Parses the reply, in RESP2's or RESP3's form: names, each with `calls` and `histogram_usec`.
fn of_reply(reply: &Value) -> BTreeMap<String, BTreeMap<u64, u64>> {
    let times = reply.pairs().unwrap_or_default().into_iter().filter_map(|(name, fields)| {
        let is_it = |(name, _): &(&Value, &Value)| name.text().as_deref() == Some("histogram_usec");
        let (_, histogram) = fields.pairs()?.into_iter().find(is_it)?;
        let pairs = histogram.pairs().unwrap_or_default().into_iter();
        let buckets = pairs.filter_map(|(bound, calls)| match (bound, calls) {
            (Value::Integer(bound), Value::Integer(calls)) => {
                Some((u64::try_from(*bound).ok()?, u64::try_from(*calls).ok()?))
            }
            _ => None,
        });
        Some((name.text()?.to_lowercase(), buckets.collect()))
    });
    times.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(name: &str, buckets: &[(i64, i64)]) -> Value {
        let bulk = |text: &str| Value::Bulk(text.into());
        let numbers = buckets.iter().flat_map(|(bound, calls)| [*bound, *calls]);
        let numbers = Value::Array(numbers.map(Value::Integer).collect());
        let fields = vec![bulk("calls"), Value::Integer(0), bulk("histogram_usec"), numbers];
        Value::Array(vec![bulk(name), Value::Array(fields)])
    }

    #[test]
    fn what_ran_between_two_looks_is_told_from_what_ran_before() {
        let before = RunTimes(of_reply(&reply("get", &[(1, 10), (33, 20)])));
        let after = RunTimes(of_reply(&reply("get", &[(1, 70), (2, 119), (33, 129), (66, 130)])));
        let used = [CommandUse { name: "get".to_owned(), calls: 110, usec: 220 }];
        let [times] = &RunTimes::between(&before, &after, &used)[..] else { panic!() };
        assert_eq!((times.calls, times.mean_us), (110, 2.0));
        let bounds = [times.p50_at_most_us, times.p99_at_most_us, times.max_at_most_us];
        assert_eq!(bounds, [Some(1), Some(2), Some(66)]);
    }

    #[test]
    fn without_histograms_the_mean_is_left() {
        let used = [
            CommandUse { name: "get".to_owned(), calls: 4, usec: 6 },
            CommandUse { name: "set".to_owned(), calls: 0, usec: 0 },
        ];
        let none = RunTimes::default();
        let [times] = &RunTimes::between(&none, &none, &used)[..] else { panic!() };
        assert_eq!((times.mean_us, times.p99_at_most_us), (1.5, None));
        assert!(of_reply(&Value::Error(b"ERR unknown subcommand".into())).is_empty());
    }
}
