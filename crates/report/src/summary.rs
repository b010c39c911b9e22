//! Every figure in reports, computed once.
//!
//! Owns the arithmetic and its edges: a run that measured nothing, or took no time, has figures of zero,
//! never an infinity. [`format`](crate::format) lays figures out, and [`distribution`](crate::distribution)
//! makes tables of latencies.

use measure::{ConnectionTally, Ending, ErrorCounts, Latency, NodeTally, Outage};
use workload::{Pace, Stop};

use crate::common_span::common_span;
use crate::metric::COLUMNS;
use crate::quantity::time;
use crate::{
    DeadlineFigures, DeliveryFigures, LatencyFigures, Lookups, OperationFigures, Run,
    ScheduleFigures, SpanFigures, TlsFigures, escape,
};
use crate::{connects, figures};

/// The figures of one run.
#[derive(Debug)]
pub struct Summary<'r> {
    /// The source of the figures.
    pub run: &'r Run,
    /// The plan's name, safe for a terminal.
    pub title: String,
    /// Requests answered, including error replies. Each command of an operation counts; see
    /// [`counted`](Self::counted).
    pub requests: u64,
    /// The operations of a mix; empty without one.
    pub operations: Vec<OperationFigures>,
    /// Error replies among the requests.
    pub errors: u64,
    /// Length of the measured part in seconds.
    pub elapsed_s: f64,
    /// Answered requests per second; 0 for a run that took no time.
    pub throughput_rps: f64,
    /// Span in which all clients of a merged run ran, if shorter than the run.
    pub together: Option<String>,
    /// Latency from due to reply; in a closed loop equal to `service`.
    pub response: LatencyFigures,
    /// Latency from sent to reply.
    pub service: LatencyFigures,
    /// Latency from sent to the first byte of the pipeline's replies, if the plan asks for it.
    pub first_byte: Option<LatencyFigures>,
    /// Figures of TLS, if it was used.
    pub tls: Option<TlsFigures>,
    /// Requests per second in each interval, for an open loop of at least one: mean, least, percentiles, and
    /// greatest, as of a latency.
    pub rates: Option<[f64; COLUMNS.len()]>,
    /// Hits and misses of commands that look up keys.
    pub lookups: Lookups,
    /// Figures of the schedule of an open loop.
    pub schedule: Option<ScheduleFigures>,
    /// Response times of requests that were due during an outage: the users' view of the outages. `None` in a
    /// closed loop, or without an outage.
    pub delayed: Option<LatencyFigures>,
    /// Cluster nodes with any part in the load.
    pub nodes: Vec<&'r NodeTally>,
    /// Figures of messages, if the run has receivers: `response` is then from due to received, `service`
    /// from sent to received, and `requests` are deliveries.
    pub deliveries: Option<DeliveryFigures<'r>>,
    /// Each stage of opening and its times, if each request has its own connection.
    pub connects: Vec<(&'static str, LatencyFigures)>,
    /// Parts of response times, if the kernel stamped replies.
    pub spans: Option<SpanFigures>,
    /// Requests within the deadline, if there is one.
    pub deadline: Option<DeadlineFigures>,
    /// All response times, from which `response` and the distributions are taken.
    pub response_times: Latency,
}

