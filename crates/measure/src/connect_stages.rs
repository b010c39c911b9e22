//! Durations of the stages of opening a connection, in plans that measure connections.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::total::total;

/// Histograms of the stages of opening connections that each carry one request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConnectStages {
    /// From the request for the connection until it was open: TCP's handshake, or a unix socket's.
    pub connected: Latency,
    /// From the open connection to the end of the TLS handshake; empty without TLS.
    pub tls: Latency,
    /// From the end of the handshakes until the replies to the login were in; empty without a login.
    pub login: Latency,
    /// From sending the request until its last reply was in.
    pub first_reply: Latency,
}

impl ConnectStages {
    /// Creates empty histograms with this many significant digits, which take no memory yet.
    pub fn new(digits: u8) -> Self {
        let [connected, tls, login, first_reply] = [(); 4].map(|()| Latency::empty(digits));
        Self { connected, tls, login, first_reply }
    }
}

total!(ConnectStages { connected, tls, login, first_reply });
