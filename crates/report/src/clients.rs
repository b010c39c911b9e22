//! Several clients that carried out one plan together: a row for each, and the skew of their starts.
//!
//! Owns the figures of each client beside those of the whole; `fleet` measures clocks.

use serde::{Deserialize, Serialize};
use workload::Plan;
use workload::quantity::counted;

use crate::LimitedBy;

/// Maximum number of rows shown to a reader; of more clients, only the conspicuous ones are shown and the
/// others counted.
const ROWS_MAX: usize = 16;

/// The clients of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Clients {
    /// Launcher that placed them, as in `--on`; `None` for clients that were merged by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Time from the first start to the last, in microseconds.
    pub start_skew_us: f64,
    /// Error bound of the skew, from the precision of the clients' clocks.
    pub start_skew_bound_us: f64,
    /// Row of each client, in their order.
    pub rows: Vec<ClientRow>,
}

/// Clock of a run's times, if it is not the host's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Owner of the clock: `server`.
    pub by: String,
    /// Microseconds by which it was ahead of the host's clock.
    pub ahead_us: f64,
    /// Error bound of that, in microseconds.
    pub bound_us: f64,
    /// Drift between the two clocks until the end of the run, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_us: Option<f64>,
}

/// Columns of the table of clients that every layout shows; the first names the client.
pub const CLIENT_COLUMNS: [&str; 6] =
    ["client", "connections", "requests/s", "busy", "late (ms)", "start (ms)"];

/// The figures of one client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientRow {
    /// Number of the client, from 1.
    pub number: u32,
    /// Name of the client: its host, or its launcher's name for it.
    pub name: String,
    /// The host's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// CPUs that it may run on, in the kernel's notation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// CPU quota of its control group in CPUs, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<f64>,
    /// Niceness; above 0 the client yields to others.
    pub nice: i32,
    /// Connections that it opened.
    pub connections: u32,
    /// Requests answered, including error replies.
    pub requests: u64,
    /// Error replies among them.
    pub errors: u64,
    /// From its start to its end, in seconds.
    pub elapsed_s: f64,
    /// Answered requests per second.
    pub throughput_rps: f64,
    /// Worker threads.
    pub workers: usize,
    /// The share of a core that its busiest worker used, 0 to 1.
    pub busy: f64,
    /// Mean lateness of requests, in milliseconds; `None` in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_mean_ms: Option<f64>,
    /// Start after that of the first client, in microseconds.
    pub began_us: f64,
    /// Precision of its clock, in microseconds either way.
    pub clock_bound_us: f64,
    /// Drift of its clock against the coordinator's until the end, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_drift_us: Option<f64>,
    /// Limit of the client, weighed alone.
    pub limited_by: LimitedBy,
    /// Reason why the client was lost, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl ClientRow {
    /// Returns the cells of the [`CLIENT_COLUMNS`].
    pub fn cells(&self) -> [String; 6] {
        [
            format!("{} {}", self.number, self.name).trim_end().to_owned(),
            self.connections.to_string(),
            format!("{:.0}", self.throughput_rps),
            format!("{:.0} %", self.busy * 100.0),
            self.late_mean_ms.map_or("-".to_owned(), |msec| format!("{msec:.3}")),
            format!("+{:.3}", self.began_us / 1e3),
        ]
    }
}

impl Clients {
    /// Returns the precision to which the clocks of any two clients are known during the run, in
    /// microseconds: bounds and drifts of the two least precise.
    pub fn clock_bound_us(&self) -> f64 {
        let bound = |row: &ClientRow| row.clock_bound_us + row.clock_drift_us.unwrap_or(0.0).abs();
        let mut bounds: Vec<f64> = self.rows.iter().map(bound).collect();
        bounds.sort_by(|a, b| b.total_cmp(a));
        bounds.iter().take(2).sum()
    }

    /// `client 3 of 4 (NAME)`, of the row with this index.
    pub fn called(&self, index: usize) -> String {
        let name = self.rows.get(index).map_or("", |row| row.name.as_str());
        client_called(index, self.rows.len(), name)
    }

    /// Receiving threads of each client, for a plan of all clients.
    pub(crate) fn receivers_each(&self, plan: &Plan) -> u16 {
        plan.receiver_threads() / u16::try_from(self.rows.len()).unwrap_or(u16::MAX).max(1)
    }

    /// Index of the client of worker number `worker`, where each client has this many receiving threads,
    /// after all sending ones.
    pub(crate) fn of_worker(&self, worker: usize, receivers: usize) -> Option<String> {
        let senders = self.rows.iter().map(|row| row.workers.saturating_sub(receivers));
        let threads = senders.chain(self.rows.iter().map(|row| row.workers.min(receivers)));
        let after = threads.scan(0, |after, threads| {
            *after += threads;
            Some(*after)
        });
        let index = after.into_iter().position(|after| worker < after);
        let index = index.map(|index| index % self.rows.len());
        index.map(|index| self.called(index))
    }

    /// Returns the rows shown to a reader: all if they are few; otherwise the lost, then the slowest, in
    /// their order.
    pub fn standing_out(&self) -> Vec<&ClientRow> {
        let mut shown: Vec<&ClientRow> = self.rows.iter().collect();
        if shown.len() > ROWS_MAX {
            shown.sort_by(|a, b| {
                let lost = b.lost.is_some().cmp(&a.lost.is_some());
                lost.then(a.throughput_rps.total_cmp(&b.throughput_rps))
            });
            shown.truncate(ROWS_MAX);
            shown.sort_by_key(|row| row.number);
        }
        shown
    }

    /// `4 clients began within 0.09 ms ± 0.05 ms`.
    pub fn beginning(&self) -> String {
        let clients = counted(self.rows.len() as u64, "client");
        let msec = |us: f64| us / 1e3;
        let (skew, bound) = (msec(self.start_skew_us), msec(self.start_skew_bound_us));
        match skew < bound {
            // No time is less than none.
            true => format!("{clients} started within {:.2} ms", skew + bound),
            false => format!("{clients} started within {skew:.2} ms ± {bound:.2} ms"),
        }
    }
}

/// `client 3 of 4 (NAME)`, for index 2.
pub fn client_called(index: usize, of: usize, name: &str) -> String {
    match name {
        "" => format!("client {} of {of}", index + 1),
        name => format!("client {} of {of} ({name})", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn workers_are_reported_by_their_client() {
        let row = |number, workers| ClientRow {
            workers,
            ..ClientRow::new(number, "h", &fixture::complete())
        };
        let clients = Clients {
            start_skew_us: 90.0,
            start_skew_bound_us: 50.4,
            on: None,
            rows: vec![row(1, 2), row(2, 0), row(3, 1)],
        };
        let of = |worker| clients.of_worker(worker, 0).unwrap_or_default();
        assert_eq!(
            [of(0), of(1), of(2), of(3)].join("; "),
            "client 1 of 3 (h); client 1 of 3 (h); client 3 of 3 (h); "
        );
        let receiving = |worker| clients.of_worker(worker, 1).unwrap_or_default();
        assert_eq!(
            [receiving(0), receiving(1), receiving(2), receiving(3)].join("; "),
            "client 1 of 3 (h); client 1 of 3 (h); client 3 of 3 (h); ",
            "a sender, and two receivers behind it"
        );
        assert_eq!(clients.beginning(), "3 clients started within 0.09 ms ± 0.05 ms");
        let closer = Clients { start_skew_us: 4.0, start_skew_bound_us: 16.0, ..clients };
        assert_eq!(closer.beginning(), "3 clients started within 0.02 ms");
    }
}
