//! The load of the bare loops: its bytes, its sockets, and its end.

use std::error::Error;
use std::io::{self, Read, Write};
use std::path::Path;

use engine::Socket;
use socket2::{Domain, Protocol, SockAddr, Type};

/// Connections begun before the last of them is asked whether the server has got that far: fewer
/// than the backlog of a listener.
const CONNECT_AT_ONCE: u32 = 256;
const HOLE: &[u8] = b"__rand_int__";
/// The word before words that are the lines of one request to memcached.
const LINES: &str = "--lines";
/// The word before words that are sent under TLS.
const TLS: &str = "--tls";

/// Beginning of a word that is replaced by this many bytes.
const BYTES: &str = "--bytes=";

/// The way of the bytes.
pub(crate) enum Transport {
    Uring,
    Epoll,
    Tls,
}

/// A request as an array of bulk strings.
fn resp(words: &[String]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        request.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    request
}

pub(crate) struct Load {
    address: String,
    pub(crate) requests: u64,
    /// Requests not yet sent.
    left: u64,
    connections: u32,
    pub(crate) pipeline: u32,
    pub(crate) reply_bytes: u64,
    range: u64,
    request: Vec<u8>,
    /// A request that checks that the server is there, and the reply that it expects.
    idle: (&'static [u8], &'static [u8]),
    /// Offset of the request's random number.
    hole: Option<usize>,
    random: u64,
}

/// A connection's pipeline: the bytes to send, and how many reply bytes are still due.
pub(crate) struct PipelineImage {
    /// A whole pipeline.
    pub(crate) bytes: Vec<u8>,
    /// Bytes of replies not yet received.
    pub(crate) pending: u64,
}

impl Load {
    /// Parses the arguments into the way of the bytes, and the load.
    pub(crate) fn parse(args: &[String]) -> Result<(Transport, Self), Box<dyn Error>> {
        let [engine, address, requests, connections, pipeline, reply_bytes, range, words @ ..] =
            args
        else {
            return Err("too few arguments".into());
        };
        let (tls, words) = match words {
            [first, words @ ..] if first == TLS => (true, words),
            words => (false, words),
        };
        let transport = match engine.as_str() {
            _ if tls => Transport::Tls,
            "auto" if engine::Uring::probe().is_ok() => Transport::Uring,
            "uring" => Transport::Uring,
            "auto" | "epoll" => Transport::Epoll,
            other => return Err(format!("no such engine: {other}").into()),
        };
        let words: Result<Vec<String>, _> = words
            .iter()
            .map(|word| match word.strip_prefix(BYTES) {
                Some(count) => count.parse().map(|count| "x".repeat(count)),
                None => Ok(word.clone()),
            })
            .collect();
        let words = &words?[..];
        let request = match words {
            [first, lines @ ..] if first == LINES => {
                lines.iter().flat_map(|line| format!("{line}\r\n").into_bytes()).collect()
            }
            words => resp(words),
        };
        let in_lines = words.first().is_some_and(|first| first == LINES);
        let (requests, range) = (requests.parse()?, range.parse()?);
        let hole = request.windows(HOLE.len()).position(|bytes| bytes == HOLE);
        let load = Self {
            address: address.clone(),
            requests,
            left: requests,
            connections: connections.parse()?,
            pipeline: pipeline.parse()?,
            reply_bytes: reply_bytes.parse()?,
            range,
            request,
            idle: if in_lines { (b"mn\r\n", b"MN\r\n") } else { (b"PING\r\n", b"+PONG\r\n") },
            hole: hole.filter(|_| range > 0),
            random: 0x9E37_79B9_7F4A_7C15,
        };
        match load {
            Self { connections: 0, .. }
            | Self { pipeline: 0, .. }
            | Self { reply_bytes: 0, .. } => {
                Err("CONNECTIONS, PIPELINE and REPLY_BYTES are above 0".into())
            }
            load if load.request.is_empty() || words.is_empty() => {
                Err(format!("nothing to ask {}", load.address).into())
            }
            load => Ok((transport, load)),
        }
    }

    /// Opens every connection, non-blocking.
    pub(crate) fn connect(&self) -> io::Result<Vec<Socket>> {
        let mut sockets = Vec::new();
        for number in 1..=self.connections {
            let socket = match self.address.parse() {
                Ok(address) => tcp(address)?,
                Err(_) => unix(self.address.as_ref())?,
            };
            if number % CONNECT_AT_ONCE == 0 {
                let (asked, answered) = self.idle;
                (&socket).write_all(asked)?;
                (&socket).read_exact(&mut vec![0; answered.len()])?;
            }
            socket.set_nonblocking(true)?;
            sockets.push(socket);
        }
        Ok(sockets)
    }

    /// Returns an image for each connection.
    pub(crate) fn turns(&self) -> Vec<PipelineImage> {
        let bytes = self.request.repeat(self.pipeline as usize);
        let turn = || PipelineImage { bytes: bytes.clone(), pending: 0 };
        (0..self.connections).map(|_| turn()).collect()
    }

    /// Gets a connection's next pipeline ready, and says how many bytes of it are to be sent; 0
    /// when all were.
    #[inline]
    pub(crate) fn fill(&mut self, turn: &mut PipelineImage) -> usize {
        let count = self.left.min(u64::from(self.pipeline));
        self.left -= count;
        turn.pending = count * self.reply_bytes;
        if let Some(hole) = self.hole {
            for request in turn.bytes.chunks_exact_mut(self.request.len()).take(count as usize) {
                // Xorshift (Marsaglia 2003).
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                let mut number = self.random % self.range;
                for digit in request[hole..hole + HOLE.len()].iter_mut().rev() {
                    *digit = b'0' + (number % 10) as u8;
                    number /= 10;
                }
            }
        }
        count as usize * self.request.len()
    }
}

impl PipelineImage {
    /// Takes bytes of replies off; returns whether all are in.
    #[inline]
    pub(crate) fn receive(&mut self, bytes: usize) -> io::Result<bool> {
        let left = self.pending.checked_sub(bytes as u64);
        self.pending = left.ok_or_else(|| io::Error::other("replies are longer than was said"))?;
        Ok(self.pending == 0)
    }
}

fn tcp(address: std::net::SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    socket.connect(&address.into())?;
    Ok(socket)
}

fn unix(path: &Path) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(socket)
}
