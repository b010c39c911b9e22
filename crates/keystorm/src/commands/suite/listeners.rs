//! Listeners of `bcast-listener` whose user may see only some of the keys: they are connected during a load, and the
//! invalidations that they receive are counted. Listeners that may see every key are receivers of `deliver`, which
//! also measures when each message arrived.

use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use host::{Client, Transport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wire::resp::{RespDecoder, Value};
use wire::{Decode, Reply, ReplyVisitor};
use workload::Target;

use crate::test_bed::TestBed;

/// The user that listeners log in as while the load runs.
const USER: &[u8] = b"keystorm-listener";
/// How often the reader checks whether the load has ended.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// How long the rest of a message may take in TLS.
const REST_WITHIN: Duration = Duration::from_millis(10);
const ROOM_BYTES: usize = 64 << 10;

/// The listeners that a spec asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Audience {
    pub(super) listeners: u32,
    /// The prefix of the keys that they listen for.
    pub(super) prefix: String,
    /// The keys that their user may see, as patterns.
    pub(super) patterns: Vec<String>,
}

/// Listeners that are connected.
pub(super) struct Listeners<'s> {
    audience: &'s Audience,
    admin: Client<Transport>,
    reader: Option<JoinHandle<u64>>,
    load_ended: Arc<AtomicBool>,
}

struct Listener {
    transport: Transport,
    decoder: RespDecoder,
    /// What is not decoded yet.
    inbox: Vec<u8>,
    strings: PushStrings,
}

/// The number of strings in the message that is being decoded: its name, and the keys that it is about.
#[derive(Default)]
struct PushStrings(u64);

impl ReplyVisitor for PushStrings {
    const PUSHES: bool = true;

    fn begin(&mut self, _len: Option<u64>) {
        self.0 += 1;
    }

    fn bytes(&mut self, _part: &[u8]) {}
}

impl<'s> Listeners<'s> {
    /// Creates the user and connects the listeners.
    ///
    /// # Errors
    /// The server has no such users or no such listeners.
    pub(super) fn open(audience: &'s Audience, bed: &TestBed<'_>, target: &Target) -> Result<Self> {
        bed.allow_connections(audience.listeners)?;
        let mut admin = bed.server.client(target)?;
        let Value::Bulk(password) = admin.ask(&[b"ACL", b"GENPASS"])? else {
            bail!("the server has no users (ACL)");
        };
        let password_rule = [b">", &password[..]].concat();
        let keys: Vec<Vec<u8>> =
            audience.patterns.iter().map(|pattern| [b"~", pattern.as_bytes()].concat()).collect();
        let mut words: Vec<&[u8]> = vec![b"ACL", b"SETUSER", USER, b"reset", b"on", &password_rule];
        words.extend([&b"+@all"[..], b"-@dangerous", b"&*"]);
        words.extend(keys.iter().map(Vec::as_slice));
        accepted(&mut admin, &words)?;
        let load_ended = Arc::new(AtomicBool::new(false));
        // From here on the user is removed whatever happens.
        let mut opened = Self { audience, admin, reader: None, load_ended };
        let listeners = (0..audience.listeners)
            .map(|_| listener(bed.server.client(target)?, &password, &audience.prefix))
            .collect::<Result<Vec<Listener>>>()?;
        let ended = Arc::clone(&opened.load_ended);
        let reader = thread::Builder::new()
            .name("listeners".to_owned())
            .spawn(move || read(listeners, &ended))
            .context("starting the thread of the listeners")?;
        opened.reader = Some(reader);
        Ok(opened)
    }

    /// What they received, in a sentence, once the load has ended.
    pub(super) fn close(mut self) -> String {
        let received = self.end();
        format!(
            "{} who may see {} received {} invalidations",
            workload::quantity::counted(self.audience.listeners.into(), "listener"),
            self.audience.patterns.join(" and "),
            report::grouped(received as f64)
        )
    }

    fn end(&mut self) -> u64 {
        self.load_ended.store(true, Ordering::Relaxed);
        self.reader.take().and_then(|reader| reader.join().ok()).unwrap_or(0)
    }
}

impl Drop for Listeners<'_> {
    fn drop(&mut self) {
        self.end();
        // A server that is gone has no user to remove.
        let _ = self.admin.ask(&[b"ACL", b"DELUSER", USER]);
    }
}

fn listener(mut client: Client<Transport>, password: &[u8], prefix: &str) -> Result<Listener> {
    accepted(&mut client, &[b"HELLO", b"3", b"AUTH", USER, password])?;
    let mut words: Vec<&[u8]> = vec![b"CLIENT", b"TRACKING", b"ON", b"BCAST"];
    if !prefix.is_empty() {
        words.extend([&b"PREFIX"[..], prefix.as_bytes()]);
    }
    accepted(&mut client, &words)?;
    let (inbox, transport) = client.into_stream();
    transport.wait_for(REST_WITHIN)?;
    let decoder = RespDecoder::default();
    Ok(Listener { transport, decoder, inbox, strings: PushStrings::default() })
}

/// Sends a command that must succeed. The words may hold a password, and an error does not name them.
fn accepted(client: &mut Client<Transport>, words: &[&[u8]]) -> Result<()> {
    if let Value::Error(why) = client.ask(words)? {
        let names = words[..2].iter().map(|name| String::from_utf8_lossy(name));
        bail!("{}: {}", names.collect::<Vec<_>>().join(" "), String::from_utf8_lossy(&why));
    }
    Ok(())
}

/// Reads what all of them receive, until the load has ended and nothing more comes. Returns the number of keys that
/// they were notified of.
fn read(mut listeners: Vec<Listener>, load_ended: &AtomicBool) -> u64 {
    let mut room = vec![0; ROOM_BYTES];
    let mut received = 0;
    loop {
        let mut asked: Vec<PollFd<'_>> = listeners
            .iter()
            .map(|listener| PollFd::from_borrowed_fd(listener.transport.as_fd(), PollFlags::IN))
            .collect();
        let ended = load_ended.load(Ordering::Relaxed);
        let count = poll(&mut asked, Some(&LOOK_EVERY));
        if ended && count == Ok(0) {
            return received;
        }
        let ready: Vec<bool> = asked.iter().map(|asked| !asked.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        listeners.retain_mut(|listener| {
            ready.next() != Some(true) || listener.take(&mut room, &mut received)
        });
    }
}

impl Listener {
    /// Reads what is there; whether more can come.
    fn take(&mut self, room: &mut [u8], received: &mut u64) -> bool {
        match self.transport.read(room) {
            Ok(0) => return false,
            Ok(bytes) => self.inbox.extend_from_slice(&room[..bytes]),
            Err(error) => {
                return matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                );
            }
        }
        let mut at = 0;
        loop {
            let decoded = self.decoder.decode_shown(&self.inbox[at..], &mut self.strings);
            let Ok(decoded) = decoded else { return false };
            at += decoded.consumed;
            match decoded.reply {
                Some(Reply::Push) => {
                    *received += std::mem::take(&mut self.strings.0).saturating_sub(1);
                }
                Some(_) => {}
                None => break,
            }
        }
        self.inbox.drain(..at);
        true
    }
}
