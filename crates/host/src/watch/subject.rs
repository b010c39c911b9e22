//! The observed server: one that answers `INFO`, or one that answers `stats`.
//!
//! Either way a reading becomes [`Info`] and settings, so that other code need not distinguish them.

use wire::resp::Value;

use super::info::Info;
use super::journal::{self, Journal, JournalMark};
use super::run_times::RunTimes;
use super::settings::{SETTINGS, pairs, shown_settings};
use super::stats;
use crate::memcache::MemcacheClient;
use crate::{Client, Transport, printable};

/// Maximum number of clients that are listed; a longer list would disturb the server.
const LISTED_CLIENTS_MAX: u64 = 1000;

/// A connection to a server that reports about itself.
#[derive(Debug)]
pub enum Subject {
    /// Redis, Valkey, and other servers with RESP.
    Resp(Client<Transport>),
    /// memcached.
    Memcache(MemcacheClient),
}

impl Subject {
    /// Asks for its counts and its use of resources; with `all`, also by command.
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

    /// Asks for the figures of the server without its memory, since some RESP servers stop to free memory
    /// before they report it. Older ones answer about one section at a time.
    pub(super) fn info_without_memory(&mut self) -> Result<Info, String> {
        let Self::Resp(client) = self else { return self.info(false) };
        let sections: [&[u8]; 5] = [b"clients", b"stats", b"persistence", b"cpu", b"replication"];
        let texts = sections.into_iter().map(|section| info(client, &[b"INFO", section]));
        Ok(Info::parse(&texts.collect::<Result<String, String>>()?))
    }

    /// Settings that affect speed, as far as visible.
    pub(super) fn settings(&mut self) -> Vec<(String, String)> {
        match self {
            Self::Resp(client) => shown_settings(client, &SETTINGS),
            Self::Memcache(client) => {
                let answer = client.stats(Some("settings"));
                answer.map(stats::settings).unwrap_or_default()
            }
        }
    }

    /// All visible settings except passwords, by name. Empty if none is visible.
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

    /// Counts the clients that run MONITOR.
    pub(super) fn monitors(&mut self, info: &Info) -> Option<u64> {
        // Watchers of memcached are no clients that it lists.
        let Self::Resp(client) = self else { return None };
        monitors(client, info)
    }

    /// Marks the state of its lists of slow moments.
    pub(super) fn journal_mark(&mut self) -> Option<JournalMark> {
        // memcached has none.
        let Self::Resp(client) = self else { return None };
        journal::mark(client)
    }

    /// Reads the execution times of its commands so far.
    pub(super) fn run_times(&mut self) -> RunTimes {
        // memcached does not time them.
        let Self::Resp(client) = self else { return RunTimes::default() };
        RunTimes::read(client)
    }

    /// Reads the entries of its lists since the mark.
    pub(super) fn journal(
        &mut self,
        mark: &JournalMark,
        before: &Info,
        after: &Info,
    ) -> Option<Journal> {
        let Self::Resp(client) = self else { return None };
        journal::read(client, mark, before, after)
    }

    /// Sends a command that is answered at once and whose count does not matter: `INFO` of a section that
    /// does not exist, so that counts of `PING` are the load's. If `INFO` is refused, sends `PING` after all.
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

/// Counts the clients that run MONITOR: by a field of newer servers, otherwise by the flag `O` in the list of
/// clients.
fn monitors(client: &mut Client<Transport>, info: &Info) -> Option<u64> {
    if let Some(text) = info.number("monitor_clients") {
        return Some(text);
    }
    if info.number("connected_clients")? > LISTED_CLIENTS_MAX {
        return None;
    }
    let (Value::Bulk(list) | Value::Verbatim(list)) = client.ask(&[b"CLIENT", b"LIST"]).ok()?
    else {
        return None;
    };
    let list = String::from_utf8_lossy(&list);
    let flags =
        list.lines().filter_map(|line| line.split(' ').find_map(|f| f.strip_prefix("flags=")));
    Some(flags.filter(|flags| flags.contains('O')).count() as u64)
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
