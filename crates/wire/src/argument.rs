//! Arguments of commands as bytes, holes and inserts, and their lengths, alike in every protocol.

use workload::{Arg, Piece, Slot, argument};

use crate::template::NumberAt;
use crate::{Hole, Insert, LengthForm, Template, ValueAt};

/// Combined length of arguments: fixed bytes, and inserts that add to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) fixed: usize,
    /// Inserts of varying length; their fresh numbers count from the point of insertion.
    varying: Vec<Insert>,
}

impl Length {
    /// Measures an argument. `values` are the values from this argument on.
    pub(crate) fn new(arg: &Arg, digits: Option<usize>, mut values: &[ValueAt]) -> Self {
        let mut length = Self::default();
        for piece in &arg.pieces {
            length.fixed += fixed_len(piece, digits);
            let varying = insert_of(piece, digits, length.fresh(), &mut values);
            // A CAS token is never in a part whose length is written.
            length.varying.extend(varying.filter(|insert| !matches!(insert, Insert::Cas(_))));
        }
        length
    }

    /// Returns whether the length is the same for all requests.
    pub(crate) fn is_fixed(&self) -> bool {
        self.varying.is_empty()
    }

    /// Adds `other` and this many bytes.
    pub(crate) fn plus(mut self, other: &Self, bytes: usize) -> Self {
        let fresh = self.fresh();
        self.fixed += other.fixed + bytes;
        self.varying.extend(other.varying.iter().map(|insert| insert.numbered_from(fresh)));
        self
    }

    /// Appends the length as a number.
    pub(crate) fn append(self, form: LengthForm, template: &mut Template) {
        if self.is_fixed() {
            form.write(self.fixed as u64, &mut template.bytes);
            return;
        }
        let fresh = template.fresh();
        let varying = self.varying.iter().map(|insert| insert.numbered_from(fresh)).collect();
        let insert = Insert::Length { form, fixed: self.fixed, varying };
        template.inserts.push((template.bytes.len(), insert));
    }

    fn fresh(&self) -> u64 {
        self.varying.iter().filter(|insert| insert.is_fresh()).count() as u64
    }
}

/// Number of varying values in an argument.
pub(crate) fn values_in(arg: &Arg) -> usize {
    arg.pieces.iter().filter(|piece| **piece == Piece::Value).count()
}

/// Takes the places of the argument's values off `values`.
pub(crate) fn append_body(
    template: &mut Template,
    arg: &Arg,
    digits: Option<usize>,
    values: &mut &[ValueAt],
) {
    for piece in &arg.pieces {
        let at = template.bytes.len();
        match (piece, digits) {
            (
                Piece::Field(_)
                | Piece::Value
                | Piece::Lifetime(_)
                | Piece::Derived(_)
                | Piece::Reply { .. }
                | Piece::Cas,
                _,
            )
            | (Piece::Number(_), Some(0)) => {
                let insert = insert_of(piece, digits, template.fresh(), values);
                template.inserts.extend(insert.map(|insert| (at, insert)));
            }
            (Piece::Bytes(bytes), _) => template.bytes.extend_from_slice(bytes),
            (Piece::Secret(bytes), _) => template.bytes.extend_from_slice(bytes.reveal()),
            (Piece::Fill { len, skip }, _) => {
                workload::values::Lcg::at(*skip).fill(*len as usize, &mut template.bytes);
            }
            // Overwritten in place: see `Batch::fill_messages`.
            (Piece::Message | Piece::MessageNumber, _) => {
                template.bytes.resize(at + piece.message_bytes(), 0);
            }
            (Piece::Tag, _) => {
                template.bytes.extend_from_slice(argument::TAG_PLACEHOLDER);
                template.holes.push(Hole { at: at + 1, digits: 3, slot: Slot::Tag });
            }
            (Piece::Number(slot), Some(digits)) => {
                template.holes.push(Hole { at, digits, slot: *slot });
                template.bytes.resize(at + digits, b'0');
            }
            (Piece::Number(slot), None) => {
                template.bytes.extend_from_slice(argument::placeholder(*slot).as_bytes());
            }
        }
    }
}

/// Returns the insert for a piece whose length varies between requests, after `fresh` fresh numbers. A value
/// is taken off `values`.
fn insert_of(
    piece: &Piece,
    digits: Option<usize>,
    fresh: u64,
    values: &mut &[ValueAt],
) -> Option<Insert> {
    Some(match piece {
        Piece::Field(column) => Insert::Cell { column: *column },
        Piece::Lifetime(lifetime) => Insert::Lifetime(*lifetime),
        Piece::Derived(derived) => Insert::Derived(derived.clone()),
        Piece::Reply { or } => Insert::Reply(or.clone()),
        Piece::Cas => Insert::Cas(LengthForm::Decimal),
        Piece::Value => {
            let (at, later) = values.split_first().expect("a place for every value");
            *values = later;
            Insert::Value(*at)
        }
        Piece::Number(slot) if digits == Some(0) => Insert::Number(NumberAt { slot: *slot, fresh }),
        Piece::Number(_)
        | Piece::Bytes(_)
        | Piece::Secret(_)
        | Piece::Fill { .. }
        | Piece::Tag
        | Piece::Message
        | Piece::MessageNumber => {
            return None;
        }
    })
}

fn fixed_len(piece: &Piece, digits: Option<usize>) -> usize {
    match piece {
        Piece::Bytes(bytes) => bytes.len(),
        Piece::Secret(bytes) => bytes.reveal().len(),
        Piece::Fill { len, .. } => *len as usize,
        Piece::Field(_)
        | Piece::Value
        | Piece::Lifetime(_)
        | Piece::Derived(_)
        | Piece::Reply { .. }
        | Piece::Cas => 0,
        Piece::Tag => argument::TAG_PLACEHOLDER.len(),
        Piece::Message | Piece::MessageNumber => piece.message_bytes(),
        Piece::Number(slot) => digits.unwrap_or_else(|| argument::placeholder(*slot).len()),
    }
}
