//! A server of one thread: it takes requests one at a time, in order, each for a known time.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use engine::{Address, ConnId, Script, ScriptedEvent};
use measure::statistics::Noise;
use wire::resp::Value;

use super::SECOND;
use crate::LiveRate;
use crate::collect::Message;

/// Longest run of these tests: an endless one would take all memory.
const ENDLESS_NS: u64 = 1_300 * SECOND;

/// Log of everything that the server saw.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Each request: its time, connection and words.
    pub(crate) requests: Vec<(u64, ConnId, Vec<String>)>,
    /// Reads of the client's bytes: the time, the connection and the number of requests.
    pub(crate) reads: Vec<(u64, ConnId, usize)>,
    /// Number of connections requested.
    pub(crate) connects: usize,
}

/// A collector that reads at times of its own.
#[derive(Debug, Default)]
pub(crate) struct TimedCollector {
    /// Times at which it reads all messages, in order.
    at_ns: Vec<u64>,
    /// Source and destination of the messages.
    pub(crate) between: Option<(Rc<Receiver<Message>>, Sender<Message>)>,
}

impl TimedCollector {
    fn look(&mut self, now_ns: u64) {
        while self.at_ns.first().is_some_and(|at_ns| *at_ns <= now_ns) {
            self.at_ns.remove(0);
            if let Some((from, to)) = &self.between {
                from.try_iter().for_each(|message| to.send(message).unwrap());
            }
        }
    }
}

/// A scripted server of one thread. [`Server::taking`] makes one, further methods change its behaviour.
pub(crate) struct Server {
    service_ns: u64,
    free_ns: u64,
    freezes: Vec<Range<u64>>,
    downs: Vec<Range<u64>>,
    /// Spans in which the client is stopped.
    stops: Vec<Range<u64>>,
    /// Port of the cluster node that alone freezes or goes down.
    node: Option<u16>,
    /// Connections to that node.
    of_node: BTreeSet<ConnId>,
    frame: fn(&[u8]) -> Option<RequestWords>,
    answer: fn(&[String], usize) -> Vec<u8>,
    /// Spread of the service time, and its random noise.
    wavers: Option<(f64, Noise)>,
    fault: Fault,
    /// Time from when a reply is ready until it is sent; it holds up no other request.
    delay_ns: u64,
    /// Time at which the client is asked to end, and the flag for it.
    interrupts_ns: u64,
    pub(crate) interrupted: Arc<AtomicBool>,
    /// The client's rate, the time of its change, the time from which it holds, and the new rate.
    pub(crate) rate: Option<Arc<LiveRate>>,
    rates: Vec<(u64, u64, Option<f64>)>,
    /// The client's collector, if it is slow.
    pub(crate) collects: Option<Rc<RefCell<TimedCollector>>>,
    served: usize,
    held: BTreeMap<ConnId, Vec<u8>>,
    log: Rc<RefCell<Log>>,
}

/// The words of the request at the start of some bytes, and its length, if it is whole.
pub(super) type RequestWords = (Vec<String>, usize);

/// Fault of a server, and after how many requests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    None,
    /// Refused.
    Refused,
    /// The connection ends in the middle of a reply.
    CutAt(usize),
    /// The connection is reset.
    ResetAt(usize),
    /// The connection is reset after 50 bytes; then this many connections are refused for lack of room.
    FullUntil(usize),
}

impl Server {
    /// A server that takes this long for each request and answers `OK`.
    pub(crate) fn taking(service_ns: u64) -> Self {
        Self {
            service_ns,
            free_ns: 0,
            freezes: vec![],
            downs: vec![],
            stops: vec![],
            node: None,
            of_node: BTreeSet::new(),
            frame: resp,
            answer: |_, _| b"+OK\r\n".to_vec(),
            wavers: None,
            fault: Fault::None,
            delay_ns: 0,
            interrupts_ns: u64::MAX,
            interrupted: Arc::default(),
            rate: None,
            rates: vec![],
            collects: None,
            served: 0,
            held: BTreeMap::new(),
            log: Rc::default(),
        }
    }

