//! Words of a command line of `keystorm compare` that name servers, and the line as it is shown.

use std::ffi::OsString;

use workload::redis_commands;

use super::super::experiment::line::{command_line as shown, takes_of};
use super::super::experiment::typed_line::{Arity, TypedLine};
use super::super::side::{self, Side, Word};
use super::super::{deliver, run};
use super::arguments::explained;

/// Splits the words before the command into names of servers or files, and the others. The first two words that
/// are not options are names in any case; further ones only if they can be nothing else.
pub(super) fn sides_and_rest(args: Vec<OsString>) -> (Option<Vec<OsString>>, Vec<OsString>) {
    let (mut line, mut sides) = (TypedLine::parse(args.clone(), takes), Vec::new());
    while let Some(word) = line.rest.first()
        && sides.len() < SIDES_MAX
        && word != "--"
        && (sides.len() < 2 || names_a_server(word))
    {
        sides.extend(line.take_words(1, takes));
    }
    match sides.len() {
        // Fewer than two: the parser of the line reports the error.
        0 | 1 => (None, args),
        _ => (Some(sides), line.words()),
    }
}

/// Returns whether a word can only be a server: no command of one has such a name.
fn names_a_server(word: &OsString) -> bool {
    match Side::parse(word) {
        Ok(Side::Server(Word::Program { program, args })) => {
            let is_path = program.contains('/');
            is_path || !args.is_empty() || redis_commands::known(&program, None).is_none()
        }
        Ok(_) => true,
        // A missing file, or an address: the code that opens it reports the error.
        Err(_) => word.to_str().is_some_and(looks_like_a_place),
    }
}

/// Returns whether a word has the form of a path or of `host:port`.
fn looks_like_a_place(word: &str) -> bool {
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    word.contains('/') || word.rsplit_once(':').is_some_and(|(_, port)| is_number(port))
}

/// Maximum number of servers of a comparison: all of them run at the same time.
const SIDES_MAX: usize = 16;

/// Returns what an option of this command line takes.
pub(super) fn takes(name: &str) -> Option<Arity> {
    takes_of(&explained(run::vocabulary()), name).or_else(|| deliver::takes(name))
}

/// The command line to be shown: without passwords.
pub(super) fn command_line(sides: Option<&[OsString]>, line: &TypedLine) -> String {
    let sides = sides.into_iter().flatten().map(|side| side::shown(&side.to_string_lossy()));
    let name = format!("keystorm compare {}", shell_words::join(sides));
    shown(&name, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_stand_anywhere_before_the_command() {
        let of = |text: &str| {
            let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
            let (sides, rest) = sides_and_rest(words(text));
            let describe = |words: &[OsString]| {
                words.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
            };
            (sides.map_or(String::new(), |sides| describe(&sides)), describe(&rest))
        };
        for (line, rest) in [
            ("A B -t set,get -P 16", "-t set,get -P 16"),
            ("-t set,get A B -P 16", "-t set,get -P 16"),
            ("-t set,get A -P16 B", "-t set,get -P 16"),
            ("--fail-on-regression 5 -q A B get k", "--fail-on-regression=5 -q get k"),
            ("A --until-sure B --sure-within 5m", "--until-sure --sure-within=5m"),
            ("A B -n 5 -- get -c", "-n 5 -- get -c"),
        ] {
            assert_eq!(of(line), ("A B".to_owned(), rest.to_owned()), "{line}");
        }
        // A word that can only be a server is none of the command's.
        let (sides, rest) =
            sides_and_rest(["A", "B", "h:1", "/bin/sh", "get", "k"].map(OsString::from).to_vec());
        assert_eq!((sides.map(|sides| sides.len()), rest.len()), (Some(4), 2));
        for place in ["/no/such/server", "./redis-sever", "h:99999"] {
            let line = ["A", "B", place, "get", "k"].map(OsString::from).to_vec();
            let (sides, rest) = sides_and_rest(line);
            assert_eq!((sides.map(|sides| sides.len()), rest.len()), (Some(3), 2), "{place}");
        }
        let (sides, rest) = sides_and_rest(["A", "B", "sh", "ping"].map(OsString::from).to_vec());
        assert_eq!((sides.map(|sides| sides.len()), rest), (Some(3), vec![OsString::from("ping")]));
        for line in ["A", "-n 5 A", "A -- B", "--help"] {
            assert_eq!(of(line), (String::new(), line.to_owned()));
        }
        let words = ["redis://u:pw@h", "B"].map(OsString::from);
        let line = TypedLine::parse(["-a", "pw"].map(OsString::from).to_vec(), takes);
        assert_eq!(
            command_line(Some(&words), &line),
            "keystorm compare 'redis://***@h' B -a '***'"
        );
    }
}
