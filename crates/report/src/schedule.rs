//! Adherence of an open loop to its schedule: due requests, their outcome, and the extent and cause of
//! misses.
//!
//! The workers count due and sent requests, so nothing here follows from a rate and a length of time. All
//! judgements of a schedule use [`ScheduleFigures::kept`].

use std::fmt;

use measure::{Absence, Measurement, Point};
use workload::Plan;

use crate::quantity::{grouped, time};

/// Lateness above which a request has missed the schedule: 10 ms. An idle machine stays below 0.1 ms; people
/// notice more than ten.
pub const MISSED_NS: u64 = 10_000_000;

/// Largest share of due requests that may leave late or never in a kept schedule; a 99th percentile does not
/// show it.
pub(crate) const MISSED_SHARE: f64 = 0.01;

/// Delay of replies after the schedule's end, as a share of its length, from which they lower the rate
/// noticeably.
pub(crate) const BEHIND_SHARE: f64 = 0.01;
/// Share of the wait for the last reply. If a backlog grew, service times rose from nothing to that wait: a tenth
/// of them are below this share of it, and half are above. If all replies are slow, none is below; if only a few
/// are, most are below.
const BEHIND_OF_WAIT: f64 = 0.25;

/// The figures of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleFigures {
    /// Plural noun of the sent units: `requests`, or `messages`.
    pub noun: &'static str,
    /// Requested rate in requests per second, the mean over `span_ns`.
    pub due_rps: f64,
    /// Nanoseconds for which requests were due, without the wait for the last replies.
    pub span_ns: u64,
    /// Requests that were due: the sum of `sent`, `given_up` and `unsent`.
    pub due: u64,
    /// Requests that were sent, on time or late.
    pub sent: u64,
    /// Requests that were lost before they were sent because their server was gone, or given up at their
    /// deadline.
    pub given_up: u64,
    /// Requests among [`given_up`](Self::given_up) that reached their deadline.
    pub past_deadline: u64,
    /// Requests that left more than [`MISSED_NS`] late.
    pub late: u64,
    /// Requests that were due and unsent when the run ended.
    pub unsent: u64,
    /// Mean lateness, in seconds.
    pub late_mean_s: f64,
    /// Median lateness of a send, in nanoseconds.
    pub late_p50_ns: u64,
    /// 99th percentile.
    pub late_p99_ns: u64,
    /// Greatest.
    pub late_max_ns: u64,
    /// Greatest lateness for which a connection had room.
    pub own_late_max_ns: u64,
    /// Share of the due requests that left more than [`MISSED_NS`] late or never, 0 to 1.
    pub missed_share: f64,
    /// Party at fault, if anything was missed and the fault is known.
    pub fault: Option<Fault>,
    /// Spans in which the schedule was missed, in order.
    pub missed: Vec<LateSpan>,
    /// Time from the end of the schedule to the last reply, if replies came slower than requests left.
    pub behind_ns: Option<u64>,
}

/// A span in which requests left too late.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LateSpan {
    /// Start of the span, in nanoseconds from the start of the measured part, to the interval.
    pub from_ns: u64,
    /// End of the span.
    pub to_ns: u64,
}

/// Cause that kept requests from leaving when due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every connection was full, because its replies had not come.
    NoRoom,
    /// Nothing succeeded any more, and no connection was left to wait for a reply.
    Outage,
    /// Their server was out to the end, while others answered.
    ServerOut,
    /// Connections had room, and keystorm was late.
    Client,
    /// Keystorm did not run.
    Absence,
}

impl Fault {
    /// Returns whether the fault is keystorm's own.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Client | Self::Absence)
    }

    /// Describes the cause in a clause.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::NoRoom => "every connection was waiting for replies",
            Self::Outage => "nothing succeeded anymore",
            Self::ServerOut => "requests waited for a server that was down",
            Self::Client => "connections had room, but keystorm was late",
            Self::Absence => "keystorm itself did not run for a while",
        }
    }
}

