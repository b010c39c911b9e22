//! Threads that look at something beside the load until they are stopped.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that works until it is stopped.
#[derive(Debug)]
pub(super) struct Background<T> {
    stop: Sender<()>,
    thread: JoinHandle<T>,
}

impl<T: Default + Send + 'static> Background<T> {
    /// Starts a thread of this name, which ends as soon as [`is_stopped`] of its receiver. `None` if no thread can be
    /// started.
    pub(super) fn start(
        name: &str,
        work: impl FnOnce(Receiver<()>) -> T + Send + 'static,
    ) -> Option<Self> {
        let (stop, stopped) = channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(stopped));
        Some(Self { stop, thread: thread.ok()? })
    }

    /// Stops the thread, and returns what it found.
    pub(super) fn stop(self) -> T {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

/// Waits, and returns whether the thread was stopped meanwhile.
pub(super) fn is_stopped(stopped: &Receiver<()>, wait: Duration) -> bool {
    stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout)
}
