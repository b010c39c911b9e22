//! A small HTTP server that no client can hold up.
//!
//! It serves texts from one thread, and no client can harm it or the run: only the head of a request is read,
//! every step of a connection has a deadline, the number of open connections is limited, each gets one
//! answer, and dropping the server waits for no client. `httparse` parses the heads.

mod connection;
mod request;

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use connection::Connection;
pub use request::{HttpRequest, HttpResponse, Service};

/// Maximum number of open connections. Further ones wait in the kernel's queue.
pub const CONNECTIONS_MAX: usize = 64;
/// Connections accepted from that queue before the open ones are served again.
const ACCEPTED_AT_ONCE: usize = 4;
/// Longest time that [`HttpServer::finish`] waits for clients to take the last events.
const FINISH_PATIENCE: Duration = Duration::from_secs(1);

/// Server that runs until it is dropped.
pub struct HttpServer {
    /// Closed to end the thread.
    wake: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    /// Set if clients that wait for events get the last one when the server ends.
    finishes: Arc<AtomicBool>,
}

impl HttpServer {
    /// Serves on this listener, from a thread with this name.
    ///
    /// # Errors
    /// Returns an error if the machine has no threads or file descriptors left.
    pub fn start(
        listener: TcpListener,
        name: &str,
        service: Arc<impl Service>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let (wake, woken) = UnixStream::pair()?;
        let finishes = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&finishes);
        let serving = ServerThread { listener, woken, open: Vec::new(), rest_until: None };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let open = serving.serve(&*service);
            if ending.load(Ordering::Acquire) {
                let until = Instant::now() + FINISH_PATIENCE;
                open.into_iter().for_each(|connection| {
                    // A browser that is gone loses nothing.
                    let _ = connection.finish(until, &*service);
                });
            }
        })?;
        Ok(Self { wake: Some(wake), thread: Some(thread), finishes })
    }

    /// Ends after sending the last event to the clients that wait for one, within a second in all.
    pub fn finish(self) {
        self.finishes.store(true, Ordering::Release);
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

/// The state of the server's thread.
struct ServerThread {
    listener: TcpListener,
    /// Readable when the server is to end.
    woken: UnixStream,
    open: Vec<Connection>,
    /// Earliest time to accept a connection, after the machine had no file descriptor left.
    rest_until: Option<Instant>,
}

impl ServerThread {
    /// Serves until it is woken to end; returns the connections that are open then.
    fn serve(mut self, service: &dyn Service) -> Vec<Connection> {
        loop {
            let now = Instant::now();
            self.rest_until = self.rest_until.filter(|until| *until > now);
            let has_room = self.has_room(now);
            let accepting = has_room && self.rest_until.is_none();
            let wake_at = self.wake_at(has_room);
            let Some(ready) = self.wait(accepting, wake_at) else { return self.open };
            let now = Instant::now();
            // Open connections first: each is served once more before it may give way to a new one.
            let mut ready_open = ready.open.into_iter();
            self.open.retain_mut(|connection| {
                let ready = ready_open.next().unwrap_or(false);
                connection.goes_on(ready, now, service)
            });
            if ready.listener {
                self.accept(now);
            }
        }
    }

    /// Returns whether another connection may be accepted; an old one may have to be closed for it.
    fn has_room(&self, now: Instant) -> bool {
        self.open.len() < CONNECTIONS_MAX || self.open.iter().any(|c| c.gives_way_at() <= now)
    }

    /// Returns the time of the next step if nothing arrives.
    fn wake_at(&self, has_room: bool) -> Option<Instant> {
        let deadlines = self.open.iter().map(Connection::wake_at);
        let room = self.open.iter().map(Connection::gives_way_at).min().filter(|_| !has_room);
        deadlines.chain(room).chain(self.rest_until).min()
    }

    /// Waits until something is ready. `None` when the server is to end.
    fn wait(&self, accepting: bool, until: Option<Instant>) -> Option<Readiness> {
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
        Some(Readiness { listener: ready.next() == Some(true), open: ready.collect() })
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

/// Descriptors that are ready: the listener, and each of the open connections.
struct Readiness {
    listener: bool,
    open: Vec<bool>,
}
