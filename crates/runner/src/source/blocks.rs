//! A worker's part of a source of requests: blocks that were read ahead.
//!
//! The bytes of a request can be found by its number until it is released.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

use workload::DueRequest;

/// Commands and bytes of a block; a longer command has a block of its own.
const COMMANDS_MAX: usize = 1024;
const BYTES_MAX: usize = 256 << 10;
/// Bits of a number that give the command's index in its block.
const WITHIN_BITS: u32 = 10;
/// Maximum number of blocks with drawn requests that are not sent yet. Beyond that nothing is drawn.
const HELD_MAX: usize = 64;
/// Pause before a worker checks again whether more of the source was read.
const LOOK_AGAIN_NS: u64 = 200_000;

/// A worker's part of a stretch of a source.
#[derive(Debug, Default)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    commands: Vec<(DueRequest, usize)>,
}

impl Block {
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Returns whether a command of this length belongs into the next block.
    pub(super) fn is_full_with(&self, bytes: usize) -> bool {
        let is_long = !self.is_empty() && self.bytes.len() + bytes > BYTES_MAX;
        self.commands.len() == COMMANDS_MAX || is_long
    }

    pub(super) fn push(&mut self, command: DueRequest, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.commands.push((command, self.bytes.len()));
    }

    fn clear(&mut self) {
        self.commands.clear();
        self.bytes.clear();
        self.bytes.shrink_to(BYTES_MAX);
    }

    fn bytes_of(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.commands[before].1);
        &self.bytes[start..self.commands[at].1]
    }
}

/// A block with commands that may still be requested.
#[derive(Debug)]
struct OpenBlock {
    block: Block,
    /// Number of unreleased commands.
    open: usize,
}

/// Share of a source for one worker.
#[derive(Debug)]
pub(crate) struct WorkerSource {
    blocks: Receiver<Block>,
    empties: SyncSender<Block>,
    /// The number of the worker's first connection.
    first_connection: u32,
    held: VecDeque<OpenBlock>,
    /// Number of held blocks that are not returned yet.
    live: usize,
    /// Number of the first held block among all blocks.
    first: u64,
    /// Position of the next command: index of the held block, and index in it.
    next: (usize, usize),
    /// Due time of the next command, from the start of load; `None` if there is no next command yet.
    next_due_ns: Option<u64>,
    start_ns: u64,
    looked_ns: u64,
    ended: bool,
    drawn: u64,
}

impl WorkerSource {
    pub(super) fn new(
        blocks: Receiver<Block>,
        empties: SyncSender<Block>,
        first_connection: u32,
    ) -> Self {
        Self {
            blocks,
            empties,
            first_connection,
            held: VecDeque::with_capacity(HELD_MAX + 1),
            live: 0,
            first: 0,
            next: (0, 0),
            next_due_ns: None,
            start_ns: 0,
            looked_ns: 0,
            ended: false,
            drawn: 0,
        }
    }

    /// Load starts.
    pub(crate) fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.look(start_ns);
    }

    /// Returns when to check the source: when the next command is due, or soon if that is not known yet.
    #[inline]
    pub(crate) fn due_ns(&self) -> u64 {
        match self.next_due_ns {
            _ if self.is_full() => u64::MAX,
            Some(ns) => self.start_ns.saturating_add(ns),
            None if self.ended => u64::MAX,
            None => self.looked_ns + LOOK_AGAIN_NS,
        }
    }

    /// Returns whether every command was drawn.
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.ended && self.next_due_ns.is_none()
    }

    /// Returns the number of drawn commands, except those that block on the server.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Returns the number of commands that were read and are due before `ns`, but not drawn.
    pub(crate) fn due_before(&self, ns: u64) -> u64 {
        let (block, at) = self.next;
        let ahead = self.held.get(block).map_or(&[][..], |held| &held.block.commands[at..]);
        let due = ahead
            .iter()
            .take_while(|(command, _)| self.start_ns.saturating_add(command.due_ns) < ns);
        due.filter(|(command, _)| !command.blocks).count() as u64
    }

    /// Returns whether too many blocks are held to draw more.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.live > HELD_MAX
    }

    /// Takes the next command if it is due: its number, and the worker's connection that sends it.
    #[inline]
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        if self.next_due_ns.is_none() {
            self.look(now_ns);
        }
        let due_ns = self.start_ns.saturating_add(self.next_due_ns?);
        if due_ns > now_ns || self.is_full() {
            return None;
        }
        let (block, at) = self.next;
        let number = (self.first + block as u64) << WITHIN_BITS | at as u64;
        let connection = self.held[block].block.commands[at].0.connection;
        self.next.1 += 1;
        self.drawn += u64::from(!self.held[block].block.commands[at].0.blocks);
        self.look(now_ns);
        Some((number, connection - self.first_connection))
    }

    /// Finds the next command, in the current block or a new one.
    #[inline]
    fn look(&mut self, now_ns: u64) {
        let (block, at) = self.next;
        if let Some(held) = self.held.get(block)
            && let Some((command, _)) = held.block.commands.get(at)
        {
            self.next_due_ns = Some(command.due_ns);
            return;
        }
        self.next_block(now_ns);
    }

    fn next_block(&mut self, now_ns: u64) {
        (self.next_due_ns, self.looked_ns) = (None, now_ns);
        match self.blocks.try_recv() {
            Ok(block) => {
                self.next_due_ns = block.commands.first().map(|(command, _)| command.due_ns);
                self.live += 1;
                self.held.push_back(OpenBlock { open: block.commands.len(), block });
                self.next = (self.held.len() - 1, 0);
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.ended = true,
        }
    }

    fn place(&self, number: u64) -> (usize, usize) {
        let within = number & ((1 << WITHIN_BITS) - 1);
        (((number >> WITHIN_BITS) - self.first) as usize, within as usize)
    }

    /// Returns the command of this number, and its due time on the engine's clock.
    #[inline]
    pub(crate) fn command(&self, number: u64) -> (DueRequest, u64) {
        let (block, at) = self.place(number);
        let command = self.held[block].block.commands[at].0;
        (command, self.start_ns.saturating_add(command.due_ns))
    }

    /// Returns the bytes of an unreleased command.
    #[inline]
    pub(crate) fn bytes(&self, number: u64) -> &[u8] {
        let (block, at) = self.place(number);
        self.held[block].block.bytes_of(at)
    }

    /// Releases a command: it will not be requested again.
    #[inline]
    pub(crate) fn release(&mut self, number: u64) {
        let (block, _) = self.place(number);
        self.held[block].open -= 1;
        if self.held[block].open == 0 {
            self.give_back(block);
        }
    }

    /// Returns the block of released commands, and forgets it once all blocks before it are returned.
    fn give_back(&mut self, block: usize) {
        let mut empty = std::mem::take(&mut self.held[block].block);
        empty.clear();
        self.live -= 1;
        // A surplus block is freed.
        let _ = self.empties.try_send(empty);
        while self.held.front().is_some_and(|held| held.open == 0) {
            self.held.pop_front();
            self.first += 1;
            // The next command is in none of these: it was not released.
            self.next.0 = self.next.0.saturating_sub(1);
        }
    }
}
