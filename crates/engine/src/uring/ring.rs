//! The two queues shared with the kernel, and this engine's operations in them.
#![allow(unsafe_code)]

use std::ops::Range;
use std::os::fd::RawFd;
use std::sync::atomic::AtomicU8;
use std::time::Duration;
use std::{io, ptr};

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fixed, RecvMsgOut, SubmitArgs, Timespec};
use io_uring::{IoUring, Submitter, cqueue, opcode};

use super::operation::{Kind, Operation};
use super::pool;
use crate::discard::{self, DISCARD_MOST, SHORT_READ};
use crate::stamps;

/// Operations prepared before they must be handed over.
const SUBMISSIONS: u32 = 512;
/// Longest wait without a deadline.
const WAIT_MAX: Duration = Duration::from_secs(3600);

const MSG_DONTWAIT: i32 = rustix::net::SendFlags::DONTWAIT.bits() as i32;
const MSG_NOSIGNAL: i32 = rustix::net::SendFlags::NOSIGNAL.bits() as i32;
const MSG_WAITALL: i32 = rustix::net::RecvFlags::WAITALL.bits() as i32;
const MSG_DISCARD: i32 = discard::FLAGS.bits() as i32;
const POLLOUT: u32 = rustix::event::PollFlags::OUT.bits() as u32;

/// Poll events of a connection that failed to open.
pub(super) const POLL_FAULTS: usize =
    rustix::event::PollFlags::ERR.union(rustix::event::PollFlags::HUP).bits() as usize;

/// Memory for dropped bytes, shared by all operations in flight.
static DROPPED: [AtomicU8; DISCARD_MOST as usize] =
    [const { AtomicU8::new(0) }; DISCARD_MOST as usize];

pub(super) struct Ring {
    ring: IoUring,
    /// Header for receives with a stamp. The kernel copies it when it takes the operation.
    stamped: Box<libc::msghdr>,
}

/// The kernel's report on an operation.
pub(super) struct Completion {
    pub(super) operation: Operation,
    /// Bytes, or why not.
    pub(super) result: io::Result<usize>,
    /// Set if the operation continues.
    pub(super) more: bool,
    pub(super) buffer: Option<u16>,
}

