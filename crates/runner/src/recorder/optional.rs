//! Optional records beside a tally: figures by connection, and a log of operations.
//!
//! Without them, each call only tests for their absence. Their code is out of line, because code that settles
//! replies is compiled for every protocol, engine and route.

use engine::ConnId;
use measure::{ByConnection, OperationLog, OperationOutcome, Sample, Stamps};

/// The optional recorders; `None` if the plan asks for none of them.
#[derive(Debug, Default)]
pub(super) struct OptionalRecorders(Option<Box<Recorders>>);

#[derive(Debug, Default)]
struct Recorders {
    by_connection: Option<ByConnection>,
    log: Option<OperationLog>,
    /// Connection of the current read.
    connection: usize,
}

impl OptionalRecorders {
    /// Keeps the figures of each connection.
    pub(super) fn keep_connections(&mut self, empty: ByConnection) {
        self.0.get_or_insert_default().by_connection = Some(empty);
    }

    /// Keeps a log.
    pub(super) fn keep_log(&mut self, empty: OperationLog) {
        self.0.get_or_insert_default().log = Some(empty);
    }

    /// Takes the records that were kept.
    pub(super) fn take(&mut self) -> (Option<ByConnection>, Option<OperationLog>) {
        self.0.take().map_or((None, None), |kept| (kept.by_connection, kept.log))
    }

    /// Sets the connection of the next replies.
    #[inline]
    pub(super) fn of_connection(&mut self, conn: ConnId) {
        if let Some(kept) = &mut self.0 {
            kept.connection = conn.0 as usize;
        }
    }

    /// The measured part begins.
    pub(super) fn begin(&mut self, from_ns: u64) {
        let Some(kept) = &mut self.0 else { return };
        kept.by_connection.iter_mut().for_each(|by| by.begin(from_ns));
        kept.log.iter_mut().for_each(|log| log.begin(from_ns));
    }

    /// Adds replies that were settled together.
    #[inline]
    pub(super) fn record_group(&mut self, group: &Sample) {
        if let Some(kept) = &mut self.0 {
            kept.record_group(group);
        }
    }

    /// Adds an error reply to a command, or a `wrong` value, with its bytes.
    #[inline]
    pub(super) fn error(&mut self, command: usize, wrong: bool, bytes: u64, stamps: &Stamps) {
        if let Some(kept) = &mut self.0 {
            kept.error(command, wrong, bytes, stamps);
        }
    }

    /// Adds a request that was redirected, `for_once` or for good.
    pub(super) fn redirected(&mut self, command: usize, for_once: bool, now_ns: u64) {
        if let Some(Recorders { by_connection: Some(by), connection, .. }) = self.0.as_deref_mut() {
            by.redirected(*connection, command, for_once, now_ns);
        }
    }

    /// Adds an operation.
    #[inline]
    pub(super) fn operation(&mut self, operation: usize, ended: OperationOutcome, stamps: &Stamps) {
        if let Some(kept) = &mut self.0 {
            kept.operation(operation, ended, stamps);
        }
    }

    /// Adds bytes of a command that are about to be sent.
    #[inline]
    pub(super) fn put_together(&mut self, command: usize, bytes: u64) {
        if let Some(kept) = &mut self.0 {
            kept.put_together(command, bytes);
        }
    }

    /// Notes that the prepared commands were handed to a connection at `now_ns`, in `bytes` bytes.
    #[inline]
    pub(super) fn sent(&mut self, conn: ConnId, bytes: u64, now_ns: u64) {
        if let Some(kept) = &mut self.0 {
            kept.sent(conn, bytes, now_ns);
        }
    }

    /// Notes that a read of `bytes` bytes ended at `now_ns`.
    #[inline]
    pub(super) fn received(&mut self, bytes: u64, now_ns: u64) {
        if let Some(kept) = &mut self.0 {
            kept.received(bytes, now_ns);
        }
    }
}

impl Recorders {
    #[inline(never)]
    fn record_group(&mut self, group: &Sample) {
        if let Some(by) = &mut self.by_connection {
            by.record(self.connection, group);
        }
        if let Some(log) = &mut self.log {
            log.record(group);
        }
    }

    #[inline(never)]
    fn error(&mut self, command: usize, wrong: bool, bytes: u64, stamps: &Stamps) {
        if let Some(by) = &mut self.by_connection {
            by.error(self.connection, command, bytes, stamps);
        }
        if let Some(log) = &mut self.log {
            log.error(command, wrong, stamps);
        }
    }

    #[inline(never)]
    fn operation(&mut self, operation: usize, ended: OperationOutcome, stamps: &Stamps) {
        if let Some(log) = &mut self.log {
            log.operation(operation, ended, stamps);
        }
    }

    #[inline(never)]
    fn put_together(&mut self, command: usize, bytes: u64) {
        if let Some(by) = &mut self.by_connection {
            by.put_together(command, bytes);
        }
    }

    #[inline(never)]
    fn sent(&mut self, conn: ConnId, bytes: u64, now_ns: u64) {
        if let Some(by) = &mut self.by_connection {
            by.sent(conn.0 as usize, bytes, now_ns);
        }
    }

    #[inline(never)]
    fn received(&mut self, bytes: u64, now_ns: u64) {
        if let Some(by) = &mut self.by_connection {
            by.received(self.connection, bytes, now_ns);
        }
    }
}
