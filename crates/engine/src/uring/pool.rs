//! Buffers that the kernel receives into.
//!
//! A ring of equal buffers, lent to the kernel as a whole. A completion names the buffer that it filled; the
//! engine owns that buffer until it returns it. The memory outlives every operation: it is freed only by a
//! [`Pool`] whose ring has no operation left, and leaked otherwise.
//! <https://man7.org/linux/man-pages/man3/io_uring_register_buf_ring.3.html>
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// Maximum number of bytes of one buffer: a reply to `LRANGE` of 600 short elements fits.
const BUFFER_MOST: usize = 8 * 1024;
/// Minimum number of bytes of one buffer; longer replies come in more pieces.
const BUFFER_LEAST: usize = 1024;
/// Maximum number of bytes of all buffers, unless that makes one too short. The kernel uses them in turn, so
/// all of them are touched. With many connections this bounds memory at the price of long replies in pieces,
/// which cost CPU time (docs/performance.md).
const POOL_MOST: usize = 4 * 1024 * 1024;
/// The buffer group that receives name.
pub(super) const GROUP: u16 = 0;
const PAGE: usize = 4096;

pub(super) struct Pool {
    /// Ring entries that tell the kernel which buffers it may use.
    entries: NonNull<BufRingEntry>,
    entries_layout: Layout,
    /// The buffers, one after another.
    memory: NonNull<u8>,
    memory_layout: Layout,
    buffer_len: usize,
    mask: u16,
    tail: u16,
}

impl Pool {
    /// A pool of `count` buffers, a power of two up to 32,768, all lent to the ring of
    /// `submitter`.
    ///
    /// # Errors
    /// Returns an error if the kernel has no buffer rings (before 5.19), or refuses.
    pub(super) fn new(submitter: &Submitter<'_>, count: u16) -> io::Result<Self> {
        assert!(count.is_power_of_two(), "the kernel masks positions");
        let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let buffer_len = buffer_len(count);
        let entries_len = usize::from(count) * size_of::<BufRingEntry>();
        let entries_layout = Layout::from_size_align(entries_len, PAGE).map_err(invalid)?;
        let memory_len = usize::from(count) * buffer_len;
        // Not aligned: the allocator zeroes aligned memory by writing to all of it, and other memory comes zeroed.
        let memory_layout = Layout::from_size_align(memory_len, 1).map_err(invalid)?;
        let entries = zeroed(entries_layout).cast::<BufRingEntry>();
        let memory = zeroed(memory_layout);
        let mut pool = Self {
            entries,
            entries_layout,
            memory,
            memory_layout,
            buffer_len,
            mask: count - 1,
            tail: 0,
        };
        // SAFETY: the entries are page-aligned, zeroed, of `count` entries, and freed only when
        // the pool is dropped, which its owner does after the ring is done with it.
        unsafe {
            submitter.register_buf_ring_with_flags(entries.as_ptr() as u64, count, GROUP, 0)?
        };
        (0..count).for_each(|buffer| pool.give_back(buffer));
        Ok(pool)
    }

    /// The first `len` bytes of a buffer that a completion named.
    #[inline]
    pub(super) fn filled(&self, buffer: u16, len: usize) -> &[u8] {
        assert!(buffer <= self.mask && len <= self.buffer_len, "the kernel names our buffers");
        // SAFETY: within the memory by the assertion, which was zeroed at first and is only ever
        // overwritten by the kernel; and the kernel does not touch a buffer between naming it and
        // getting it back.
        unsafe {
            let start = self.memory.as_ptr().add(usize::from(buffer) * self.buffer_len);
            std::slice::from_raw_parts(start, len)
        }
    }

    /// Lends a buffer to the kernel again.
    #[inline]
    pub(super) fn give_back(&mut self, buffer: u16) {
        assert!(buffer <= self.mask, "a buffer of this pool");
        let position = usize::from(self.tail & self.mask);
        // SAFETY: the position is within the entries, and the kernel reads an entry only below
        // the tail, which is moved after the entry is complete. The tail lies in a reserved field
        // of the first entry, which no setter writes.
        unsafe {
            let start = self.memory.as_ptr().add(usize::from(buffer) * self.buffer_len);
            let entry = &mut *self.entries.as_ptr().add(position);
            entry.set_addr(start as u64);
            entry.set_len(self.buffer_len as u32);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

/// Bytes per buffer for this many buffers.
fn buffer_len(count: u16) -> usize {
    (POOL_MOST / usize::from(count)).clamp(BUFFER_LEAST, BUFFER_MOST)
}

fn zeroed(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout here is of size 0, since a pool has buffers.
    let memory = unsafe { alloc_zeroed(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with these layouts; the owner drops a pool only when the ring
        // has no operation left that could write to it.
        unsafe {
            dealloc(self.entries.as_ptr().cast(), self.entries_layout);
            dealloc(self.memory.as_ptr(), self.memory_layout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_no_larger_than_it_need_be() {
        for (count, len) in [(64, 8192), (512, 8192), (1024, 4096), (2048, 2048), (4096, 1024)] {
            assert_eq!(buffer_len(count), len, "{count} buffers");
        }
    }
}
