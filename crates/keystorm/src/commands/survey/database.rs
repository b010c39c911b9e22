//! The database of a given server: empty before a survey, and emptied after it.
//!
//! Keys are removed one by one, as a scan finds them: never by a command that empties a database or a server.

use anyhow::{Result, bail};
use host::{Client, Transport, printable};
use naming::{DBNUM, KEEP, SPAWN};
use wire::resp::Value;
use workload::Target;
use workload::quantity::counted;
use workload::suite::LIBRARY;

use crate::server::Server;

/// Approximate number of keys per page of a scan.
const PAGE_KEYS: &[u8] = b"500";

/// The database of a server that keystorm did not start; on a cluster those of all masters.
pub(super) struct GivenDatabase<'s> {
    server: &'s Server,
    target: &'s Target,
    /// Set unless the server has no function library of the suite's name.
    keeps_library: bool,
}

impl<'s> GivenDatabase<'s> {
    /// Checks that the database has no keys.
    ///
    /// # Errors
    /// Returns an error if it has, or the server does not say.
    pub(super) fn check(server: &'s Server, target: &'s Target) -> Result<Self> {
        let mut database = Self { server, target, keeps_library: false };
        for mut client in server.key_clients(target)? {
            let keys = number(&client.ask(&[b"DBSIZE"])?, "DBSIZE")?;
            if keys > 0 {
                let empty = match server.cluster {
                    Some(_) => "empty cluster: name another one".to_owned(),
                    None => format!("empty database: name one with {DBNUM} N"),
                };
                bail!(
                    "{} has {}, and a survey needs an {empty}, or let keystorm start a server with {SPAWN}",
                    database.place(client.address()),
                    counted(keys, "key")
                );
            }
            let ours = client.ask(&[b"FUNCTION", b"LIST", b"LIBRARYNAME", LIBRARY.as_bytes()])?;
            database.keeps_library |= ours.items().is_none_or(|found| !found.is_empty());
        }
        Ok(database)
    }

    fn place(&self, address: &host::Address) -> String {
        match self.target.db {
            0 => address.to_string(),
            db => format!("database {db} of {address}"),
        }
    }

    /// Describes in a sentence what will be written and removed.
    pub(super) fn describe(&self, keep: bool) -> String {
        let whole = if self.server.cluster.is_some() { "the cluster of " } else { "" };
        let place = self.place(&self.server.address);
        let end = if keep {
            format!("{KEEP} leaves them there")
        } else {
            format!(
                "at the end it removes all keys there, also those of others ({KEEP} leaves them)"
            )
        };
        format!("The survey writes keys to {whole}{place}; {end}.")
    }

    /// Removes all keys, and the suite's function library if it is new; returns the number of keys.
    ///
    /// # Errors
    /// Returns an error if the server does not answer, or refuses.
    pub(super) fn empty(&self) -> Result<u64> {
        let mut removed = 0;
        for mut client in self.server.key_clients(self.target)? {
            removed += remove_keys(&mut client)?;
            if !self.keeps_library {
                // It is there only if the test that loads it was reached.
                client.ask(&[b"FUNCTION", b"DELETE", LIBRARY.as_bytes()])?;
            }
        }
        Ok(removed)
    }
}

/// Removes every key that a scan of the selected database finds.
fn remove_keys(client: &mut Client<Transport>) -> Result<u64> {
    let (mut removed, mut cursor) = (0, b"0".to_vec());
    loop {
        let page = client.ask(&[b"SCAN", &cursor, b"COUNT", PAGE_KEYS])?;
        let Some([Value::Bulk(next), Value::Array(keys)]) = page.items() else {
            bail!("SCAN: {}", refusal(&page));
        };
        // One command of a cluster has keys of one slot.
        let each = |name: &[u8]| -> Vec<Vec<Vec<u8>>> {
            let keys = keys.iter().filter_map(|key| match key {
                Value::Bulk(key) => Some(key),
                _ => None,
            });
            keys.map(|key| vec![name.to_vec(), key.clone()]).collect()
        };
        let mut replies = client.ask_all(&each(b"UNLINK"))?;
        // Servers before Redis 4, and users who may not.
        if replies.iter().any(|reply| matches!(reply, Value::Error(_))) {
            replies = client.ask_all(&each(b"DEL"))?;
        }
        for reply in &replies {
            removed += number(reply, "DEL")?;
        }
        if next == b"0" {
            return Ok(removed);
        }
        cursor.clone_from(next);
    }
}

fn number(reply: &Value, command: &str) -> Result<u64> {
    match reply {
        Value::Integer(number) => Ok(number.unsigned_abs()),
        _ => bail!("{command}: {}", refusal(reply)),
    }
}

/// The text of an error reply.
fn refusal(reply: &Value) -> String {
    match reply {
        Value::Error(text) => printable(text),
        _ => "the reply is of an unknown form".to_owned(),
    }
}
