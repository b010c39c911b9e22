//! The bare completion loop: what the engine asks of io_uring, and one call a turn.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};

use engine::Socket;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{BufRingEntry, Fixed};
use io_uring::{IoUring, cqueue, opcode};

use crate::load::{Load, PipelineImage};

/// Operations prepared before they must be handed over, as in the engine.
const SUBMISSIONS: u32 = 512;
const BUFFER_LEN: usize = 8 * 1024;
const GROUP: u16 = 0;
const PAGE: usize = 4096;
const SEND_FLAGS: i32 =
    (rustix::net::SendFlags::NOSIGNAL.bits() | rustix::net::RecvFlags::WAITALL.bits()) as i32;

pub(crate) fn run(load: &mut Load, sockets: Vec<Socket>) -> io::Result<()> {
    let connections = sockets.len() as u32;
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        .setup_submit_all()
        .setup_cqsize((4 * connections).clamp(2 * SUBMISSIONS, 65_536).next_power_of_two())
        .build(SUBMISSIONS)?;
    let files: Vec<_> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    ring.submitter().register_files(&files)?;
    let count = (2 * connections).clamp(64, 4096).next_power_of_two() as u16;
    let mut buffers = Buffers::register(&ring, count)?;
    // What the kernel reads and writes is never freed: the process ends before.
    let turns: &'static mut [PipelineImage] = load.turns().leak();
    let mut busy = 0u32;
    for (number, turn) in (0..).zip(&mut *turns) {
        push(&mut ring, &receive(number))?;
        if let Some(entry) = send(load, number, turn) {
            push(&mut ring, &entry)?;
            busy += 1;
        }
    }
    while busy > 0 {
        ring.submit_and_wait(1)?;
        while let Some(completion) = next(&mut ring) {
            let len = usize::try_from(completion.result()).unwrap_or(0);
            let number = completion.user_data() as u32;
            let Some(buffer) = cqueue::buffer_select(completion.flags()) else {
                // Out of buffers, which are back by now; or a send that was cut short, or the end.
                let error = io::Error::from_raw_os_error(-completion.result().min(0));
                if rustix::io::Errno::from_io_error(&error) != Some(rustix::io::Errno::NOBUFS) {
                    return Err(error);
                }
                push(&mut ring, &receive(number))?;
                continue;
            };
            buffers.give_back(buffer);
            if !cqueue::more(completion.flags()) {
                push(&mut ring, &receive(number))?;
            }
            let turn = &mut turns[number as usize];
            if turn.receive(len)? {
                match send(load, number, turn) {
                    Some(entry) => push(&mut ring, &entry)?,
                    None => busy -= 1,
                }
            }
        }
    }
    Ok(())
}

fn receive(number: u32) -> Entry {
    opcode::RecvMulti::new(Fixed(number), GROUP).build().user_data(number.into())
}

/// The next pipeline, if there is one. Its bytes stay as they are until the replies are in.
#[inline]
fn send(load: &mut Load, number: u32, turn: &mut PipelineImage) -> Option<Entry> {
    let len = load.fill(turn);
    let entry = opcode::Send::new(Fixed(number), turn.bytes.as_ptr(), len as u32);
    let entry = entry.flags(SEND_FLAGS).build().flags(Flags::SKIP_SUCCESS);
    (len > 0).then(|| entry.user_data(number.into()))
}

#[inline]
fn next(ring: &mut IoUring) -> Option<cqueue::Entry> {
    ring.completion().next()
}

#[inline]
fn push(ring: &mut IoUring, entry: &Entry) -> io::Result<()> {
    // SAFETY: a receive has only the buffers and a send only a connection's bytes, both leaked;
    // the bytes are next written when the replies to them are in.
    while unsafe { ring.submission().push(entry) }.is_err() {
        ring.submit()?;
    }
    Ok(())
}

/// The ring of buffers that receives fill.
struct Buffers {
    entries: *mut BufRingEntry,
    memory: *const u8,
    mask: u16,
    tail: u16,
}

impl Buffers {
    fn register(ring: &IoUring, count: u16) -> io::Result<Self> {
        let leak = |len: usize| {
            let memory = vec![0u8; len + PAGE].leak();
            let skip = memory.as_ptr().align_offset(PAGE);
            memory[skip..].as_mut_ptr()
        };
        let entries = leak(usize::from(count) * size_of::<BufRingEntry>()).cast();
        let memory = leak(usize::from(count) * BUFFER_LEN);
        // SAFETY: on a page, zeroed, of `count` entries, and leaked.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(entries as u64, count, GROUP, 0)?;
        }
        let mut buffers = Self { entries, memory, mask: count - 1, tail: 0 };
        (0..count).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    #[inline]
    fn give_back(&mut self, buffer: u16) {
        // SAFETY: both positions are within what was allocated for `count` of them, and the kernel
        // reads an entry only below the tail, which is moved after it is complete.
        unsafe {
            let entry = &mut *self.entries.add(usize::from(self.tail & self.mask));
            entry.set_addr(self.memory.add(usize::from(buffer) * BUFFER_LEN) as u64);
            entry.set_len(BUFFER_LEN as u32);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}
