//! An encoded command with holes.
//!
//! Protocol-neutral: a template consists of bytes, holes of fixed width for numbers, and inserts of varying
//! width for dataset cells, values and their lengths. A template with numbers alone is patched in place; one
//! with inserts is rewritten for each request.

use workload::{DerivedText, Lifetime, Slot};

use crate::ValueAt;

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

/// Writes `value` right-aligned into all of `out`, padded with zeros; digits that do not fit are cut off at
/// the left, as in other tools.
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

/// Writes twelve digits, as many as keys have, as two independent halves of half the size.
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

/// Writes a number with this many digits, or unpadded for 0.
pub(crate) fn append_number(number: u64, digits: usize, out: &mut Vec<u8>) {
    if digits == 0 {
        return append_decimal(number, out);
    }
    let start = out.len();
    out.resize(start + digits, b'0');
    write_digits(number, &mut out[start..]);
}

/// Writes a number in decimal, without leading zeros.
#[inline]
pub(crate) fn append_decimal(number: u64, out: &mut Vec<u8>) {
    // Copies of a size that is known when this is compiled, the excess cut off: a copy of as many bytes as a
    // number has digits is a call.
    const LONGEST: usize = 12;
    let width = decimal_width(number);
    let end = out.len() + width;
    if width <= 2 {
        let [tens, ones] = PAIRS[number as usize];
        out.extend_from_slice(&if width == 1 { [ones, 0] } else { [tens, ones] });
    } else if width <= LONGEST {
        let mut digits = [0; 2 * LONGEST];
        let (twelve, _) = digits.split_first_chunk_mut::<LONGEST>().expect("it is twice as long");
        write_twelve(number, twelve);
        let from = LONGEST - width;
        out.extend_from_slice(&digits[from..from + LONGEST]);
    } else {
        let mut digits = [0; 20];
        write_digits(number, &mut digits);
        out.extend_from_slice(&digits[20 - width..]);
    }
    out.truncate(end);
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

        #[test]
        fn numbers_have_as_many_digits_as_they_need(value: u64, bits in 0u32..64) {
            let value = value >> bits;
            let mut out = b"$".to_vec();
            append_decimal(value, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("${value}"));
            prop_assert_eq!(decimal_width(value), value.to_string().len());
        }
    }
}
