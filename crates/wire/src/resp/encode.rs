//! Commands to RESP: an array of bulk strings, or a plain line for inline commands.

use workload::{Arg, CommandSpec, Lifetime, Piece, Slot, command};

use crate::payload::places;
use crate::{Hole, Insert, Template, ValueAt};

/// Appends a command of plain arguments.
pub fn encode_command(args: &[&[u8]], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
    for arg in args {
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
}

/// See [`crate::Protocol::compile`].
pub(super) fn compile(command: &CommandSpec, digits: Option<usize>) -> Template {
    let mut template = Template::default();
    let places = places(command, digits);
    let mut values = &places[..];
    if command.inline {
        for (n, arg) in command.args.iter().enumerate() {
            if n > 0 {
                template.bytes.push(b' ');
            }
            append_body(&mut template, arg, digits, &mut values);
        }
        template.bytes.extend_from_slice(b"\r\n");
        return template;
    }
    let count = format!("*{}\r\n", command.args.len());
    template.bytes.extend_from_slice(count.as_bytes());
    for arg in &command.args {
        append_header(&mut template, arg, digits, values);
        append_body(&mut template, arg, digits, &mut values);
        template.bytes.extend_from_slice(b"\r\n");
    }
    template
}

/// `values` are the places for values from this argument on.
fn append_header(template: &mut Template, arg: &Arg, digits: Option<usize>, values: &[ValueAt]) {
    let fixed = arg.pieces.iter().map(|p| fixed_len(p, digits)).sum::<usize>();
    let columns: Vec<usize> = arg.pieces.iter().filter_map(column).collect();
    let own = arg.pieces.iter().filter(|piece| **piece == Piece::Value).count();
    let values = values[..own].to_vec();
    template.bytes.push(b'$');
    let lifetimes: Vec<_> = arg.pieces.iter().filter_map(lifetime).collect();
    if columns.is_empty() && values.is_empty() && lifetimes.is_empty() {
        template.bytes.extend_from_slice(fixed.to_string().as_bytes());
    } else {
        let length = Insert::Length { fixed, columns, values, lifetimes };
        template.inserts.push((template.bytes.len(), length));
    }
    template.bytes.extend_from_slice(b"\r\n");
}

/// Takes the places of the argument's values off `values`.
fn append_body(template: &mut Template, arg: &Arg, digits: Option<usize>, values: &mut &[ValueAt]) {
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
            Piece::Value => {
                let (at_value, later) = values.split_first().expect("a place for every value");
                template.inserts.push((at, Insert::Value(*at_value)));
                *values = later;
            }
            Piece::Tag => {
                template.bytes.extend_from_slice(command::TAG_PLACEHOLDER);
                template.holes.push(Hole { at: at + 1, digits: 3, slot: Slot::Tag });
            }
            Piece::Number(slot) => match digits {
                Some(digits) => {
                    template.holes.push(Hole { at, digits, slot: *slot });
                    template.bytes.resize(at + digits, b'0');
                }
                None => template.bytes.extend_from_slice(command::placeholder(*slot).as_bytes()),
            },
        }
    }
}

fn fixed_len(piece: &Piece, digits: Option<usize>) -> usize {
    match piece {
        Piece::Bytes(bytes) => bytes.len(),
        Piece::Secret(bytes) => bytes.reveal().len(),
        Piece::Fill { len, .. } => *len as usize,
        Piece::Field(_) | Piece::Value | Piece::Lifetime(_) => 0,
        Piece::Tag => command::TAG_PLACEHOLDER.len(),
        Piece::Number(slot) => digits.unwrap_or_else(|| command::placeholder(*slot).len()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_arrays_of_bulk_strings() {
        let mut out = Vec::new();
        encode_command(&[b"SET", b"k", b""], &mut out);
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
    }

    #[test]
    fn inline_commands_are_lines() {
        let ping = CommandSpec { inline: true, ..CommandSpec::from_words(["PING"]) };
        assert_eq!(compile(&ping, None).bytes, b"PING\r\n");
    }

    #[test]
    fn the_hole_is_where_the_number_goes() {
        let template = compile(&CommandSpec::parse(["GET", "k:__rand_int__"]), Some(12));
        let hole = template.holes[0];
        assert_eq!(&template.bytes[hole.at - 2..hole.at], b"k:");
        assert_eq!(&template.bytes[hole.at + hole.digits..], b"\r\n");
    }
}