    /// Varies the service time: log-normal with this standard deviation.
    pub(crate) fn wavering(mut self, spread: f64, seed: u64) -> Self {
        self.wavers = Some((spread, Noise::new(seed)));
        self
    }

    /// Freezes in this span.
    pub(crate) fn frozen(mut self, span: Range<u64>) -> Self {
        self.freezes.push(span);
        self
    }

    /// Is away in this span: connections end at its start, and new ones are refused.
    pub(crate) fn down(mut self, span: Range<u64>) -> Self {
        self.downs.push(span);
        self
    }

    /// Stops the client in this span, without its knowledge.
    pub(crate) fn stopping_the_client(mut self, span: Range<u64>) -> Self {
        self.stops.push(span);
        self
    }

    /// Restricts freezes and absences to the node at this port, which holds up no other.
    pub(crate) fn at_node(mut self, port: u16) -> Self {
        self.node = Some(port);
        self
    }

    /// Takes lines, like memcached, and answers them with these bytes.
    pub(crate) fn in_lines(mut self, answer: fn(&[String], usize) -> Vec<u8>) -> Self {
        self.frame = line;
        self.answering(answer)
    }

    /// Answers a request (its words, and the number of earlier ones) with these bytes.
    pub(crate) fn answering(mut self, answer: fn(&[String], usize) -> Vec<u8>) -> Self {
        self.answer = answer;
        self
    }

    /// Delays every reply, without holding up other work.
    pub(crate) fn delaying(mut self, delay_ns: u64) -> Self {
        self.delay_ns = delay_ns;
        self
    }

    /// Asks the client to end when the first request after this time comes.
    pub(crate) fn interrupted_at(mut self, ns: u64) -> Self {
        self.interrupts_ns = ns;
        self
    }

    /// Changes the client's rate when the first request after `now_ns` comes, from `at_ns` after the start of
    /// load on.
    pub(crate) fn rated(mut self, now_ns: u64, at_ns: u64, rate_per_s: Option<f64>) -> Self {
        self.rates.insert(0, (now_ns, at_ns, rate_per_s));
        self
    }

    /// Gives the client's collector little room. It reads when the first request after each of these times
    /// comes, and at the end.
    pub(crate) fn collected_at(mut self, at_ns: Vec<u64>) -> Self {
        self.collects = Some(Rc::new(RefCell::new(TimedCollector { at_ns, between: None })));
        self
    }

    pub(crate) fn failing(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }

    pub(crate) fn logging_to(mut self, log: Rc<RefCell<Log>>) -> Self {
        self.log = log;
        self
    }

    /// Returns whether the connection of the current request is reset.
    fn resets(&self) -> bool {
        match self.fault {
            Fault::ResetAt(n) => self.served == n,
            Fault::FullUntil(_) => self.served == 50,
            _ => false,
        }
    }

    /// Returns whether this connection leads to the node that freezes or goes down.
    fn is_afflicted(&self, conn: ConnId) -> bool {
        self.node.is_none() || self.of_node.contains(&conn)
    }

    /// Returns the time at which a request that came at `now_ns` is done.
    fn done_ns(&mut self, conn: ConnId, now_ns: u64) -> u64 {
        let factor =
            self.wavers.as_mut().map_or(1.0, |(spread, noise)| (*spread * noise.normal()).exp());
        let service_ns = (self.service_ns as f64 * factor) as u64;
        let mut done_ns = self.free_ns.max(now_ns) + service_ns;
        let mut free_ns = done_ns;
        for freeze in self.freezes.iter().filter(|_| self.is_afflicted(conn)) {
            if freeze.contains(&done_ns) {
                done_ns = freeze.end;
            }
        }
        if self.node.is_none() {
            free_ns = done_ns;
        }
        self.free_ns = free_ns;
        done_ns
    }
}