impl<'r> Summary<'r> {
    /// Computes the figures of a run.
    pub fn from_run(run: &'r Run) -> Self {
        let (plan, measurement) = (&run.plan, &run.measurement);
        let total = &measurement.total;
        let requests = measurement.counted();
        let elapsed_s = measurement.elapsed_ns as f64 / 1e9;
        let response_times = total.response();
        let known = |latency: &Latency| {
            let (bound_ns, precision) = (run.clock_bound_ns(), plan.recording.precision);
            LatencyFigures::from_latency(latency).known_to_within(bound_ns, precision)
        };
        let response = known(&response_times);
        let open = matches!(plan.load.pace, Pace::Open(_));
        Self {
            run,
            deadline: DeadlineFigures::new(plan, measurement),
            spans: SpanFigures::new(plan, total),
            connects: total.connections.stages.as_deref().map_or_else(Vec::new, connects::stages),
            deliveries: DeliveryFigures::new(plan, measurement, run.clock_bound_ns()),
            title: escape(&plan.name),
            requests,
            operations: OperationFigures::of_plan(plan, total, elapsed_s),
            errors: total.errors.total(),
            elapsed_s,
            throughput_rps: if elapsed_s > 0.0 { requests as f64 / elapsed_s } else { 0.0 },
            together: common_span(measurement),
            response,
            service: if open { known(&total.service()) } else { response },
            first_byte: plan
                .recording
                .first_byte
                .then(|| LatencyFigures::from_latency(&total.first_byte())),
            tls: (plan.target.tls.as_ref()).map(|tls| {
                TlsFigures::new(tls, plan.load.concurrency.keep_alive, &total.connections.tls)
            }),
            rates: figures::rates(&measurement.timeline, measurement.elapsed_ns).filter(|_| open),
            lookups: Lookups::sum(&Lookups::of_commands(plan, total)),
            schedule: ScheduleFigures::new(plan, measurement),
            delayed: measurement
                .delayed
                .as_ref()
                .filter(|_| !measurement.outages.is_empty())
                .map(LatencyFigures::from_latency),
            nodes: measurement.nodes.iter().filter(|node| takes_part(node)).collect(),
            response_times,
        }
    }

    /// Returns the end of the run, planned or not.
    pub fn ending(&self) -> &Ending {
        &self.run.measurement.ending
    }

    /// Returns the number of answers in the unit of `-n` and rates: operations, which may have several
    /// commands, or requests.
    pub fn counted(&self) -> u64 {
        self.run.measurement.operations_ended()
    }

    /// Returns answers per second in that unit.
    pub fn counted_rps(&self) -> f64 {
        if self.counts_operations() {
            self.throughput_rps * self.counted() as f64 / self.requests.max(1) as f64
        } else {
            self.throughput_rps
        }
    }

    /// Returns whether operations have several commands, so that they differ from requests.
    pub fn counts_operations(&self) -> bool {
        self.run.plan.counts_operations()
    }

    /// Returns the number of answers to scheduled requests. A message is answered once, for any number of
    /// receivers.
    pub fn answered_of_due(&self) -> u64 {
        match &self.deliveries {
            Some(figures) => figures.deliveries.acknowledged() + figures.deliveries.refused(),
            None => self.counted(),
        }
    }

    /// Returns those answers per second.
    pub fn answered_rps(&self) -> f64 {
        self.deliveries.map_or_else(|| self.counted_rps(), |figures| figures.sent_rps)
    }

