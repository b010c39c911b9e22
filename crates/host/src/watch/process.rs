//! The process of a server on this machine, as the kernel sees it: its memory, and background work. The
//! server itself need not be asked while it is busy.

use std::time::Duration;
use std::{fs, thread};

use super::info::Info;
use super::{local, workers};

/// Beginning of the names of background threads, as of Redis 6.
const BACKGROUND: &str = "bio_";
/// Time for which background threads are watched.
const WATCHED_FOR: Duration = Duration::from_millis(5);
/// Maximum CPU time of an idle background thread in that time.
const BUSY_NS: u64 = 500_000;

/// The process of a server on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerProcess {
    pid: u32,
}

impl ServerProcess {
    /// The process described by a text of `INFO`; `None` if it runs elsewhere.
    pub fn from_info(text: &str) -> Option<Self> {
        Some(Self { pid: local::find(&Info::parse(text))? })
    }

    /// The process of this number.
    pub fn new(pid: u32) -> Self {
        Self { pid }
    }

    /// Memory that it holds now, without its children, in bytes; `None` if the kernel does not report it.
    pub fn resident_bytes(self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        local::bytes(&status, "VmRSS:")
    }

    /// Memory that it holds now, with pages no longer shared with its children because one side has written
    /// to them, in bytes; `None` if the kernel does not report it.
    pub fn bytes_with_copies(self) -> Option<u64> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.pid)).ok()?;
        let copies = children.split_whitespace().filter_map(|child| {
            // One that has ended in between has given its memory back.
            let rollup = fs::read_to_string(format!("/proc/{child}/smaps_rollup")).ok()?;
            local::bytes(&rollup, "Private_Dirty:")
        });
        let copies: u64 = copies.sum();
        Some(self.resident_bytes()?.saturating_add(copies))
    }

    /// Returns whether its background threads, which free memory and close files, have just run or waited for
    /// a CPU. Takes some milliseconds.
    pub fn works_in_background(self) -> bool {
        let before = self.background_ns();
        thread::sleep(WATCHED_FOR);
        self.background_ns().saturating_sub(before) > BUSY_NS
    }

    /// Time in which background threads ran, or were runnable and had no CPU.
    fn background_ns(self) -> u64 {
        workers::named(self.pid, BACKGROUND).values().map(|(ran, waited)| ran + waited).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_holds_memory_and_one_that_does_not_exist_none() {
        let own = ServerProcess::new(std::process::id());
        assert!(own.bytes_with_copies() >= own.resident_bytes().map(|bytes| bytes / 2));
        assert!(own.resident_bytes() > Some(1 << 20));
        assert_eq!(ServerProcess::new(u32::MAX).bytes_with_copies(), None);
    }
}
