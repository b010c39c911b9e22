//! What replies must be: the values that were stored under the keys that commands ask for.

use workload::verify::keys_asked;
use workload::{Plan, Slot};

use crate::Given;
use crate::batch::Batch;
use crate::payload::Drawn;

/// A value that a reply must be: whose it is, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The number of its key.
    pub key: u64,
    /// Bytes.
    pub len: usize,
}

/// For each command of a sequence the keys whose values it asks for, as places in its operation; `None`
/// where nobody knows the value.
#[derive(Debug, Default)]
pub(crate) struct Asked(Vec<Vec<Option<(Slot, u64)>>>);

impl Asked {
    /// Of a plan that verifies; of any other nothing.
    pub(crate) fn of(plan: &Plan, fresh_before: impl Fn(usize) -> u64) -> Self {
        if !plan.verify {
            return Self::default();
        }
        let behind = |(at, command)| {
            let before = fresh_before(at);
            let asked = keys_asked(command, plan.protocol).into_iter();
            asked.map(|key| key.map(|(slot, fresh)| (slot, fresh + before))).collect()
        };
        Self(plan.sequence.iter().enumerate().map(behind).collect())
    }

    fn key(&self, command: usize, element: usize) -> Option<(Slot, u64)> {
        *self.0.get(command)?.get(element)?
    }
}

impl Batch {
    /// The value that string number `element` of the reply to a command must be; `None` if that
    /// cannot be told.
    #[must_use]
    pub fn expected(&self, request: Given<'_>, command: u32, element: usize) -> Option<Expected> {
        let (slot, fresh) = self.asked.key(command as usize, element)?;
        let numbers = self.numbers_of(command as usize);
        let key = Drawn::default().number(numbers, request, slot, fresh);
        let len = self.payload.as_ref()?.len_of(key);
        Some(Expected { key, len })
    }

    /// The place of the first byte that is not that of a value, in a part of it that begins at `from`.
    #[must_use]
    pub fn differs_at(&self, value: Expected, from: usize, part: &[u8]) -> Option<usize> {
        self.payload.as_ref()?.differs_at(value, from, part)
    }

    /// A part of a value, of so many bytes at most.
    #[must_use]
    pub fn part_of(&self, value: Expected, from: usize, most: usize) -> Vec<u8> {
        let mut all = Vec::new();
        if let Some(payload) = &self.payload {
            payload.append_of(value, &mut all);
        }
        all.into_iter().skip(from).take(most).collect()
    }
}
