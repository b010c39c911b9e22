//! Captures of MONITOR: their lines as commands, one by one or all in their order.

use std::path::Path;

use spec::DataOptions;
use spec::captured::{self, Capture, Scripts};
use spec::escape::literal;
use workload::{RowBy, Span};

use super::fault::{Fault, check_error};
use super::operations::Words;
use super::options::Options;

const LINE: &str = "__monitor_line";
/// All lines, one after another, whichever connection sends them.
const ALL: &str = "__monitor_line@__";

/// Returns whether all lines of a capture are sent, shared by all connections.
pub(super) fn is_shared(options: &Options) -> bool {
    options.monitor_input.is_some() && matches!(&options.commands[..], [one] if is_all(&one.text))
}

/// Says in `data` that all lines are sent.
pub(super) fn describe(options: &Options, data: &mut DataOptions) {
    data.replay = options.monitor_input.as_ref().map(Into::into);
    data.rows_by = options.monitor_random.then_some(RowBy::Random);
}

/// Returns whether a command stands for all lines.
pub(super) fn is_all(text: &str) -> bool {
    text.trim() == ALL
}

/// The warning about a capture that no command uses.
pub(super) fn unused(options: &Options) -> Option<String> {
    let unused = options.monitor_input.is_some() && options.commands.is_empty();
    unused.then(|| {
        format!("warning: --monitor-input has no effect without a --command such as {ALL}")
    })
}

/// A capture. Lines that hold no command are passed over, which `notes` say.
pub(super) fn load(path: &str, notes: &mut Vec<String>) -> Result<Capture, Fault> {
    let read = captured::read(Path::new(path), Scripts::EveryLine);
    let capture = read.map_err(|why| check_error(format!("--monitor-input: {path}: {why}")))?;
    let Capture { commands, lines, unreadable, unreplayable, .. } = &capture;
    let skipped = unreadable.iter();
    notes
        .extend(skipped.map(|line| format!("warning: skipping line {line} of {path}: no command")));
    let skipped = match unreplayable {
        0 => String::new(),
        some => format!(" ({some} unreplayable line(s) skipped)"),
    };
    let loaded = format!("Loaded {} monitor commands", commands.len());
    notes.push(format!("{loaded} from {lines} total lines{skipped}"));
    Ok(capture)
}

/// Part of a turn of commands: an operation several times, or lines of the capture.
pub(super) enum Part {
    /// An operation, and how many times it is carried out.
    Operation(u32, u32),
    /// The lines that come next.
    Lines(u32),
}

/// The longest order of commands among which the lines of a capture come.
const ORDER_MAX: u64 = 65_536;

/// The order of turns in which the lines of a capture, the operations from `first` on, follow each other
/// from one turn to the next, until all begins anew.
pub(super) fn order(parts: &[Part], first: u32, lines: u32) -> Result<Vec<Span>, Fault> {
    let of_turn = parts.iter().map(|part| match part {
        Part::Lines(lines) => u64::from(*lines),
        Part::Operation(..) => 0,
    });
    let of_turn = of_turn.sum::<u64>().max(1);
    let turns = u64::from(lines) / gcd(u64::from(lines), of_turn);
    if turns.saturating_mul(of_turn + parts.len() as u64) > ORDER_MAX {
        return Err(check_error(format!(
            "{ALL} beside other commands is carried out by keystorm for up to {ORDER_MAX} requests in \
             their order, and here they are more; see docs/memtier.md"
        )));
    }
    let (mut spans, mut next) = (Vec::new(), 0);
    for _ in 0..turns {
        for part in parts {
            match *part {
                Part::Operation(operation, times) => spans.push(Span { operation, times }),
                Part::Lines(count) => {
                    let lines = (next..next + u64::from(count)).map(|at| at % u64::from(lines));
                    spans.extend(
                        lines.map(|line| Span { operation: first + line as u32, times: 1 }),
                    );
                    next += u64::from(count);
                }
            }
        }
    }
    Ok(spans)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the command in place of a placeholder; `None` if the text is no placeholder.
pub(super) fn placeholder(text: &str, captured: &[Vec<Vec<u8>>]) -> Option<Result<Words, Fault>> {
    let number = text.trim().strip_prefix(LINE)?.strip_suffix("__");
    let number = number.and_then(|number| number.parse::<usize>().ok());
    let found = number.and_then(|number| captured.get(number.checked_sub(1)?));
    Some(found.map(|words| command(words)).ok_or_else(|| {
        check_error(format!("invalid monitor placeholder {text}: there are {}", captured.len()))
    }))
}

/// A line of a capture, in which nothing is a placeholder.
pub(super) fn command(words: &[Vec<u8>]) -> Words {
    words.iter().map(|word| literal(word, "", "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_after_another_from_turn_to_turn() {
        let parts = [Part::Operation(0, 3), Part::Lines(2)];
        let order = order(&parts, 1, 3).unwrap();
        let operations: Vec<_> = order.iter().map(|span| (span.operation, span.times)).collect();
        let line = |number| (number, 1);
        assert_eq!(
            operations,
            [(0, 3), line(1), line(2), (0, 3), line(3), line(1), (0, 3), line(2), line(3)]
        );
        assert!(super::order(&parts, 1, 100_001).is_err());
    }

    #[test]
    fn lines_are_commands_from_their_first_quote_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        let text =
            "OK\n1.5 [0 127.0.0.1:1] \"SET\" \"a b\" \"\\x00\"\n\n?\n2 [0 lua] \"get\" \"k\"\n";
        std::fs::write(&path, text).unwrap();
        let mut notes = Vec::new();
        let commands = load(path.to_str().unwrap(), &mut notes).unwrap().commands;
        assert_eq!((commands.len(), notes.len()), (2, 2), "{notes:?}");
        assert!(notes[0].contains("skipping line 4 of"), "{notes:?}");
        assert_eq!(notes[1], "Loaded 2 monitor commands from 5 total lines");
        assert_eq!(commands[0], [&b"SET"[..], b"a b", b"\0"]);
        let of = |text| placeholder(text, &commands);
        let get = ["get", "k"].map(String::from).to_vec();
        assert_eq!(of("__monitor_line2__"), Some(Ok(get)));
        assert!(
            of("__monitor_line3__").unwrap().is_err() && of("__monitor_line0__").unwrap().is_err()
        );
        assert_eq!(of("GET k"), None);
    }
}
