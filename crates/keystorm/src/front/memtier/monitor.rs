//! Captures of MONITOR: their lines as commands, one by one or all in their order.

use workload::CommandSpec;

use super::commands::words;
use super::fault::{Fault, check_error};
use super::options::Options;

const LINE: &str = "__monitor_line";
/// All lines, one after another, whichever connection sends them.
const ALL: &str = "__monitor_line@__";

/// Whether all lines of a capture are sent, shared by all connections.
pub(super) fn is_shared(options: &Options) -> bool {
    let alone = options.commands.len() == 1 && options.commands[0].text == ALL;
    options.monitor_input.is_some() && alone
}

/// The commands of a capture. Lines that hold none are passed over, which `notes` say.
pub(super) fn load(path: &str, notes: &mut Vec<String>) -> Result<Vec<CommandSpec>, Fault> {
    let text =
        std::fs::read(path).map_err(|e| check_error(format!("--monitor-input: {path}: {e}")))?;
    let text = String::from_utf8_lossy(&text);
    let (mut commands, mut lines) = (Vec::new(), 0);
    for line in text.lines() {
        lines += 1;
        match line.find('"').and_then(|at| words(&line[at..])).filter(|words| !words.is_empty()) {
            Some(words) => commands.push(CommandSpec::from_words(words)),
            None => notes.push(format!("warning: line {lines} of {path} is not a command")),
        }
    }
    if commands.is_empty() {
        return Err(check_error(format!("--monitor-input: {path} has no command in it")));
    }
    let loaded = commands.len();
    notes.push(format!("Loaded {loaded} monitor commands from {lines} total lines"));
    Ok(commands)
}

/// The command that a placeholder stands for; `None` of what is no placeholder.
pub(super) fn placeholder(
    text: &str,
    captured: &[CommandSpec],
) -> Option<Result<CommandSpec, Fault>> {
    let number = text.trim().strip_prefix(LINE)?.strip_suffix("__")?;
    if number == "@" {
        return Some(Err(check_error(format!(
            "{ALL} beside other commands is not carried out by keystorm; see docs/memtier.md"
        ))));
    }
    let found = number.parse::<usize>().ok().and_then(|n| captured.get(n.checked_sub(1)?));
    Some(found.cloned().ok_or_else(|| {
        check_error(format!("invalid monitor placeholder {text}: there are {}", captured.len()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands_from_their_first_quote_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        let text = "1.5 [0 127.0.0.1:1] \"SET\" \"a b\" \"\\x00\"\nOK\n2 [0 lua] \"get\" \"k\"\n";
        std::fs::write(&path, text).unwrap();
        let mut notes = Vec::new();
        let commands = load(path.to_str().unwrap(), &mut notes).unwrap();
        assert_eq!((commands.len(), notes.len()), (2, 2), "{notes:?}");
        assert_eq!(commands[0], CommandSpec::from_words([&b"SET"[..], b"a b", b"\0"]));
        let of = |text| placeholder(text, &commands);
        assert_eq!(of("__monitor_line2__"), Some(Ok(commands[1].clone())));
        assert!(
            of("__monitor_line3__").unwrap().is_err() && of("__monitor_line0__").unwrap().is_err()
        );
        assert_eq!(of("GET k"), None);
    }
}
