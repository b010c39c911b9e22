//! A server that items are stored in, and its reports on memory.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use host::{Client, Transport, info_field};
use lab::footprint::{Item, Reading, Type, Words};
use wire::resp::Value;
use workload::Target;

use crate::info;
use crate::speaker::Speaker;
use crate::test_bed::TestBed;

/// Bytes sent before waiting for replies.
const BATCH_BYTES: usize = 16 << 10;
/// Number of equal values in a row, this far apart, after which a server's memory is considered steady.
const SAME: usize = 3;
const LOOK_EVERY: Duration = Duration::from_millis(40);
/// Longest wait for steady memory, which a server with other clients never has.
const STILL_WITHIN: Duration = Duration::from_secs(3);

/// A server on which keys are measured.
pub(super) struct MemoryReader<'b> {
    bed: &'b TestBed<'b>,
    target: &'b Target,
    asked: Speaker,
}

impl<'b> MemoryReader<'b> {
    pub(super) fn open(bed: &'b TestBed<'b>, target: &'b Target) -> Result<Self> {
        Ok(Self { bed, target, asked: Speaker::open(&bed.server, target)? })
    }

    /// Returns whether the server has the type of this item.
    pub(super) fn stores(&self, item: &Item) -> bool {
        item.of == Type::String || matches!(self.asked, Speaker::Resp(_))
    }

    /// Returns how many keys the server holds.
    pub(super) fn keys(&mut self) -> Result<u64> {
        match &mut self.asked {
            Speaker::Resp(client) => match client.ask(&[b"DBSIZE"])? {
                Value::Integer(keys) => Ok(keys.unsigned_abs()),
                Value::Error(text) => bail!("DBSIZE: {}", String::from_utf8_lossy(&text)),
                _ => Ok(0),
            },
            Speaker::Memcache(client) => {
                let stats = client.stats(None).map_err(|why| anyhow!(why))?;
                Ok(number(&stats, "curr_items").unwrap_or_default())
            }
        }
    }

    /// Returns the server's memory allocator, if it reports one.
    pub(super) fn allocator(&mut self) -> Result<Option<String>> {
        match &mut self.asked {
            Speaker::Resp(client) => {
                let info = info::text(client, Some("memory"))?;
                Ok(info_field(&info, "mem_allocator").map(str::to_owned))
            }
            Speaker::Memcache(_) => Ok(Some("slabs".to_owned())),
        }
    }

    /// Stores keys with these numbers over a connection of its own; returns `false` if it was interrupted.
    pub(super) fn fill(
        &mut self,
        item: &Item,
        numbers: Range<u64>,
        interrupted: &AtomicBool,
    ) -> Result<bool> {
        let mut filler = Self::open(self.bed, self.target)?;
        let (mut batch, mut bytes): (Vec<Words>, usize) = (Vec::new(), 0);
        for number in numbers {
            let commands = match filler.asked {
                Speaker::Resp(_) => item.commands(number),
                Speaker::Memcache(_) => vec![memcached(item, number)],
            };
            for words in commands {
                bytes += words.iter().map(Vec::len).sum::<usize>();
                batch.push(words);
                if bytes >= BATCH_BYTES {
                    filler.send(&batch)?;
                    (batch, bytes) = (Vec::new(), 0);
                    if interrupted.load(Ordering::Relaxed) {
                        return Ok(false);
                    }
                }
            }
        }
        filler.send(&batch).map(|()| true)
    }

    fn send(&mut self, batch: &[Words]) -> Result<()> {
        match &mut self.asked {
            Speaker::Resp(client) => {
                for (reply, words) in client.ask_all(batch)?.into_iter().zip(batch) {
                    if let Value::Error(text) = reply {
                        let name = String::from_utf8_lossy(&words[0]);
                        bail!("{name}: {}", String::from_utf8_lossy(&text));
                    }
                }
                Ok(())
            }
            Speaker::Memcache(client) => client.send_all(batch).map_err(|why| anyhow!(why)),
        }
    }

    /// The memory that the server uses with `keys` keys, once it is steady.
    pub(super) fn steady_reading(&mut self, keys: u64) -> Result<Reading> {
        let until = Instant::now() + STILL_WITHIN;
        let (mut last, mut same) = (self.reading(keys)?, 1);
        while same < SAME && Instant::now() < until {
            thread::sleep(LOOK_EVERY);
            let reading = self.reading(keys)?;
            same = if reading == last { same + 1 } else { 1 };
            last = reading;
        }
        match self.keys()? {
            held if held == keys => Ok(last),
            held => bail!(
                "the server holds {held} keys where {keys} were stored: it evicts, or others use it"
            ),
        }
    }

