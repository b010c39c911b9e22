//! Parts of response times, in figures and in words.
//!
//! Percentiles of parts do not add up to that of the whole. So the parts of a percentile are shares of it:
//! their mean shares in responses of about equal length.

use measure::{CommandTally, Latency, SpanSums, Spans, Tally};
use serde::{Serialize, Serializer};
use workload::{DeliveryKind, Endpoint, Plan, TrackingMode};

/// Parts of the response times of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanFigures {
    /// Replies that the kernel stamped.
    pub stamped: u64,
    /// Parts of the mean and of some percentiles, as far as there are replies.
    pub parts: Vec<SpanParts>,
    /// Reason why there are no stamps, if there are none.
    pub missing: Option<&'static str>,
    /// Set for latencies of messages, until a receiver read them.
    pub of_messages: bool,
    /// Set if requests had due times of their own.
    scheduled: bool,
}

/// The parts of one response time, in nanoseconds, which add up to it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpanParts {
    /// The divided figure: `mean`, `p50`, `p99`, `p99.9` or `max`.
    pub of: &'static str,
    /// Time from due to read.
    #[serde(rename = "response", serialize_with = "ms")]
    pub response_ns: f64,
    /// Time from due to sent; 0 in a closed loop.
    #[serde(rename = "due_to_sent", serialize_with = "ms")]
    pub due_to_sent_ns: f64,
    /// Time from sent until the reply, or the message, was in this kernel: the network in both directions,
    /// and the server.
    #[serde(rename = "until_in_kernel", serialize_with = "ms")]
    pub until_in_kernel_ns: f64,
    /// Time from then until it was read.
    #[serde(rename = "until_read", serialize_with = "ms")]
    pub until_read_ns: f64,
}

/// Percentiles that are divided beside the mean.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

fn ms<S: Serializer>(ns: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(ns / 1e6)
}

impl SpanParts {
    /// Divides a response time in the proportions of these sums.
    fn new(of: &'static str, response_ns: f64, sums: &SpanSums) -> Self {
        let share = |ns: u64| ns as f64 / (sums.response_ns.max(1)) as f64;
        let due_to_sent_ns = response_ns * share(sums.due_to_sent_ns).min(1.0);
        let until_read_ns =
            (response_ns * share(sums.read_ns)).min(response_ns - due_to_sent_ns).max(0.0);
        let until_in_kernel_ns = response_ns - due_to_sent_ns - until_read_ns;
        Self { of, response_ns, due_to_sent_ns, until_in_kernel_ns, until_read_ns }
    }

    /// Share of it in which the reply waited in this kernel, 0 to 1.
    pub fn read_share(&self) -> f64 {
        if self.response_ns > 0.0 { self.until_read_ns / self.response_ns } else { 0.0 }
    }
}

impl SpanFigures {
    /// Makes the figures of a run of this plan; `None` if the kernel did not stamp.
    pub fn new(plan: &Plan, total: &Tally) -> Option<Self> {
        let spans: &Spans = total.spans.as_deref()?;
        let scheduled = plan.load.pace.schedule().is_some();
        let (stamped, unstamped) = (spans.read.count(), spans.unstamped);
        let missing = (stamped == 0).then(|| match plan.target.endpoint {
            Endpoint::Unix(_) => "a unix socket has none",
            _ if is_known_by_reading(plan) => "invalidations after which a key is read have none",
            _ if unstamped == 0 => "nothing was answered",
            _ => "this kernel gave none",
        });
        let all = spans.all();
        let mean_ns = all.response_ns as f64 / all.count.max(1) as f64;
        let mean = (stamped > 0).then(|| SpanParts::new("mean", mean_ns, &all));
        let response = response(total);
        let parts = QUANTILES.iter().filter_map(|(of, quantile)| {
            let ns = response.as_ref()?.quantile_ns(*quantile)?;
            Some(SpanParts::new(of, ns as f64, &spans.near(ns)?))
        });
        Some(Self {
            stamped,
            parts: mean.into_iter().chain(parts).collect(),
            missing,
            of_messages: plan.has_receivers(),
            scheduled,
        })
    }

    /// The parts of one figure, such as `p99`.
    pub fn parts_of(&self, of: &str) -> Option<&SpanParts> {
        self.parts.iter().find(|parts| parts.of == of)
    }

    /// Sentence on the 99th percentile, or on the reason for its absence.
    pub fn sentence(&self) -> String {
        match (self.missing, self.parts_of("p99")) {
            (None, Some(parts)) => self.describe(parts),
            (missing, _) => {
                format!("no kernel stamps: {}", missing.unwrap_or("nothing was answered"))
            }
        }
    }