impl Script for Server {
    fn connected(&mut self, conn: ConnId, to: &Address, now_ns: u64) -> Vec<(u64, ScriptedEvent)> {
        self.log.borrow_mut().connects += 1;
        match to {
            Address::Tcp(to) if Some(to.port()) == self.node => self.of_node.insert(conn),
            _ => self.of_node.remove(&conn),
        };
        let downs: &[Range<u64>] = if self.is_afflicted(conn) { &self.downs } else { &[] };
        if downs.iter().any(|span| span.contains(&now_ns)) {
            return vec![(now_ns, ScriptedEvent::Fail(ErrorKind::ConnectionRefused))];
        }
        self.held.remove(&conn);
        if let Some(next) = downs.iter().find(|span| span.start > now_ns) {
            self.free_ns = self.free_ns.min(now_ns);
            let end = (next.start, ScriptedEvent::Fail(ErrorKind::ConnectionReset));
            return vec![(now_ns, ScriptedEvent::Accept), end];
        }
        match self.fault {
            Fault::Refused => vec![(now_ns, ScriptedEvent::Fail(ErrorKind::ConnectionRefused))],
            Fault::FullUntil(left @ 1..) if self.served >= 50 => {
                self.fault = Fault::FullUntil(left - 1);
                let farewell = b"-ERR max number of clients reached\r\n".to_vec();
                let deliveries =
                    [ScriptedEvent::Accept, ScriptedEvent::Bytes(farewell), ScriptedEvent::Close];
                deliveries.map(|event| (now_ns, event)).to_vec()
            }
            _ => vec![(now_ns, ScriptedEvent::Accept)],
        }
    }

    fn received(&mut self, conn: ConnId, bytes: &[u8], now_ns: u64) -> Vec<(u64, ScriptedEvent)> {
        self.collects.iter().for_each(|collects| collects.borrow_mut().look(now_ns));
        let mut held = self.held.remove(&conn).unwrap_or_default();
        held.extend_from_slice(bytes);
        let mut deliveries = Vec::new();
        let mut requests = 0;
        while let Some((words, len)) = (self.frame)(&held) {
            held.drain(..len);
            requests += 1;
            if now_ns >= self.interrupts_ns {
                self.interrupted.store(true, Ordering::Relaxed);
            }
            if let Some(rate) = &self.rate
                && let Some((_, at_ns, per_s)) = self.rates.pop_if(|(when, ..)| now_ns >= *when)
            {
                rate.set_at(at_ns, per_s).unwrap();
            }
            let done_ns = self.done_ns(conn, now_ns) + self.delay_ns;
            let reply = (self.answer)(&words, self.served);
            self.log.borrow_mut().requests.push((now_ns, conn, words));
            self.served += 1;
            match self.fault {
                Fault::CutAt(n) if self.served == n => {
                    deliveries.push((done_ns, ScriptedEvent::Bytes(reply[..2].to_vec())));
                    deliveries.push((done_ns, ScriptedEvent::Close));
                }
                Fault::ResetAt(_) | Fault::FullUntil(_) if self.resets() => {
                    deliveries.push((done_ns, ScriptedEvent::Fail(ErrorKind::ConnectionReset)));
                }
                _ => deliveries.push((done_ns, ScriptedEvent::Bytes(reply))),
            }
        }
        self.log.borrow_mut().reads.push((now_ns, conn, requests));
        self.held.insert(conn, held);
        deliveries
    }

    fn resumes_ns(&mut self, now_ns: u64) -> u64 {
        assert!(now_ns < ENDLESS_NS, "the run has no end");
        self.stops.iter().find(|span| span.contains(&now_ns)).map_or(now_ns, |span| span.end)
    }
}

/// Words and length of the RESP request at the start of these bytes, if it is whole.
pub(super) fn resp(bytes: &[u8]) -> Option<RequestWords> {
    let (request, len) = Value::parse(bytes).unwrap()?;
    let Value::Array(words) = request else { panic!("requests are arrays") };
    Some((words.iter().map(|w| w.text().unwrap()).collect(), len))
}

/// Words and length of the text line at the start of these bytes; after a `set` come its data and another
/// line end.
fn line(bytes: &[u8]) -> Option<RequestWords> {
    let end = bytes.windows(2).position(|end| end == b"\r\n")?;
    let text = std::str::from_utf8(&bytes[..end]).unwrap();
    let words: Vec<String> = text.split(' ').map(String::from).collect();
    let data = match words[0].as_str() {
        "set" => words[4].parse::<usize>().unwrap() + 2,
        _ => 0,
    };
    let len = end + 2 + data;
    (bytes.len() >= len).then_some((words, len))
}
