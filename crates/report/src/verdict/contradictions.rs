//! Contradictions between lines of one report, for tests.
//!
//! Compares the lines that people read with each other and with the evidence beside them, without knowing the
//! rules that made them. So a wrong rule, or a figure that two lines take from different sources, shows up
//! here.

use measure::{Ending, Failures};

use super::LimitedBy;
use super::evidence::BLOCKING;
use super::rules::UNREAD;
use crate::Summary;

/// Returns the lines of this report that cannot be true together; empty for a consistent report.
pub fn contradictions(summary: &Summary<'_>) -> Vec<String> {
    let report = Report::from_summary(summary);
    let mut found = Vec::new();
    report.schedule(&mut found);
    report.processors(&mut found);
    report.failures(&mut found);
    let class = summary.run.verdict.class();
    if !report.text.starts_with(&format!("{class}: ")) {
        found.push(format!("the class is {class}, and the text begins otherwise"));
    }
    found
        .into_iter()
        .map(|what| format!("{what}: {:?}, {:?}", report.schedule, report.text))
        .collect()
}

/// The lines, and the figures beside them.
struct Report<'s> {
    summary: &'s Summary<'s>,
    class: LimitedBy,
    /// Limit of the run, with advice.
    text: &'s str,
    /// The line about the schedule; empty for a closed loop.
    schedule: String,
    /// The lines of the outages.
    outages: String,
}

/// Share of time from which client or server counts as full, or as kept from being busier.
const FULL: f64 = 0.9;
const HELD: f64 = 0.1;

impl<'s> Report<'s> {
    fn from_summary(summary: &'s Summary<'s>) -> Self {
        let verdict = &summary.run.verdict;
        let schedule = summary.schedule.as_ref().map_or(String::new(), ToString::to_string);
        let mut outages = Vec::new();
        let written = crate::format::write_outages(summary, &mut outages);
        debug_assert!(written.is_ok(), "a Vec takes everything");
        let outages = String::from_utf8_lossy(&outages).into_owned();
        Self { summary, class: verdict.limited_by, text: &verdict.text, schedule, outages }
    }

    /// A figure of the evidence; 0 if it is unknown.
    fn known(&self, name: &str) -> f64 {
        let mut evidence = self.summary.run.verdict.evidence.iter();
        evidence.find(|evidence| evidence.name == name).map_or(0.0, |evidence| evidence.value)
    }

    fn says(&self, words: &str) -> bool {
        self.text.contains(words)
    }

    /// Busy share of the server, and the share in which it was kept from a CPU.
    fn server(&self) -> (f64, f64) {
        let parts = [
            "main_thread_busy",
            "io_thread_busy",
            "worker_busy",
            "process_busy",
            "threads_busy",
            "on_cpu",
        ];
        let busy = parts.iter().map(|part| self.known(&format!("server_{part}"))).sum();
        let held = self.known("server_waiting_for_cpu").max(self.known("server_stopped_by_quota"));
        (busy, held)
    }

    fn client(&self) -> (f64, f64) {
        let held = self.known("client_waiting_for_cpu").max(self.known("client_stopped_by_quota"));
        (self.known("client_worker_busy"), held)
    }

    /// Returns whether client or server was kept from a CPU for over twice as long as the other had one,
    /// while both together left a tenth of the CPUs to other programs.
    fn others_took_it(&self) -> bool {
        let run = self.summary.run;
        let wall_ns = run.measurement.workers.iter().map(|worker| worker.wall_ns).max();
        let load_s = wall_ns.unwrap_or(run.measurement.elapsed_ns) as f64 / 1e9;
        let seconds = run.watched.servers.iter().map(|server| {
            let busiest_s = server.busy(load_s).map_or(0.0, |busy| busy.cpu) * load_s;
            server.cpu_process_s.unwrap_or(0.0).max(busiest_s)
        });
        let server_s: f64 = seconds.sum();
        let client_s: f64 = run.measurement.workers.iter().map(|w| w.cpu_ns as f64 / 1e9).sum();
        let ours = (server_s + client_s) / load_s;
        let left = ours < FULL * run.watched.cpus.len() as f64;
        let ends = [("server", self.server()), ("client", self.client())].into_iter();
        // A thread that a quota stops does not wait for another.
        let mut short = ends.filter(|(end, (busy, held))| {
            let by_quota = self.known(&format!("{end}_stopped_by_quota")) * 2.0 > *held;
            *held >= HELD && *busy < FULL && !by_quota
        });
        // A difference from rounding is no contradiction.
        left && short.any(|(_, (busy, held))| 2.0 * (ours - busy) < held - 0.01)
    }

