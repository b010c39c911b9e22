//! Connections closed at random, with operations in flight, under every real engine.
//!
//! What must hold: no byte of a connection that is gone reaches the one that has its id, every
//! byte that does arrive is the right one, nothing hangs, and (with a sanitizer) nothing that the
//! kernel or we still use was freed. Run it with one by
//! `RUSTFLAGS=-Zsanitizer=address cargo +nightly test -p keystorm-engine --test stress --target
//! x86_64-unknown-linux-gnu`.
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Instant;

use engine::{Address, ConnId, ConnectOptions, Engine, Epoll, Event, Uring};
use workload::random::SplitMix;

const CONNECTIONS: u32 = 48;
const STEPS: u32 = 6_000;
const LARGEST: usize = 700_000;

/// Numbers of a seed, so that a failure is repeated by it.
struct Random(SplitMix);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0.draw() % below
    }
}

fn echo(mut stream: impl Read + Write) {
    let mut buffer = vec![0; 20_000];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..n]).is_err() {
            return;
        }
    }
}

fn tcp_peer() -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || echo(stream));
        }
    });
    address
}

fn unix_peer(directory: &tempfile::TempDir) -> Address {
    let path = directory.path().join("peer.sock");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || echo(stream));
        }
    });
    Address::Unix(path)
}

/// A connection as the test knows it: byte `n` of its stream is a function of its life and `n`.
#[derive(Default, Clone, Copy)]
struct Life {
    number: u64,
    open: bool,
    sent: u64,
    received: u64,
}

fn byte(life: u64, at: u64) -> u8 {
    (life.wrapping_mul(31) ^ at.wrapping_mul(7)) as u8
}

fn storm(mut engine: impl Engine, address: &Address, seed: u64) {
    let mut random = Random(SplitMix::new(seed));
    let mut lives = vec![Life::default(); CONNECTIONS as usize];
    let mut births = 0;
    let mut bytes_received = 0u64;
    for n in 0..CONNECTIONS {
        engine.open(ConnId(n), address, &ConnectOptions::default());
    }
    for _ in 0..STEPS {
        let conn = ConnId(random.next(u64::from(CONNECTIONS)) as u32);
        let life = &mut lives[conn.0 as usize];
        match random.next(10) {
            0 => {
                engine.close(conn);
                births += 1;
                *life = Life { number: births, ..Life::default() };
                engine.open(conn, address, &ConnectOptions::default());
            }
            1..=5 if life.open => {
                let len = match random.next(20) {
                    0 => random.next(LARGEST as u64),
                    _ => 1 + random.next(300),
                };
                let message: Vec<u8> =
                    (life.sent..life.sent + len).map(|at| byte(life.number, at)).collect();
                life.sent += len;
                engine.send(conn, &message);
            }
            _ => {}
        }
        let until_ns = engine.now_ns() + random.next(40_000);
        engine.wait(Some(until_ns)).unwrap();
        while let Some(event) = engine.next() {
            match event {
                Event::Opened(conn) => lives[conn.0 as usize].open = true,
                Event::Closed(conn, reason) => panic!("seed {seed}: {conn:?} ended: {reason}"),
                Event::Received(conn) => {
                    let life = &mut lives[conn.0 as usize];
                    let inbox = engine.inbox();
                    // Sometimes a part is left, to come again.
                    let take = 1 + random.next(inbox.len() as u64) as usize;
                    for (at, got) in (life.received..).zip(&inbox[..take]) {
                        assert_eq!(*got, byte(life.number, at), "seed {seed}: {conn:?} at {at}");
                    }
                    life.received += take as u64;
                    bytes_received += take as u64;
                    engine.consume(take);
                    // And sometimes the connection is closed with its own bytes in hand.
                    if random.next(500) == 0 {
                        engine.close(conn);
                        births += 1;
                        *life = Life { number: births, ..Life::default() };
                        engine.open(conn, address, &ConnectOptions::default());
                    }
                }
            }
        }
    }
    assert!(births > 100 && bytes_received > 100_000, "the storm was one");
    // The engine goes with much in flight, which is the last thing to survive.
}

#[test]
fn random_closes_disturb_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let origin = Instant::now();
    for address in [tcp_peer(), unix_peer(&directory)] {
        for seed in 1..=3 {
            storm(Uring::new(origin, CONNECTIONS).unwrap(), &address, seed);
            storm(Epoll::new(origin).unwrap(), &address, seed);
        }
    }
}
