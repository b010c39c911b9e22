//! Software receive stamps of `SO_TIMESTAMPING`.
//!
//! Owns the socket option, and the read that returns a stamp with the bytes. A stamp belongs to the last
//! segment of which the read took bytes. Unix sockets have none.
//! <https://docs.kernel.org/networking/timestamping.html>
#![allow(unsafe_code)]

use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::Socket;

/// Bytes of a control message with a stamp: `struct cmsghdr` and `struct scm_timestamping`.
pub(crate) const CONTROL_LEN: usize = HEADER_LEN + STAMPS_LEN;
const HEADER_LEN: usize = size_of::<libc::cmsghdr>();
/// Length of three times of two 64-bit numbers each, of which software stamps fill the first.
const STAMPS_LEN: usize = 48;
/// Asks the kernel to stamp bytes that arrive on this socket; returns whether it will.
pub(crate) fn enable(socket: &Socket) -> bool {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    let length = size_of_val(&flags) as libc::socklen_t;
    // SAFETY: the option is a number of that size, which lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            length,
        )
    };
    result == 0
}

/// Reads like `read(2)`, and returns the stamp of the bytes, if there is one.
///
/// # Errors
/// Returns the errors of `recvmsg(2)`.
#[inline]
pub(crate) fn read(socket: &Socket, into: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    let mut control = Control([0; CONTROL_LEN]);
    let mut place = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut message = message(CONTROL_LEN);
    message.msg_iov = &raw mut place;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control.0).cast();
    // SAFETY: the message names memory of this length each, which is borrowed or owned here through the call.
    let read = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    match usize::try_from(read) {
        Ok(read) => Ok((read, stamp(&control.0[..message.msg_controllen.min(CONTROL_LEN)]))),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// A message header without buffers that has room for `control_len` control bytes.
pub(crate) fn message(control_len: usize) -> libc::msghdr {
    // SAFETY: a structure of numbers and pointers, for which zeros mean that there is nothing.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_controllen = control_len as _;
    message
}

/// Space for control messages, aligned like the kernel's structure.
#[repr(align(8))]
struct Control([u8; CONTROL_LEN]);

/// The stamp in the first of these control messages, as time since 1970.
#[inline]
pub(crate) fn stamp(control: &[u8]) -> Option<Duration> {
    let header = control.get(..CONTROL_LEN)?;
    let word = |at: usize| header.get(at..at + 4)?.try_into().ok().map(i32::from_ne_bytes);
    let long = |at: usize| header.get(at..at + 8)?.try_into().ok().map(i64::from_ne_bytes);
    let level = word(offset_of!(libc::cmsghdr, cmsg_level))?;
    let kind = word(offset_of!(libc::cmsghdr, cmsg_type))?;
    if (level, kind) != (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) {
        return None;
    }
    let seconds = u64::try_from(long(HEADER_LEN)?).ok().filter(|seconds| *seconds > 0)?;
    let nanoseconds = u32::try_from(long(HEADER_LEN + 8)?).ok().filter(|ns| *ns < 1_000_000_000)?;
    Some(Duration::new(seconds, nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_stamp_is_none() {
        let mut control = [0; CONTROL_LEN];
        assert_eq!(stamp(&control), None);
        let level = offset_of!(libc::cmsghdr, cmsg_level);
        control[level..level + 4].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
        let kind = offset_of!(libc::cmsghdr, cmsg_type);
        control[kind..kind + 4].copy_from_slice(&libc::SO_TIMESTAMPING.to_ne_bytes());
        assert_eq!(stamp(&control), None, "of a segment that was not stamped");
        control[HEADER_LEN..HEADER_LEN + 8].copy_from_slice(&5i64.to_ne_bytes());
        assert_eq!(stamp(&control), Some(Duration::from_secs(5)));
        assert_eq!(stamp(&control[1..]), None);
    }
}
