//! An encoded command with holes.
//!
//! Protocol-neutral: a template consists of bytes, holes of fixed width for numbers, and inserts of varying
//! width for dataset cells, values and their lengths. A template with numbers alone is patched in place; one
//! with inserts is rewritten for each request.

use workload::{DerivedText, Lifetime, Slot};

use crate::ValueAt;
use crate::decimal::append_decimal;

/// A place of fixed width for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hole {
    /// Offset in the template's bytes.
    pub at: usize,
    /// Decimal digits, zero-padded; for a tag, its characters.
    pub digits: usize,
    /// Kind of number.
    pub slot: Slot,
}

/// A part of varying width between the template's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Insert {
    /// A cell of the current row.
    Cell {
        /// Column.
        column: usize,
    },
    /// A value.
    Value(ValueAt),
    /// A number of seconds in decimal.
    Lifetime(Lifetime),
    /// An unpadded number from the key space.
    Number(NumberAt),
    /// A text derived from the key or the request.
    Derived(DerivedText),
    /// The value from an earlier reply, or this one if there was none.
    Reply(Vec<u8>),
    /// The token of an item from an earlier reply.
    Cas(LengthForm),
    /// `fixed` plus the lengths of these inserts.
    Length {
        /// Form of the number.
        form: LengthForm,
        /// Bytes that do not vary.
        fixed: usize,
        /// Inserts that add to it, without tokens and lengths.
        varying: Vec<Insert>,
    },
}

/// A place for a number of varying width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberAt {
    /// Kind of number.
    pub slot: Slot,
    /// Number of fresh numbers before it in the sequence.
    pub fresh: u64,
}

impl NumberAt {
    /// Moves the position by `fresh` more numbers.
    pub(crate) fn behind(self, fresh: u64) -> Self {
        Self { fresh: self.fresh + fresh, ..self }
    }
}

/// Ways to write a length, or another number of varying width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthForm {
    /// Decimal digits.
    Decimal,
    /// Two bytes, the higher one first.
    U16,
    /// Four bytes, the highest one first.
    U32,
    /// Eight bytes, the highest one first.
    U64,
}

impl LengthForm {
    /// Appends a number.
    pub(crate) fn write(self, length: u64, out: &mut Vec<u8>) {
        match self {
            Self::Decimal => append_decimal(length, out),
            Self::U16 => out.extend_from_slice(&(length as u16).to_be_bytes()),
            Self::U32 => out.extend_from_slice(&(length as u32).to_be_bytes()),
            Self::U64 => out.extend_from_slice(&length.to_be_bytes()),
        }
    }
}

/// An encoded command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    /// The bytes, placeholders still in the holes.
    pub bytes: Vec<u8>,
    /// Holes by rising offset.
    pub holes: Vec<Hole>,
    /// Inserts by rising offset: each goes before the byte at that offset.
    pub inserts: Vec<(usize, Insert)>,
}

impl Template {
    pub(crate) fn fresh(&self) -> u64 {
        let holes = self.holes.iter().filter(|hole| hole.slot == Slot::Fresh).count();
        let inserts = self.inserts.iter().filter(|(_, insert)| insert.is_fresh()).count();
        (holes + inserts) as u64
    }

    /// Renumbers the holes to come after `fresh` fresh numbers.
    pub(crate) fn behind(self, fresh: u64) -> Self {
        let inserts = self.inserts.iter().map(|(at, insert)| (*at, insert.behind(fresh, 0)));
        Self { inserts: inserts.collect(), ..self }
    }
}

impl Insert {
    /// The insert of a command that comes after `fresh` numbers and `before` values in its sequence.
    pub(crate) fn behind(&self, fresh: u64, before: u64) -> Self {
        match self {
            Self::Cell { column } => Self::Cell { column: *column },
            Self::Value(at) => Self::Value(at.behind(fresh, before)),
            Self::Lifetime(lifetime) => Self::Lifetime(*lifetime),
            Self::Number(number) => Self::Number(number.behind(fresh)),
            Self::Derived(derived) => Self::Derived(derived.clone()),
            Self::Reply(or) => Self::Reply(or.clone()),
            Self::Cas(form) => Self::Cas(*form),
            Self::Length { form, fixed, varying } => Self::Length {
                form: *form,
                fixed: *fixed,
                varying: varying.iter().map(|insert| insert.behind(fresh, before)).collect(),
            },
        }
    }

    /// The insert with its own numbers counted from `fresh` on.
    pub(crate) fn numbered_from(&self, fresh: u64) -> Self {
        match self {
            Self::Number(number) => Self::Number(number.behind(fresh)),
            others => others.clone(),
        }
    }

    /// Returns whether the insert is a number drawn for it alone.
    pub(crate) fn is_fresh(&self) -> bool {
        matches!(self, Self::Number(at) if at.slot == Slot::Fresh)
    }
}
