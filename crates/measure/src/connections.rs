//! What happened to connections: how long they took to open, what was lost on them, and TLS.
//!
//! Merging takes every struct apart by name, as in `tally`.

use std::borrow::Cow;

use crate::not_reopened::{self, NotReopened};
use crate::tally::merge_optional;
use crate::{ConnectStages, Latency};

/// What happened to connections.
#[derive(Debug, Clone)]
pub struct ConnectionTally {
    /// From asking for a connection until it carried load, logging in included.
    pub connect: Latency,
    /// How long its stages took, where each request has a connection of its own.
    pub stages: Option<Box<ConnectStages>>,
    /// What TLS was agreed on, and how long that took.
    pub tls: TlsTally,
    /// Connections that ended without our doing.
    pub dropped: u64,
    /// Connections that were lost and carry load again.
    pub reconnects: u64,
    /// Connections that were closed to be opened again, as the plan asks.
    pub renewed: u64,
    /// Requests that failed and were sent again, and how often that was, all of them together.
    pub retried: u64,
    /// See [`retried`](Self::retried).
    pub retries: u64,
    /// Requests that were in flight on a connection when it ended.
    pub lost: u64,
    /// Requests that were given up because their time was over.
    pub timed_out: u64,
    /// Requests that were still in flight when the run ended.
    pub unanswered: u64,
    /// RESP3 push messages that arrived between replies.
    pub pushes: u64,
    /// Bytes handed to the kernel for measured requests.
    pub bytes_out: u64,
    /// Bytes of replies.
    pub bytes_in: u64,
    /// Lost connections that were not open again at the end, by server.
    pub not_reopened: Vec<NotReopened>,
}

impl ConnectionTally {
    pub(crate) fn new() -> Self {
        Self {
            // Two digits: every worker keeps one, and nobody compares microseconds of connecting.
            connect: Latency::new(2),
            stages: None,
            tls: TlsTally::default(),
            dropped: 0,
            reconnects: 0,
            renewed: 0,
            retried: 0,
            retries: 0,
            lost: 0,
            timed_out: 0,
            unanswered: 0,
            pushes: 0,
            bytes_out: 0,
            bytes_in: 0,
            not_reopened: Vec::new(),
        }
    }

    /// Counts a lost connection that was not open again at the end.
    pub fn add_not_reopened(&mut self, server: String, reason: String) {
        not_reopened::add(&mut self.not_reopened, &NotReopened { server, connections: 1, reason });
    }

    /// Whether nothing happened.
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            connect,
            stages,
            tls,
            dropped,
            reconnects,
            renewed,
            retried,
            retries,
            lost,
            timed_out,
            unanswered,
            pushes,
            bytes_out,
            bytes_in,
            not_reopened,
        } = self;
        let counts = [
            dropped, reconnects, renewed, retried, retries, lost, timed_out, unanswered, pushes,
            bytes_out, bytes_in,
        ];
        connect.count() == 0
            && stages.as_ref().is_none_or(|stages| stages.is_empty())
            && tls.handshake.count() == 0
            && not_reopened.is_empty()
            && counts.into_iter().all(|count| *count == 0)
    }

    pub(crate) fn clear(&mut self) {
        let Self {
            connect,
            stages,
            tls,
            dropped,
            reconnects,
            renewed,
            retried,
            retries,
            lost,
            timed_out,
            unanswered,
            pushes,
            bytes_out,
            bytes_in,
            not_reopened,
        } = self;
        connect.clear();
        stages.iter_mut().for_each(|stages| stages.clear());
        tls.clear();
        let counts = [
            dropped, reconnects, renewed, retried, retries, lost, timed_out, unanswered, pushes,
            bytes_out, bytes_in,
        ];
        counts.into_iter().for_each(|count| *count = 0);
        not_reopened.clear();
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Self {
            connect,
            stages,
            tls,
            dropped,
            reconnects,
            renewed,
            retried,
            retries,
            lost,
            timed_out,
            unanswered,
            pushes,
            bytes_out,
            bytes_in,
            not_reopened,
        } = other;
        self.connect.merge(connect);
        merge_optional(&mut self.stages, stages.as_ref(), |ours, theirs| ours.merge(theirs));
        // Saturating, because what is merged may come from files, which may say anything.
        for (sum, part) in [
            (&mut self.dropped, dropped),
            (&mut self.reconnects, reconnects),
            (&mut self.renewed, renewed),
            (&mut self.retried, retried),
            (&mut self.retries, retries),
            (&mut self.lost, lost),
            (&mut self.timed_out, timed_out),
            (&mut self.unanswered, unanswered),
            (&mut self.pushes, pushes),
            (&mut self.bytes_out, bytes_out),
            (&mut self.bytes_in, bytes_in),
        ] {
            *sum = sum.saturating_add(*part);
        }
        self.tls.merge(tls);
        not_reopened.iter().for_each(|more| not_reopened::add(&mut self.not_reopened, more));
    }
}

/// What happened in TLS.
#[derive(Debug, Clone)]
pub struct TlsTally {
    /// From the open connection below TLS to the end of the handshake.
    pub handshake: Latency,
    /// Handshakes that took up an earlier session.
    pub resumed: u64,
    /// Versions and ciphers that were agreed on, and by how many connections.
    pub negotiated: Vec<(Cow<'static, str>, Cow<'static, str>, u64)>,
}

impl Default for TlsTally {
    /// No handshake, and no memory for any. Two digits, as for connecting.
    fn default() -> Self {
        Self { handshake: Latency::empty(2), resumed: 0, negotiated: Vec::new() }
    }
}

impl TlsTally {
    /// Adds a handshake that took so long and agreed on this.
    pub fn add(
        &mut self,
        took_ns: u64,
        resumed: bool,
        version: &'static str,
        cipher: &'static str,
    ) {
        self.handshake.record_n(took_ns, 1);
        self.resumed += u64::from(resumed);
        self.count(version.into(), cipher.into(), 1);
    }

    fn count(&mut self, version: Cow<'static, str>, cipher: Cow<'static, str>, connections: u64) {
        match self.negotiated.iter_mut().find(|(v, c, _)| *v == version && *c == cipher) {
            Some((.., count)) => *count = count.saturating_add(connections),
            None => self.negotiated.push((version, cipher, connections)),
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        let Self { handshake, resumed, negotiated } = other;
        self.handshake.merge(handshake);
        self.resumed = self.resumed.saturating_add(*resumed);
        for (version, cipher, connections) in negotiated {
            self.count(version.clone(), cipher.clone(), *connections);
        }
    }

    fn clear(&mut self) {
        let Self { handshake, resumed, negotiated } = self;
        handshake.clear();
        *resumed = 0;
        negotiated.clear();
    }
}
