//! Unneeded bytes of a long value, which the kernel drops instead of copying.
//!
//! TCP does so for a receive with `MSG_TRUNC` (<https://man7.org/linux/man-pages/man7/tcp.7.html>). Other
//! sockets copy the bytes, which are then overwritten. The engines decide when to drop.

use std::io;

use rustix::net::{RecvFlags, recv};
use socket2::Socket;

/// Maximum number of bytes dropped before something is received again: few enough that a slow server does not
/// look silent.
pub(crate) const DISCARD_MOST: u64 = 256 * 1024;

/// Receives that take few bytes after a dropped rest, because another long value is likely to follow: one for
/// the end of the value, and some short replies.
pub(crate) const SHORT_READS: u8 = 4;

/// Bytes requested by these receives.
pub(crate) const SHORT_READ: u32 = 4 * 1024;

/// Flags of a receive whose bytes are dropped.
#[cfg(target_os = "linux")]
pub(crate) const FLAGS: RecvFlags = RecvFlags::TRUNC;
/// Flags of a receive whose bytes are dropped.
#[cfg(not(target_os = "linux"))]
pub(crate) const FLAGS: RecvFlags = RecvFlags::empty();

/// Drops up to `bytes` of the received data, through `buffer` where the kernel copies. Returns the number
/// dropped; 0 at the end.
///
/// # Errors
/// Returns an error if nothing is there or the connection broke.
pub(crate) fn discard(socket: &Socket, buffer: &mut [u8], bytes: u64) -> io::Result<usize> {
    let len = buffer.len().min(bytes as usize);
    let (_, dropped) = recv(socket, &mut buffer[..len], FLAGS)?;
    Ok(dropped)
}
