//! A small HTTP server that no client can hold up.
//!
//! It serves texts, on one thread, and owns what keeps it and the run that it is part of
//! safe from whoever connects: only the head of a request is ever read, every step of a connection
//! has a deadline, so many connections are open and no more, one request is answered on each, and
//! nothing waits for a client when the server is dropped. `httparse` reads the heads.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Connections at a time. What comes then stands in the queue of the kernel until there is room.
pub const CONNECTIONS_MAX: usize = 64;
/// Connections taken from that queue before those that are open have their turn.
const ACCEPTED_AT_ONCE: usize = 4;
/// Longest head of a request, in bytes and in fields.
const HEAD_MAX: usize = 8192;
const FIELDS_MAX: usize = 64;
/// How long there is for the head to come.
const HEAD_PATIENCE: Duration = Duration::from_secs(5);
/// How long there is for the answer to be taken.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// How long what a client still sends is thrown away: if it were left unread, closing would reset
/// the connection, and the client might lose the answer.
const LINGERING: Duration = Duration::from_millis(500);
/// A connection may give way to others so long after it was opened, if its head has not come, or
/// after its answer was begun, if that has not been taken.
const HEAD_GRACE: Duration = Duration::from_millis(50);
const ANSWER_GRACE: Duration = Duration::from_secs(2);

/// What a request is answered with.
pub struct Answer {
    /// A status of HTTP and its name.
    pub status: &'static str,
    /// Of the body.
    pub content_type: &'static str,
    /// The methods that a path has, where that of the request is none of them.
    pub allow: &'static str,
    /// The text.
    pub body: String,
}

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'r> {
    /// `GET` and the like.
    pub method: &'r str,
    /// Without a query.
    pub path: &'r str,
}

impl Asked<'_> {
    /// Whether it asks to read.
    pub fn reads(&self) -> bool {
        matches!(self.method, "GET" | "HEAD")
    }
}

impl Answer {
    /// A page.
    pub fn page(content_type: &'static str, body: String) -> Self {
        Self { status: "200 OK", content_type, allow: "", body }
    }

    /// A line of text.
    pub fn plain(status: &'static str, line: &str) -> Self {
        let content_type = "text/plain; charset=utf-8";
        Self { status, content_type, allow: "", body: format!("{line}\n") }
    }

    /// A path that has only these methods.
    pub fn not_allowed(methods: &'static str) -> Self {
        let line = if methods == "GET, HEAD" { "read only" } else { methods };
        Self { allow: methods, ..Self::plain("405 Method Not Allowed", line) }
    }
}

