//! The slot of a command's key, as far as it is known before its numbers are drawn.

use workload::{Arg, Dataset, Piece, Slot, argument, values::Lcg};

use super::slot::{crc16, hashed};
use super::{SLOTS, slot_of, tag_of};
use crate::RequestInputs;
use crate::decimal::{append_decimal, append_number, write_digits};
use crate::numbers::Numbers;
use crate::payload::LastDraw;

/// Ways to find the slot of a command for any request number.
#[derive(Debug, Clone)]
pub(crate) enum KeyHash {
    /// The slot is the same for every request.
    Fixed(u16),
    /// The `{tag}` placeholder is hashed.
    Tag,
    /// A text with numbers is hashed: the CRC of the text before the first number, then numbers and the text
    /// between them.
    Numbered { prefix: u16, parts: Vec<Part>, digits: usize },
    /// The key has to be written out.
    Written { pieces: Vec<Piece>, digits: Option<usize>, fresh: u64 },
}

/// A part of the hashed text.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// A number, and the number of fresh ones before it in the sequence.
    Number(Slot, u64),
    /// Text.
    Bytes(Vec<u8>),
}

impl KeyHash {
    /// Prepares this argument, after `fresh` fresh numbers of the sequence. Without `digits`, number
    /// placeholders stay as text.
    pub(crate) fn new(key: &Arg, digits: Option<usize>, fresh: u64) -> Self {
        let written = || Self::Written { pieces: key.pieces.clone(), digits, fresh };
        if key.pieces.iter().any(|piece| matches!(piece, Piece::Field(_))) {
            return written(); // A cell may have braces of its own.
        }
        // A digit is no brace, so what is hashed is the same range for all numbers.
        let mut sample = Vec::new();
        let mut numbers = Vec::new();
        let mut fresh = fresh;
        for piece in &key.pieces {
            match piece {
                Piece::Bytes(bytes) => sample.extend_from_slice(bytes),
                Piece::Secret(bytes) => sample.extend_from_slice(bytes.reveal()),
                Piece::Fill { len, skip } => Lcg::at(*skip).fill(*len as usize, &mut sample),
                Piece::Tag => {
                    let range = sample.len() + 1..sample.len() + 4;
                    sample.extend_from_slice(b"{tag}");
                    if hashed(&sample) == range {
                        return Self::Tag;
                    }
                    return written(); // Another tag stands before it, or a lone brace.
                }
                Piece::Number(slot) => match digits {
                    // Where it ends differs from number to number.
                    Some(0) => return written(),
                    Some(digits) => {
                        numbers.push((sample.len(), *slot, fresh));
                        fresh += u64::from(*slot == Slot::Fresh);
                        sample.resize(sample.len() + digits, b'0');
                    }
                    None => sample.extend_from_slice(argument::placeholder(*slot).as_bytes()),
                },
                Piece::Field(_)
                | Piece::Value
                | Piece::Lifetime(_)
                | Piece::Derived(_)
                | Piece::Reply { .. }
                | Piece::Cas
                | Piece::Message
                | Piece::MessageNumber => return written(),
            }
        }
        let range = hashed(&sample);
        numbers.retain(|(at, ..)| range.contains(at));
        let Some((first, ..)) = numbers.first() else {
            return Self::Fixed(slot_of(&sample));
        };
        let digits = digits.unwrap_or_default();
        let prefix = crc16(0, &sample[range.start..*first]);
        let mut parts = Vec::new();
        for (n, (at, slot, fresh)) in numbers.iter().enumerate() {
            parts.push(Part::Number(*slot, *fresh));
            let next = numbers.get(n + 1).map_or(range.end, |(at, ..)| *at);
            parts.push(Part::Bytes(sample[at + digits..next].to_vec()));
        }
        Self::Numbered { prefix, parts, digits }
    }

    /// The slot for a request; `scratch` is a buffer.
    #[inline]
    pub(crate) fn slot(
        &self,
        request: RequestInputs<'_>,
        numbers: &Numbers,
        dataset: Option<&Dataset>,
        scratch: &mut Vec<u8>,
    ) -> u16 {
        match self {
            Self::Fixed(slot) => *slot,
            Self::Tag => numbers.tag_slot(request.number),
            Self::Numbered { prefix, parts, digits } => {
                let mut text = [0; 20];
                let crc = parts.iter().fold(*prefix, |crc, part| match part {
                    Part::Bytes(bytes) => crc16(crc, bytes),
                    Part::Number(slot, fresh) => {
                        let text = &mut text[..(*digits).min(20)];
                        write_digits(numbers.value(request, *slot, &mut fresh.clone()), text);
                        crc16(crc, text)
                    }
                });
                crc % SLOTS
            }
            Self::Written { pieces, digits, fresh } => {
                scratch.clear();
                write(pieces, *digits, *fresh, request, numbers, dataset, scratch);
                slot_of(scratch)
            }
        }
    }
}

fn write(
    pieces: &[Piece],
    digits: Option<usize>,
    mut fresh: u64,
    request: RequestInputs<'_>,
    numbers: &Numbers,
    dataset: Option<&Dataset>,
    out: &mut Vec<u8>,
) {
    let number = request.number;
    for piece in pieces {
        match (piece, digits) {
            (Piece::Bytes(bytes), _) => out.extend_from_slice(bytes),
            (Piece::Secret(bytes), _) => out.extend_from_slice(bytes.reveal()),
            (Piece::Fill { len, skip }, _) => Lcg::at(*skip).fill(*len as usize, out),
            (Piece::Field(column), _) => {
                let Some(dataset) = dataset else { continue };
                let row = LastDraw::default().row(numbers, request, dataset);
                out.extend_from_slice(dataset.cell(row, *column));
            }
            (Piece::Value | Piece::Cas | Piece::Message | Piece::MessageNumber, _) => {}
            (Piece::Reply { or }, _) => {
                out.extend_from_slice(request.replied.value.unwrap_or(or));
            }
            (Piece::Lifetime(lifetime), _) => {
                append_decimal(lifetime.seconds(numbers.seed, number), out);
            }
            (Piece::Derived(derived), _) => {
                derived.append(LastDraw::default().source(derived, numbers, request), out);
            }
            (Piece::Tag, _) => {
                out.push(b'{');
                out.extend_from_slice(&tag_of(numbers.tag_slot(number)));
                out.push(b'}');
            }
            (Piece::Number(slot), None) => {
                out.extend_from_slice(argument::placeholder(*slot).as_bytes());
            }
            (Piece::Number(slot), Some(digits)) => {
                append_number(numbers.value(request, *slot, &mut fresh), digits, out);
            }
        }
    }
}
