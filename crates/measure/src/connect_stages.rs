//! How long each stage of opening a connection took, where connections are what is measured.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::total::total;

/// Histograms of the stages of opening connections that each carry one request.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
}

total!(ConnectStages { connected, tls, login, first_reply });