    /// Returns the noun of the stamped units.
    pub fn stamped_noun(&self) -> &'static str {
        if self.of_messages { "messages" } else { "replies" }
    }

    /// Returns the name of the second span.
    pub fn until_in_kernel(&self) -> &'static str {
        if self.of_messages {
            "until it was in this kernel"
        } else {
            "until it was back in this kernel"
        }
    }

    /// Describes these parts: `response p99 1.31 ms: 0.04 due to sent, …`.
    pub fn describe(&self, parts: &SpanParts) -> String {
        // As many digits as tell it from nothing.
        let decimals = match parts.response_ns / 1e6 {
            ms if ms >= 99.95 => 0,
            ms if ms >= 9.995 => 1,
            ms if ms >= 0.9995 => 2,
            _ => 3,
        };
        let figure = |ns: f64| format!("{:.decimals$}", ns / 1e6);
        // The shown parts add up to the shown whole.
        let step_ns = 1e6 / 10f64.powi(decimals as i32);
        let rounded = |ns: f64| (ns / step_ns).round() * step_ns;
        let (sent, read) = (rounded(parts.due_to_sent_ns), rounded(parts.until_read_ns));
        let kernel = (rounded(parts.response_ns) - sent - read).max(0.0);
        let noun = match (self.of_messages, self.scheduled) {
            (true, _) => "delivery",
            (false, true) => "response",
            (false, false) => "latency",
        };
        let due =
            if self.scheduled { format!("{} due to sent, ", figure(sent)) } else { String::new() };
        format!(
            "{noun} {} {} ms: {due}{} {}, {} until keystorm read it",
            parts.of,
            figure(parts.response_ns),
            figure(kernel),
            self.until_in_kernel(),
            figure(read)
        )
    }
}

/// Returns whether receivers learn the identity of a message by a later read, which has another stamp.
fn is_known_by_reading(plan: &Plan) -> bool {
    let mode = plan.delivery.as_ref().and_then(|delivery| match delivery.kind {
        DeliveryKind::Invalidate { tracking } => Some(tracking.mode),
        _ => None,
    });
    mode.is_some_and(|mode| mode != TrackingMode::Bcast)
}

/// The response times of all commands.
fn response(total: &Tally) -> Option<Latency> {
    let mut commands = total.commands.iter().map(CommandTally::response);
    let mut all = commands.next()?.clone();
    commands.for_each(|latency| all.merge(latency));
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Summary, fixture};

    #[test]
    fn parts_are_shown_so_that_they_add_up() {
        let run = fixture::stamped();
        let figures = SpanFigures::new(&run.plan, &run.measurement.total).unwrap();
        let parts = |response_ns, sent: u64, read: u64| {
            let sums =
                SpanSums { count: 1, response_ns: 1000, due_to_sent_ns: sent, read_ns: read };
            SpanParts::new("p99", response_ns, &sums)
        };
        let texts = [parts(1.31e6, 30, 40), parts(54_000.0, 0, 500), parts(2.5e9, 998, 2)]
            .map(|parts| figures.describe(&parts));
        assert_eq!(
            texts,
            [
                "response p99 1.31 ms: 0.04 due to sent, 1.22 until it was back in this kernel, \
                 0.05 until keystorm read it",
                "response p99 0.054 ms: 0.000 due to sent, 0.027 until it was back in this kernel, \
                 0.027 until keystorm read it",
                "response p99 2500 ms: 2495 due to sent, 0 until it was back in this kernel, \
                 5 until keystorm read it",
            ]
        );
        let odd = parts(1000.0, 2000, 2000);
        assert_eq!((odd.due_to_sent_ns, odd.until_read_ns), (1000.0, 0.0), "of a damaged file");
    }

    #[test]
    fn why_there_are_none_is_told() {
        let mut run = fixture::stamped();
        assert_eq!(Summary::from_run(&run).spans.unwrap().missing, None);
        let spans = Spans::new(3);
        run.measurement.total.spans = Some(Box::new(spans));
        let sentence = |run: &crate::Run| Summary::from_run(run).spans.unwrap().sentence();
        assert_eq!(sentence(&run), "no kernel stamps: nothing was answered");
        let mut parts = fixture::parts();
        parts.target.endpoint = Endpoint::Unix("/tmp/s".into());
        run.plan = parts.build().unwrap();
        assert_eq!(sentence(&run), "no kernel stamps: a unix socket has none");
        run.measurement.total.spans = None;
        assert!(Summary::from_run(&run).spans.is_none());
    }
}
