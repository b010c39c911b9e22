//! The engine of fake time: a script plays the server, and the clock moves only when the worker waits.
//!
//! Stalls, split replies, refusals and resets happen at the nanosecond that the script says. A run that would
//! take minutes replays in an instant, always alike.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;

use crate::{Address, ConnId, ConnectOptions, Engine, Event, Reason, Socket};

/// The server's part.
pub trait Script {
    /// Called when a client connects to this address. Returns the events, of which the first is the
    /// answer: [`ScriptedEvent::Accept`] or [`ScriptedEvent::Fail`].
    fn connected(&mut self, conn: ConnId, to: &Address, now_ns: u64) -> Vec<(u64, ScriptedEvent)>;

    /// Called when bytes were sent. Returns events with their times, each at or after `now_ns`.
    fn received(&mut self, conn: ConnId, bytes: &[u8], now_ns: u64) -> Vec<(u64, ScriptedEvent)>;

    /// Returns the time at which a client that would wake up at `now_ns` continues: later if the script has
    /// stopped it.
    fn resumes_ns(&mut self, now_ns: u64) -> u64 {
        now_ns
    }
}

/// An event for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedEvent {
    /// The connection is open.
    Accept,
    /// Bytes, in one read.
    Bytes(Vec<u8>),
    /// An orderly end.
    Close,
    /// A failure of this kind.
    Fail(io::ErrorKind),
}

/// An engine on fake time that answers from a script.
pub struct ScriptedEngine<S> {
    script: S,
    now_ns: u64,
    due: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, (ConnId, u32, ScriptedEvent)>,
    sequence: u64,
    happened: VecDeque<(ConnId, u32, ScriptedEvent)>,
    connections: Vec<Connection>,
    current: Option<ConnId>,
    /// Number of waits since time moved or an event came.
    idle_waits: u32,
}

/// Number of waits for a past time after which a worker would wait so for ever.
const IDLE_WAITS_MAX: u32 = 10_000;

#[derive(Default)]
struct Connection {
    /// Number of openings of this id, so that an event of an earlier opening does not reach a later one.
    generation: u32,
    begun: bool,
    open: bool,
    inbox: Vec<u8>,
}

impl<S: Script> ScriptedEngine<S> {
    /// An engine at time 0.
    pub fn new(script: S) -> Self {
        Self {
            script,
            now_ns: 0,
            due: BinaryHeap::new(),
            events: BTreeMap::new(),
            sequence: 0,
            happened: VecDeque::new(),
            connections: Vec::new(),
            current: None,
            idle_waits: 0,
        }
    }

    /// The script, for tests that examine what it received.
    pub fn script(&self) -> &S {
        &self.script
    }

    fn schedule(&mut self, conn: ConnId, events: Vec<(u64, ScriptedEvent)>) {
        let generation = self.connections[conn.0 as usize].generation;
        for (at_ns, event) in events {
            assert!(
                at_ns >= self.now_ns,
                "a script delivers at or after the time that it is given"
            );
            self.sequence += 1;
            self.due.push(Reverse((at_ns, self.sequence)));
            self.events.insert(self.sequence, (conn, generation, event));
        }
    }

    fn take_due(&mut self) {
        while let Some(&Reverse((at_ns, sequence))) = self.due.peek() {
            if at_ns > self.now_ns {
                break;
            }
            self.due.pop();
            self.happened.extend(self.events.remove(&sequence));
        }
    }
}

impl<S: Script> Engine for ScriptedEngine<S> {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn open(&mut self, conn: ConnId, to: &Address, _options: &ConnectOptions) {
        let index = conn.0 as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, Connection::default);
        }
        let connection = &mut self.connections[index];
        assert!(!connection.begun, "an open connection is closed before it is opened");
        connection.begun = true;
        connection.generation += 1;
        let events = self.script.connected(conn, to, self.now_ns);
        self.schedule(conn, events);
    }

    /// Takes any socket for a connection to the script, which has none.
    fn adopt(&mut self, conn: ConnId, _socket: Socket) {
        self.open(conn, &Address::Unix("".into()), &ConnectOptions::default());
    }

    fn send(&mut self, conn: ConnId, bytes: &[u8]) -> u64 {
        if self.connections.get(conn.0 as usize).is_some_and(|c| c.open) {
            let events = self.script.received(conn, bytes, self.now_ns);
            self.schedule(conn, events);
        }
        self.now_ns
    }

    fn inbox(&self) -> &[u8] {
        self.current.map_or(&[], |conn| &self.connections[conn.0 as usize].inbox)
    }

    fn consume(&mut self, bytes: usize) {
        if let Some(conn) = self.current {
            self.connections[conn.0 as usize].inbox.drain(..bytes);
        }
    }

    fn close(&mut self, conn: ConnId) {
        if let Some(connection) = self.connections.get_mut(conn.0 as usize) {
            let generation = connection.generation;
            *connection = Connection { generation, ..Connection::default() };
        }
        self.current = self.current.filter(|current| *current != conn);
    }

    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        self.current = None;
        self.take_due();
        if !self.happened.is_empty() {
            self.idle_waits = 0;
            return Ok(());
        }
        let next = self.due.peek().map(|Reverse((at_ns, _))| *at_ns);
        let Some(wake_ns) = next.into_iter().chain(until_ns).min() else {
            return Err(io::Error::other("nothing is due and nothing ever will be"));
        };
        self.idle_waits = if wake_ns > self.now_ns { 0 } else { self.idle_waits + 1 };
        if self.idle_waits > IDLE_WAITS_MAX {
            return Err(io::Error::other("time stands still: it waits for what has come already"));
        }
        self.now_ns = self.script.resumes_ns(self.now_ns.max(wake_ns));
        self.take_due();
        Ok(())
    }

    fn next(&mut self) -> Option<Event> {
        self.current = None;
        while let Some((conn, generation, event)) = self.happened.pop_front() {
            let connection = &mut self.connections[conn.0 as usize];
            if !connection.begun || connection.generation != generation {
                continue;
            }
            return Some(match event {
                ScriptedEvent::Accept => {
                    connection.open = true;
                    Event::Opened(conn)
                }
                ScriptedEvent::Bytes(bytes) => {
                    connection.inbox.extend_from_slice(&bytes);
                    self.current = Some(conn);
                    Event::Received(conn)
                }
                ScriptedEvent::Close => {
                    self.close(conn);
                    Event::Closed(conn, Reason::ByPeer)
                }
                ScriptedEvent::Fail(kind) => {
                    self.close(conn);
                    Event::Closed(conn, Reason::Failed(kind.into()))
                }
            });
        }
        None
    }
}
