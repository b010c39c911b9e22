//! A test that io_uring works here: a message over a local socket pair, with every feature that the engine
//! uses.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::Uring;
use crate::{ConnId, Engine, Event};

const PATIENCE: Duration = Duration::from_millis(500);
const CONN: ConnId = ConnId(0);

/// Sends a byte through a local socket pair.
pub(super) fn probe() -> io::Result<()> {
    let mut engine = Uring::new(Instant::now(), 1)?;
    let (ours, mut peer) = UnixStream::pair()?;
    peer.set_read_timeout(Some(PATIENCE))?;
    engine.adopt(CONN, ours.into());
    expect(&mut engine, |event| matches!(event, Event::Opened(_)))?;
    engine.send(CONN, b"?");
    engine.wait(Some(0))?;
    let mut byte = [0];
    peer.read_exact(&mut byte)?;
    peer.write_all(b"!")?;
    expect(&mut engine, |event| matches!(event, Event::Received(_)))
}

fn expect(engine: &mut Uring, wanted: impl Fn(&Event) -> bool) -> io::Result<()> {
    let end_ns = engine.now_ns() + PATIENCE.as_nanos() as u64;
    while engine.now_ns() < end_ns {
        engine.wait(Some(end_ns))?;
        while let Some(event) = engine.next() {
            if wanted(&event) {
                return Ok(());
            }
            if let Event::Closed(_, reason) = event {
                return Err(io::Error::other(reason.to_string()));
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "an operation of the probe never completed"))
}