impl ScheduleFigures {
    /// Makes the figures of a run; `None` for a closed loop, and if nothing was due.
    pub fn new(plan: &Plan, measurement: &Measurement) -> Option<Self> {
        let schedule = plan.load.pace.schedule()?;
        let lateness = measurement.total.lateness.as_ref()?;
        let (total, own) = (&lateness.total, &lateness.own);
        let sent = total.count();
        // Files may say anything.
        let given_up = lateness.given_up;
        let due = lateness.due.max(sent.saturating_add(given_up));
        if due == 0 {
            return None;
        }
        let beyond = |latency: &measure::Latency| {
            let late = latency.recorded().filter(|(ns, _)| *ns > MISSED_NS);
            late.map(|(_, n)| n).fold(0, u64::saturating_add)
        };
        let (late, unsent) = (beyond(total), due - sent - given_up);
        let past_deadline = measurement.total.deadline.map_or(0, |of| of.given_up.min(given_up));
        let never_sent = unsent.saturating_add(past_deadline);
        let span_ns = plan.scheduled_ns(measurement.elapsed_ns)?;
        let quantile = |q| total.quantile_ns(q).unwrap_or_default();
        Some(Self {
            noun: plan.sends(),
            due_rps: match schedule.is_limited() {
                true => plan.own_rate_per_s(schedule.mean_per_s(span_ns)),
                // Without a limit what is sent is due.
                false => due as f64 * 1e9 / span_ns.max(1) as f64,
            },
            span_ns,
            due,
            sent,
            given_up,
            past_deadline,
            late,
            unsent,
            late_mean_s: total.mean_ns().unwrap_or_default() / 1e9,
            late_p50_ns: quantile(0.5),
            late_p99_ns: quantile(0.99),
            late_max_ns: total.max_ns().unwrap_or_default(),
            own_late_max_ns: own.max_ns().unwrap_or_default(),
            missed_share: late.saturating_add(never_sent) as f64 / due as f64,
            fault: if late > 0 && late <= due_while_away(plan, measurement) {
                Some(Fault::Absence)
            } else {
                fault(late, beyond(own), never_sent, gone(plan, measurement))
            },
            missed: spans(&measurement.timeline.points, measurement.timeline.interval_ns),
            behind_ns: behind_ns(span_ns, measurement),
        })
    }

    /// Returns whether requests left when they were due.
    pub fn kept(&self) -> bool {
        self.missed_share <= MISSED_SHARE
    }

    /// Describes the delay of replies; empty if there was none.
    pub fn behind(&self) -> String {
        self.behind_ns.map_or(String::new(), |ns| {
            format!("replies fell behind: the last came {:.2} s after the end", ns as f64 / 1e9)
        })
    }
}

/// Returns the fault for most late requests. Unsent ones do not show theirs; if most of the missing are
/// unsent, `gone`, derived from the connections, decides.
fn fault(late: u64, own_late: u64, unsent: u64, gone: Option<Fault>) -> Option<Fault> {
    match (late, unsent) {
        (0, 0) => None,
        (0, _) => gone,
        _ if unsent > late && gone.is_some() => gone,
        _ if own_late.saturating_mul(2) > late => Some(Fault::Client),
        _ => Some(Fault::NoRoom),
    }
}

/// Requests that were due while keystorm did not run, and while it caught up: twice as many, and those of a
/// moment.
fn due_while_away(plan: &Plan, measurement: &Measurement) -> u64 {
    let Some(schedule) = plan.load.pace.schedule() else { return 0 };
    let away_ns = measurement.absences.iter().map(Absence::length_ns).fold(0, u64::saturating_add);
    if away_ns == 0 || !schedule.is_limited() {
        return 0;
    }
    let per_s = plan.own_rate_per_s(schedule.mean_per_s(measurement.elapsed_ns));
    (per_s * (2 * away_ns) as f64 / 1e9) as u64 + 1
}

/// Returns the cause that kept the last requests of a schedule from leaving: all connections waited for
/// replies, or a server was out to the end.
fn gone(plan: &Plan, measurement: &Measurement) -> Option<Fault> {
    let connections = &measurement.total.connections;
    let hung = connections.timed_out.saturating_add(connections.unanswered);
    if hung >= crate::connections::count(plan, measurement) {
        return Some(Fault::NoRoom);
    }
    let mut out = measurement.outages.iter().filter(|outage| outage.to_the_end).peekable();
    out.peek()?;
    Some(if out.any(|outage| outage.of_all) { Fault::Outage } else { Fault::ServerOut })
}

/// Computes [`ScheduleFigures::behind_ns`].
fn behind_ns(span_ns: u64, measurement: &Measurement) -> Option<u64> {
    let waited_ns = measurement.elapsed_ns.checked_sub(span_ns)?;
    let service = measurement.total.service();
    let much_ns = (waited_ns as f64 * BEHIND_OF_WAIT) as u64;
    let long = waited_ns as f64 > BEHIND_SHARE * span_ns as f64;
    let grew = service.quantile_ns(0.1)? < much_ns && service.quantile_ns(0.5)? > much_ns;
    (long && grew).then_some(waited_ns)
}

