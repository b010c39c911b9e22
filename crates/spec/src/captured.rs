//! The output of MONITOR, as operations that are sent again, in the same order or drawn at random.
//!
//! Commands with the same name and number of arguments are one operation, and their arguments are the cells of
//! a row. A capture may have millions of lines; figures are kept for each operation, of which there are dozens.

use std::collections::HashMap;
use std::path::Path;

use wire::quoted::words;
use workload::{Arg, CommandSpec, Dataset, Piece, RowBy};

/// A capture, read.
#[derive(Debug, Clone, Default)]
pub struct Capture {
    /// The words of each command.
    pub commands: Vec<Vec<Vec<u8>>>,
    /// Lines of the file.
    pub lines: usize,
    /// Numbers of the lines from which no command could be read. Blank lines and the `OK` with which MONITOR
    /// begins are not among them.
    pub unreadable: Vec<usize>,
    /// Commands left out because they concern only their connection: subscriptions, logins, QUIT.
    pub unreplayable: usize,
    /// Commands of scripts, left out because the calls of the scripts are replayed.
    pub of_scripts: usize,
}

/// The operations of a capture, and the rows that say which of them comes when.
#[derive(Debug)]
pub struct CapturedOperations {
    /// Each with its name and its number of arguments.
    pub operations: Vec<(CommandSpec, String, usize)>,
    /// The arguments of each request.
    pub rows: Dataset,
}

/// Treatment of scripts in a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scripts {
    /// Their calls only (EVAL and the like), which repeat what the scripts did.
    Called,
    /// Every line, as memtier_benchmark sends it: the calls, and the commands of the scripts once more.
    EveryLine,
}

/// Returns whether a command concerns only the connection it was captured on, such as a login: it is not sent again.
fn is_of_its_connection(words: &[Vec<u8>]) -> bool {
    let is = |at: usize, name: &str| {
        words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    has_open_ended_replies(&words[0])
        || ["HELLO", "AUTH", "QUIT", "RESET"].into_iter().any(|name| is(0, name))
        || is(0, "CLIENT") && is(1, "REPLY")
}

/// Returns whether a server goes on answering this command for as long as the connection lives.
pub fn has_open_ended_replies(name: &[u8]) -> bool {
    const NAMES: [&str; 9] = [
        "SUBSCRIBE",
        "PSUBSCRIBE",
        "SSUBSCRIBE",
        "UNSUBSCRIBE",
        "PUNSUBSCRIBE",
        "SUNSUBSCRIBE",
        "MONITOR",
        "SYNC",
        "PSYNC",
    ];
    NAMES.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// Reads a capture.
///
/// # Errors
/// Returns an error if it cannot be read, or has no command.
pub fn read(path: &Path, scripts: Scripts) -> Result<Capture, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").replace('\r', "\n");
    drop(bytes);
    let mut capture = Capture::default();
    for line in text.lines() {
        capture.lines += 1;
        let begin = line.find('"');
        if scripts == Scripts::Called && begin.is_some_and(|at| line[..at].contains(" lua]")) {
            capture.of_scripts += 1;
            continue;
        }
        match begin.and_then(|at| words(&line.as_bytes()[at..])).filter(|words| !words.is_empty()) {
            // Later replies would be read in the wrong protocol, or as replies to other commands.
            Some(words) if is_of_its_connection(&words) => {
                capture.unreplayable += 1;
            }
            Some(words) => capture.commands.push(words),
            None if matches!(line.trim(), "" | "OK" | "+OK") => {}
            None => capture.unreadable.push(capture.lines),
        }
    }
    if capture.commands.is_empty() {
        Err("no valid commands found".to_owned())
    } else {
        Ok(capture)
    }
}

impl Capture {
    /// Returns the captured commands as operations and rows, taken in order or drawn.
    ///
    /// # Errors
    /// Returns an error if the commands make no valid rows.
    pub fn operations(self, source: &Path, by: RowBy) -> Result<CapturedOperations, String> {
        let mut known: HashMap<(Vec<u8>, usize), u32> = HashMap::new();
        let (mut operations, mut operation_of_row, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut arguments_max = 1;
        for mut words in self.commands {
            let arguments = words.split_off(1);
            let name = words.swap_remove(0);
            let count = arguments.len();
            arguments_max = arguments_max.max(count);
            let next = operations.len() as u32;
            let operation = *known.entry((name.clone(), count)).or_insert(next);
            if operation == next {
                let fields = (0..count).map(|column| Piece::Field(column).into());
                let args = std::iter::once(Arg::literal(&name)).chain(fields);
                let command = CommandSpec::from(args.collect::<Vec<_>>());
                let name = command.name();
                operations.push((command, name, count));
            }
            operation_of_row.push(operation);
            rows.push(arguments);
        }
        let columns = (1..=arguments_max).map(|number| number.to_string()).collect();
        let rows = Dataset::new(source.display().to_string(), columns, rows)?;
        let rows = rows.taken_by(by).with_operations(operation_of_row);
        Ok(CapturedOperations { operations, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(text: &str) -> Result<Capture, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        std::fs::write(&path, text).unwrap();
        read(&path, Scripts::EveryLine)
    }

    #[test]
    fn commands_of_one_name_and_as_many_arguments_are_one_operation() {
        let text = "1 [0 a:1] \"SET\" \"k\" \"v 1\"\n2 [0 a:1] \"GET\" \"k\"\n\
                    3 [0 a:1] \"SET\" \"k\" \"w\"\n4 [0 a:1] \"SET\" \"k\" \"w\" \"NX\"\n5 [0 lua] \"PING\"\n";
        let captured = capture(text).unwrap().operations(Path::new("m"), RowBy::Request).unwrap();
        let names: Vec<_> = captured.operations.iter().map(|(_, name, n)| (&**name, *n)).collect();
        assert_eq!(names, [("SET", 2), ("GET", 1), ("SET", 3), ("PING", 0)]);
        assert_eq!(captured.rows.operations(), [0, 1, 0, 2, 3]);
        assert_eq!((captured.rows.cell(0, 1), captured.rows.cell(1, 1)), (&b"v 1"[..], &b""[..]));
        assert_eq!(captured.operations[2].0.args.len(), 4);
    }

    #[test]
    fn what_cannot_be_sent_again_is_left_out_whatever_ends_lines() {
        let read = capture(
            "OK\r1 \"SET\" \"k\" \"v\"\r?\r2 \"\\x53UBSCRIBE\" \"c\"\r\n3 \"hello\" \"3\"\r",
        );
        let Capture { commands, lines, unreadable, unreplayable, .. } = read.unwrap();
        assert_eq!((commands.len(), lines, unreadable, unreplayable), (1, 5, vec![3], 2));
        assert_eq!(capture("OK\n").unwrap_err(), "no valid commands found");
    }
}
