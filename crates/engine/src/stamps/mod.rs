//! Arrival times of bytes in this machine's kernel, on the engines' clock.
//!
//! Owns the conversion from the kernel's wall clock. [`kernel`] enables and reads stamps; systems other than
//! Linux have none.

#[cfg(target_os = "linux")]
mod kernel;

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use socket2::Socket;

#[cfg(target_os = "linux")]
pub(crate) use kernel::{CONTROL_LEN, enable, message, read, stamp};

/// Keeps the kernel's stamping switched on while it lives.
///
/// A kernel begins to stamp a moment after the first socket asks for it, in a thread that a busy machine may
/// hold up. Without this a short run would have no stamps.
#[derive(Debug)]
pub struct KernelStamps {
    _ends: Option<[Socket; 2]>,
}

/// Longest wait for the first stamp.
const BEGIN_MAX: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

impl KernelStamps {
    /// Sends bytes to a socket of its own until the kernel stamps them. If that is impossible or takes too
    /// long, replies go without stamps, which are counted.
    pub fn begin() -> Self {
        Self { _ends: Self::try_begin().ok() }
    }

    fn try_begin() -> io::Result<[Socket; 2]> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let ours = Socket::from(TcpStream::connect(listener.local_addr()?)?);
        let (theirs, _) = listener.accept()?;
        let theirs = Socket::from(theirs);
        ours.set_read_timeout(Some(BEGIN_MAX))?;
        // Closed by a reset, so that the port is free at once.
        ours.set_linger(Some(Duration::ZERO))?;
        if !enable(&ours) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let began = Instant::now();
        while began.elapsed() < BEGIN_MAX {
            (&theirs).write_all(b"?")?;
            if read(&ours, &mut [0])?.1.is_some() {
                break;
            }
            thread::sleep(LOOK_AGAIN);
        }
        Ok([ours, theirs])
    }
}

/// Time for which one reading of the wall clock is used: setting that clock spoils the stamps of at most this
/// long.
const LOOK_EVERY_NS: u64 = 100_000_000;
/// Two readings this close are exact enough for the one between them; and the number of tries for such a
/// reading.
const CLOSE: Duration = Duration::from_nanos(500);
const LOOKS_MAX: u32 = 4;

/// Does nothing; only Linux stamps.
#[cfg(not(target_os = "linux"))]
pub(crate) fn enable(_: &Socket) -> bool {
    false
}

/// Reads without a stamp.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read(mut socket: &Socket, into: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    Ok((std::io::Read::read(&mut socket, into)?, None))
}

/// Conversion from the wall clock to the engines' clock.
#[derive(Debug)]
pub(crate) struct WallClock {
    /// Start of the engines' clock.
    origin: Instant,
    /// Reading of the wall clock at `origin`, assuming its present rate.
    at_origin: Duration,
    /// Time until which `at_origin` is used.
    until_ns: u64,
}

impl WallClock {
    pub(crate) fn new(origin: Instant) -> Self {
        Self { origin, at_origin: Duration::ZERO, until_ns: 0 }
    }

    /// Converts a stamp seen at `now_ns` to the engines' clock; `None` for a stamp from before its beginning.
    #[inline]
    pub(crate) fn engine_ns(&mut self, stamp: Duration, now_ns: u64) -> Option<u64> {
        if now_ns >= self.until_ns {
            self.look(now_ns);
        }
        stamp.checked_sub(self.at_origin)?.as_nanos().try_into().ok()
    }

    /// Reads both clocks, the wall clock between two readings of the other.
    fn look(&mut self, now_ns: u64) {
        let mut closest = Duration::MAX;
        for _ in 0..LOOKS_MAX {
            let before = self.origin.elapsed();
            let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let between = self.origin.elapsed().saturating_sub(before);
            if between < closest {
                closest = between;
                self.at_origin = wall.saturating_sub(before + between / 2);
            }
            if closest <= CLOSE {
                break;
            }
        }
        self.until_ns = now_ns + LOOK_EVERY_NS;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_lies_between_sending_and_reading() {
        let _stamps = KernelStamps::begin();
        let origin = Instant::now();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = Socket::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let (mut theirs, _) = listener.accept().unwrap();
        assert!(enable(&ours));
        let mut clock = WallClock::new(origin);
        let mut stamps = 0;
        // The kernel begins to stamp a moment after it was first asked to.
        for _ in 0..1000 {
            let sent_ns = origin.elapsed().as_nanos() as u64;
            theirs.write_all(b"hello").unwrap();
            let mut into = [0; 16];
            let (read, stamp) = read(&ours, &mut into).unwrap();
            let read_ns = origin.elapsed().as_nanos() as u64;
            assert_eq!(&into[..read], b"hello");
            let arrived_ns = stamp.and_then(|stamp| clock.engine_ns(stamp, read_ns));
            // The two clocks are read one after the other, by a thread that may be held up.
            let slack_ns = 50_000_000;
            if let Some(arrived_ns) = arrived_ns {
                assert!(arrived_ns + slack_ns >= sent_ns && arrived_ns <= read_ns + slack_ns);
                stamps += 1;
            }
            if stamps == 10 {
                return;
            }
        }
        panic!("only {stamps} of 1000 reads had a stamp");
    }
}
