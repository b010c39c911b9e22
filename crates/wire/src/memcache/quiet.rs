//! Quiet meta commands (flag `q`): the meaning of their silence, and the matching of their replies.
//!
//! A quiet command is answered only by a hit, a refusal or an error. So each gets an opaque (flag `O`), its
//! index in the sequence, which its reply repeats, and a loud command after the last one closes the sequence.

use workload::{Arg, CommandSpec};

use super::words;
use crate::Silence;

/// Returns the meaning of a missing reply to a command, if it may have none.
pub(super) fn silence(command: &CommandSpec) -> Option<Silence> {
    let means = match &words::name(command)[..] {
        b"mg" => Silence::Miss,
        b"ms" | b"md" | b"ma" => Silence::Done,
        _ => return None,
    };
    flags(command).any(|flag| flag == b"q").then_some(means)
}

/// Flags of a meta command without placeholders.
fn flags(command: &CommandSpec) -> impl Iterator<Item = Vec<u8>> {
    let data = usize::from(words::storage(command).is_some());
    let flags = command.args.len().saturating_sub(data);
    command.args[..flags].iter().skip(2).filter_map(words::literal)
}

fn is_meta(command: &CommandSpec) -> bool {
    matches!(&words::name(command)[..], b"mg" | b"ms" | b"md" | b"ma")
}

/// Gives every quiet command of a sequence its opaque. Returns whether there are any.
///
/// # Errors
/// Returns an error in words for a person if replies could not be matched with their requests.
pub fn number_quiet(sequence: &mut [CommandSpec]) -> Result<bool, String> {
    let Some(last) = sequence.iter().rposition(|command| silence(command).is_some()) else {
        return Ok(false);
    };
    if last + 1 == sequence.len() {
        return Err(
            "a quiet command (flag q) may have no reply: end the sequence with mn, as in mg k v \
             q ';' mn"
                .to_owned(),
        );
    }
    let opaque = |flag: Vec<u8>| flag.first() == Some(&b'O');
    if sequence.iter().any(|command| is_meta(command) && flags(command).any(opaque)) {
        return Err(
            "flag O: keystorm itself numbers the commands of a sequence with quiet commands \
             (flag q)"
                .to_owned(),
        );
    }
    for (place, command) in sequence.iter_mut().enumerate() {
        if silence(command).is_some() {
            let before_data = usize::from(words::storage(command).is_some());
            let at = command.args.len() - before_data;
            command.args.insert(at, Arg::literal(format!("O{place}").as_bytes()));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::command_line::split_operations;

    fn sequence(line: &str) -> Vec<CommandSpec> {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let operations = split_operations(&words, false, false, 100).unwrap();
        operations[0].steps[0].commands.iter().map(CommandSpec::parse).collect()
    }

    #[test]
    fn silence_is_a_miss_of_reads_and_success_of_the_rest() {
        let means = |line: &str| silence(&sequence(line)[0]);
        assert_eq!(means("mg k v q"), Some(Silence::Miss));
        assert_eq!(means("ms k q T60 data"), Some(Silence::Done));
        assert_eq!(means("md k q"), Some(Silence::Done));
        for loud in ["mg k v", "mg q", "ms k T60 q", "mn", "get q q"] {
            assert_eq!(means(loud), None, "{loud}");
        }
    }

    #[test]
    fn quiet_commands_are_numbered_and_must_be_closed() {
        let mut commands = sequence("mg a v q ; ms b q data ; mn");
        assert_eq!(number_quiet(&mut commands), Ok(true));
        let word = |command: usize, at: usize| words::literal(&commands[command].args[at]).unwrap();
        assert_eq!(
            (word(0, 4), word(1, 3), word(1, 4)),
            (b"O0".to_vec(), b"O1".to_vec(), b"data".to_vec())
        );
        assert_eq!(number_quiet(&mut sequence("get a")), Ok(false));
        assert!(number_quiet(&mut sequence("mn ; mg a q")).unwrap_err().contains("mn"));
        assert!(number_quiet(&mut sequence("mg a O7 q ; mn")).unwrap_err().contains("flag O"));
    }
}
