//! The thread that reads a source ahead of the workers, and distributes its requests.
//!
//! Each worker has a queue of whole blocks, which bounds how far this thread is ahead of it. Blocks are
//! returned after use, so a source of any length needs the memory of a few of them.

use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};

use workload::{DueRequests, RequestSource};

use super::blocks::{Block, WorkerSource};

/// Maximum number of blocks queued for a worker.
const AHEAD: usize = 16;

/// Reads a source for the workers of a run.
pub(crate) struct Feed<'r> {
    requests: Box<dyn DueRequests + Send + 'r>,
    lanes: Vec<Lane>,
    /// The bytes of the request at hand.
    bytes: Vec<u8>,
}

/// Queue to one worker.
struct Lane {
    /// Connections of the worker.
    connections: Range<u32>,
    filling: Block,
    full: SyncSender<Block>,
    empty: Receiver<Block>,
}

/// The worker has ended.
struct Disconnected;

impl Lane {
    fn empty_block(&self) -> Block {
        self.empty.try_recv().unwrap_or_default()
    }

    /// Hands over the block if there is room for it.
    fn offer(&mut self) -> Result<(), Disconnected> {
        if self.filling.is_empty() {
            return Ok(());
        }
        let next = self.empty_block();
        match self.full.try_send(std::mem::replace(&mut self.filling, next)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(block)) => {
                self.filling = block;
                Ok(())
            }
            Err(TrySendError::Disconnected(_)) => Err(Disconnected),
        }
    }

    /// Hands the block over, and waits for room.
    fn send(&mut self) -> Result<(), Disconnected> {
        let next = self.empty_block();
        self.full.send(std::mem::replace(&mut self.filling, next)).map_err(|_| Disconnected)
    }
}

impl<'r> Feed<'r> {
    /// Creates a feed for workers with these connections, and the source of each worker.
    ///
    /// # Errors
    /// Returns the reason why the source cannot be read.
    pub(crate) fn new(
        source: &'r dyn RequestSource,
        workers: impl Iterator<Item = Range<u32>>,
    ) -> Result<(Self, Vec<WorkerSource>), String> {
        let requests = source.requests()?;
        let lanes = workers.map(|connections| {
            let (full, blocks) = mpsc::sync_channel(AHEAD);
            let (empties, empty) = mpsc::sync_channel(AHEAD);
            let first = connections.start;
            let lane = Lane { connections, filling: Block::default(), full, empty };
            (lane, WorkerSource::new(blocks, empties, first))
        });
        let (lanes, sources) = lanes.unzip();
        Ok((Self { requests, lanes, bytes: Vec::new() }, sources))
    }

    /// Reads the source to its end, or until a worker has ended.
    ///
    /// # Errors
    /// Returns the reason why reading stopped.
    pub(crate) fn run(mut self) -> Result<(), String> {
        loop {
            self.bytes.clear();
            let Some(request) = self.requests.next(&mut self.bytes)? else { break };
            let at = self.lanes.partition_point(|lane| lane.connections.end <= request.connection);
            let Some(lane) = self.lanes.get_mut(at) else { continue };
            if lane.filling.is_full_with(self.bytes.len()) && self.hand_over(at).is_err() {
                return Ok(());
            }
            self.lanes[at].filling.push(request, &self.bytes);
        }
        for lane in self.lanes.iter_mut().filter(|lane| !lane.filling.is_empty()) {
            if lane.send().is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Hands over a full block. While it waits, the other workers get what was already read for them.
    fn hand_over(&mut self, full: usize) -> Result<(), Disconnected> {
        self.lanes.iter_mut().try_for_each(Lane::offer)?;
        if self.lanes[full].filling.is_empty() { Ok(()) } else { self.lanes[full].send() }
    }
}
