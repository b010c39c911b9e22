//! The server's own latency beside the client's: execution times of commands, and events recorded meanwhile.

use host::CommandRunTime;
use measure::CommandTally;

use crate::Run;
use crate::groups::by_key;
use crate::journal_entries::{ServerEvent, recorded};

/// Maximum number of events reported: the longest ones.
const EVENTS_MAX: usize = 12;

/// Latency of the servers of a run, by their own account.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerLatencyFigures {
    /// A row for each executed command of the load.
    pub commands: Vec<CommandInServer>,
    /// Events that the servers recorded during the run, in order of time: slow commands, events of the
    /// latency monitor, forks.
    pub events: Vec<ServerEvent>,
}

/// Execution times of one command in the server.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandInServer {
    /// Name of the command in upper case.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Mean execution time, in microseconds, by the server's count.
    pub mean_us: f64,
    /// Upper bound in microseconds for 99 of 100 calls, if the server keeps histograms.
    pub p99_at_most_us: Option<u64>,
    /// Mean time from sent to reply in microseconds, at the client.
    pub service_us: Option<f64>,
}

impl CommandInServer {
    /// Share of the time from sent to reply in which the server executed it, 0 to 1.
    pub fn share(&self) -> Option<f64> {
        let service_us = self.service_us.filter(|us| *us > 0.0)?;
        Some((self.mean_us / service_us).min(1.0))
    }
}

impl ServerLatencyFigures {
    /// Makes the figures of a run; `None` if the servers were not asked.
    pub fn from_run(run: &Run) -> Option<Self> {
        let servers = &run.watched.servers;
        if servers.iter().all(|server| server.run_times.is_empty()) {
            return None;
        }
        let different = run.plan.different_commands().commands;
        let names = different.iter().map(|command| command.name().to_uppercase());
        let by_name = by_key(names.zip(&run.measurement.total.commands)).into_iter();
        let commands = by_name.filter_map(|(name, tallies)| {
            let only = if let [only] = tallies[..] { Some(only) } else { None };
            in_servers(run, &name, only)
        });
        let commands = commands.collect();
        let mut events = recorded(run);
        events.sort_by_key(|event| std::cmp::Reverse(event.usec));
        events.truncate(EVENTS_MAX);
        events.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        Some(Self { commands, events })
    }
}

/// Totals of a command in all servers; `None` if no server executed it. The client's time is unknown for a
/// command that occurs several times in a sequence.
fn in_servers(run: &Run, name: &str, tally: Option<&CommandTally>) -> Option<CommandInServer> {
    let is = |of: &&CommandRunTime| {
        of.name.split('|').next().is_some_and(|first| first.eq_ignore_ascii_case(name))
    };
    let servers = run.watched.servers.iter();
    let found: Vec<&CommandRunTime> =
        servers.flat_map(|server| server.run_times.iter().filter(is)).collect();
    let calls = found.iter().map(|of| of.calls).fold(0, u64::saturating_add);
    let all_us: f64 = found.iter().map(|of| of.mean_us * of.calls as f64).sum();
    (calls > 0).then(|| CommandInServer {
        name: name.to_owned(),
        calls,
        mean_us: all_us / calls as f64,
        p99_at_most_us: found.iter().filter_map(|of| of.p99_at_most_us).max(),
        service_us: tally.and_then(|tally| tally.service.mean_ns()).map(|ns| ns / 1e3),
    })
}

#[cfg(test)]
mod tests {
    use host::{Journal, JournalEntry, JournalKind, ServerUse};

    use super::*;
    use crate::document::term;
    use crate::{Summary, fixture, topics};

    #[test]
    fn what_the_server_ran_is_a_share_of_what_the_client_saw() {
        let mut run = fixture::complete();
        assert_eq!(ServerLatencyFigures::from_run(&run), None, "nobody asked");
        let name = run.plan.sequence[0].name().to_lowercase();
        let times = |name: &str, mean_us| CommandRunTime {
            name: name.to_owned(),
            calls: 1000,
            mean_us,
            p99_at_most_us: Some(7),
            ..CommandRunTime::default()
        };
        let entry = JournalEntry {
            kind: JournalKind::Latency,
            from_s: 0.001,
            to_s: 1.0,
            usec: Some(9_000),
            what: "aof-fsync".to_owned(),
            ..JournalEntry::default()
        };
        let late = JournalEntry { from_s: 500.0, to_s: 501.0, ..entry.clone() };
        let journal = Some(Journal { entries: vec![entry, late], ..Journal::default() });
        let run_times = vec![times(&name, 2.0), times("info", 900.0)];
        let other = ServerUse { run_times: vec![times(&name, 4.0)], ..ServerUse::default() };
        run.watched.servers = vec![ServerUse { run_times, journal, ..ServerUse::default() }, other];
        let found = ServerLatencyFigures::from_run(&run).unwrap();
        let [command] = &found.commands[..] else { panic!("{found:?}") };
        assert_eq!((command.calls, command.mean_us), (2000, 3.0));
        let text = term::text(&topics::server_latency(&Summary::from_run(&run)), 80, false);
        let row = "SET      2,000      3 µs    7 µs     385 µs   0.778 %";
        assert!(text.contains(row), "{text}");
        let [event] = &found.events[..] else { panic!("{found:?}") };
        assert!(event.text.contains("latency event \"aof-fsync\": 9.00 ms"), "{event:?}");
        assert_eq!(event.kind, "aof-fsync");
        assert!((event.t_s - 0.001).abs() < 1e-6);
    }
}