impl Ring {
    /// Creates a ring for up to `connections`, whose sockets it knows as files by their numbers.
    pub(super) fn new(connections: u32) -> io::Result<Self> {
        let completions = (4 * connections).clamp(2 * SUBMISSIONS, 65_536).next_power_of_two();
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_cqsize(completions)
            .build(SUBMISSIONS)?;
        if !ring.params().is_feature_skip_cqe_on_success() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "sends cannot be silent"));
        }
        ring.submitter().register_files_sparse(connections)?;
        Ok(Self { ring, stamped: Box::new(stamps::message(stamps::CONTROL_LEN)) })
    }

    pub(super) fn submitter(&self) -> Submitter<'_> {
        self.ring.submitter()
    }

    /// Makes a socket known as file `number`.
    pub(super) fn set_file(&self, number: u32, fd: RawFd) -> io::Result<()> {
        self.ring.submitter().register_files_update(number, &[fd]).map(drop)
    }

    /// Forgets all files, when no operation is left. The kernel would do so some time after the end of the
    /// ring, and until then the connections would stay open.
    pub(super) fn clear_files(&self) -> io::Result<()> {
        self.ring.submitter().unregister_files()
    }

    /// Submits a poll that completes when a connection is open or has failed.
    pub(super) fn await_connected(&mut self, operation: Operation) -> io::Result<()> {
        let entry = opcode::PollAdd::new(file(operation), POLLOUT).build();
        // SAFETY: the entry points to no memory.
        unsafe { self.push(entry, operation) }
    }

    /// Cancels one operation, which still completes. The kernel finds an operation by its number at once. A
    /// call that cancels all searches again for each, which takes a second for 10,000.
    pub(super) fn cancel(&mut self, operation: Operation) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(operation.to_user_data()).build();
        // SAFETY: the entry points to no memory.
        unsafe {
            self.push(
                entry.flags(Flags::SKIP_SUCCESS),
                Operation { kind: Kind::Cancel, ..operation },
            )
        }
    }

    /// Receives into the pool until something ends it.
    pub(super) fn receive(&mut self, operation: Operation) -> io::Result<()> {
        let entry = match operation.kind {
            Kind::ReceiveStamped => {
                let message = &raw const *self.stamped;
                opcode::RecvMsgMulti::new(file(operation), message, pool::GROUP).build()
            }
            Kind::ReceiveOnce => {
                let entry = opcode::Recv::new(file(operation), ptr::null_mut(), SHORT_READ);
                entry.buf_group(pool::GROUP).build().flags(Flags::BUFFER_SELECT)
            }
            _ => opcode::RecvMulti::new(file(operation), pool::GROUP).build(),
        };
        // SAFETY: its memory is the pool, which outlives the ring's operations, and the message, which names no
        // memory and lives as long as the ring.
        unsafe { self.push(entry, operation) }
    }

    /// Receives up to this many bytes and drops them. A socket that cannot drop copies them into a shared
    /// buffer that is never read. Without `MSG_WAITALL`, which would drop too many: the kernel continues
    /// after what it has copied, and here it has copied nothing.
    pub(super) fn discard(&mut self, operation: Operation, bytes: usize) -> io::Result<()> {
        let len = bytes.min(DROPPED.len()) as u32;
        let memory = DROPPED.as_ptr().cast_mut().cast();
        let entry = opcode::Recv::new(file(operation), memory, len).flags(MSG_DISCARD);
        let entry = entry.build();
        // SAFETY: the memory lives for as long as the program, may be written at any time since it is made of atomics,
        // and nobody reads it.
        unsafe { self.push(entry, operation) }
    }

    /// Parses the buffer of a receive with a stamp into the range of the received bytes and their stamp;
    /// `None` for a buffer that no kernel writes.
    #[inline]
    pub(super) fn parse_stamped(&self, filled: &[u8]) -> Option<(Range<usize>, Option<Duration>)> {
        let parts = RecvMsgOut::parse(filled, &self.stamped).ok()?;
        let len = parts.payload_data().len();
        Some((filled.len() - len..filled.len(), stamps::stamp(parts.control_data())))
    }

    /// Sends as much as the kernel takes at once, and completes only if that is not all. The caller must not
    /// touch `bytes` until the submitting call has returned.
    #[inline]
    pub(super) fn send_at_once(&mut self, operation: Operation, bytes: &[u8]) -> io::Result<()> {
        let entry = send(operation, bytes, MSG_DONTWAIT).flags(Flags::SKIP_SUCCESS);
        // SAFETY: with MSG_DONTWAIT the send ends within the call that submits it, and the caller
        // leaves the bytes alone until then (`uring/mod.rs` says how).
        unsafe { self.push(entry, operation) }
    }

    /// Sends all bytes as room appears. The caller must not touch `bytes` until this completes.
    pub(super) fn send_waiting(&mut self, operation: Operation, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: the caller keeps the bytes where they are until the completion was seen, also
        // beyond the end of the connection (see the module above).
        unsafe { self.push(send(operation, bytes, 0), operation) }
    }

    /// Queues an operation.
    ///
    /// # Safety
    /// The memory that the entry names must stay unchanged until the operation has ended.
    #[inline]
    unsafe fn push(&mut self, entry: Entry, operation: Operation) -> io::Result<()> {
        let entry = entry.user_data(operation.to_user_data());
        // SAFETY: by the caller.
        if unsafe { self.ring.submission().push(&entry) }.is_ok() {
            return Ok(());
        }
        self.submit()?;
        // SAFETY: by the caller.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the submission queue stays full"))
    }

    /// Submits the prepared operations.
    pub(super) fn submit(&mut self) -> io::Result<()> {
        while !self.ring.submission().is_empty() {
            again_if_interrupted(self.ring.submit())?;
        }
        Ok(())
    }

    /// Submits the prepared operations and waits for a completion, at most this long.
    #[inline]
    pub(super) fn submit_and_wait(&mut self, most: Option<Duration>) -> io::Result<()> {
        if most == Some(Duration::ZERO) {
            return self.look();
        }
        let most = Timespec::from(most.unwrap_or(WAIT_MAX));
        let args = SubmitArgs::new().timespec(&most);
        let waited = self.ring.submitter().submit_with_args(1, &args);
        again_if_interrupted(waited)?;
        // A wait that ended for another reason may have left something behind.
        self.submit()
    }

    /// Submits the prepared operations and takes completions, without waiting. Makes no system call if there
    /// is neither, since even a wait of no time costs the kernel a timer.
    fn look(&mut self) -> io::Result<()> {
        let submissions = self.ring.submission();
        let pending = submissions.taskrun() || submissions.cq_overflow();
        drop(submissions);
        if pending {
            again_if_interrupted(self.ring.submit_and_wait(0))?;
        }
        self.submit()
    }

    pub(super) fn has_completions(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    #[inline]
    pub(super) fn next_completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        let result = match entry.result() {
            n @ 0.. => Ok(n as usize),
            n => Err(io::Error::from_raw_os_error(-n)),
        };
        Some(Completion {
            operation: Operation::from_user_data(entry.user_data()),
            result,
            more: cqueue::more(entry.flags()),
            buffer: cqueue::buffer_select(entry.flags()),
        })
    }
}

#[inline]
fn file(operation: Operation) -> Fixed {
    Fixed(operation.conn.0)
}

#[inline]
fn send(operation: Operation, bytes: &[u8], flags: i32) -> Entry {
    let flags = flags | MSG_NOSIGNAL | MSG_WAITALL;
    opcode::Send::new(file(operation), bytes.as_ptr(), bytes.len() as u32).flags(flags).build()
}

/// Ignores results of a wait that are no failures: its timeout, a signal, or a kernel that is short of memory
/// for a moment or wants completions taken first.
fn again_if_interrupted(outcome: io::Result<usize>) -> io::Result<()> {
    use rustix::io::Errno;
    match outcome {
        Ok(_) => Ok(()),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY) => Ok(()),
            _ => Err(error),
        },
    }
}
