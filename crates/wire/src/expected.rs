//! Expected values of replies: those stored under the requested keys.

use crate::RequestInputs;
use crate::batch::Batch;
use crate::payload::LastDraw;
use crate::reply_patterns::ValueSource;

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

impl Batch {
    /// The expected value of string number `element` in the reply to a command; `None` if unknown.
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
    pub fn differs_at(&self, value: ExpectedValue, from: usize, part: &[u8]) -> Option<usize> {
        match value.of {
            ValueOwner::Key(key) => self.payload.as_ref()?.differs_at(key, value.len, from, part),
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
    pub fn part_of(&self, value: ExpectedValue, from: usize, most: usize) -> Vec<u8> {
        let mut all = Vec::new();
        match (value.of, &self.payload, &self.dataset) {
            (ValueOwner::Key(key), Some(payload), _) => payload.append_of(key, value.len, &mut all),
            (ValueOwner::Cell(row, column), _, Some(dataset)) => {
                all.extend_from_slice(dataset.cell(row, column));
            }
            _ => {}
        }
        all.into_iter().skip(from).take(most).collect()
    }
}
