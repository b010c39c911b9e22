//! The choice of the sink's engine.

use std::io;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use engine::Epoll;
#[cfg(target_os = "linux")]
use engine::Uring;

use crate::{Listener, ReplyProtocol, Sink, SinkTotals};

/// An engine by name. A new one is a variant here and an arm in each `match` below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineChoice {
    /// Completion by `io_uring` (Linux).
    Uring,
    /// Readiness by `epoll` or kqueue.
    Epoll,
}

impl EngineChoice {
    /// Every engine, the fastest first.
    pub const ALL: [Self; 2] = [Self::Uring, Self::Epoll];

    /// Returns the name, as engines call themselves.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
        }
    }

    /// Tests whether the engine works here.
    ///
    /// # Errors
    /// Returns the missing feature.
    pub fn probe(self) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Uring => Uring::probe(),
            #[cfg(not(target_os = "linux"))]
            Self::Uring => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "it is a feature of Linux"))
            }
            Self::Epoll => Ok(()),
        }
    }

    /// Serves with this engine on the calling thread until `stop` is set. Holds up to `connections_max`
    /// connections at a time.
    ///
    /// # Errors
    /// Returns an error if the engine does not work here, or the kernel refuses to wait.
    pub fn serve<S: ReplyProtocol>(
        self,
        listeners: &[Listener],
        connections_max: u32,
        replies: &S,
        stop: &AtomicBool,
    ) -> io::Result<SinkTotals> {
        let origin = Instant::now();
        match self {
            #[cfg(target_os = "linux")]
            Self::Uring => {
                let engine = Uring::new(origin, connections_max)?;
                Sink::new(engine, listeners, connections_max, replies).serve(stop)
            }
            #[cfg(not(target_os = "linux"))]
            Self::Uring => self.probe().map(|()| SinkTotals::default()),
            Self::Epoll => {
                let engine = Epoll::new(origin)?;
                Sink::new(engine, listeners, connections_max, replies).serve(stop)
            }
        }
    }
}