/// Serves until it is dropped.
pub struct HttpServer {
    /// Closed to end the thread.
    wake: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Serves there. `answer` gets what each request asks for.
    ///
    /// # Errors
    /// The machine has no threads or file descriptors left.
    pub fn start(
        listener: TcpListener,
        name: &str,
        answer: impl Fn(&Asked<'_>) -> Answer + Send + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let (wake, woken) = UnixStream::pair()?;
        let serving = Serving { listener, woken, open: Vec::new(), rest_until: None };
        let serve = move || serving.serve(&answer);
        let thread = thread::Builder::new().name(name.to_owned()).spawn(serve)?;
        Ok(Self { wake: Some(wake), thread: Some(thread) })
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread holds.
struct Serving {
    listener: TcpListener,
    /// Readable when the server is to end.
    woken: UnixStream,
    open: Vec<Connection>,
    /// No connection is accepted before: the machine had no file descriptor for one.
    rest_until: Option<Instant>,
}

impl Serving {
    fn serve(mut self, answer: &dyn Fn(&Asked<'_>) -> Answer) {
        loop {
            let now = Instant::now();
            self.rest_until = self.rest_until.filter(|until| *until > now);
            let has_room = self.has_room(now);
            let accepting = has_room && self.rest_until.is_none();
            let wake_at = self.wake_at(has_room);
            let Some(ready) = self.wait(accepting, wake_at) else { return };
            let now = Instant::now();
            // Those that are open first: they are heard before they give way to others.
            let mut ready_open = ready.open.into_iter();
            self.open.retain_mut(|connection| {
                let ready = ready_open.next().unwrap_or(false);
                connection.goes_on(ready, now, answer)
            });
            if ready.listener {
                self.accept(now);
            }
        }
    }

    /// Whether another connection may be accepted; an old one may have to be closed for it.
    fn has_room(&self, now: Instant) -> bool {
        self.open.len() < CONNECTIONS_MAX || self.open.iter().any(|c| c.gives_way_at() <= now)
    }

    /// When there is something to do though nothing arrives.
    fn wake_at(&self, has_room: bool) -> Option<Instant> {
        let deadlines = self.open.iter().map(|connection| connection.deadline);
        let room = self.open.iter().map(Connection::gives_way_at).min().filter(|_| !has_room);
        deadlines.chain(room).chain(self.rest_until).min()
    }

    /// Waits until something is ready. `None` when the server is to end.
    fn wait(&self, accepting: bool, until: Option<Instant>) -> Option<Ready> {
        let listening = if accepting { PollFlags::IN } else { PollFlags::empty() };
        let mut asked =
            vec![PollFd::new(&self.woken, PollFlags::IN), PollFd::new(&self.listener, listening)];
        asked.extend(self.open.iter().map(|c| PollFd::new(&c.stream, c.awaits())));
        let timeout = until.map(|until| {
            // A millisecond more, so that what was waited for has surely come.
            let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
        });
        // Whatever goes wrong shows at the sockets themselves.
        let _ = poll(&mut asked, timeout.as_ref());
        let mut ready = asked.iter().map(|asked| !asked.revents().is_empty());
        if ready.next() == Some(true) {
            return None;
        }
        Some(Ready { listener: ready.next() == Some(true), open: ready.collect() })
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..ACCEPTED_AT_ONCE {
            if self.open.len() >= CONNECTIONS_MAX {
                let first = (0..self.open.len()).min_by_key(|at| self.open[*at].gives_way_at());
                match first.filter(|at| self.open[*at].gives_way_at() <= now) {
                    Some(first) => drop(self.open.remove(first)),
                    None => return,
                }
            }
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_ok() {
                        self.open.push(Connection::new(stream, now));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.rest_until = Some(now + Duration::from_millis(100));
                    return;
                }
            }
        }
    }
}

/// What may go on without waiting.
struct Ready {
    listener: bool,
    open: Vec<bool>,
}

/// One connection.
struct Connection {
    stream: TcpStream,
    since: Instant,
    deadline: Instant,
    step: Step,
}

enum Step {
    /// The head of the request, as far as it has come.
    Head(Vec<u8>),
    /// The answer, and how much of it has left.
    Answer { bytes: Vec<u8>, sent: usize },
    /// The answer has left; what still comes is thrown away.
    Lingering,
}

impl Connection {
    fn new(stream: TcpStream, now: Instant) -> Self {
        Self { stream, since: now, deadline: now + HEAD_PATIENCE, step: Step::Head(Vec::new()) }
    }

    fn awaits(&self) -> PollFlags {
        match self.step {
            Step::Head(_) | Step::Lingering => PollFlags::IN,
            Step::Answer { .. } => PollFlags::OUT,
        }
    }

    /// From when on it may be closed in favour of another.
    fn gives_way_at(&self) -> Instant {
        match self.step {
            Step::Head(_) => self.since + HEAD_GRACE,
            Step::Answer { .. } => self.since + ANSWER_GRACE,
            Step::Lingering => self.since,
        }
    }

    /// Takes its next steps, and says whether it stays open.
    fn goes_on(
        &mut self,
        ready: bool,
        now: Instant,
        answer: &dyn Fn(&Asked<'_>) -> Answer,
    ) -> bool {
        if !ready {
            return now < self.deadline;
        }
        // Deadlines are kept by those as well that always have something ready.
        now < self.deadline && self.advance(now, answer).unwrap_or(false)
    }

    fn advance(&mut self, now: Instant, answer: &dyn Fn(&Asked<'_>) -> Answer) -> io::Result<bool> {
        let mut chunk = [0; 4096];
        match &mut self.step {
            Step::Head(head) => {
                let Some(read) = tried(self.stream.read(&mut chunk))? else { return Ok(true) };
                head.extend_from_slice(&chunk[..read]);
                let Some(bytes) = answered(head, answer) else { return Ok(read > 0) };
                self.step = Step::Answer { bytes, sent: 0 };
                (self.since, self.deadline) = (now, now + ANSWER_PATIENCE);
                // Most answers fit into what the kernel holds.
                self.advance(now, answer)
            }
            Step::Answer { bytes, sent } => {
                let Some(wrote) = tried(self.stream.write(&bytes[*sent..]))? else {
                    return Ok(true);
                };
                *sent += wrote;
                if *sent < bytes.len() {
                    return Ok(wrote > 0);
                }
                self.stream.shutdown(Shutdown::Write)?;
                self.step = Step::Lingering;
                (self.since, self.deadline) = (now, now + LINGERING);
                Ok(true)
            }
            Step::Lingering => Ok(tried(self.stream.read(&mut chunk))? != Some(0)),
        }
    }
}

/// `None` of what is not possible now.
fn tried(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The bytes that answer a request, once its head is there.
fn answered(head: &[u8], answer: &dyn Fn(&Asked<'_>) -> Answer) -> Option<Vec<u8>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let too_long = "431 Request Header Fields Too Large";
    let mut with_body = true;
    let answer = match request.parse(head) {
        Ok(httparse::Status::Partial) if head.len() < HEAD_MAX => return None,
        Ok(httparse::Status::Partial) => Answer::plain(too_long, "the request is too long"),
        Err(httparse::Error::TooManyHeaders) => Answer::plain(too_long, "too many header fields"),
        Err(_) => Answer::plain("400 Bad Request", "this is not an HTTP request"),
        Ok(httparse::Status::Complete(_)) => {
            let method = request.method.unwrap_or_default();
            with_body = method != "HEAD";
            answer(&Asked { method, path: path(request.path.unwrap_or_default()) })
        }
    };
    let Answer { status, content_type, allow, body } = answer;
    let allow = if allow.is_empty() { String::new() } else { format!("Allow: {allow}\r\n") };
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{allow}\
         Connection: close\r\n\r\n",
        body.len()
    );
    if with_body {
        bytes += &body;
    }
    Some(bytes.into_bytes())
}

/// The path of what is asked for, which may be written with the host before it.
fn path(target: &str) -> &str {
    let target = target
        .strip_prefix("http://")
        .map_or(target, |rest| rest.find('/').map_or("/", |slash| &rest[slash..]));
    target.split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str) -> Option<String> {
        let answer = |asked: &Asked<'_>| match asked.reads() {
            true => Answer::plain("200 OK", asked.path),
            false => Answer::not_allowed("GET, HEAD"),
        };
        answered(head.as_bytes(), &answer).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_request_is_answered_when_its_head_is_whole_whatever_body_it_announces() {
        for announced in ["99999999999", "18446744073709551615", "nonsense"] {
            let head = format!("GET /metrics?x=1 HTTP/1.1\r\nContent-Length: {announced}\r\n\r\n");
            for cut in 0..head.len() {
                assert_eq!(asked(&head[..cut]), None);
            }
            let answer = asked(&head).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.ends_with("Content-Length: 9\r\nConnection: close\r\n\r\n/metrics\n"));
        }
    }

    #[test]
    fn what_is_no_request_to_read_is_reported() {
        let status = |head: &str| asked(head).map(|answer| answer[9..12].to_owned());
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n").as_deref(), Some("405"));
        assert_eq!(status("PING\r\n\r\n").as_deref(), Some("400"));
        assert_eq!(status("\u{1}\u{2}\u{3}").as_deref(), Some("400"));
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(HEAD_MAX));
        assert_eq!(status(&long).as_deref(), Some("431"));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS_MAX + 1));
        assert_eq!(status(&many).as_deref(), Some("431"));
        let head = asked("HEAD http://here:1/metrics HTTP/1.0\r\n\r\n").unwrap();
        assert!(head.contains("Content-Length: 9\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }
}
