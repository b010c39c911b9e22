//! A small blocking client of memcached: one command out, one whole answer in.

use std::time::Duration;

use wire::memcache::stats::{self, Stats, StatsReply};
use wire::memcache::{Binary, Text};
use wire::{Decode, Protocol, ProtocolError, Reply};
use workload::ProtocolKind;

use crate::{Client, ClientError, Transport, printable};

/// The protocol of the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Text,
    Binary,
}

impl Dialect {
    pub(crate) fn from_protocol(protocol: ProtocolKind) -> Self {
        match protocol {
            ProtocolKind::MemcacheBinary => Self::Binary,
            _ => Self::Text,
        }
    }
}

/// Outcome of commands; the error is the server's reply.
type Outcome = Result<(), String>;

/// A connection to memcached, logged in if requested.
#[derive(Debug)]
pub struct MemcacheClient {
    client: Client<Transport>,
    dialect: Dialect,
}

impl MemcacheClient {
    pub(crate) fn new(client: Client<Transport>, dialect: Dialect) -> Self {
        Self { client, dialect }
    }

    /// Returns the transport, for a server that continues to send.
    pub fn into_stream(self) -> Transport {
        self.client.into_stream().1
    }

    /// Sets the time limit for each later answer.
    pub(crate) fn wait_for(&mut self, reply_patience: Duration) {
        self.client.wait_for(reply_patience);
    }

    /// Statistics of this kind; by default the general ones.
    ///
    /// # Errors
    /// Returns an error in words for a person if the server refuses or does not answer.
    pub fn stats(&mut self, which: Option<&str>) -> Result<Stats, String> {
        let words: Vec<&[u8]> =
            [&b"stats"[..]].into_iter().chain(which.map(str::as_bytes)).collect();
        let request = self.encoded(&words);
        let answer: Result<StatsReply, ClientError> = match self.dialect {
            Dialect::Text => self.client.exchange("stats", &request, stats::parse_text),
            Dialect::Binary => self.client.exchange("stats", &request, stats::parse_binary),
        };
        let answer = answer.map_err(|error| error.to_string())?;
        answer.map_err(|refusal| format!("the server refused stats: {}", printable(&refusal)))
    }

    /// Asks for `version`, which is answered at once and not counted.
    ///
    /// # Errors
    /// Returns an error in words for a person if there is no answer. A refusal is an answer.
    pub fn nothing(&mut self) -> Result<(), String> {
        self.ask(&[b"version"]).map(drop).map_err(|error| error.to_string())
    }

    /// Sends a command. Returns its error reply, if there is one; values are dropped.
    ///
    /// # Errors
    /// Returns an error if there is no answer.
    pub fn ask(&mut self, words: &[&[u8]]) -> Result<Outcome, ClientError> {
        let request = self.encoded(words);
        let name = words.first().map(|word| String::from_utf8_lossy(word).into_owned());
        let name = name.unwrap_or_default();
        self.outcome(&name, &request)
    }

    fn outcome(&mut self, name: &str, request: &[u8]) -> Result<Outcome, ClientError> {
        match self.dialect {
            Dialect::Text => self.client.exchange(name, request, answered::<Text>),
            Dialect::Binary => self.client.exchange(name, request, answered::<Binary>),
        }
    }

    /// Sends commands in one piece and waits for all replies; values are dropped.
    ///
    /// # Errors
    /// Returns an error in words for a person if the server refuses one (the first error), or does not
    /// answer.
    pub fn send_all(&mut self, commands: &[Vec<Vec<u8>>]) -> Result<(), String> {
        let mut request = Vec::new();
        for words in commands {
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            request.extend(self.encoded(&words));
        }
        let name = commands.first().and_then(|words| words.first());
        let name = String::from_utf8_lossy(name.map_or(&[], Vec::as_slice)).into_owned();
        for _ in commands {
            self.outcome(&name, &request).map_err(|error| error.to_string())??;
            request.clear();
        }
        Ok(())
    }

    /// The server's version, or its error.
    pub(crate) fn version(&mut self) -> Result<Result<String, String>, ClientError> {
        let request = self.encoded(&[b"version"]);
        match self.dialect {
            Dialect::Text => self.client.exchange("version", &request, |bytes| {
                let whole = answered::<Text>(bytes)?;
                Ok(whole.map(|(result, len)| {
                    let line = String::from_utf8_lossy(&bytes[..len]);
                    let text = line.trim_end();
                    (result.map(|()| text.trim_start_matches("VERSION ").to_owned()), len)
                }))
            }),
            Dialect::Binary => self.client.exchange("version", &request, |bytes| {
                const HEADER: usize = 24;
                let whole = answered::<Binary>(bytes)?;
                Ok(whole.map(|(result, len)| {
                    let text = String::from_utf8_lossy(&bytes[HEADER.min(len)..len]).into_owned();
                    (result.map(|()| text), len)
                }))
            }),
        }
    }

    fn encoded(&self, words: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        match self.dialect {
            Dialect::Text => Text::encode(words, &mut out),
            Dialect::Binary => Binary::encode(words, &mut out),
        }
        out
    }
}

/// Decodes the reply at the start of `bytes` into its outcome and length; `None` if more is to come.
fn answered<P: Protocol>(bytes: &[u8]) -> Result<Option<(Outcome, usize)>, ProtocolError> {
    let mut decoder = P::Decoder::default();
    let step = decoder.decode(bytes)?;
    let result = match step.reply {
        None => return Ok(None),
        Some(Reply::Error(text)) => Err(printable(text)),
        Some(_) => Ok(()),
    };
    Ok(Some((result, step.consumed)))
}
