//! How long each stage of opening a connection took, where connections are what is measured.
//!
//! Merging takes the struct apart by name, as in `tally`.

use crate::Latency;

/// One histogram for each stage of connections that each carry one request.
#[derive(Debug, Clone)]
pub struct ConnectStages {
    /// From asking for the connection until it was open: TCP's handshake, or that of a unix socket.
    pub connected: Latency,
    /// From there to the end of the TLS handshake; empty without TLS.
    pub tls: Latency,
    /// From there until the replies to the login were in; empty where nothing is said first.
    pub login: Latency,
    /// From sending the request until its last reply was in.
    pub first_reply: Latency,
}

impl ConnectStages {
    /// No connection yet, with so many significant digits, and no memory for any.
    #[must_use]
    pub fn new(digits: u8) -> Self {
        let [connected, tls, login, first_reply] = [(); 4].map(|()| Latency::empty(digits));
        Self { connected, tls, login, first_reply }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        let Self { connected, tls, login, first_reply } = other;
        self.connected.merge(connected);
        self.tls.merge(tls);
        self.login.merge(login);
        self.first_reply.merge(first_reply);
    }

    /// Forgets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        let Self { connected, tls, login, first_reply } = self;
        [connected, tls, login, first_reply].into_iter().for_each(Latency::clear);
    }

    /// Whether no connection was opened.
    pub(crate) fn is_empty(&self) -> bool {
        self.connected.count() == 0
    }
}