    /// Returns the noun of the counted unit.
    pub fn counted_noun(&self) -> &'static str {
        match self.counts_operations() {
            true => "operations",
            false if self.deliveries.is_some() => "messages",
            false => "requests",
        }
    }

    /// The error replies by kind, unescaped.
    pub fn error_counts(&self) -> &ErrorCounts {
        &self.run.measurement.total.errors
    }

    /// Size of values in bytes, or its mean: of the returned values if their size differs from the plan's,
    /// otherwise of the plan's.
    pub fn value_bytes(&self) -> u64 {
        let (plan, measurement) = (&self.run.plan, &self.run.measurement);
        crate::other_value_size(plan, measurement)
            .map_or(plan.data.payload_bytes, |bytes| bytes.round() as u64)
    }

    /// The first text of each kind of error, safe for a terminal.
    pub fn first_errors(&self) -> Vec<String> {
        let kind = |text: &str| text.split([' ', ':']).next().unwrap_or(text).to_owned();
        let examples = self.error_counts().examples();
        let new = (0..examples.len()).filter(|at: &usize| {
            !examples[..*at].iter().any(|shown| kind(shown) == kind(&examples[*at]))
        });
        new.map(|at| escape(&examples[at])).collect()
    }

    /// Spans in which nothing succeeded, in order of their starts.
    pub fn outages(&self) -> &[Outage] {
        &self.run.measurement.outages
    }

    /// Returns the counts of connections, and of requests without a reply.
    pub fn connections(&self) -> &ConnectionTally {
        &self.run.measurement.total.connections
    }

    /// CPU time of keystorm's workers per answered request, in nanoseconds; see
    /// [`measure::Measurement::client_cpu_ns`].
    pub fn client_cpu_ns(&self) -> Option<f64> {
        self.run.measurement.client_cpu_ns()
    }

    /// Describes the hits and misses of lookups. `None` without a miss, unless requests come from a source: of
    /// those, it matters that all reads found something.
    pub fn hits_and_misses(&self) -> Option<String> {
        let of_source = self.run.plan.has_source() && self.lookups.hits > 0;
        (of_source || self.lookups.misses > 0).then(|| self.lookups.in_words())
    }

    /// Share of hits in percent: of keys if replies say how many exist, otherwise of replies. `None` without
    /// a miss.
    pub fn hit_ratio(&self) -> Option<f64> {
        let total = &self.run.measurement.total;
        let looked = Lookups::of_commands(&self.run.plan, total);
        let looked = looked.iter().zip(&total.commands).filter(|(looked, _)| looked.is_some());
        // Counts of a file may be any: sums of floats do not overflow.
        let (hits, misses) = looked.fold((0.0, 0.0), |(hits, misses), (_, tally)| {
            let [found, missed] = tally.lookups();
            (hits + found as f64, misses + missed as f64)
        });
        (misses > 0.0).then(|| hits * 100.0 / (hits + misses))
    }

    /// The rate of (this share of) the plan, in requests per second; for a changing rate, its mean over the
    /// run. For clients that did not run at the same time, over their common span. `None` in a closed loop,
    /// and if there is no limit for a time.
    pub fn target_rps(&self) -> Option<f64> {
        let plan = &self.run.plan;
        let schedule = plan.load.pace.schedule().filter(|schedule| schedule.is_limited())?;
        let span_ns = plan.scheduled_ns(self.run.measurement.elapsed_ns)?;
        let asked = plan
            .own_rate_per_s(schedule.rate_per_s().unwrap_or_else(|| schedule.mean_per_s(span_ns)));
        // Each of several has its schedule from its own start on, the last of them from here.
        let apart_ns = self.run.measurement.timeline.all_ran.as_ref().map_or(0, |span| span.start);
        let length_ns = span_ns as f64 + apart_ns as f64;
        Some(if length_ns > 0.0 { asked * (span_ns as f64 / length_ns) } else { asked })
    }

    /// Describes why the run was cut short and how far it got, as `REASON; N of M requests`, safe for a
    /// terminal. `None` for a complete run.
    pub fn shortfall(&self) -> Option<String> {
        let reason = match self.ending() {
            Ending::Complete if self.run.measurement.is_unheard() => {
                "no request was answered".to_owned()
            }
            Ending::Complete if self.run.measurement.is_deserted() => {
                "the server was gone at the end".to_owned()
            }
            Ending::Complete => return None,
            Ending::Interrupted => match self.run.plan.load.stop {
                Stop::AfterNs(planned) => format!(
                    "interrupted after {} of {}",
                    time(self.run.measurement.elapsed_ns as f64 / 1e9),
                    time(planned as f64 / 1e9)
                ),
                Stop::Requests(_) => "interrupted".to_owned(),
            },
            Ending::Failed(failure) => escape(&failure.text),
        };
        let of = self.run.plan.own_requests().map_or(String::new(), |n| format!(" of {n}"));
        Some(format!("{reason}; {}{of} {}", self.counted(), self.counted_noun()))
    }
}

fn takes_part(node: &NodeTally) -> bool {
    node.used || node.requests() + node.redirects() + node.unanswered > 0
}

/// Share of reads that hit over several runs, in percent, by the servers' own counts; `None` if nothing was
/// read, or a server does not report it.
pub(crate) fn servers_hit_ratio<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<f64> {
    let (mut hits, mut reads) = (0.0, 0.0);
    for server in runs.flat_map(|run| &run.watched.servers) {
        let (found, missed) = (server.hits? as f64, server.misses? as f64);
        hits += found;
        reads += found + missed;
    }
    (reads > 0.0).then(|| hits * 100.0 / reads)
}

