//! Precise wake-ups.
//!
//! `epoll_wait` counts milliseconds, too coarse for a schedule of 10,000 per second. On Linux a timer
//! descriptor among the watched sockets ends the wait at the given nanosecond (plus the scheduler's delay).
//! Elsewhere the wait is rounded up to the millisecond.

use std::io;
use std::time::{Duration, Instant};

use mio::{Registry, Token};

/// Longest wait without a deadline; an endless one could not be tested.
const WAIT_MAX: Duration = Duration::from_secs(3600);

fn left(until_ns: u64, origin: Instant) -> Duration {
    (origin + Duration::from_nanos(until_ns)).saturating_duration_since(Instant::now())
}

#[cfg(target_os = "linux")]
pub(crate) struct Timer {
    fd: rustix::fd::OwnedFd,
    armed_ns: Option<u64>,
}

#[cfg(target_os = "linux")]
impl Timer {
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        use std::os::fd::AsRawFd;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let raw = fd.as_raw_fd();
        registry.register(&mut mio::unix::SourceFd(&raw), token, mio::Interest::READABLE)?;
        Ok(Self { fd, armed_ns: None })
    }

    /// Prepares to wake at `until_ns` and returns the timeout to give to the poll.
    pub(crate) fn arm(
        &mut self,
        until_ns: Option<u64>,
        origin: Instant,
    ) -> io::Result<Option<Duration>> {
        let Some(until_ns) = until_ns else {
            return Ok(Some(WAIT_MAX));
        };
        // Asking again for the same end costs nothing: many turns wait for one.
        if self.armed_ns == Some(until_ns) {
            return Ok(Some(WAIT_MAX));
        }
        let left = left(until_ns, origin);
        if left.is_zero() {
            return Ok(Some(Duration::ZERO));
        }
        self.set(left)?;
        self.armed_ns = Some(until_ns);
        Ok(Some(WAIT_MAX))
    }

    /// Notes that the timer has ended the wait. It is edge-triggered, so its count need not be read.
    pub(crate) fn fired(&mut self) {
        self.armed_ns = None;
    }

    fn set(&self, after: Duration) -> io::Result<()> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        let time = |d: Duration| Timespec {
            tv_sec: d.as_secs() as i64,
            tv_nsec: i64::from(d.subsec_nanos()) as _,
        };
        let spec = Itimerspec { it_interval: time(Duration::ZERO), it_value: time(after) };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &spec)?;
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) struct Timer;

#[cfg(not(target_os = "linux"))]
impl Timer {
    pub(crate) fn new(_registry: &Registry, _token: Token) -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn arm(
        &mut self,
        until_ns: Option<u64>,
        origin: Instant,
    ) -> io::Result<Option<Duration>> {
        Ok(Some(until_ns.map_or(WAIT_MAX, |ns| left(ns, origin))))
    }

    pub(crate) fn fired(&mut self) {}
}
