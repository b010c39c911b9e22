//! One argument of a command as bytes, holes and inserts, and how long it will be: the same in every
//! protocol.

use workload::{Arg, Derived, Lifetime, Piece, Slot, argument};

use crate::template::NumberAt;
use crate::{Hole, Insert, LengthForm, Template, ValueAt};

/// How long arguments are together: a number, and what adds to it where it varies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) fixed: usize,
    columns: Vec<usize>,
    values: Vec<ValueAt>,
    lifetimes: Vec<Lifetime>,
    /// Counted from where it is appended.
    numbers: Vec<NumberAt>,
    derived: Vec<Derived>,
    replies: Vec<Vec<u8>>,
}

impl Length {
    /// Of an argument. `values` are the places for values from it on.
    pub(crate) fn of(arg: &Arg, digits: Option<usize>, values: &[ValueAt]) -> Self {
        Self {
            fixed: arg.pieces.iter().map(|piece| fixed_len(piece, digits)).sum(),
            columns: arg.pieces.iter().filter_map(column).collect(),
            values: values[..values_in(arg)].to_vec(),
            lifetimes: arg.pieces.iter().filter_map(lifetime).collect(),
            numbers: bare_numbers(arg, digits),
            derived: arg.pieces.iter().filter_map(derived).collect(),
            replies: arg.pieces.iter().filter_map(reply).collect(),
        }
    }

    /// Whether it is the same for all requests.
    pub(crate) fn is_fixed(&self) -> bool {
        self.columns.is_empty()
            && self.values.is_empty()
            && self.lifetimes.is_empty()
            && self.numbers.is_empty()
            && self.derived.is_empty()
            && self.replies.is_empty()
    }

    /// Of both together, and so many bytes.
    pub(crate) fn plus(mut self, other: &Self, bytes: usize) -> Self {
        self.fixed += other.fixed + bytes;
        self.columns.extend(&other.columns);
        self.values.extend(&other.values);
        self.lifetimes.extend(&other.lifetimes);
        let fresh = self.numbers.iter().filter(|at| at.slot == Slot::Fresh).count() as u64;
        self.numbers.extend(other.numbers.iter().map(|number| number.behind(fresh)));
        self.derived.extend_from_slice(&other.derived);
        self.replies.extend_from_slice(&other.replies);
        self
    }

    /// Appends it as a number.
    pub(crate) fn append(self, form: LengthForm, template: &mut Template) {
        if self.is_fixed() {
            form.write(self.fixed as u64, &mut template.bytes);
        } else {
            let Self { fixed, columns, values, lifetimes, numbers, derived, replies } = self;
            let before = template.fresh();
            let numbers = numbers.into_iter().map(|number| number.behind(before)).collect();
            let insert = Insert::Length {
                form,
                fixed,
                columns,
                values,
                lifetimes,
                numbers,
                derived,
                replies,
            };
            template.inserts.push((template.bytes.len(), insert));
        }
    }
}

/// Values that vary in an argument.
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
        match piece {
            Piece::Bytes(bytes) => template.bytes.extend_from_slice(bytes),
            Piece::Secret(bytes) => template.bytes.extend_from_slice(bytes.reveal()),
            Piece::Fill { len, skip } => {
                workload::values::Lcg::at(*skip).fill(*len as usize, &mut template.bytes);
            }
            Piece::Field(column) => template.inserts.push((at, Insert::Cell { column: *column })),
            Piece::Lifetime(lifetime) => {
                template.inserts.push((at, Insert::Lifetime(*lifetime)));
            }
            Piece::Derived(derived) => {
                template.inserts.push((at, Insert::Derived(derived.clone())));
            }
            Piece::Reply { or } => template.inserts.push((at, Insert::Reply(or.clone()))),
            Piece::Cas => template.inserts.push((at, Insert::Cas(LengthForm::Decimal))),
            Piece::Value => {
                let (at_value, later) = values.split_first().expect("a place for every value");
                template.inserts.push((at, Insert::Value(*at_value)));
                *values = later;
            }
            Piece::Tag => {
                template.bytes.extend_from_slice(argument::TAG_PLACEHOLDER);
                template.holes.push(Hole { at: at + 1, digits: 3, slot: Slot::Tag });
            }
            Piece::Number(slot) => match digits {
                Some(0) => {
                    let number = NumberAt { slot: *slot, fresh: template.fresh() };
                    template.inserts.push((at, Insert::Number(number)));
                }
                Some(digits) => {
                    template.holes.push(Hole { at, digits, slot: *slot });
                    template.bytes.resize(at + digits, b'0');
                }
                None => template.bytes.extend_from_slice(argument::placeholder(*slot).as_bytes()),
            },
        }
    }
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
        Piece::Number(slot) => digits.unwrap_or_else(|| argument::placeholder(*slot).len()),
    }
}

/// The numbers of an argument that are written with as many digits as they have.
fn bare_numbers(arg: &Arg, digits: Option<usize>) -> Vec<NumberAt> {
    if digits != Some(0) {
        return Vec::new();
    }
    let mut next = 0;
    let numbers = arg.pieces.iter().filter_map(|piece| match piece {
        Piece::Number(slot) => {
            let fresh = next;
            next += u64::from(*slot == Slot::Fresh);
            Some(NumberAt { slot: *slot, fresh })
        }
        _ => None,
    });
    numbers.collect()
}

fn column(piece: &Piece) -> Option<usize> {
    match piece {
        Piece::Field(column) => Some(*column),
        _ => None,
    }
}

fn lifetime(piece: &Piece) -> Option<Lifetime> {
    match piece {
        Piece::Lifetime(lifetime) => Some(*lifetime),
        _ => None,
    }
}

fn derived(piece: &Piece) -> Option<Derived> {
    match piece {
        Piece::Derived(derived) => Some(derived.clone()),
        _ => None,
    }
}

fn reply(piece: &Piece) -> Option<Vec<u8>> {
    match piece {
        Piece::Reply { or } => Some(or.clone()),
        _ => None,
    }
}
