//! Expected values of replies: those stored under the requested keys.

use workload::verify::{RequestedValue, keys_asked};
use workload::{Plan, Slot};

use crate::RequestInputs;
use crate::batch::Batch;
use crate::payload::LastDraw;

/// An expected value: its owner and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedValue {
    of: ValueOwner,
    /// Bytes.
    pub len: usize,
}

/// The owner of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueOwner {
    /// The key with this number, changed by the variant of the value.
    Key(u64),
    /// The cell of a row in a column.
    Cell(u64, usize),
}

/// The source of a value in a reply.
#[derive(Debug, Clone, Copy)]
enum ValueSource {
    /// The key with this number, and the index of its value.
    Key((Slot, u64), u64),
    /// The cell of the request's row in this column.
    Row(usize),
}

/// Values requested by each command of a sequence, keyed by position in its operation; `None` for an unknown
/// value.
#[derive(Debug, Default)]
pub(crate) struct ValueRequests(Vec<Vec<Option<ValueSource>>>);

impl ValueRequests {
    /// Collects the requested values of a plan that verifies; empty for any other plan.
    pub(crate) fn new(plan: &Plan, fresh_before: impl Fn(usize) -> u64) -> Self {
        if !plan.data.verify {
            return Self::default();
        }
        let column = plan.data.dataset.as_ref().and_then(|dataset| dataset.values());
        let behind = |(at, command)| {
            let before = fresh_before(at);
            let asked = keys_asked(command, plan.protocol);
            if let Some(column) = column {
                // All of a request is of one row.
                let one = asked.len() == 1;
                return asked.iter().map(|_| one.then_some(ValueSource::Row(column))).collect();
            }
            let of = |RequestedValue { key: (slot, fresh), variant }| {
                ValueSource::Key((slot, fresh + before), variant)
            };
            asked.into_iter().map(|key| key.map(of)).collect()
        };
        Self(plan.sequence.iter().enumerate().map(behind).collect())
    }
}

impl Batch {
    /// The expected value of string number `element` in the reply to a command; `None` if unknown.
    #[must_use]
    pub fn expected(
        &self,
        request: RequestInputs<'_>,
        command: u32,
        element: usize,
    ) -> Option<ExpectedValue> {
        let asked = (*self.asked.0.get(command as usize)?.get(element)?)?;
        let numbers = self.numbers_of(command as usize);
        let mut drawn = LastDraw::default();
        Some(match asked {
            ValueSource::Key((slot, fresh), variant) => {
                let key = drawn.number(numbers, request, slot, fresh).wrapping_add(variant);
                ExpectedValue { of: ValueOwner::Key(key), len: self.payload.as_ref()?.len_of(key) }
            }
            ValueSource::Row(column) => {
                let dataset = self.dataset.as_deref()?;
                let row = drawn.row(numbers, request, dataset);
                ExpectedValue {
                    of: ValueOwner::Cell(row, column),
                    len: dataset.cell(row, column).len(),
                }
            }
        })
    }

    /// Offset of the first wrong byte in a part of a value that begins at `from`.
    #[must_use]
    pub fn differs_at(&self, value: ExpectedValue, from: usize, part: &[u8]) -> Option<usize> {
        match value.of {
            ValueOwner::Key(key) => self.payload.as_ref()?.differs_at((key, value.len), from, part),
            ValueOwner::Cell(row, column) => {
                let cell = self.dataset.as_deref()?.cell(row, column);
                let rest = cell.get(from..).unwrap_or_default();
                let same = part.iter().zip(rest).take_while(|(came, written)| came == written);
                let same = same.count();
                (same < part.len()).then_some(from + same)
            }
        }
    }

    /// A part of a value, of at most this many bytes.
    #[must_use]
    pub fn part_of(&self, value: ExpectedValue, from: usize, most: usize) -> Vec<u8> {
        let mut all = Vec::new();
        match (value.of, &self.payload, &self.dataset) {
            (ValueOwner::Key(key), Some(payload), _) => {
                payload.append_of((key, value.len), &mut all)
            }
            (ValueOwner::Cell(row, column), _, Some(dataset)) => {
                all.extend_from_slice(dataset.cell(row, column));
            }
            _ => {}
        }
        all.into_iter().skip(from).take(most).collect()
    }
}