    fn schedule(&self, found: &mut Vec<String>) {
        let mut never = |wrong: bool, what: &str| {
            if wrong {
                found.push(what.to_owned());
            }
        };
        let says_kept = self.says("kept up with") || self.says("sent on time");
        let says_missed = self.says("over 10 ms late, ") || self.says("never sent");
        let Some(figures) = &self.summary.schedule else {
            return never(says_kept || says_missed, "there is no schedule");
        };
        let kept = self.schedule.starts_with("kept; ");
        never(kept == self.schedule.starts_with("MISSED; "), "it was kept or missed");
        never(kept && says_missed, "the schedule was kept, and is said to be missed");
        never(!kept && says_kept, "the schedule was missed, and is said to be kept");
        let all_sent = self.says("kept up with") && !self.says("unsent at the end");
        never(
            all_sent && figures.unsent + figures.given_up > 0,
            "some were never sent, and all were",
        );
        let connections = self.summary.connections();
        let unanswered = connections.lost + connections.timed_out + connections.unanswered;
        let unanswered = unanswered.saturating_sub(figures.given_up);
        let in_time = self.says("kept up with")
            && !self.says(" unanswered")
            && !self.says("had no reply yet")
            && figures.given_up == 0;
        never(in_time && unanswered > 0, "some had no reply, and all had one");
        let all = figures.sent + figures.given_up + figures.unsent;
        never(figures.due != all, "due is not sent, given up and never sent");
        never(figures.late > figures.sent, "more were late than sent");
        let held_up = self.schedule.contains("fell behind");
        never(held_up && in_time, "replies fell behind, and are said to be in");
        let limits =
            [LimitedBy::Schedule, LimitedBy::Errors, LimitedBy::Outage, LimitedBy::Unknown];
        never(
            kept && !held_up && !limits.contains(&self.class),
            "the rate asked for was the limit",
        );
        for share in shares_late(self.text) {
            never(!shares_late(&self.schedule).contains(&share), "two shares of late requests");
        }
        let had_room = self.schedule.contains("connections had room");
        let waited = self.schedule.contains("every connection was waiting");
        never(had_room && self.says("every connection was waiting"), "had they room?");
        never(waited && self.says("connections had room"), "had they room?");
        never(had_room && self.class == LimitedBy::Server, "the server kept nothing waiting");
        let advises = self.schedule.contains("-c") || self.schedule.contains("--threads");
        never(advises, "what to do is said in one place");
    }

    fn processors(&self, found: &mut Vec<String>) {
        let mut never = |wrong: bool, what: &str| {
            if wrong {
                found.push(what.to_owned());
            }
        };
        let ((server, server_held), (client, client_held)) = (self.server(), self.client());
        // A wait for a CPU counts as work, up to `HELD`.
        let no_time_left = |(busy, held): (f64, f64)| busy + held.min(HELD) >= FULL;
        let polls = self.known("server_on_cpu") > 0.0;
        let executing = self.known("server_executing") >= FULL;
        let quota =
            self.known("server_stopped_by_quota") * 2.0 > server_held && server_held >= HELD;
        let crowded =
            self.known("server_other_threads") * 2.0 >= server_held && server_held >= HELD;
        let withheld = quota || crowded;
        let short = server_held >= HELD && server < FULL || client_held >= HELD && client < FULL;
        match self.class {
            LimitedBy::Server => {
                let left = !no_time_left(self.server());
                never(left && !executing && !withheld, "the server had time left");
                never(polls && !executing && !withheld, "it polls, and may have had time left");
            }
            LimitedBy::Client => {
                let quota = self.known("client_stopped_by_quota") * 2.0 > client_held;
                let left = !no_time_left(self.client());
                let absent = self.known("client_absent") > 0.0;
                let unread = self.known("replies_unread") >= UNREAD;
                let explained = absent || unread || quota && client_held >= HELD;
                never(left && !explained, "the client had time left");
            }
            LimitedBy::Contention => {
                never(!short && self.known("cpu_stolen") < HELD, "nobody was kept from a CPU");
                let each_other = self.says("each other's CPU");
                never(each_other && self.others_took_it(), "something else had the CPU");
            }
            LimitedBy::Concurrency | LimitedBy::Backlog => {
                never(server >= FULL || client >= FULL, "more in flight is no help to a full end");
            }
            _ => {}
        }
        let more = self.says("more connections");
        never(more && short, "more connections, while a CPU is waited for");
        let way = self.known("idle_round_trip") / self.known("service_time_mean").max(1e-12);
        let run = self.summary.run;
        let full = self.known("in_flight_mean") / self.known("in_flight_max").max(1.0);
        let connections = crate::connections::count(&run.plan, &run.measurement) as f64;
        let waiting = connections * full.min(1.0) * (1.0 - way.min(1.0));
        let threads = run.measurement.workers.len().max(1) + run.watched.servers.len().max(1);
        let many = waiting / threads as f64 > 10.0 && way < 0.5;
        never(more && many, "more connections, where there are more than anybody works on");
        let idle = ["neither end was busy", "no CPU was full", "neither end was full"];
        let idle = idle.iter().any(|words| self.says(words));
        never(idle && (short || client >= FULL), "an end was full, or kept from its CPU");
        never(idle && server >= FULL && !polls, "the server was full");
        let left = !no_time_left(self.client());
        never(left && self.says("add --threads"), "more threads for one that had time left");
        let busy = ["main thread", "server threads", "server process"];
        let busy = busy.iter().filter_map(|part| Some(self.text.split_once(part)?.1));
        let mut claims = busy.filter_map(|rest| rest.split([';', ',', ')']).next());
        never(polls && claims.any(|rest| rest.contains(" busy")), "busy is said of what polls");
    }

