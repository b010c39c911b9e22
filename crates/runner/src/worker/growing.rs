//! Keys of operations that insert, and of those that read the newest.
//!
//! Owns this worker's part of [`Inserts`]: the keys of failed inserts, which are inserted next so that no gap
//! is left.

use std::sync::Arc;

use wire::KeyNumber;
use workload::random::Stream;
use workload::{Inserts, KeyDraw, Plan, Source};

use crate::request::OperationState;

/// Random stream of newest keys, separate from all other streams.
const STREAM: u64 = 15 << 56;

/// Draws keys to insert and keys of the newest rows for one worker.
pub(crate) struct KeySource {
    /// Inserts of the run; `None` if nothing is inserted.
    inserts: Option<Arc<Inserts>>,
    /// Source of the key of each operation; empty if nothing is inserted.
    operations: Vec<KeyOrigin>,
    stream: Stream,
    /// Keys whose inserts have failed.
    again: Vec<u64>,
}

/// Source of an operation's key.
enum KeyOrigin {
    /// From the operation's number.
    Drawn,
    /// From the operation's number and the existing keys.
    Newest(Box<dyn KeyDraw>),
    /// The next key to insert.
    Next,
}

impl KeySource {
    pub(super) fn new(plan: &Plan, inserts: Option<Arc<Inserts>>) -> Self {
        let comes = inserts.iter().flat_map(|_| plan.key_spaces()).map(|(_, keys)| {
            let draws = keys.draws();
            match draws.source() {
                Source::Number => KeyOrigin::Drawn,
                Source::Present => KeyOrigin::Newest(draws),
                Source::Next => KeyOrigin::Next,
            }
        });
        let operations = comes.collect();
        Self {
            inserts,
            operations,
            stream: Stream::from_seed(plan.load.seed).substream(STREAM),
            again: Vec::new(),
        }
    }

    /// Returns whether no key depends on inserts.
    pub(super) fn is_unused(&self) -> bool {
        self.inserts.is_none()
    }

    /// Returns the key of a new operation, unless its number alone determines it.
    #[inline]
    pub(super) fn key(&mut self, operation: u32, number: u64) -> Option<KeyNumber> {
        let inserts = self.inserts.as_ref()?;
        let key = match &self.operations[operation as usize] {
            KeyOrigin::Drawn => return None,
            KeyOrigin::Newest(draws) => {
                inserts.key_at(draws.draw_present(self.stream, number, inserts.present()))
            }
            // With too many on the way, one that is there is written again.
            KeyOrigin::Next => (self.again.pop().or_else(|| inserts.begin()))
                .unwrap_or_else(|| inserts.key_at(inserts.present() - 1)),
        };
        Some(KeyNumber::new(key))
    }

    /// An operation has ended, with or without an error.
    #[inline]
    pub(super) fn ended(&mut self, progress: OperationState) {
        match self.inserted(progress) {
            Some(_) if progress.failed => self.lost(progress),
            Some((inserts, key)) => inserts.answered(key),
            None => {}
        }
    }

    /// An operation will never be answered.
    pub(super) fn lost(&mut self, progress: OperationState) {
        let key = self.inserted(progress).filter(|(inserts, key)| !inserts.is_there(*key));
        self.again.extend(key.map(|(_, key)| key));
    }

    /// Returns the key that an operation inserts, if it does.
    #[inline]
    fn inserted(&self, progress: OperationState) -> Option<(&Inserts, u64)> {
        let inserts = self.inserts.as_deref()?;
        let inserting = matches!(self.operations[progress.operation as usize], KeyOrigin::Next);
        progress.key.filter(|_| inserting).map(|key| (inserts, key.number()))
    }
}

impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Growing").field("inserts", &self.inserts).finish_non_exhaustive()
    }
}
