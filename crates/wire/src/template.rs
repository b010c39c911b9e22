//! An encoded command with holes.
//!
//! Protocol-neutral: a template is bytes, holes of fixed width that numbers are written into, and
//! inserts of varying width that dataset cells and values (and their lengths) go into. A template with
//! numbers alone is patched in place; one with inserts is written anew for each request.

use workload::{Derived, Lifetime, Slot};

use crate::ValueAt;

/// A place of fixed width for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hole {
    /// Offset in the template's bytes.
    pub at: usize,
    /// Decimal digits, zero-padded; of a tag, its characters.
    pub digits: usize,
    /// Which number.
    pub slot: Slot,
}

/// Something of varying width that goes between the template's bytes.
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
    /// A number from the key space with as many digits as it has.
    Number(NumberAt),
    /// A text that follows from the key or the request.
    Derived(Derived),
    /// The value that an earlier reply brought, or this where it brought none.
    Reply(Vec<u8>),
    /// The token of an item that an earlier reply brought.
    Cas(LengthForm),
    /// `fixed` plus the lengths of these cells, values, lifetimes, numbers, derived texts and replies.
    Length {
        /// How it is written.
        form: LengthForm,
        /// Bytes that do not vary.
        fixed: usize,
        /// Columns whose cells add to it.
        columns: Vec<usize>,
        /// Values that add to it.
        values: Vec<ValueAt>,
        /// Lifetimes whose digits add to it.
        lifetimes: Vec<Lifetime>,
        /// Numbers whose digits add to it.
        numbers: Vec<NumberAt>,
        /// Derived texts that add to it.
        derived: Vec<Derived>,
        /// Values of replies that add to it, each with what stands for none.
        replies: Vec<Vec<u8>>,
    },
}

/// A place for a number of varying width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberAt {
    /// Which number.
    pub slot: Slot,
    /// How many fresh numbers come before it in the sequence.
    pub fresh: u64,
}

impl NumberAt {
    /// The same with so many more fresh numbers before it.
    pub(crate) fn behind(self, fresh: u64) -> Self {
        Self { fresh: self.fresh + fresh, ..self }
    }
}

/// How a length, or another number of varying width, is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthForm {
    /// In decimal digits.
    Decimal,
    /// In two bytes, the higher one first.
    U16,
    /// In four bytes, the highest one first.
    U32,
    /// In eight bytes, the highest one first.
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

/// One encoded command.
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
    /// Fresh numbers in it.
    pub(crate) fn fresh(&self) -> u64 {
        let holes = self.holes.iter().filter(|hole| hole.slot == Slot::Fresh).count();
        let fresh =
            |insert: &Insert| matches!(insert, Insert::Number(at) if at.slot == Slot::Fresh);
        let inserts = self.inserts.iter().filter(|(_, insert)| fresh(insert)).count();
        (holes + inserts) as u64
    }

    /// The same behind so many fresh numbers, which its holes are told apart.
    pub(crate) fn behind(self, fresh: u64) -> Self {
        let inserts = self.inserts.iter().map(|(at, insert)| (*at, insert.behind(fresh, 0)));
        Self { inserts: inserts.collect(), ..self }
    }
}

impl Insert {
    /// The same in a sequence that has so many fresh numbers and values before the command.
    pub(crate) fn behind(&self, fresh: u64, before: u64) -> Self {
        match self {
            Self::Cell { column } => Self::Cell { column: *column },
            Self::Value(at) => Self::Value(at.behind(fresh, before)),
            Self::Lifetime(lifetime) => Self::Lifetime(*lifetime),
            Self::Number(number) => Self::Number(number.behind(fresh)),
            Self::Derived(derived) => Self::Derived(derived.clone()),
            Self::Reply(or) => Self::Reply(or.clone()),
            Self::Cas(form) => Self::Cas(*form),
            Self::Length { form, fixed, columns, values, lifetimes, numbers, derived, replies } => {
                Self::Length {
                    form: *form,
                    fixed: *fixed,
                    columns: columns.clone(),
                    values: values.iter().map(|at| at.behind(fresh, before)).collect(),
                    lifetimes: lifetimes.clone(),
                    numbers: numbers.iter().map(|number| number.behind(fresh)).collect(),
                    derived: derived.clone(),
                    replies: replies.clone(),
                }
            }
        }
    }
}

/// Writes `value` right-aligned into all of `out`, padded with zeros; digits that do not fit are
/// cut off at the left, as in the peers.
#[inline]
pub(crate) fn write_digits(value: u64, out: &mut [u8]) {
    if let Ok(twelve) = <&mut [u8; 12]>::try_from(&mut *out) {
        return write_twelve(value, twelve);
    }
    let mut value = value;
    for pair in out.rchunks_mut(2) {
        let low = (value % 100) as usize;
        value /= 100;
        match pair {
            [tens, ones] => [*tens, *ones] = PAIRS[low],
            [ones] => *ones = PAIRS[low][1],
            _ => {}
        }
    }
}

/// As many as keys have: halves that do not wait for each other, in numbers of half the size.
#[inline]
fn write_twelve(value: u64, out: &mut [u8; 12]) {
    const HALF: u64 = 1_000_000;
    let (high, low) = out.split_at_mut(6);
    for (mut half, out) in [((value / HALF % HALF) as u32, high), ((value % HALF) as u32, low)] {
        for pair in out.rchunks_exact_mut(2) {
            pair.copy_from_slice(&PAIRS[(half % 100) as usize]);
            half /= 100;
        }
    }
}

/// Digits of a number in decimal.
pub(crate) fn decimal_width(number: u64) -> usize {
    number.max(1).ilog10() as usize + 1
}

/// Writes a number in decimal, without zeros before it.
pub(crate) fn append_decimal(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    write_digits(number, &mut digits);
    out.extend_from_slice(&digits[20 - decimal_width(number)..]);
}

/// "00" to "99": two digits for one division.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_those_of_the_standard_library(value: u64, width in 1usize..22) {
            let mut out = vec![0; width];
            write_digits(value, &mut out);
            let expected = format!("{value:0>30}");
            prop_assert_eq!(String::from_utf8(out).unwrap(), &expected[expected.len() - width..]);
        }
    }
}