    fn failures(&self, found: &mut Vec<String>) {
        let mut never = |wrong: bool, what: &str| {
            if wrong {
                found.push(what.to_owned());
            }
        };
        let measurement = &self.summary.run.measurement;
        let total = measurement.requested();
        let connections = &total.connections;
        let given_up = connections.lost + connections.timed_out;
        let mut failed = total.errors.total() + given_up;
        if measurement.ending != Ending::Interrupted {
            failed += connections.unanswered;
        }
        let asked = total.requests() + given_up + connections.unanswered;
        let some = failed as f64 > 0.01 * asked as f64;
        let broken = matches!(measurement.ending, Ending::Failed(_));
        never(self.class == LimitedBy::Errors && !some && !broken, "hardly anything failed");
        let ran = [LimitedBy::Errors, LimitedBy::Outage];
        never(some && asked > 0 && !ran.contains(&self.class), "more than one in a hundred failed");
        let none = self.says("no request failed") || self.outages.contains("no request failed");
        let in_outages =
            measurement.outages.iter().map(|o| Failures::total(&o.failures)).sum::<u64>();
        let several = measurement.outages.len() > 1;
        never(none && in_outages > 0 && !several, "requests failed in the outage, and none did");
        never(
            self.says("requests failed during it") && in_outages == 0,
            "none failed in the outage",
        );
        let waited = measurement.outages.iter().any(|outage| outage.to_the_end)
            && connections.unanswered > 0;
        never(none && waited && !several, "requests had no reply, and only had to wait");
        let out_ns = measurement.outages.iter().map(|outage| outage.length_ns()).max().unwrap_or(0);
        let long = out_ns as f64 > 0.01 * measurement.elapsed_ns as f64;
        let mut names = self.summary.run.plan.sequence.iter().map(workload::CommandSpec::name);
        let silent = in_outages == 0 && names.any(|name| BLOCKING.contains(&name.as_str()));
        never(
            long && !silent && !ran.contains(&self.class),
            "an outage, and something else limited it",
        );
        if self.class == LimitedBy::Outage {
            never(measurement.outages.is_empty(), "there was no outage");
            let spans = self.text.split_once(" for ").and_then(|(_, rest)| {
                let (out, rest) = rest.split_once(" s of ")?;
                Some((out.parse::<f64>().ok()?, rest.split_once(" s")?.0.parse::<f64>().ok()?))
            });
            never(spans.is_none_or(|(out, of)| out > of), "an outage longer than the run");
            let length_s = self.summary.elapsed_s;
            never(spans.is_some_and(|(_, of)| of > length_s + 0.011), "longer than the run was");
        }
    }
}

/// The shares of late requests that a line states.
fn shares_late(line: &str) -> Vec<String> {
    let words = ["% sent more than 10", "% over 10 ms late", "were sent over 10"];
    let before = words.iter().filter_map(|words| line.split_once(words)).map(|(before, _)| before);
    let shares = before.map(|before| {
        // `17.00 % of 2500 ` or `17.00 `; `less than 0.01 ` has the same two forms.
        let before = before.rsplit_once(" % of ").map_or(before, |(share, _)| share).trim_end();
        before.rsplit([' ', '(']).next().unwrap_or_default().to_owned()
    });
    shares.collect()
}

#[cfg(test)]
#[path = "contradictions_tests.rs"]
mod tests;
