//! Bytes of a long value that nobody looks at: the kernel drops them instead of copying them.
//!
//! TCP does that for a receive with `MSG_TRUNC` (<https://man7.org/linux/man-pages/man7/tcp.7.html>); another socket
//! copies them, and what was copied is overwritten. When to ask for it is left to the engines.

use std::io;

use rustix::net::{RecvFlags, recv};
use socket2::Socket;

/// Most bytes that are dropped before something is received again: so few that a slow server is not taken for a silent
/// one.
pub(crate) const DISCARD_MOST: u64 = 256 * 1024;

/// Receives that take few bytes after one whose rest was dropped, because another long value is likely to come: one for
/// the end of the value, and some short replies.
pub(crate) const SHORT_READS: u8 = 4;

/// Bytes asked for by these.
pub(crate) const SHORT_READ: u32 = 4 * 1024;

/// Flags of a receive whose bytes are dropped.
#[cfg(target_os = "linux")]
pub(crate) const FLAGS: RecvFlags = RecvFlags::TRUNC;
/// Flags of a receive whose bytes are dropped.
#[cfg(not(target_os = "linux"))]
pub(crate) const FLAGS: RecvFlags = RecvFlags::empty();

/// Drops up to `bytes` of what has arrived, by way of `buffer` where the kernel copies. Returns how many; 0 at the end.
///
/// # Errors
/// Nothing is there, or the connection broke.
pub(crate) fn discard(socket: &Socket, buffer: &mut [u8], bytes: u64) -> io::Result<usize> {
    let len = buffer.len().min(bytes as usize);
    let (_, dropped) = recv(socket, &mut buffer[..len], FLAGS)?;
    Ok(dropped)
}