/// Joins adjacent intervals in which the schedule was missed.
fn spans(points: &[Point], interval_ns: u64) -> Vec<LateSpan> {
    let mut spans: Vec<LateSpan> = Vec::new();
    for point in points.iter().filter(|point| point.late_max_ns.is_some_and(|ns| ns > MISSED_NS)) {
        let from_ns = u64::from(point.index) * interval_ns;
        let to_ns = from_ns + interval_ns;
        match spans.last_mut().filter(|last| last.to_ns == from_ns) {
            Some(last) => last.to_ns = to_ns,
            None => spans.push(LateSpan { from_ns, to_ns }),
        }
    }
    spans
}

impl fmt::Display for ScheduleFigures {
    /// Writes a line for a person: whether the schedule was kept, and if not, when, by how much and why. The
    /// verdict gives advice, as it knows more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kept() {
            self.write_kept(f)?
        } else {
            self.write_missed(f)?
        }
        match self.behind_ns {
            Some(_) => write!(f, "; {}", self.behind()),
            None => Ok(()),
        }
    }
}

impl ScheduleFigures {
    fn write_kept(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { noun, due_rps, late_p50_ns, late_p99_ns, late_max_ns, .. } = self;
        write!(
            f,
            "kept; {due_rps:.2} {noun} per second; lateness p50={} p99={} max={}",
            late(*late_p50_ns),
            late(*late_p99_ns),
            late(*late_max_ns)
        )?;
        if self.late > 0 {
            write!(f, ", {} over {} ms late", self.late_percent(), MISSED_NS / 1_000_000)?;
        }
        if self.unsent > 0 {
            write!(f, ", {} of {} never sent", number(self.unsent), number(self.due))?;
        }
        if self.past_deadline > 0 {
            write!(f, ", {} given up at their deadline", number(self.past_deadline))?;
        }
        Ok(())
    }

    fn write_missed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = MISSED_NS / 1_000_000;
        if self.late > 0 {
            write!(
                f,
                "MISSED; {} of {} were sent over {limit} ms late, by {} at most",
                self.late_percent(),
                self.counted(self.due),
                late(self.late_max_ns)
            )?;
        } else {
            f.write_str("MISSED")?;
        }
        // The times of misses are known for the requests that were sent.
        let seconds = |ns: u64| ns as f64 / 1e9;
        if let (Some(first), Some(last)) = (self.missed.first(), self.missed.last()) {
            write!(f, ", from {:.2} s to {:.2} s", seconds(first.from_ns), seconds(last.to_ns))?;
            if self.missed.len() > 1 {
                write!(f, " in {} spans", self.missed.len())?;
            }
        }
        if self.unsent > 0 {
            let (unsent, were) = (number(self.unsent), self.were_unsent());
            match self.late {
                0 => {
                    write!(f, "; {unsent} of {} {were} due and never sent", self.counted(self.due))?
                }
                _ => write!(f, ", and {unsent} {were} due and never sent")?,
            }
        }
        if self.past_deadline > 0 {
            let given_up = number(self.past_deadline);
            write!(
                f,
                "; {given_up} of {} were given up at their deadline",
                self.counted(self.due)
            )?;
        }
        self.fault.map_or(Ok(()), |fault| write!(f, ": {}", fault.describe()))
    }

    /// Describes whether the schedule was kept, and the share of requests that the latencies cover if most of
    /// it was never sent.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("schedule: {self}")];
        if self.sent.saturating_mul(2) < self.due {
            let [sent, due] = [self.sent, self.due].map(|count| self.counted(count));
            lines.push(format!("the latencies are of no more than {sent} of {due} that were due"));
        }
        lines
    }

    /// A number with the noun of the sent units.
    pub(crate) fn counted(&self, number: u64) -> String {
        let noun = if number == 1 { self.noun.trim_end_matches('s') } else { self.noun };
        format!("{} {noun}", grouped(number as f64))
    }

    /// The verb for unsent ones.
    pub(crate) fn were_unsent(&self) -> &'static str {
        if self.unsent == 1 { "was" } else { "were" }
    }

    /// The share of requests that left late, as `17.00 %`.
    pub(crate) fn late_percent(&self) -> String {
        match self.late as f64 / self.due as f64 * 100.0 {
            percent if percent > 0.0 && percent < 0.01 => "less than 0.01 %".to_owned(),
            percent => format!("{percent:.2} %"),
        }
    }
}

/// Formats the greatest lateness with its unit.
fn late(ns: u64) -> String {
    time(ns as f64 / 1e9)
}

fn number(n: u64) -> String {
    grouped(n as f64)
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
