//! What is kept beside a tally for those who ask for it: what each connection saw, and a log of operations.
//!
//! Where nobody asks, each call is a test or two of something that is not there.

use engine::ConnId;
use measure::{ByConnection, Ended, OperationLog, Sample, Stamps};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) by_connection: Option<ByConnection>,
    pub(super) log: Option<OperationLog>,
    /// The connection that the current read is of.
    connection: usize,
}

impl Beside {
    /// The replies that come next are of this connection.
    #[inline]
    pub(super) fn of_connection(&mut self, conn: ConnId) {
        self.connection = conn.0 as usize;
    }

    /// The measured part begins.
    pub(super) fn begin(&mut self, from_ns: u64) {
        self.by_connection.iter_mut().for_each(|by| by.begin(from_ns));
        self.log.iter_mut().for_each(|log| log.begin(from_ns));
    }

    /// Adds replies that share everything.
    #[inline]
    pub(super) fn settled(&mut self, group: &Sample) {
        if let Some(by) = &mut self.by_connection {
            by.record(self.connection, group);
        }
        if let Some(log) = &mut self.log {
            log.record(group);
        }
    }

    /// Adds an error reply to a command, or a `wrong` value, of so many bytes.
    pub(super) fn error(&mut self, command: usize, (wrong, bytes): (bool, u64), stamps: &Stamps) {
        if let Some(by) = &mut self.by_connection {
            by.error((self.connection, command), bytes, (stamps.sent_ns, stamps.done_ns));
        }
        if let Some(log) = &mut self.log {
            log.error(command, wrong, stamps);
        }
    }

    /// Adds an operation.
    #[inline]
    pub(super) fn operation(&mut self, operation: usize, ended: Ended, stamps: &Stamps) {
        if let Some(log) = &mut self.log {
            log.operation(operation, ended, stamps);
        }
    }

    /// Adds bytes of a command that are about to be sent.
    #[inline]
    pub(super) fn put_together(&mut self, command: usize, bytes: u64) {
        if let Some(by) = &mut self.by_connection {
            by.put_together(command, bytes);
        }
    }

    /// What was put together was handed to a connection at `now_ns`, in so many bytes.
    #[inline]
    pub(super) fn sent(&mut self, conn: ConnId, bytes: u64, now_ns: u64) {
        if let Some(by) = &mut self.by_connection {
            by.sent(conn.0 as usize, bytes, now_ns);
        }
    }

    /// A read that ended at `now_ns` brought so many bytes.
    #[inline]
    pub(super) fn received(&mut self, bytes: u64, now_ns: u64) {
        if let Some(by) = &mut self.by_connection {
            by.received(self.connection, bytes, now_ns);
        }
    }
}
