//! Requirements on every engine, whatever it is made of.
//!
//! Each case runs on each laboratory: an engine joined to a peer of known behaviour. A new engine
//! is one line in [`LABS`].
#![allow(missing_docs, clippy::unwrap_used)]

mod certificates;
mod discard;
mod peer;
mod script;
mod tls;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use engine::{
    Address, ConnId, ConnectOptions, Engine, Epoll, Event, Reason, ScriptedEngine, Socket, Uring,
};
use peer::{Behaviour, Peer, Transport};

pub(crate) struct Lab {
    engine: Box<dyn Engine>,
    address: Address,
    options: ConnectOptions,
    /// Set if the engine can drop bytes.
    drops: bool,
    _peer: Option<Peer>,
}

type MakeLab = fn(Behaviour) -> Lab;

const LABS: &[(&str, MakeLab)] = &[
    ("epoll over tcp", |behaviour| real(epoll(), Peer::tcp(behaviour, Transport::Plain))),
    ("epoll over unix", |behaviour| real(epoll(), Peer::unix(behaviour, Transport::Plain))),
    ("uring over tcp", |behaviour| real(uring(), Peer::tcp(behaviour, Transport::Plain))),
    ("uring over unix", |behaviour| real(uring(), Peer::unix(behaviour, Transport::Plain))),
    ("tls over epoll over tcp", |behaviour| tls::lab(epoll(), behaviour, Peer::tcp)),
    ("tls over epoll over unix", |behaviour| tls::lab(epoll(), behaviour, Peer::unix)),
    ("tls over uring over tcp", |behaviour| tls::lab(uring(), behaviour, Peer::tcp)),
    ("tls over uring over unix", |behaviour| tls::lab(uring(), behaviour, Peer::unix)),
    ("epoll with stamps", |behaviour| {
        real(epoll(), Peer::tcp(behaviour, Transport::Plain)).stamped()
    }),
    ("uring with stamps", |behaviour| {
        real(uring(), Peer::tcp(behaviour, Transport::Plain)).stamped()
    }),
    ("tls over epoll with stamps", |behaviour| tls::lab(epoll(), behaviour, Peer::tcp).stamped()),
    ("tls over uring with stamps", |behaviour| tls::lab(uring(), behaviour, Peer::tcp).stamped()),
    ("scripted", |behaviour| Lab {
        engine: Box::new(ScriptedEngine::new(script::Play::new(behaviour))),
        address: Address::Unix("/nowhere".into()),
        options: ConnectOptions::default(),
        drops: false,
        _peer: None,
    }),
];

fn epoll() -> Epoll {
    Epoll::new(Instant::now()).unwrap()
}

fn uring() -> Uring {
    Uring::new(Instant::now(), CONNECTIONS_MAX).unwrap()
}

fn real(engine: impl Engine + 'static, peer: Peer) -> Lab {
    let options = ConnectOptions::default();
    Lab {
        engine: Box::new(engine),
        address: peer.address(),
        options,
        drops: true,
        _peer: Some(peer),
    }
}

/// Maximum number of connections of a case.
const CONNECTIONS_MAX: u32 = 256;
const A: ConnId = ConnId(0);
/// Long enough for the slowest machine, short enough to fail by.
const PATIENCE_NS: u64 = 10_000_000_000;

/// An event as a case sees it, with the inbox that goes with it.
#[derive(Debug, PartialEq, Eq)]
enum Observed {
    Opened,
    Bytes(Vec<u8>),
    ClosedByPeer,
    Failed,
}

impl Lab {
    fn open(&mut self, conn: ConnId) {
        self.engine.open(conn, &self.address, &self.options);
    }

    /// Asks the kernel to stamp all that arrives.
    fn stamped(mut self) -> Self {
        self.options.kernel_stamps = true;
        self.drops = false;
        self
    }

