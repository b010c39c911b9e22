//! The cases: those of the Targets table of "The fastest client", in its order, then mixes and memcached's.
//!
//! Owns what each sends, what the server holds before, and what is to be reached.

mod large;
mod mixes;
mod options;

use std::io::{Read, Write};

use host::{Client, PlainSocket};
use wire::resp::Value;

use anyhow::{Context, Result, bail, ensure};

/// A case. Both tools get the same options for it.
#[derive(Debug)]
pub(crate) struct Case {
    /// Name for `--case`.
    pub(crate) name: &'static str,
    /// Name in the Targets table.
    pub(crate) title: &'static str,
    /// Requests of one run: about 4 s of redis-benchmark where it does 90,000 `SET` a second.
    requests: u64,
    /// `-c`.
    pub(crate) connections: u32,
    /// `-P`.
    pub(crate) pipeline: u32,
    /// Uses a unix socket.
    pub(crate) unix: bool,
    /// Uses TLS.
    pub(crate) tls: bool,
    /// Further words at the end of the command line, a space between them.
    pub(crate) args: &'static str,
    /// The leanest client, for comparison beside another tool.
    pub(crate) base: Base,
    /// Data in the server before the load.
    data: Data,
    /// Set if every run gets a new server, and so a new port. Closed connections rest for a minute (`TIME_WAIT`): with
    /// 10,000 of the run before on the same port, the kernel takes twice as long to find ports for the next 10,000.
    pub(crate) fresh_port: bool,
    pub(crate) of: CaseServer,
    /// Clock of the throughput that is compared.
    pub(crate) clock: Clock,
    /// Limit of the client CPU, ours / theirs.
    pub(crate) cpu_most: f64,
    /// Minimum throughput, ours / theirs.
    pub(crate) rate_least: f64,
    /// Limit of the client CPU, ours / that of the base.
    pub(crate) above_base_most: f64,
}

/// The least that a client could use for a case.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base {
    /// The bare loop, which knows no suite.
    Bare(BareLoop),
    /// Keystorm itself, with commands of one kind after another.
    Fixed(&'static [MixPart]),
}

/// A share of the requests of a mix, all alike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MixPart {
    /// Share of all requests, in per cent.
    pub(crate) percent: u64,
    /// Words at the end of the command line, a space between them.
    pub(crate) args: &'static str,
}

/// The requests of the bare loop, and the replies that it counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BareLoop {
    pub(crate) words: &'static [&'static str],
    /// Length of a value appended to `words`, in bytes; 0 for none.
    pub(crate) value_bytes: usize,
    /// The range of the number in `__rand_int__`; 0 leaves it.
    pub(crate) range: u32,
    /// Bytes of each reply.
    pub(crate) reply_bytes: usize,
}

/// The server of a case, and the tool that it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaseServer {
    /// Redis; redis-benchmark.
    Redis,
    /// Redis; no other tool.
    Alone,
    /// Redis; memtier_benchmark with these words, where it is on the PATH.
    RedisMix(&'static str),
    /// Redis; the same words to both, where memtier_benchmark is on the PATH.
    Memtier(&'static str),
    /// memcached; memtier_benchmark with these words, where it is on the PATH.
    Memcached(&'static str),
}

/// The data that the server holds before the first run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    Nothing,
    /// All of the keys that `-r` draws from, so that every `GET` finds a value.
    Keys,
    /// The list `mylist` of 600 elements.
    List,
    /// The string `large` of this many bytes.
    Value(usize),
    /// All keys that both tools draw from memcached.
    Items,
}

/// The clock of a throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The tool's own figure, which leaves connecting out.
    Tool,
    /// Time from starting the client to its end.
    Wall,
}

/// Keys that `-r` draws from in the case with keys.
const KEYS: u32 = 1_000_000;
/// Keys of one `MSET` that fills them in.
const KEYS_AT_ONCE: u32 = 1_000;
/// Elements that `LRANGE` returns.
const ELEMENTS: usize = 600;
/// A value as long as those of `-d 3`, the default.
const VALUE: &[u8] = b"xxx";

