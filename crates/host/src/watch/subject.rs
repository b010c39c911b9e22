//! Whom a look asks: a server that answers `INFO`, or one that answers `stats`.
//!
//! Either way a look ends in [`Info`] and settings; whoever works with them need not know which it was.

use wire::resp::Value;

use super::info::Info;
use super::journal::{self, Journal, JournalMark};
use super::run_times::RunTimes;
use super::stats;
use super::{monitors, pairs, settings};
use crate::memcache::MemcacheClient;
use crate::{Client, Transport, printable};

/// A connection to a server that tells about itself.
#[derive(Debug)]
pub enum Subject {
    /// Redis, Valkey, and others that speak RESP.
    Resp(Client<Transport>),
    /// memcached.
    Memcache(MemcacheClient),
}

impl Subject {
    /// Asks for its counts and its use of resources; with `all` by command, too.
    pub(super) fn info(&mut self, all: bool) -> Result<Info, String> {
        match self {
            Self::Resp(client) => {
                // `all` has commandstats and is known to every version.
                let words: &[&[u8]] = if all { &[b"INFO", b"all"] } else { &[b"INFO"] };
                info(client, words).map(|text| Info::parse(&text))
            }
            Self::Memcache(client) => client.stats(None).map(|answer| stats::info(&answer)),
        }
    }

    /// Asks for the figures of the server without its memory, about which RESP servers are not asked: some stand still
    /// for it while they free memory. Older ones answer about one section at a time.
    pub(super) fn info_without_memory(&mut self) -> Result<Info, String> {
        let Self::Resp(client) = self else { return self.info(false) };
        let sections: [&[u8]; 5] = [b"clients", b"stats", b"persistence", b"cpu", b"replication"];
        let texts = sections.map(|section| info(client, &[b"INFO", section]));
        let texts = texts.into_iter().collect::<Result<Vec<String>, String>>()?;
        Ok(Info::parse(&texts.concat()))
    }

    /// Settings that bear on speed, as far as they are shown.
    pub(super) fn settings(&mut self) -> Vec<(String, String)> {
        match self {
            Self::Resp(client) => settings(client),
            Self::Memcache(client) => {
                let answer = client.stats(Some("settings"));
                answer.map(stats::settings).unwrap_or_default()
            }
        }
    }

    /// Every setting that the server shows except passwords, by name. Empty where it shows none.
    pub fn every_setting(&mut self) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = match self {
            Self::Resp(client) => {
                let reply = client.ask(&[b"CONFIG", b"GET", b"*"]).ok();
                reply.and_then(|reply| pairs(&reply)).unwrap_or_default()
            }
            Self::Memcache(client) => {
                client.stats(Some("settings")).map(Vec::from_iter).unwrap_or_default()
            }
        };
        all.retain(|(name, _)| !is_secret(name));
        all.sort();
        all
    }

    /// Counts the clients that watch every command.
    pub(super) fn monitors(&mut self, info: &Info) -> Option<u64> {
        match self {
            Self::Resp(client) => monitors(client, info),
            // Its watchers are no clients that it lists.
            Self::Memcache(_) => None,
        }
    }

    /// Marks the state of its lists of slow moments.
    pub(super) fn journal_mark(&mut self) -> Option<JournalMark> {
        match self {
            Self::Resp(client) => journal::mark(client),
            // It has none.
            Self::Memcache(_) => None,
        }
    }

    /// Reads how long it has run each command so far.
    pub(super) fn run_times(&mut self) -> RunTimes {
        match self {
            Self::Resp(client) => RunTimes::read(client),
            // It does not time them.
            Self::Memcache(_) => RunTimes::default(),
        }
    }

    /// Reads the entries of its lists since the mark.
    pub(super) fn journal(
        &mut self,
        mark: &JournalMark,
        before: &Info,
        after: &Info,
    ) -> Option<Journal> {
        match self {
            Self::Resp(client) => journal::read(client, mark, before, after),
            Self::Memcache(_) => None,
        }
    }

    /// Asks for something that is answered at once and counted nowhere that matters: a section of
    /// `INFO` that there is not, so that the counts of `PING` are the load's. Where `INFO` is refused
    /// it is `PING` after all.
    pub(super) fn nothing(&mut self, info: bool) -> Option<()> {
        match self {
            Self::Resp(client) => {
                let words: &[&[u8]] = if info { &[b"INFO", b"nothing"] } else { &[b"PING"] };
                client.ask(words).ok().map(drop)
            }
            Self::Memcache(client) => client.nothing().ok(),
        }
    }
}

/// Returns whether a setting holds a password: `requirepass`, `masterauth`, `tls-key-file-pass`.
fn is_secret(name: &str) -> bool {
    name.contains("pass") || name.ends_with("auth")
}

/// The text of `INFO`.
fn info(client: &mut Client<Transport>, words: &[&[u8]]) -> Result<String, String> {
    match client.ask(words) {
        Ok(Value::Error(text)) => Err(format!("the server refused INFO: {}", printable(&text))),
        Ok(reply) => Ok(reply.text().unwrap_or_default()),
        Err(error) => Err(error.to_string()),
    }
}
