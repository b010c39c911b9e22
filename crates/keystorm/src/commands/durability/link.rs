//! Network between a primary and its replica that can be cut: bytes pass through a port of this process until it
//! drops them. Neither connection ends, as with a cable that is pulled.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};

/// A way to a server.
pub(super) struct Link {
    pub(super) address: SocketAddr,
    is_cut: Arc<AtomicBool>,
    /// Both ends of all connections, which stay open when bytes no longer pass.
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Link {
    /// Opens a way to the server at this address.
    ///
    /// # Errors
    /// Returns an error if there is no free port.
    pub(super) fn to(server: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("finding a port")?;
        let address = listener.local_addr()?;
        let link = Self { address, is_cut: Arc::default(), ends: Arc::default() };
        let (is_cut, ends) = (Arc::clone(&link.is_cut), Arc::clone(&link.ends));
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if is_cut.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(far) = TcpStream::connect(server) else { continue };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { continue };
                    let is_cut = Arc::clone(&is_cut);
                    thread::spawn(move || relay(from, to, &is_cut));
                }
                ends.lock().unwrap_or_else(PoisonError::into_inner).extend([near, far]);
            }
        });
        Ok(link)
    }

    /// Lets no more bytes through.
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
        // The thread that accepts connections looks up.
        let _ = TcpStream::connect(self.address);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.cut();
    }
}

/// Passes bytes on in one direction.
fn relay(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if is_cut.load(Ordering::Relaxed) || to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn bytes_pass_until_it_is_cut_and_its_ends_stay_open() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let link = Link::to(listener.local_addr().unwrap()).unwrap();
        let mut near = TcpStream::connect(link.address).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let mut byte = [0];
        near.write_all(b"a").unwrap();
        far.read_exact(&mut byte).unwrap();
        far.write_all(b"b").unwrap();
        near.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"b");
        link.cut();
        near.write_all(b"c").unwrap();
        far.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let error = far.read(&mut byte).expect_err("neither a byte nor an end");
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    }
}