const BARE_SET: BareLoop = BareLoop {
    words: &["SET", "key:__rand_int__"],
    value_bytes: VALUE.len(),
    range: 0,
    reply_bytes: b"+OK\r\n".len(),
};
/// The bare loop with a command that has no value.
const fn bare_read(words: &'static [&'static str], range: u32, reply_bytes: usize) -> Base {
    Base::Bare(BareLoop { words, value_bytes: 0, range, reply_bytes })
}

/// A value as a bulk string.
const VALUE_REPLY: usize = b"$3\r\nxxx\r\n".len();

const BASE: Case = Case {
    name: "set",
    title: "SET, P1, c50",
    requests: 350_000,
    connections: 50,
    pipeline: 1,
    unix: false,
    tls: false,
    args: "-t set",
    base: Base::Bare(BARE_SET),
    data: Data::Nothing,
    fresh_port: false,
    of: CaseServer::Redis,
    clock: Clock::Tool,
    cpu_most: 0.45,
    rate_least: 1.6,
    above_base_most: 1.15,
};

/// All cases.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    [CASES, mixes::CASES, large::CASES, options::CASES].into_iter().flatten()
}

const CASES: &[Case] = &[
    BASE,
    Case {
        name: "get",
        title: "GET, P1, -r 1000000",
        args: "-r 1000000 -t get",
        base: bare_read(&["GET", "key:__rand_int__"], KEYS, VALUE_REPLY),
        data: Data::Keys,
        rate_least: 1.5,
        ..BASE
    },
    Case {
        name: "set-c1000",
        title: "SET, P1, c1000",
        requests: 250_000,
        connections: 1_000,
        cpu_most: 0.42,
        ..BASE
    },
    Case {
        name: "set-p16",
        title: "SET, P16",
        requests: 3_200_000,
        pipeline: 16,
        cpu_most: 0.50,
        rate_least: 1.0,
        ..BASE
    },
    Case {
        name: "set-4k",
        title: "SET 4 KiB, P1",
        requests: 300_000,
        args: "-d 4096 -t set",
        base: Base::Bare(BareLoop { value_bytes: 4096, ..BARE_SET }),
        cpu_most: 0.47,
        rate_least: 1.8,
        ..BASE
    },
    Case {
        name: "lrange-600",
        title: "LRANGE of 600",
        requests: 100_000,
        args: "lrange mylist 0 599",
        base: bare_read(
            &["LRANGE", "mylist", "0", "599"],
            0,
            b"*600\r\n".len() + ELEMENTS * VALUE_REPLY,
        ),
        data: Data::List,
        cpu_most: 0.22,
        rate_least: 1.25,
        ..BASE
    },
    Case {
        name: "set-unix",
        title: "SET, unix socket",
        requests: 450_000,
        unix: true,
        cpu_most: 0.35,
        rate_least: 2.1,
        ..BASE
    },
    Case {
        name: "set-c10000",
        title: "SET, P1, c10000",
        requests: 300_000,
        connections: 10_000,
        fresh_port: true,
        clock: Clock::Wall,
        cpu_most: 0.60,
        rate_least: 2.5,
        ..BASE
    },
    MEMCACHED_GET,
    Case {
        name: "memcached-set",
        title: "memcached set, 100 B",
        args: "--protocol memcache -d 100 -r 200000 set key:__rand_int__ 0 0 __data__",
        base: Base::Bare(BareLoop {
            words: &["--lines", "set key:__rand_int__ 0 0 100"],
            value_bytes: ITEM_BYTES,
            range: ITEMS,
            reply_bytes: STORED.len(),
        }),
        data: Data::Nothing,
        of: CaseServer::Memcached("--ratio=1:0"),
        ..MEMCACHED_GET
    },
    TLS,
    Case { name: "set-tls-p16", title: "SET, TLS, P16", requests: 1_600_000, pipeline: 16, ..TLS },
];

/// Under TLS, beside OpenSSL's own calls around the same bytes.
const TLS: Case = Case {
    name: "set-tls",
    title: "SET, TLS, P1",
    requests: 200_000,
    tls: true,
    args: "--tls --insecure -t set",
    base: Base::Bare(BareLoop { words: &["--tls", "SET", "key:__rand_int__"], ..BARE_SET }),
    cpu_most: 0.65,
    rate_least: 1.0,
    ..BASE
};

