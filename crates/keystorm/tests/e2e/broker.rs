//! A server of PUBLISH and SUBSCRIBE that is written for tests: it loses, doubles and swaps messages as a test
//! decides, and says of each that all subscribers got it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{Keystorm, RunOutput, elapse};

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Delivered,
    Lost,
    Doubled,
    /// It comes behind the next one of its publisher.
    Swapped,
    /// It is held for so long, and so is the reply.
    Delayed(Duration),
}

/// Decides by the number of a measured message on its channel, from 1.
type FatePolicy = fn(u64) -> Fate;

#[derive(Default)]
struct Channel {
    subscribers: Vec<TcpStream>,
    messages: u64,
    held: Option<Vec<u8>>,
}

type Channels = Arc<Mutex<BTreeMap<Vec<u8>, Channel>>>;

/// For how long messages were held.
type HoldTimes = Arc<Mutex<Vec<Duration>>>;

/// A broker on a port of 127.0.0.1, until the tests end.
pub(crate) struct Broker {
    port: u16,
    held: HoldTimes,
}

impl Broker {
    pub(crate) fn new(fate: FatePolicy) -> Self {
        let (channels, held) = (Channels::default(), HoldTimes::default());
        let holds = Arc::clone(&held);
        let port = listening(move |stream| serve(stream, &channels, fate, &holds));
        Self { port, held }
    }

    /// For how long it held each message that was delayed.
    pub(crate) fn held(&self) -> Vec<Duration> {
        self.held.lock().unwrap().clone()
    }

    pub(crate) fn run(&self, line: &str) -> RunOutput {
        Keystorm::new(&format!("deliver pubsub -p {} {line}", self.port)).run()
    }
}

/// The port of 127.0.0.1 on which each connection is served by a thread of its own, until the tests end.
pub(crate) fn listening(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    port
}

fn serve(mut stream: TcpStream, channels: &Channels, fate: FatePolicy, held: &HoldTimes) {
    let mut input = BufReader::new(stream.try_clone().unwrap());
    while let Some(words) = words(&mut input) {
        let answered = match words[0].to_ascii_uppercase().as_slice() {
            b"SUBSCRIBE" => words[1..].iter().all(|name| subscribe(&mut stream, channels, name)),
            b"PUBLISH" => {
                let receivers = publish(channels, &words[1], &words[2], (fate, held));
                stream.write_all(format!(":{receivers}\r\n").as_bytes()).is_ok()
            }
            b"CONFIG" => stream.write_all(b"*0\r\n").is_ok(),
            b"INFO" => stream.write_all(b"$15\r\nredis_version:7\r\n").is_ok(),
            _ => stream.write_all(b"-ERR unknown command\r\n").is_ok(),
        };
        if !answered {
            return;
        }
    }
}

fn subscribe(stream: &mut TcpStream, channels: &Channels, name: &[u8]) -> bool {
    let mut channels = channels.lock().unwrap();
    let subscribers = &mut channels.entry(name.to_vec()).or_default().subscribers;
    subscribers.push(stream.try_clone().unwrap());
    let mut reply = bulks(&[b"subscribe", name], 3);
    reply.extend_from_slice(b":1\r\n");
    stream.write_all(&reply).is_ok()
}

fn publish(
    channels: &Channels,
    name: &[u8],
    payload: &[u8],
    (fate, holds): (FatePolicy, &HoldTimes),
) -> usize {
    let came = Instant::now();
    let mut channels = channels.lock().unwrap();
    let channel = channels.entry(name.to_vec()).or_default();
    let message = bulks(&[b"message", name, payload], 3);
    // Its purpose stands behind the first byte of the message.
    let is_measured = payload[payload.len() - 31] == b'm';
    channel.messages += u64::from(is_measured);
    let fate = if is_measured { fate(channel.messages) } else { Fate::Delivered };
    let held = channel.held.take();
    let bytes = match fate {
        Fate::Lost => Vec::new(),
        Fate::Delivered => message,
        Fate::Delayed(length) => {
            elapse(length);
            holds.lock().unwrap().push(came.elapsed());
            message
        }
        Fate::Doubled => message.repeat(2),
        Fate::Swapped => {
            channel.held = Some(message);
            Vec::new()
        }
    };
    for subscriber in &mut channel.subscribers {
        let _ = subscriber.write_all(&bytes);
        let _ = subscriber.write_all(held.as_deref().unwrap_or_default());
    }
    channel.subscribers.len()
}

/// The beginning of an array of so many elements.
fn bulks(strings: &[&[u8]], elements: usize) -> Vec<u8> {
    let mut bytes = format!("*{elements}\r\n").into_bytes();
    for string in strings {
        bytes.extend_from_slice(format!("${}\r\n", string.len()).as_bytes());
        bytes.extend_from_slice(string);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

pub(crate) fn words(input: &mut impl BufRead) -> Option<Vec<Vec<u8>>> {
    let count = number('*', input)?;
    let word = |_| {
        let mut word = vec![0; number('$', input)? + 2];
        input.read_exact(&mut word).ok()?;
        word.truncate(word.len() - 2);
        Some(word)
    };
    (0..count).map(word).collect()
}

fn number(first: char, input: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    line.trim_end().strip_prefix(first)?.parse().ok()
}
