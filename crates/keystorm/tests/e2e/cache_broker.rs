//! A server of client-side caching that is written for tests: it says after a while that a key was written, or that
//! long before it answers the writer. Of the invalidations of fifty writes it loses 5 and doubles 2.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::broker::{listening, words};
use crate::program::{Keystorm, RunOutput, elapse};

/// Between the reply to a write and its invalidation, whichever is first.
pub(crate) const BETWEEN: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Caches {
    clients: Vec<TcpStream>,
    writes: u64,
}

type SharedCaches = Arc<Mutex<Caches>>;

/// A server on a port of 127.0.0.1, until the tests end.
pub(crate) struct CacheBroker {
    port: u16,
}

impl CacheBroker {
    pub(crate) fn new() -> Self {
        let shared = SharedCaches::default();
        Self { port: listening(move |stream| serve(stream, &shared)) }
    }

    pub(crate) fn run(&self, line: &str) -> RunOutput {
        Keystorm::new(&format!("deliver invalidate -p {} {line}", self.port)).run()
    }
}

fn serve(mut stream: TcpStream, shared: &SharedCaches) {
    let mut input = BufReader::new(stream.try_clone().unwrap());
    while let Some(words) = words(&mut input) {
        let reply: &[u8] = match words[0].to_ascii_uppercase().as_slice() {
            b"HELLO" => b"%1\r\n$5\r\nproto\r\n:3\r\n",
            b"CLIENT" if words[1].eq_ignore_ascii_case(b"TRACKING") => {
                shared.lock().unwrap().clients.push(stream.try_clone().unwrap());
                b"+OK\r\n"
            }
            b"EVAL" => {
                write(&mut stream, shared, &words[3]);
                continue;
            }
            b"CONFIG" => b"*0\r\n",
            b"INFO" => b"$15\r\nredis_version:7\r\n",
            _ => b"-ERR unknown command\r\n",
        };
        if stream.write_all(reply).is_err() {
            return;
        }
    }
}

/// Answers a write of this key, and invalidates the key before or after.
fn write(stream: &mut TcpStream, shared: &SharedCaches, key: &[u8]) {
    let mut caches = shared.lock().unwrap();
    // The purpose of a message stands behind its first byte.
    let is_measured = key[key.len() - 31] == b'm';
    caches.writes = if is_measured { caches.writes + 1 } else { 0 };
    let times = match caches.writes {
        0 => 1,
        n if n % 10 == 0 => 0,
        n if n % 25 == 7 => 2,
        _ => 1,
    };
    let mut push = format!(">2\r\n$10\r\ninvalidate\r\n*1\r\n${}\r\n", key.len()).into_bytes();
    push.extend_from_slice(key);
    push.extend_from_slice(b"\r\n");
    let invalidate = |clients: &mut [TcpStream]| {
        clients.iter_mut().for_each(|client| drop(client.write_all(&push.repeat(times))));
    };
    let is_first = caches.writes % 2 == 1;
    if is_first {
        invalidate(&mut caches.clients)
    } else {
        drop(stream.write_all(b":1\r\n"))
    }
    elapse(BETWEEN);
    if is_first { drop(stream.write_all(b":1\r\n")) } else { invalidate(&mut caches.clients) }
}
