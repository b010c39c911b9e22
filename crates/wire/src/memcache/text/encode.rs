//! Encoding of commands as lines, with a block of data for storage commands.

use workload::{Arg, CommandSpec};

use crate::argument::{Length, append_body, values_in};
use crate::memcache::words;
use crate::payload::places;
use crate::{LengthForm, Split, Template};

/// Line length without an end at which a server hangs up, unless the line is a `get` or `gets`.
const LINE_MAX: usize = 2048;

/// The end of a line.
const END: &[u8] = b"\r\n";

/// Compiles a command, like [`crate::Protocol::compile`].
pub(super) fn compile(command: &CommandSpec, digits: Option<usize>) -> Template {
    let mut template = Template::default();
    let places = places(command, digits);
    let mut values = &places[..];
    let length_at = words::storage(command);
    let (line, data) = match (length_at, command.args.split_last()) {
        (Some(_), Some((data, line))) => (line, Some(data)),
        _ => (&command.args[..], None),
    };
    let of_line: usize = line.iter().map(values_in).sum();
    let length = data.map(|data| Length::new(data, digits, &places[of_line..]));
    let mut length = length_at.zip(length);
    for (at, arg) in line.iter().enumerate() {
        if let Some((_, length)) = length.take_if(|(before, _)| *before == at) {
            append_length(&mut template, length);
        }
        if at > 0 {
            template.bytes.push(b' ');
        }
        append_body(&mut template, arg, digits, &mut values);
    }
    if let Some((_, length)) = length {
        append_length(&mut template, length);
    }
    template.bytes.extend_from_slice(END);
    if let Some(data) = data {
        append_body(&mut template, data, digits, &mut values);
        template.bytes.extend_from_slice(END);
    }
    template
}

/// Splits a command, like [`crate::Protocol::split`]. Only lines of words have several keys.
pub(super) fn split(command: &CommandSpec, digits: Option<usize>) -> Split {
    let words = command.args[..words::key_places(command).start].to_vec();
    let mut head = compile(&CommandSpec { args: words, inline: false }, digits);
    head.bytes.truncate(head.bytes.len() - END.len());
    Split { head, between: b" ", tail: END }
}

fn append_length(template: &mut Template, length: Length) {
    template.bytes.push(b' ');
    length.append(LengthForm::Decimal, template);
}

/// Checks a command, like [`crate::Protocol::check`].
pub(super) fn check(command: &CommandSpec, digits: Option<usize>) -> Result<(), String> {
    words::check(command, digits)?;
    let data = usize::from(words::storage(command).is_some());
    let line = &command.args[..command.args.len() - data];
    let name = String::from_utf8_lossy(&words::name(command)).into_owned();
    let parts =
        |arg: &Arg| arg.fixed_bytes().is_some_and(|w| !w.iter().all(|b| words::is_of_word(*b)));
    if let Some(at) = line.iter().position(parts) {
        let at = at + 1;
        return Err(format!("{name}: argument {at} contains a space or a control character"));
    }
    if line.iter().any(|arg| values_in(arg) > 0) {
        return Err(format!(
            "{name}: a value (__data__) must be the last argument of a storage command"
        ));
    }
    if matches!(&name[..], "lru_crawler" | "getk" | "noop") {
        let instead = match &name[..] {
            "getk" => "its replies are those of get",
            "noop" => "mn is the text protocol's",
            _ => "its output is a log, not a reply",
        };
        return Err(format!("{name}: {instead}"));
    }
    let len: usize = line.iter().map(|arg| Length::new(arg, digits, &[]).fixed + 1).sum();
    if len >= LINE_MAX && !matches!(&name[..], "get" | "gets") {
        return Err(format!(
            "{name}: a line of {len} bytes; memcached closes the connection at {LINE_MAX}, \
             except for get and gets"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Insert;

    fn command(line: &str) -> CommandSpec {
        let args = line.split(' ').map(|w| Arg::literal(w.as_bytes()).with_values().with_numbers());
        CommandSpec { args: args.collect(), inline: false }
    }

    fn text(line: &str) -> String {
        let command = CommandSpec::parse(line.split(' '));
        String::from_utf8(compile(&command, Some(4)).bytes).unwrap()
    }

    #[test]
    fn lines_are_sent_as_typed_and_data_gets_its_length() {
        for (typed, sent) in [
            ("get k:__key__ b", "get k:0000 b\r\n"),
            ("set k 0 60 abc", "set k 0 60 3\r\nabc\r\n"),
            ("cas k 0 60 77 abc", "cas k 0 60 3 77\r\nabc\r\n"),
            ("ms k abc", "ms k 3\r\nabc\r\n"),
            ("ms k T60 MA abc", "ms k 3 T60 MA\r\nabc\r\n"),
            ("mg k v q", "mg k v q\r\n"),
            ("mn", "mn\r\n"),
            ("verbosity 1", "verbosity 1\r\n"),
        ] {
            assert_eq!(text(typed), sent);
        }
    }

    #[test]
    fn a_length_that_varies_is_an_insert_before_the_data() {
        let template = compile(&command("set k:__key__ 0 60 <__data__>"), Some(4));
        let (at, Insert::Length { form, fixed, varying }) = &template.inserts[0] else {
            panic!("{:?}", template.inserts)
        };
        assert_eq!(&template.bytes[..*at], b"set k:0000 0 60 ");
        assert_eq!((*form, *fixed, varying.len()), (LengthForm::Decimal, 2, 1));
        assert_eq!(&template.bytes[*at..template.inserts[1].0], b"\r\n<");
    }

    #[test]
    fn what_cannot_be_sent_is_refused_by_name() {
        let long = format!("get {}", "k".repeat(251));
        let many = format!("gat 60 {}", ["key"; 600].join(" "));
        for (line, says) in [
            ("GET k", "lower case: get"),
            ("get", "get KEY..."),
            ("set k 0 60", "set KEY FLAGS TTL DATA"),
            ("set k 0 60 3 abc", "without the byte count"),
            ("delete k noreply", "noreply"),
            (&long[..], "a key of 251 bytes"),
            (&many[..], "closes the connection at 2048"),
            ("get k\x01", "control characters"),
            ("get __data__", "size varies"),
            ("touch k __data__", "last argument"),
            ("quit", "cannot be measured"),
            ("lru_crawler metadump all", "log"),
            ("noop", "mn"),
        ] {
            let error = check(&command(line), Some(12)).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
        let spaced = CommandSpec::from_words(["get", "a b"]);
        assert!(check(&spaced, None).unwrap_err().contains("spaces"));
        for line in ["get k:__key__", "set k 0 60 __data__", "ms k __data__", "verbosity 1", "mn"] {
            assert_eq!(check(&command(line), Some(12)), Ok(()), "{line}");
        }
        let any_data = CommandSpec::from_words([&b"set"[..], b"k", b"0", b"0", b"a b\r\n\0"]);
        assert_eq!(check(&any_data, None), Ok(()));
    }
}
