//! Events of connections: opening times, losses, and TLS.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::total::{Total, total};
use crate::{ConnectStages, Latency, NotReopened};

/// Counts and times of connections.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConnectionTally {
    /// From the request for a connection until it carried load, login included.
    #[serde(rename = "connect_ms")]
    pub connect: Latency,
    /// Times of the stages of opening, if each request has a connection of its own.
    #[serde(rename = "stages_ms", skip_serializing_if = "Option::is_none")]
    pub stages: Option<Box<ConnectStages>>,
    /// Agreed protocols and ciphers of TLS, and the time that handshakes took.
    #[serde(default, skip_serializing_if = "Total::is_empty")]
    pub tls: TlsTally,
    /// Connections that ended without keystorm closing them.
    pub dropped: u64,
    /// Connections that were lost and later carried load again.
    pub reconnects: u64,
    /// Connections that were closed to be reopened, as the plan asks.
    pub renewed: u64,
    /// Number of failed requests that were retried.
    pub retried: u64,
    /// Number of retries of all requests.
    pub retries: u64,
    /// Requests that were in flight on a connection when it ended.
    pub lost: u64,
    /// Requests that timed out.
    pub timed_out: u64,
    /// Requests that were still in flight when the run ended.
    pub unanswered: u64,
    /// RESP3 push messages that arrived between replies.
    pub pushes: u64,
    /// Bytes handed to the kernel for measured requests.
    pub bytes_out: u64,
    /// Bytes of replies.
    pub bytes_in: u64,
    /// Lost connections that were not reopened by the end, by server.
    #[serde(default, skip_serializing_if = "Total::is_empty")]
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

    /// Counts a lost connection that was not reopened by the end.
    pub fn add_not_reopened(&mut self, server: String, reason: String) {
        self.not_reopened.merge(&vec![NotReopened { server, connections: 1, reason }]);
    }
}

total!(ConnectionTally {
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
});

/// Counts and times of TLS handshakes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TlsTally {
    /// From the open connection below TLS to the end of the handshake.
    #[serde(rename = "handshake_ms")]
    pub handshake: Latency,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Agreed versions and ciphers, with their numbers of connections.
    pub negotiated: Vec<Negotiated>,
}

/// A version and cipher, and the number of connections that agreed on them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Negotiated {
    /// Such as `TLSv1.3`.
    pub version: Cow<'static, str>,
    /// The cipher, by OpenSSL's name.
    pub cipher: Cow<'static, str>,
    /// Number of connections that agreed on this.
    pub connections: u64,
}

impl Default for TlsTally {
    /// Creates an empty tally, which takes no memory yet. Two digits, as for connecting.
    fn default() -> Self {
        Self { handshake: Latency::empty(2), resumed: 0, negotiated: Vec::new() }
    }
}

impl TlsTally {
    /// Adds a handshake of this duration with this agreement.
    pub fn add(
        &mut self,
        took_ns: u64,
        resumed: bool,
        version: &'static str,
        cipher: &'static str,
    ) {
        self.handshake.record_n(took_ns, 1);
        self.resumed += u64::from(resumed);
        let (version, cipher) = (version.into(), cipher.into());
        self.negotiated.merge(&vec![Negotiated { version, cipher, connections: 1 }]);
    }
}

total!(TlsTally { handshake, resumed, negotiated });

impl Total for Vec<Negotiated> {
    fn merge(&mut self, other: &Self) {
        for more in other {
            match self
                .iter_mut()
                .find(|one| one.version == more.version && one.cipher == more.cipher)
            {
                Some(one) => one.connections.merge(&more.connections),
                None => self.push(more.clone()),
            }
        }
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}
