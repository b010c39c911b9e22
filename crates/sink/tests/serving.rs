//! The sink on real sockets, with every engine that works here.
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::Address;
use sink::{EngineChoice, Listener, Replies, SinkTotals};

const PATIENCE: Duration = Duration::from_secs(10);

/// The engines that work here.
fn engines() -> Vec<EngineChoice> {
    static WORKING: OnceLock<Vec<EngineChoice>> = OnceLock::new();
    WORKING
        .get_or_init(|| EngineChoice::ALL.into_iter().filter(|e| e.probe().is_ok()).collect())
        .clone()
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A sink on a thread of its own, on a port and a unix socket.
struct SinkThread {
    addresses: Vec<Address>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<SinkTotals>,
    _dir: tempfile::TempDir,
}

impl SinkThread {
    fn new(engine: EngineChoice, connections_max: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listeners = vec![
            Listener::tcp("127.0.0.1:0".parse().unwrap()).unwrap(),
            Listener::unix(dir.path().join("s")).unwrap(),
        ];
        let addresses = listeners.iter().map(|l| l.address().clone()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            engine.serve(&listeners, connections_max, &Replies::new(3), &asked).unwrap()
        });
        Self { addresses, stop, thread, _dir: dir }
    }

    fn each(test: impl Fn(&Self, &Address)) {
        for engine in engines() {
            let sink = Self::new(engine, 100);
            for address in &sink.addresses {
                test(&sink, address);
            }
            sink.stop();
        }
    }

    fn stop(self) -> SinkTotals {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn connect(address: &Address) -> Box<dyn Stream> {
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Box::new(stream)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Box::new(stream)
        }
    }
}

#[track_caller]
fn expect(stream: &mut dyn Stream, reply: &[u8]) {
    let mut got = vec![0; reply.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(got.escape_ascii().to_string(), reply.escape_ascii().to_string());
}

/// Returns whether the other side has closed, and said nothing more.
fn is_closed(stream: &mut dyn Stream) -> bool {
    loop {
        match stream.read(&mut [0; 64]) {
            Ok(n) => return n == 0,
            // A ring that this thread has tried is cleaned up behind its back.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn requests_are_answered_in_order_however_they_arrive() {
    SinkThread::each(|_, address| {
        let mut stream = connect(address);
        let request = b"*1\r\n$4\r\nPING\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
        let reply = b"+PONG\r\n+PONG\r\n$3\r\nxxx\r\n";
        stream.write_all(request).unwrap();
        expect(&mut stream, reply);
        for byte in request {
            stream.write_all(&[*byte]).unwrap();
            thread::sleep(Duration::from_micros(200));
        }
        expect(&mut stream, reply);
    });
}

#[test]
fn a_long_pipeline_and_a_long_value_are_answered() {
    SinkThread::each(|_, address| {
        let mut stream = connect(address);
        stream.write_all(&b"*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n".repeat(20_000)).unwrap();
        expect(&mut stream, &b":1\r\n".repeat(20_000));
        stream.write_all(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3000000\r\n").unwrap();
        stream.write_all(&vec![b'v'; 3_000_002]).unwrap();
        expect(&mut stream, b"+OK\r\n");
    });
}

#[test]
fn a_reply_larger_than_any_socket_buffer_arrives_whole() {
    SinkThread::each(|_, address| {
        let mut stream = connect(address);
        stream.write_all(&b"LRANGE l 0 -1\n".repeat(100)).unwrap();
        let one = [&b"*10000\r\n"[..], &b"$3\r\nxxx\r\n".repeat(10_000)].concat();
        // When another connection has its answer, the sink has begun this reply and filled the buffers.
        let mut other = connect(address);
        other.write_all(b"PING\r\n").unwrap();
        expect(&mut other, b"+PONG\r\n");
        for _ in 0..100 {
            expect(&mut stream, &one);
        }
    });
}

#[test]
fn what_is_no_request_is_reported_and_ends_the_connection() {
    SinkThread::each(|_, address| {
        let mut stream = connect(address);
        stream.write_all(b"PING\r\n*1\r\nPING\r\n").unwrap();
        expect(&mut stream, b"+PONG\r\n-ERR Protocol error: expected '$'\r\n");
        assert!(is_closed(&mut stream));
        let mut next = connect(address);
        next.write_all(b"PING\r\n").unwrap();
        expect(&mut next, b"+PONG\r\n");
    });
}

#[test]
fn connections_beyond_the_limit_are_turned_away_and_room_is_used_again() {
    for engine in engines() {
        let sink = SinkThread::new(engine, 3);
        let address = &sink.addresses[0];
        let mut held: Vec<_> = (0..3).map(|_| connect(address)).collect();
        for stream in &mut held {
            stream.write_all(b"PING\r\n").unwrap();
            expect(stream, b"+PONG\r\n");
        }
        let mut fourth = connect(address);
        expect(&mut fourth, b"-ERR max number of clients reached\r\n");
        assert!(is_closed(&mut fourth));
        for _ in 0..50 {
            drop(held.pop());
            let deadline = Instant::now() + PATIENCE;
            let stream = loop {
                // The sink may not have noticed yet that somebody left.
                let mut stream = connect(address);
                let _ = stream.write_all(b"PING\r\n");
                let mut first = [0; 7];
                if stream.read_exact(&mut first).is_ok() && &first == b"+PONG\r\n" {
                    break stream;
                }
                assert!(Instant::now() < deadline, "room never came");
            };
            held.push(stream);
        }
        drop(held);
        let served = sink.stop();
        assert_eq!((served.connections, served.requests), (53, 53), "{served:?}");
    }
}

#[test]
fn the_time_that_it_took_is_reported() {
    for engine in engines() {
        let sink = SinkThread::new(engine, 10);
        let mut stream = connect(&sink.addresses[1]);
        let began = Instant::now();
        let mut asked = || {
            let before = Instant::now();
            stream.write_all(b"PING\r\n").unwrap();
            expect(&mut stream, b"+PONG\r\n");
            (before, Instant::now())
        };
        let (_, first_answered) = asked();
        let mut last_asked = first_answered;
        while first_answered.elapsed() < Duration::from_millis(50) {
            (last_asked, _) = asked();
        }
        let served = sink.stop();
        let span = Duration::from_nanos(served.span_ns);
        // It served at least from the one to the other.
        let least = last_asked - first_answered;
        assert!(span >= least && span <= began.elapsed(), "{least:?}: {served:?}");
        assert!(served.busy() > 0.0 && served.busy() < 1.1, "{served:?}");
    }
}
