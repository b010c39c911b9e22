//! A connection on which a server reports its commands, and the thread that empties it.
//!
//! The thread only moves bytes, so that as little as possible waits in the server. The bytes are decoded
//! elsewhere.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use host::{Client, Transport, printable};
use wire::resp::Value;

/// Bytes that are read at once, and number of such pieces that may wait here; beyond that, the server's
/// buffer grows.
const PIECE_BYTES: usize = 256 << 10;
const PIECES_MAX: usize = 512;
/// Silence after which a server is considered to have nothing more to say.
const SILENCE: Duration = Duration::from_millis(100);
/// Time limit for reading the output from before the end.
const REST_MAX: Duration = Duration::from_secs(1);
/// Requests for memcached's log: first all useful kinds, then those of older versions (before 1.6.19, and
/// before 1.6.13).
const WATCHES: [&str; 3] = [
    "fetchers mutations deletions connevents",
    "fetchers mutations connevents",
    "fetchers mutations",
];

/// Parts of a feed.
pub(super) struct Feed {
    /// Output of the server.
    pub(super) bytes: Pieces,
    /// Thread that reads; returns the reason if the server or the network ended the connection.
    pub(super) reader: JoinHandle<Option<String>>,
    /// Set if deletions look like reads in the feed.
    pub(super) lacks_deletions: bool,
}

/// Starts MONITOR on a connection.
///
/// # Errors
/// Returns an error if the server refuses.
pub(super) fn monitor(mut client: Client<Transport>, stop: &Arc<AtomicBool>) -> Result<Feed> {
    let address = client.address().to_string();
    match client.ask(&[b"MONITOR"])? {
        Value::Error(text) => bail!(
            "{address}: nothing can be recorded, since the server refused MONITOR: {}",
            printable(text)
        ),
        _ => {
            let (first, transport) = client.into_stream();
            feed(first, transport, stop)
        }
    }
}

/// Starts memcached's watch on a connection.
///
/// # Errors
/// Returns an error if the server refuses, or does not answer.
pub(super) fn watch(
    mut transport: Transport,
    address: &str,
    stop: &Arc<AtomicBool>,
) -> Result<Feed> {
    let mut answer = Vec::new();
    for what in WATCHES {
        answer = ask_to_watch(&mut transport, what).with_context(|| format!("{address}: watch"))?;
        if let Some(rest) = answer.strip_prefix(b"OK\r\n") {
            let lacks_deletions = what != WATCHES[0];
            return Ok(Feed { lacks_deletions, ..feed(rest.to_vec(), transport, stop)? });
        }
    }
    bail!(
        "{address}: the server refused watch, which memcached has since 1.4.26: {}",
        report::escape(String::from_utf8_lossy(&answer).trim_end())
    )
}

/// Sends the request, and reads the answer up to the end of its first line.
fn ask_to_watch(transport: &mut Transport, what: &str) -> Result<Vec<u8>> {
    transport.write_all(format!("watch {what}\r\n").as_bytes()).and_then(|()| transport.flush())?;
    let mut answer = Vec::new();
    let mut piece = [0; 512];
    while !answer.contains(&b'\n') {
        let count = transport.read(&mut piece)?;
        if count == 0 {
            bail!("the server closed the connection");
        }
        answer.extend_from_slice(&piece[..count]);
    }
    Ok(answer)
}

fn feed(first: Vec<u8>, transport: Transport, stop: &Arc<AtomicBool>) -> Result<Feed> {
    transport.wait_for(SILENCE)?;
    let (to, from) = sync_channel(PIECES_MAX);
    let stop = Arc::clone(stop);
    let reader = std::thread::spawn(move || {
        if !first.is_empty() && to.send(first).is_err() {
            return None;
        }
        read_on(transport, &to, &stop)
    });
    let bytes = Pieces { from, piece: Vec::new(), begin: 0, is_paused: false };
    Ok(Feed { bytes, reader, lacks_deletions: false })
}

/// Reads until asked to stop and no more input comes, or the other side ends it; then returns the reason.
fn read_on(
    mut transport: Transport,
    to: &SyncSender<Vec<u8>>,
    stop: &AtomicBool,
) -> Option<String> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut end = None;
    loop {
        if stop.load(Ordering::Relaxed) {
            let end = *end.get_or_insert_with(|| Instant::now() + REST_MAX);
            if Instant::now() >= end {
                return None;
            }
        }
        match transport.read(&mut piece) {
            Ok(0) => return Some("the server closed the connection".into()),
            Ok(count) => {
                if to.send(piece[..count].to_vec()).is_err() {
                    return None;
                }
            }
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if end.is_some() => {
                    return None;
                }
                // Nothing happens at the server.
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {}
                _ => return Some(error.to_string()),
            },
        }
    }
}

/// Input that the thread has read. If there is none at the moment, it returns `WouldBlock` once, and then
/// waits.
pub(super) struct Pieces {
    from: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    begin: usize,
    is_paused: bool,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.begin == self.piece.len() {
            let next = match self.from.try_recv() {
                Err(TryRecvError::Empty) if !std::mem::replace(&mut self.is_paused, true) => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(TryRecvError::Empty) => self.from.recv().ok(),
                Err(TryRecvError::Disconnected) => None,
                Ok(piece) => Some(piece),
            };
            self.is_paused = false;
            let Some(next) = next else { return Ok(0) };
            (self.piece, self.begin) = (next, 0);
        }
        let count = into.len().min(self.piece.len() - self.begin);
        into[..count].copy_from_slice(&self.piece[self.begin..self.begin + count]);
        self.begin += count;
        Ok(count)
    }
}