    /// Turns until `enough` says so; everything received is consumed.
    fn run(&mut self, mut enough: impl FnMut(&mut dyn Engine, ConnId, Observed) -> bool) {
        let end_ns = self.engine.now_ns() + PATIENCE_NS;
        loop {
            self.engine.wait(Some(end_ns)).unwrap();
            while let Some(event) = self.engine.next() {
                let (conn, seen) = match event {
                    Event::Opened(conn) => (conn, Observed::Opened),
                    Event::Closed(conn, Reason::ByPeer) => (conn, Observed::ClosedByPeer),
                    Event::Closed(conn, Reason::Failed(_)) => (conn, Observed::Failed),
                    Event::Received(conn) => {
                        let bytes = self.engine.inbox().to_vec();
                        assert!(!bytes.is_empty(), "something received is not nothing");
                        self.engine.consume(bytes.len());
                        (conn, Observed::Bytes(bytes))
                    }
                };
                if enough(self.engine.as_mut(), conn, seen) {
                    return;
                }
            }
            assert!(self.engine.now_ns() < end_ns, "what was waited for never came");
        }
    }

    fn opened(&mut self, conn: ConnId) {
        self.open(conn);
        self.run(|_, who, seen| who == conn && seen == Observed::Opened);
    }

    /// Waits for bytes on A and leaves them in the inbox.
    fn receive(&mut self) {
        loop {
            self.engine.wait(None).unwrap();
            if let Some(event) = self.engine.next() {
                return assert!(matches!(event, Event::Received(A)));
            }
        }
    }

    /// Everything received on `conn` until there are `len` bytes or the connection ends.
    fn collect(&mut self, conn: ConnId, len: usize) -> (Vec<u8>, Option<Observed>) {
        let mut all = Vec::new();
        let mut end = None;
        self.run(|_, who, seen| {
            assert_eq!(who, conn);
            match seen {
                Observed::Bytes(bytes) => all.extend(bytes),
                other => end = Some(other),
            }
            all.len() >= len || end.is_some()
        });
        (all, end)
    }

    /// Waits a little and asserts that nothing happens.
    fn assert_quiet(&mut self) {
        let end_ns = self.engine.now_ns() + 30_000_000;
        while self.engine.now_ns() < end_ns {
            self.engine.wait(Some(end_ns)).unwrap();
            assert!(self.engine.next().is_none(), "nothing is expected");
        }
    }
}

fn for_each_lab(behaviour: Behaviour, case: impl Fn(&mut Lab)) {
    for (name, make) in LABS {
        eprintln!("in the laboratory {name}");
        case(&mut make(behaviour));
    }
}

#[test]
fn what_is_sent_comes_back() {
    for_each_lab(Behaviour::Echo, |lab| {
        lab.opened(A);
        for round in 0..100u32 {
            let message = format!("message {round}").into_bytes();
            let sent_ns = lab.engine.send(A, &message);
            let (got, end) = lab.collect(A, message.len());
            assert_eq!((got, end), (message, None));
            assert!(lab.engine.now_ns() >= sent_ns, "time does not run backwards");
        }
    });
}

#[test]
fn stamps_lie_between_sending_and_reading_where_there_are_some() {
    /// Two clocks are read one after the other, by a thread that may be held up between.
    const SLACK_NS: u64 = 50_000_000;
    /// The kernel begins to stamp a moment after it was first asked to.
    const ROUNDS: u32 = 1000;
    for_each_lab(Behaviour::Echo, |lab| {
        lab.opened(A);
        let mut stamps = 0;
        for _ in 0..ROUNDS {
            let sent_ns = lab.engine.send(A, b"hello");
            let mut arrived_ns = None;
            let mut left = 5;
            lab.run(|engine, _, seen| {
                if let Observed::Bytes(bytes) = seen {
                    arrived_ns = engine.arrived_ns();
                    left -= bytes.len();
                }
                left == 0
            });
            if let Some(arrived_ns) = arrived_ns {
                assert!(arrived_ns + SLACK_NS >= sent_ns, "before it was sent");
                assert!(arrived_ns <= lab.engine.now_ns() + SLACK_NS, "after it was read");
                stamps += 1;
            }
            if stamps == 3 || !lab.options.kernel_stamps {
                break;
            }
        }
        assert_eq!(stamps == 3, lab.options.kernel_stamps, "{stamps} stamps");
        assert!(lab.engine.next().is_none() && lab.engine.arrived_ns().is_none());
    });
}

