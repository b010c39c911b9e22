//! Connections in a saved run: how many were opened, lost and opened again, and what TLS they agreed on.

use measure::{ConnectStages, ConnectionTally, NotReopened, TlsTally};
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::latency::LatencyRecord;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ConnectionRecord {
    connect_ms: LatencyRecord,
    dropped: u64,
    #[serde(default)]
    reconnects: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    renewed: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    retried: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    retries: u64,
    #[serde(default)]
    lost: u64,
    #[serde(default)]
    timed_out: u64,
    unanswered: u64,
    pushes: u64,
    bytes_out: u64,
    bytes_in: u64,
    /// By server, where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_reopened: Vec<NotReopenedRecord>,
    /// Where TLS was spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls: Option<TlsRecord>,
    /// Where each request had a connection of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stages_ms: Option<StagesRecord>,
}

/// How long each stage of a connection took.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StagesRecord {
    connected: LatencyRecord,
    tls: LatencyRecord,
    login: LatencyRecord,
    first_reply: LatencyRecord,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Lost connections to a server that were not open again at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct NotReopenedRecord {
    server: String,
    connections: u64,
    last_attempt: String,
}

/// What happened in TLS.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct TlsRecord {
    handshake_ms: LatencyRecord,
    resumed: u64,
    negotiated: Vec<NegotiatedRecord>,
}

/// A version and cipher, and how many connections agreed on them.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct NegotiatedRecord {
    version: String,
    cipher: String,
    connections: u64,
}

impl ConnectionRecord {
    pub(super) fn from_tally(tally: &ConnectionTally) -> Result<Self, RecordError> {
        let ConnectionTally {
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
        } = tally;
        Ok(Self {
            tls: (tls.handshake.count() > 0).then(|| TlsRecord::from_tally(tls)).transpose()?,
            connect_ms: LatencyRecord::from_latency(connect)?,
            stages_ms: stages.as_deref().map(StagesRecord::from_stages).transpose()?,
            dropped: *dropped,
            reconnects: *reconnects,
            renewed: *renewed,
            retried: *retried,
            retries: *retries,
            lost: *lost,
            timed_out: *timed_out,
            unanswered: *unanswered,
            pushes: *pushes,
            bytes_out: *bytes_out,
            bytes_in: *bytes_in,
            not_reopened: not_reopened.iter().map(NotReopenedRecord::from_tally).collect(),
        })
    }

    pub(super) fn tally(&self) -> Result<ConnectionTally, RecordError> {
        Ok(ConnectionTally {
            connect: self.connect_ms.latency()?,
            stages: self.stages_ms.as_ref().map(StagesRecord::stages).transpose()?,
            tls: self.tls.as_ref().map(TlsRecord::tally).transpose()?.unwrap_or_default(),
            dropped: self.dropped,
            reconnects: self.reconnects,
            renewed: self.renewed,
            retried: self.retried,
            retries: self.retries,
            lost: self.lost,
            timed_out: self.timed_out,
            unanswered: self.unanswered,
            pushes: self.pushes,
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
            not_reopened: self.not_reopened.iter().map(NotReopenedRecord::tally).collect(),
        })
    }
}

impl StagesRecord {
    fn from_stages(stages: &ConnectStages) -> Result<Self, RecordError> {
        let ConnectStages { connected, tls, login, first_reply } = stages;
        Ok(Self {
            connected: LatencyRecord::from_latency(connected)?,
            tls: LatencyRecord::from_latency(tls)?,
            login: LatencyRecord::from_latency(login)?,
            first_reply: LatencyRecord::from_latency(first_reply)?,
        })
    }

    fn stages(&self) -> Result<Box<ConnectStages>, RecordError> {
        Ok(Box::new(ConnectStages {
            connected: self.connected.latency()?,
            tls: self.tls.latency()?,
            login: self.login.latency()?,
            first_reply: self.first_reply.latency()?,
        }))
    }
}

impl NotReopenedRecord {
    fn from_tally(tally: &NotReopened) -> Self {
        let NotReopened { server, connections, reason } = tally.clone();
        Self { server, connections, last_attempt: reason }
    }

    fn tally(&self) -> NotReopened {
        let Self { server, connections, last_attempt } = self.clone();
        NotReopened { server, connections, reason: last_attempt }
    }
}

impl TlsRecord {
    fn from_tally(tally: &TlsTally) -> Result<Self, RecordError> {
        let TlsTally { handshake, resumed, negotiated } = tally;
        let negotiated = negotiated.iter().map(|(version, cipher, connections)| NegotiatedRecord {
            version: version.to_string(),
            cipher: cipher.to_string(),
            connections: *connections,
        });
        Ok(Self {
            handshake_ms: LatencyRecord::from_latency(handshake)?,
            resumed: *resumed,
            negotiated: negotiated.collect(),
        })
    }

    fn tally(&self) -> Result<TlsTally, RecordError> {
        let negotiated = self.negotiated.iter().map(|n| {
            let NegotiatedRecord { version, cipher, connections } = n.clone();
            (version.into(), cipher.into(), connections)
        });
        Ok(TlsTally {
            handshake: self.handshake_ms.latency()?,
            resumed: self.resumed,
            negotiated: negotiated.collect(),
        })
    }
}