/// Keys of memcached's cases.
const ITEMS: u32 = 200_000;
/// Bytes of each of their values.
const ITEM_BYTES: usize = 100;
const STORED: &[u8] = b"STORED\r\n";

const MEMCACHED_GET: Case = Case {
    name: "memcached-get",
    title: "memcached get, 100 B",
    args: "--protocol memcache -r 200000 get key:__rand_int__",
    base: bare_read(
        &["--lines", "get key:__rand_int__"],
        ITEMS,
        b"VALUE key:000000000000 0 100\r\n\r\nEND\r\n".len() + ITEM_BYTES,
    ),
    data: Data::Items,
    of: CaseServer::Memcached("--ratio=0:1"),
    cpu_most: 0.50,
    rate_least: 1.0,
    ..BASE
};

impl Case {
    /// Requests of one run, whole pipelines, and at least one for each connection: redis-benchmark
    /// rounds up to that, and both should send as many.
    pub(crate) fn requests_scaled(&self, scale: f64) -> u64 {
        let pipeline = u64::from(self.pipeline);
        let scaled = (self.requests as f64 * scale) as u64;
        let least = u64::from(self.connections) * pipeline;
        scaled.max(least).next_multiple_of(pipeline)
    }

    /// Stores the items of the case in memcached.
    ///
    /// # Errors
    /// Returns an error if the server does not take it.
    pub(crate) fn fill_memcached(&self, mut server: impl Read + Write) -> Result<()> {
        if self.data != Data::Items {
            return Ok(());
        }
        let value = "x".repeat(ITEM_BYTES);
        for first in (0..ITEMS).step_by(KEYS_AT_ONCE as usize) {
            // Twelve digits, as both tools write them.
            let sets: String = (first..first + KEYS_AT_ONCE)
                .map(|key| format!("set key:{key:012} 0 0 {ITEM_BYTES}\r\n{value}\r\n"))
                .collect();
            server.write_all(sets.as_bytes())?;
            let mut replies = vec![0; KEYS_AT_ONCE as usize * STORED.len()];
            server.read_exact(&mut replies).context("filling memcached")?;
            let stored = replies.chunks(STORED.len()).all(|reply| reply == STORED);
            ensure!(stored, "filling memcached: {}", replies.escape_ascii());
        }
        Ok(())
    }

    /// Gives the server what it should hold.
    ///
    /// # Errors
    /// Returns an error if the server did not accept it.
    pub(crate) fn fill(&self, server: &mut Client<PlainSocket>) -> Result<()> {
        match self.data {
            Data::Nothing | Data::Items => Ok(()),
            Data::Keys => fill_keys(server),
            // Not held here: what this program holds counts as the memory of the clients that it starts.
            Data::Value(bytes) => {
                ask(server, &[b"SETRANGE", b"large", (bytes - 1).to_string().as_bytes(), b"x"])
            }
            Data::List => {
                let mut push: Vec<&[u8]> = vec![b"RPUSH", b"mylist"];
                push.extend([VALUE; ELEMENTS]);
                ask(server, &push)
            }
        }
    }
}

fn fill_keys(server: &mut Client<PlainSocket>) -> Result<()> {
    for first in (0..KEYS).step_by(KEYS_AT_ONCE as usize) {
        // Twelve digits, as both tools write them.
        let keys: Vec<String> =
            (first..first + KEYS_AT_ONCE).map(|key| format!("key:{key:012}")).collect();
        let mut set: Vec<&[u8]> = vec![b"MSET"];
        set.extend(keys.iter().flat_map(|key| [key.as_bytes(), VALUE]));
        ask(server, &set)?;
    }
    Ok(())
}

fn ask(server: &mut Client<PlainSocket>, args: &[&[u8]]) -> Result<()> {
    match server.ask(args)? {
        Value::Error(text) => bail!("filling the server: {}", text.escape_ascii()),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "case_tests.rs"]
mod tests;
