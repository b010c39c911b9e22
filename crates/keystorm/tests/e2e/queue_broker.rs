//! A server of LPUSH and BRPOP that is written for tests: of a thousand messages it loses 10, doubles 4 and swaps 2
//! pairs.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};

use crate::broker::{listening, words};
use crate::program::{Keystorm, RunOutput};

#[derive(Default)]
struct Lists {
    /// By key: the oldest first.
    lists: BTreeMap<Vec<u8>, VecDeque<Vec<u8>>>,
    messages: u64,
    held: Option<(Vec<u8>, Vec<u8>)>,
}

type SharedLists = Arc<(Mutex<Lists>, Condvar)>;

/// A server on a port of 127.0.0.1, until the tests end.
pub(crate) struct QueueBroker {
    port: u16,
}

impl QueueBroker {
    pub(crate) fn new() -> Self {
        let shared = SharedLists::default();
        Self { port: listening(move |stream| serve(stream, &shared)) }
    }

    pub(crate) fn run(&self, line: &str) -> RunOutput {
        Keystorm::new(&format!("deliver list -p {} {line}", self.port)).run()
    }
}

fn serve(mut stream: TcpStream, shared: &SharedLists) {
    let mut input = BufReader::new(stream.try_clone().unwrap());
    while let Some(words) = words(&mut input) {
        let reply = match words[0].to_ascii_uppercase().as_slice() {
            b"PING" => b"+PONG\r\n".to_vec(),
            b"LPUSH" => push(shared, &words[1], &words[2]),
            b"BRPOP" => pop(shared, &words[1..words.len() - 1]),
            b"LLEN" | b"UNLINK" => b":0\r\n".to_vec(),
            b"CONFIG" => b"*0\r\n".to_vec(),
            b"INFO" => b"$15\r\nredis_version:7\r\n".to_vec(),
            _ => b"-ERR unknown command\r\n".to_vec(),
        };
        if stream.write_all(&reply).is_err() {
            return;
        }
    }
}

fn push(shared: &SharedLists, key: &[u8], payload: &[u8]) -> Vec<u8> {
    let (lists, pushed) = &**shared;
    let mut lists = lists.lock().unwrap();
    // Its purpose stands behind the first byte of the message.
    let is_measured = payload[payload.len() - 31] == b'm';
    lists.messages = if is_measured { lists.messages % 1_000 + 1 } else { 0 };
    let message = (key.to_vec(), payload.to_vec());
    let held = lists.held.take();
    let mut arriving = match lists.messages {
        0 => vec![message],
        n if n % 100 == 0 => Vec::new(),
        n if n % 250 == 1 => vec![message.clone(), message],
        n if n % 500 == 7 => {
            lists.held = Some(message);
            Vec::new()
        }
        _ => vec![message],
    };
    arriving.extend(held);
    for (key, payload) in arriving {
        lists.lists.entry(key).or_default().push_back(payload);
    }
    pushed.notify_all();
    b":1\r\n".to_vec()
}

fn pop(shared: &SharedLists, keys: &[Vec<u8>]) -> Vec<u8> {
    let (lists, pushed) = &**shared;
    let mut lists = lists.lock().unwrap();
    loop {
        let first = keys.iter().find_map(|key| {
            let payload = lists.lists.get_mut(key)?.pop_front()?;
            Some((key, payload))
        });
        let Some((key, payload)) = first else {
            lists = pushed.wait(lists).unwrap();
            continue;
        };
        let mut reply = b"*2\r\n".to_vec();
        for string in [key, &payload] {
            reply.extend_from_slice(format!("${}\r\n", string.len()).as_bytes());
            reply.extend_from_slice(string);
            reply.extend_from_slice(b"\r\n");
        }
        return reply;
    }
}