    fn reading(&mut self, keys: u64) -> Result<Reading> {
        let own = self.bed.server.resident_bytes();
        match &mut self.asked {
            Speaker::Resp(client) => {
                let info = info::text(client, Some("memory"))?;
                let bytes = |name| info_field(&info, name).and_then(|text| text.parse().ok());
                let Some(used) = bytes("used_memory") else {
                    bail!("INFO memory of this server has no used_memory")
                };
                let resident = own.or_else(|| bytes("used_memory_rss"));
                let active = bytes("allocator_active");
                Ok(Reading { keys, used, dataset: bytes("used_memory_dataset"), resident, active })
            }
            Speaker::Memcache(client) => {
                let stats = client.stats(None).map_err(|why| anyhow!(why))?;
                let slabs = client.stats(Some("slabs")).map_err(|why| anyhow!(why))?;
                let used = chunks(&slabs);
                Ok(Reading {
                    keys,
                    used,
                    dataset: number(&stats, "bytes"),
                    resident: own,
                    active: None,
                })
            }
        }
    }

    /// The encoding of the first key, in the server's words, and its `MEMORY USAGE`.
    pub(super) fn describe(&mut self) -> Result<(Option<String>, Option<u64>)> {
        let key = Item::key(0);
        match &mut self.asked {
            Speaker::Resp(client) => Ok((encoding(client, &key)?, memory_usage(client, &key)?)),
            Speaker::Memcache(client) => {
                let slabs = client.stats(Some("slabs")).map_err(|why| anyhow!(why))?;
                let class = slabs.iter().find(|(name, value)| {
                    name.ends_with(":used_chunks") && value.parse().is_ok_and(|used: u64| used > 1)
                });
                let class = class.and_then(|(name, _)| name.split(':').next());
                let size = class.and_then(|class| number(&slabs, &format!("{class}:chunk_size")));
                Ok((class.zip(size).map(|(class, size)| format!("class {class}: {size}")), None))
            }
        }
    }

    /// Removes the keys of all numbers below this one.
    pub(super) fn remove(&mut self, below: u64) -> Result<()> {
        let verb = if matches!(self.asked, Speaker::Resp(_)) { "DEL" } else { "delete" };
        let numbers: Vec<u64> = (0..below).collect();
        for numbers in numbers.chunks(BATCH_BYTES / 64) {
            let deletes =
                numbers.iter().map(|number| vec![verb.as_bytes().to_vec(), Item::key(*number)]);
            let batch: Vec<Words> = deletes.collect();
            match &mut self.asked {
                // Some may never have been stored.
                Speaker::Resp(client) => drop(client.ask_all(&batch)?),
                Speaker::Memcache(client) => client.send_all(&batch).map_err(|why| anyhow!(why))?,
            }
        }
        Ok(())
    }
}

/// The command by which memcached stores an item, with a lifetime or without.
fn memcached(item: &Item, number: u64) -> Words {
    let expires = if item.expires { "2592000" } else { "0" };
    let mut words = item.commands(number).swap_remove(0);
    let value = words.pop().unwrap_or_default();
    vec![b"set".to_vec(), Item::key(number), b"0".to_vec(), expires.into(), value]
}

/// Bytes of all chunks in use.
fn chunks(slabs: &[(String, String)]) -> u64 {
    let classes = slabs.iter().filter_map(|(name, size)| {
        let class = name.strip_suffix(":chunk_size")?;
        let size: u64 = size.parse().ok()?;
        Some(size * number(slabs, &format!("{class}:used_chunks"))?)
    });
    classes.sum()
}

fn number(stats: &[(String, String)], name: &str) -> Option<u64> {
    stats.iter().find(|(known, _)| known == name)?.1.parse().ok()
}

/// `OBJECT ENCODING`; `None` if the server does not report it.
pub(super) fn encoding(client: &mut Client<Transport>, key: &[u8]) -> Result<Option<String>> {
    let reply = client.ask(&[b"OBJECT", b"ENCODING", key])?;
    Ok(reply.text().filter(|_| !matches!(reply, Value::Error(_))))
}

/// `MEMORY USAGE` with every element examined; `None` if the server does not report it.
pub(super) fn memory_usage(client: &mut Client<Transport>, key: &[u8]) -> Result<Option<u64>> {
    match client.ask(&[b"MEMORY", b"USAGE", key, b"SAMPLES", b"0"])? {
        Value::Integer(bytes) => Ok(u64::try_from(bytes).ok()),
        _ => Ok(None),
    }
}