#[test]
fn a_connection_may_be_adopted() {
    for_each_lab(Behaviour::Echo, |lab| {
        let domain = match lab.address {
            Address::Tcp(address) => socket2::Domain::for_address(address),
            Address::Unix(_) => socket2::Domain::UNIX,
        };
        let socket = Socket::new(domain, socket2::Type::STREAM, None).unwrap();
        match &lab.address {
            Address::Tcp(address) => socket.connect(&(*address).into()).unwrap(),
            Address::Unix(path) if path.exists() => {
                socket.connect(&socket2::SockAddr::unix(path).unwrap()).unwrap();
            }
            Address::Unix(_) => {} // Nowhere: the scripted engine's.
        }
        lab.engine.adopt(A, socket);
        lab.run(|_, who, seen| who == A && seen == Observed::Opened);
        lab.engine.send(A, b"hello");
        assert_eq!(lab.collect(A, 5).0, b"hello");
    });
}

#[test]
fn more_than_the_kernel_takes_at_once_arrives_whole() {
    for_each_lab(Behaviour::EchoAfter(Duration::from_millis(100)), |lab| {
        lab.opened(A);
        let message: Vec<u8> = (0..6_000_000u32).map(|n| (n % 251) as u8).collect();
        for part in message.chunks(1_234_567) {
            lab.engine.send(A, part);
        }
        let (got, _) = lab.collect(A, message.len());
        assert!(got == message, "{} of {} bytes, or others", got.len(), message.len());
    });
}

#[test]
fn a_reply_may_dribble() {
    for_each_lab(Behaviour::EchoBytewise, |lab| {
        lab.opened(A);
        lab.engine.send(A, b"abcdefgh");
        assert_eq!(lab.collect(A, 8).0, b"abcdefgh");
    });
}

#[test]
fn what_is_not_consumed_comes_again() {
    for_each_lab(Behaviour::EchoBytewise, |lab| {
        lab.opened(A);
        lab.engine.send(A, b"abcdef");
        let mut longest = Vec::new();
        while longest.len() < 6 {
            lab.engine.wait(None).unwrap();
            while let Some(event) = lab.engine.next() {
                assert!(matches!(event, Event::Received(A)));
                let inbox = lab.engine.inbox().to_vec();
                assert!(inbox.len() > longest.len() && inbox.starts_with(&longest));
                longest = inbox;
            }
        }
        assert_eq!(longest, b"abcdef");
        lab.engine.send(A, b"g");
        lab.receive();
        lab.engine.consume(4);
        assert_eq!(lab.engine.inbox(), b"efg");
        lab.engine.consume(3);
        assert!(lab.engine.next().is_none() && lab.engine.inbox().is_empty());
    });
}

#[test]
fn last_words_are_heard_before_the_end() {
    for_each_lab(Behaviour::SayAndClose(b"-ERR max number of clients reached\r\n"), |lab| {
        lab.opened(A);
        let (got, end) = lab.collect(A, usize::MAX);
        assert_eq!(got, b"-ERR max number of clients reached\r\n");
        assert_eq!(end, Some(Observed::ClosedByPeer));
        lab.assert_quiet();
    });
}

#[test]
fn an_end_in_the_middle_is_seen_once() {
    for_each_lab(Behaviour::CloseAfter(10), |lab| {
        lab.opened(A);
        lab.engine.send(A, b"0123456789");
        let (got, end) = lab.collect(A, usize::MAX);
        assert_eq!((got.as_slice(), end), (&b""[..], Some(Observed::ClosedByPeer)));
        lab.engine.send(A, b"into the void");
        lab.assert_quiet();
    });
}

#[test]
fn a_reset_is_a_failure() {
    for_each_lab(Behaviour::ResetAfter(10), |lab| {
        lab.opened(A);
        lab.engine.send(A, b"0123456789");
        let (_, end) = lab.collect(A, usize::MAX);
        // A unix socket that is closed with nothing unread ends in order: it knows no reset.
        assert!(matches!(end, Some(Observed::Failed | Observed::ClosedByPeer)), "{end:?}");
        lab.assert_quiet();
    });
}