#[cfg(test)]
mod tests {
    use measure::CommandTally;
    use workload::{CommandSpec, PlanParts};

    use super::*;
    use crate::fixture;

    #[test]
    fn figures_of_a_complete_run() {
        let run = fixture::complete();
        let summary = Summary::from_run(&run);
        assert_eq!(summary.requests, 2000);
        assert_eq!(summary.throughput_rps, 2000.0 / 0.026);
        assert_eq!(summary.response.count, 2000);
        assert_eq!(summary.response, summary.service);
        assert_eq!(summary.first_byte, None);
        assert_eq!(summary.rates, None);
        assert_eq!(summary.shortfall(), None);
    }

    #[test]
    fn hits_and_misses_are_of_all_that_looks_something_up() {
        let lookup = |words: &[[&str; 2]], counts: &[(u64, u64)]| {
            let mut run = fixture::complete();
            let tally = run.measurement.total.commands[0].clone();
            run.measurement.total.commands = counts
                .iter()
                .map(|(ok, miss)| CommandTally { ok: *ok, miss: *miss, ..tally.clone() })
                .collect();
            let sequence = words.iter().map(CommandSpec::from_words).collect();
            run.plan = PlanParts { sequence, ..fixture::parts() }.build().unwrap();
            let summary = Summary::from_run(&run);
            let ratio = summary.hit_ratio().map(|ratio| format!("{ratio:.2}"));
            (summary.hits_and_misses(), ratio)
        };
        let describe = |text: &str, ratio: &str| (Some(text.to_owned()), Some(ratio.to_owned()));
        assert_eq!(lookup(&[["GET", "a"]], &[(2000, 0)]), (None, None));
        let gets = [["GET", "a"], ["GET", "b"]];
        assert_eq!(lookup(&gets, &[(100, 0), (0, 100)]), describe("100 hits, 100 misses", "50.00"));
        let written = [["GET", "a"], ["ECHO", "b"]];
        assert_eq!(
            lookup(&written, &[(1, 1999), (500, 0)]),
            describe("1 hit, 1,999 misses", "0.05")
        );
        let queued = [["MULTI", ""], ["GET", "a"], ["EXEC", ""], ["GET", "b"]];
        let counts = [(5, 0), (5, 0), (5, 0), (2, 3)];
        assert_eq!(lookup(&queued, &counts), describe("2 hits, 3 misses", "40.00"));
    }

    #[test]
    fn nothing_has_figures_of_zero() {
        let run = fixture::empty();
        let summary = Summary::from_run(&run);
        assert_eq!(summary.throughput_rps, 0.0);
        assert_eq!(summary.response, LatencyFigures::default());
        assert_eq!(summary.shortfall().unwrap(), "interrupted; 0 of 2000 requests");
    }

    #[test]
    fn open_loop_tells_response_from_service() {
        let run = fixture::open_loop();
        let summary = Summary::from_run(&run);
        assert_eq!(summary.target_rps(), Some(8000.0));
        assert_eq!(summary.response.min_ns, summary.service.min_ns + fixture::LATE_NS);
    }

    #[test]
    fn rates_are_of_full_intervals_and_a_silent_one_counts() {
        let run = fixture::open_loop();
        let rates = Summary::from_run(&run).rates.unwrap();
        // Points 0, 1 and 3 are full, 2 was silent, 4 is cut short.
        let [mean, min, p50, .., max] = rates;
        assert_eq!((min, max), (0.0, 2000.0 * 4.0));
        assert_eq!(p50, 1900.0 * 4.0);
        assert_eq!(mean, (2000.0 + 1900.0 + 1950.0) * 4.0 / 4.0);
    }

    #[test]
    fn no_full_interval_has_no_rates() {
        let mut run = fixture::open_loop();
        run.measurement.elapsed_ns = 249_999_999;
        assert_eq!(Summary::from_run(&run).rates, None);
        run.measurement.timeline.interval_ns = 0;
        assert_eq!(Summary::from_run(&run).rates, None);
    }
}
