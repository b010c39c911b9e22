//! Encoding of commands in RESP: an array of bulk strings, or a plain line for inline commands.

use workload::{Arg, CommandSpec};

use crate::argument::{Length, append_body};
use crate::payload::places;
use crate::{LengthForm, Template, ValueAt};

/// Appends a command of plain arguments.
pub fn encode_command(args: &[&[u8]], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
    for arg in args {
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
}

/// Compiles a command, like [`crate::Protocol::compile`].
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

/// Appends the header of an argument. `values` are the values from this argument on.
fn append_header(template: &mut Template, arg: &Arg, digits: Option<usize>, values: &[ValueAt]) {
    template.bytes.push(b'$');
    Length::new(arg, digits, values).append(LengthForm::Decimal, template);
    template.bytes.extend_from_slice(b"\r\n");
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