#[test]
fn nobody_there_is_a_failure() {
    for_each_lab(Behaviour::Refuse, |lab| {
        lab.open(A);
        lab.run(|_, conn, seen| conn == A && seen == Observed::Failed);
        lab.assert_quiet();
    });
}

#[test]
fn a_closed_connection_is_silent_and_its_id_free() {
    for_each_lab(Behaviour::Echo, |lab| {
        lab.opened(A);
        for round in 0..50u8 {
            lab.engine.send(A, b"never read");
            lab.engine.close(A);
            lab.open(A);
            lab.run(|_, conn, seen| {
                assert_eq!((conn, seen), (A, Observed::Opened), "nothing of the old connection");
                true
            });
            lab.engine.send(A, &[round]);
            assert_eq!(lab.collect(A, 1).0, [round]);
        }
    });
}

#[test]
fn closing_in_the_middle_of_its_own_event_is_fine() {
    for_each_lab(Behaviour::Echo, |lab| {
        lab.opened(A);
        lab.engine.send(A, b"hello");
        lab.receive();
        lab.engine.close(A);
        assert!(lab.engine.inbox().is_empty());
        lab.open(A);
        lab.run(|_, conn, seen| conn == A && seen == Observed::Opened);
        lab.assert_quiet();
    });
}

#[test]
fn many_connections_do_not_mix() {
    const CONNECTIONS: u32 = 200;
    for_each_lab(Behaviour::Echo, |lab| {
        for n in 0..CONNECTIONS {
            lab.open(ConnId(n));
        }
        let mut rounds = vec![0u32; CONNECTIONS as usize];
        let mut expected = vec![Vec::new(); CONNECTIONS as usize];
        let mut done = 0;
        lab.run(|engine, conn, seen| {
            let index = conn.0 as usize;
            if let Observed::Bytes(bytes) = seen {
                let rest = &mut expected[index];
                assert_eq!(rest.get(..bytes.len()), Some(bytes.as_slice()));
                rest.drain(..bytes.len());
                if !rest.is_empty() {
                    return false;
                }
            } else {
                assert_eq!(seen, Observed::Opened);
            }
            if rounds[index] == 20 {
                done += 1;
                return done == CONNECTIONS;
            }
            rounds[index] += 1;
            expected[index] = format!("{conn:?} in round {}", rounds[index]).into_bytes();
            engine.send(conn, &expected[index]);
            false
        });
    });
}

#[test]
fn an_engine_that_is_gone_leaves_no_connection_open() {
    for_each_lab(Behaviour::Echo, |lab| {
        let Address::Tcp(address) = lab.address.clone() else { return };
        for n in 0..20 {
            lab.opened(ConnId(n));
        }
        // Where others open and close connections meanwhile, the kernel's list leaves some out.
        let listed = (0..1000).any(|_| established_to(address.port()) == 20);
        assert!(listed, "{} of 20 connections are listed", established_to(address.port()));
        lab.engine = Box::new(epoll());
        assert_eq!(established_to(address.port()), 0);
    });
}

/// Connections to a port of this machine that are open at our end, as the kernel lists them: in pieces,
/// so that one may stand in two.
fn established_to(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let to = format!(":{port:04X}");
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let ours = fields.filter(|fields| fields[2].ends_with(&to) && fields[3] == "01");
    ours.map(|fields| fields[1].to_owned()).collect::<HashSet<_>>().len()
}

#[test]
fn a_wait_ends_when_it_was_asked_to() {
    for_each_lab(Behaviour::Silent, |lab| {
        lab.opened(A);
        lab.engine.send(A, b"?");
        for wait_ns in [1_000, 300_000, 5_000_000] {
            let end_ns = lab.engine.now_ns() + wait_ns;
            while lab.engine.now_ns() < end_ns {
                lab.engine.wait(Some(end_ns)).unwrap();
                assert!(lab.engine.next().is_none());
            }
            assert!(lab.engine.now_ns() < end_ns + 1_000_000_000, "not a second late");
        }
    });
}
