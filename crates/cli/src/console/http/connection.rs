//! A connection: the head of its request, the answer, and any following events.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::request::{Service, answered};

/// Longest wait for the head of a request.
const HEAD_PATIENCE: Duration = Duration::from_secs(5);
/// Longest wait for the client to take the answer, or an event.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// Time for which further bytes of a client are read and dropped: unread ones would make closing reset the
/// connection, and the client might lose the answer.
const LINGERING: Duration = Duration::from_millis(500);
/// Time after which a connection may be closed for others: from its opening, if its head has not come, or
/// from the start of its answer, if that has not been taken.
const HEAD_GRACE: Duration = Duration::from_millis(50);
const ANSWER_GRACE: Duration = Duration::from_secs(2);
/// Time between checks for a new event.
const EVENTS_EVERY: Duration = Duration::from_millis(250);
/// Deadline of a connection that waits for events, which may last as long as the server.
const FOR_EVER: Duration = Duration::from_secs(366 * 86_400);

pub(super) struct Connection {
    pub(super) stream: TcpStream,
    since: Instant,
    pub(super) deadline: Instant,
    step: Step,
}

enum Step {
    /// The head of the request so far.
    Head(Vec<u8>),
    /// The response, and the bytes of it that have left.
    Response { bytes: Vec<u8>, sent: usize, has_events: bool },
    /// Events: the number of the last, its text, the bytes of it that have left, and the time to ask for the
    /// next.
    Events { seen: u64, text: Arc<str>, sent: usize, next: Instant },
    /// The response has left; further bytes of the client are dropped.
    Lingering,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, now: Instant) -> Self {
        Self { stream, since: now, deadline: now + HEAD_PATIENCE, step: Step::Head(Vec::new()) }
    }

    pub(super) fn awaits(&self) -> PollFlags {
        match &self.step {
            Step::Head(_) | Step::Lingering => PollFlags::IN,
            Step::Response { .. } => PollFlags::OUT,
            // One that is closed becomes readable.
            Step::Events { text, sent, .. } if *sent < text.len() => PollFlags::OUT,
            Step::Events { .. } => PollFlags::IN,
        }
    }

    /// Returns the time from which it may be closed in favour of another.
    pub(super) fn gives_way_at(&self) -> Instant {
        match self.step {
            Step::Head(_) => self.since + HEAD_GRACE,
            Step::Response { .. } | Step::Events { .. } => self.since + ANSWER_GRACE,
            Step::Lingering => self.since,
        }
    }

    /// Returns the time of its next step if nothing arrives.
    pub(super) fn wake_at(&self) -> Instant {
        match self.step {
            Step::Events { next, .. } => next.min(self.deadline),
            _ => self.deadline,
        }
    }

    /// Takes its next steps, and returns whether it stays open.
    pub(super) fn goes_on(&mut self, ready: bool, now: Instant, service: &dyn Service) -> bool {
        let is_due = matches!(self.step, Step::Events { next, .. } if now >= next);
        if !ready && !is_due {
            return now < self.deadline;
        }
        // Deadlines are kept by those as well that always have something ready.
        now < self.deadline && self.advance(ready, now, service).unwrap_or(false)
    }

    fn advance(&mut self, ready: bool, now: Instant, service: &dyn Service) -> io::Result<bool> {
        let mut chunk = [0; 4096];
        match &mut self.step {
            Step::Head(head) => {
                let Some(read) = tried(self.stream.read(&mut chunk))? else { return Ok(true) };
                head.extend_from_slice(&chunk[..read]);
                let answer = answered(head, &|asked| service.answer(asked));
                let Some((bytes, has_events)) = answer else { return Ok(read > 0) };
                self.step = Step::Response { bytes, sent: 0, has_events };
                (self.since, self.deadline) = (now, now + ANSWER_PATIENCE);
                // Most answers fit into what the kernel holds.
                self.advance(ready, now, service)
            }
            Step::Response { bytes, sent, has_events } => {
                let Some(wrote) = tried(self.stream.write(&bytes[*sent..]))? else {
                    return Ok(true);
                };
                *sent += wrote;
                if *sent < bytes.len() {
                    return Ok(wrote > 0);
                }
                if *has_events {
                    self.step = Step::Events { seen: 0, text: "".into(), sent: 0, next: now };
                    self.deadline = now + FOR_EVER;
                    return self.advance(false, now, service);
                }
                self.stream.shutdown(Shutdown::Write)?;
                self.step = Step::Lingering;
                (self.since, self.deadline) = (now, now + LINGERING);
                Ok(true)
            }
            Step::Events { seen, text, sent, next } => {
                // A browser has nothing to say any more; the end of what it sends is its end.
                if ready && *sent == text.len() && tried(self.stream.read(&mut chunk))? == Some(0) {
                    return Ok(false);
                }
                if *sent == text.len() && now >= *next {
                    *next = now + EVENTS_EVERY;
                    if let Some((number, event)) = service.event(*seen) {
                        (*seen, *text, *sent) = (number, event, 0);
                        self.deadline = now + ANSWER_PATIENCE;
                    }
                }
                if *sent < text.len() {
                    let wrote = tried(self.stream.write(&text.as_bytes()[*sent..]))?;
                    *sent += wrote.unwrap_or(0);
                    *next = now + EVENTS_EVERY;
                }
                if *sent == text.len() {
                    // The text is large, and nobody needs it any more.
                    (*text, *sent) = ("".into(), 0);
                    self.deadline = now + FOR_EVER;
                }
                Ok(true)
            }
            Step::Lingering => Ok(tried(self.stream.read(&mut chunk))? != Some(0)),
        }
    }

    /// Ends the connection as the server ends: sends a client that waits for events the rest and the last,
    /// until then at most.
    pub(super) fn finish(mut self, until: Instant, service: &dyn Service) -> io::Result<()> {
        let Step::Events { seen, text, sent, .. } = &self.step else { return Ok(()) };
        let last = service.event(*seen).map_or_else(|| "".into(), |(_, event)| event);
        let rest: [&[u8]; 2] = [&text.as_bytes()[*sent..], last.as_bytes()];
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        self.stream.set_nonblocking(false)?;
        self.stream.set_write_timeout(Some(left))?;
        let stream = &mut self.stream;
        rest.iter().try_for_each(|bytes| stream.write_all(bytes))?;
        stream.shutdown(Shutdown::Write)
    }
}

/// Converts an operation that would block to `None`.
fn tried(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
