//! Settings that follow from several options.

use workload::{JoinSchedule, ProtocolKind, Spacing};

use super::Options;
use crate::memtier::values::{Pattern, Requests, protocol_kind};

const DATA_SIZE: u32 = 32;
const RATIO: (u32, u32) = (1, 10);
const REQUESTS: u64 = 10_000;

/// Sizes of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sizes {
    One(u32),
    Range(u32, u32),
    List(Vec<(u32, u32)>),
}

impl Options {
    /// Protocol of the server.
    pub(crate) fn protocol_kind(&self) -> ProtocolKind {
        protocol_kind(&self.protocol).unwrap_or(ProtocolKind::Resp2)
    }

    /// Returns whether all commands are sent in one piece; false for a walk, whose only command is anyway.
    pub(crate) fn is_in_one_piece(&self) -> bool {
        self.transaction && !self.scan_walk
    }

    /// The SETs and GETs of a turn.
    pub(crate) fn turn(&self) -> (u32, u32) {
        self.ratio.unwrap_or(RATIO)
    }

    /// Patterns by which SETs and GETs take their keys.
    pub(crate) fn patterns(&self) -> [Pattern; 2] {
        self.key_pattern.unwrap_or([Pattern::Random; 2])
    }

    /// Sizes of the values.
    pub(crate) fn sizes(&self) -> Sizes {
        match (self.data_size_range, &self.data_size_list[..]) {
            (Some((least, most)), _) => Sizes::Range(least, most),
            (None, []) => Sizes::One(self.data_size.unwrap_or(DATA_SIZE)),
            (None, list) => Sizes::List(list.to_vec()),
        }
    }

    /// Schedule by which the connections of a thread join the load, if not all carry it from the start.
    pub(crate) fn joining(&self) -> Option<JoinSchedule> {
        let (first, step) = (self.clients_start?, self.clients_step?);
        Some(JoinSchedule { first, step, every_ns: u64::from(self.step_duration?) * 1_000_000_000 })
    }

    /// Time between two openings of connections by a thread, if it does not open them at once.
    pub(crate) fn spacing(&self) -> Option<Spacing> {
        let [least_ns, most_ns] =
            [self.min_jitter, self.max_jitter].map(|micros| u64::from(micros) * 1000);
        (most_ns > 0).then_some(Spacing { least_ns, most_ns })
    }

    /// Returns whether each client has a connection to every node of a cluster: of replicas it may have several, and
    /// then connections are shared.
    pub(crate) fn has_clients(&self) -> bool {
        self.cluster && self.replica_clients.is_none()
    }

    /// Connections of all threads.
    pub(crate) fn connections(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.threads)
    }

    /// Number of keys.
    pub(crate) fn keys(&self) -> u64 {
        (self.key_maximum - self.key_minimum).saturating_add(1)
    }

    /// Requests of each connection; `None` for as many as it can.
    pub(crate) fn requests_each(&self) -> Option<u64> {
        let span = self.key_maximum - self.key_minimum;
        match self.requests {
            Some(Requests::Number(requests)) => Some(requests),
            Some(Requests::AllKeys) if self.key_pattern == Some([Pattern::Parallel; 2]) => {
                Some(span / self.connections() + 1)
            }
            Some(Requests::AllKeys) => Some(span.max(1)),
            None if self.test_time.is_some() => None,
            None => Some(REQUESTS),
        }
    }

    /// Returns whether keys are made up, and not those of a file.
    pub(super) fn makes_keys(&self) -> bool {
        self.generate_keys || self.data_import.is_none()
    }

    /// A default that a Unix socket replaces.
    pub(super) fn of_tcp<T>(&self, default: T) -> Option<T> {
        self.unix_socket.is_none().then_some(default)
    }

    /// Returns whether anything is sent again.
    pub(crate) fn retries(&self) -> bool {
        self.retry_on_error && self.max_retries != Some(0)
    }
}
