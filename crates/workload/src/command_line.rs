//! Division of a line of words into operations, steps and commands.
//!
//! Owns the separators: `;` as in `valkey-benchmark`, and `;>`, `;?`, `;*` and `;~` before a later step.
//! [`command`](crate::command) interprets the words of a command.

use naming::{MIX, Text, text};
use serde::{Deserialize, Serialize};

use crate::StepCondition;

/// An operation as the user typed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedOperation {
    /// Weight with which it is picked.
    pub weight: u32,
    /// Steps, each with a command at least.
    pub steps: Vec<TypedStep>,
}

/// Commands that are sent together, as words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedStep {
    /// Condition for sending them.
    pub when: StepCondition,
    /// The commands.
    #[serde(with = "crate::bytes::commands")]
    pub commands: Vec<Vec<Vec<u8>>>,
}

impl StepCondition {
    /// Sign before a step with this condition.
    pub fn sign(self) -> String {
        match self {
            Self::Always => ";>".to_owned(),
            Self::OnMiss => ";?".to_owned(),
            Self::ForEach => ";*".to_owned(),
            Self::OnCursor { most: None } => ";~".to_owned(),
            Self::OnCursor { most: Some(most) } => format!(";~{most}"),
        }
    }

    /// Returns the condition of the step after a word, if the word is such a sign.
    fn of_sign(word: &[u8]) -> Option<Self> {
        match word {
            b";>" => Some(Self::Always),
            b";?" => Some(Self::OnMiss),
            b";*" => Some(Self::ForEach),
            b";~" => Some(Self::OnCursor { most: None }),
            _ => {
                let most = std::str::from_utf8(word.strip_prefix(b";~")?).ok()?;
                Some(Self::OnCursor { most: Some(most.parse().ok()?) })
            }
        }
    }
}

/// Divides `[N] command args [';' [N] command args …]` into operations. With `mixed` each command is one, and
/// N is its weight; otherwise all are one operation, and N repeats a command. With `stepped` a command after
/// `;>`, `;?`, `;*` or `;~` belongs to a later step, and a number comes before a command. Empty commands are
/// skipped, as in `valkey-benchmark`.
///
/// # Errors
/// Returns an error in words for a person if a count is not a number or has no command, a weight is 0, a
/// later step is empty, or there are more than `limit` commands.
pub fn split_operations(
    words: &[Vec<u8>],
    mixed: bool,
    stepped: bool,
    limit: usize,
) -> Result<Vec<TypedOperation>, Text> {
    let mut operations: Vec<TypedOperation> = Vec::new();
    let mut commands = 0;
    let mut start = 0;
    // The separator before the current words.
    let mut separator = &b";"[..];
    for end in 0..=words.len() {
        let word = words.get(end).map(Vec::as_slice);
        let ends = match word {
            None | Some(b";") => true,
            Some(word) => stepped && StepCondition::of_sign(word).is_some(),
        };
        if !ends {
            continue;
        }
        let group = &words[start..end];
        start = end + 1;
        let before = std::mem::replace(&mut separator, word.unwrap_or_default());
        let begins = operations.is_empty() || mixed && before == b";";
        let (count, command) = counted(group, mixed && begins)?;
        if before != b";" && (command.is_empty() || operations.is_empty()) {
            let sign = String::from_utf8_lossy(before);
            return Err(text!(
                "{sign} must stand between two commands; the second is sent after the reply to \
                 the first"
            ));
        }
        if command.is_empty() {
            // To the peers a count of nothing is nothing.
            if let (true, Some(number)) = (stepped, group.first()) {
                let number = String::from_utf8_lossy(number);
                let such_as = if mixed && begins { "weight" } else { "count" };
                return Err(text!("{number} must be followed by a command {such_as}"));
            }
            continue;
        }
        let (weight, repeat) = if mixed && begins { (count, 1) } else { (1, count) };
        commands += repeat;
        if commands > limit {
            return Err(text!("a sequence has at most {limit} commands, including repeats"));
        }
        if begins {
            let weight = u32::try_from(weight)
                .map_err(|_| text!("weight {weight}: the maximum is {}", u32::MAX))?;
            operations.push(TypedOperation { weight, steps: Vec::new() });
        }
        let Some(operation) = operations.last_mut() else { continue };
        let when = StepCondition::of_sign(before).unwrap_or_default();
        if before != b";" || operation.steps.is_empty() {
            operation.steps.push(TypedStep { when, commands: Vec::new() });
        }
        if let Some(step) = operation.steps.last_mut() {
            step.commands.extend(std::iter::repeat_n(command.to_vec(), repeat));
        }
    }
    if mixed && operations.is_empty() {
        return Err(text!("{MIX}: there are no operations"));
    }
    Ok(operations)
}

/// Number before a command, 1 without one, and the command.
fn counted(group: &[Vec<u8>], weight: bool) -> Result<(usize, &[Vec<u8>]), Text> {
    let Some(first) = group.first() else { return Ok((1, group)) };
    let text = String::from_utf8_lossy(first);
    let begins = |digits: std::ops::RangeInclusive<char>| text.starts_with(|c| digits.contains(&c));
    if weight && (begins('0'..='9') || text.parse::<f64>().is_ok()) {
        let weight = text.parse().ok().filter(|weight| *weight > 0);
        return Ok((weight.ok_or_else(|| match text.split_once(':') {
            Some((weight, _)) => text!(
                "{text:?} is not a weight; a weight and its command are words of their own, behind --, as in {MIX} -- \
                 {weight} get k:__key__ ';' 20 set k:__key__ __data__"
            ),
            None => text!("{text:?} is not a weight; expected a whole number from 1"),
        })?, &group[1..]));
    }
    if begins('1'..='9') {
        let fault = |_| text!("{text:?} is neither a command nor a repeat count");
        return Ok((text.parse().map_err(fault)?, &group[1..]));
    }
    Ok((1, group))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str, mixed: bool, stepped: bool) -> Result<String, String> {
        let words: Vec<Vec<u8>> = line.split(' ').map(|w| w.as_bytes().to_vec()).collect();
        let step = |step: &TypedStep| {
            let texts =
                step.commands.iter().map(|command| String::from_utf8(command.join(&b' ')).unwrap());
            let commands: Vec<String> = texts.collect();
            let sign = step.when.sign();
            format!("{}{}", sign[1..].trim_start_matches('>'), commands.join("|"))
        };
        let operations = split_operations(&words, mixed, stepped, 100)?.into_iter().map(|o| {
            format!("{}:{}", o.weight, o.steps.iter().map(step).collect::<Vec<_>>().join(">"))
        });
        Ok(operations.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn sequences_are_cut_at_semicolons_and_repeated() {
        let line = "2 SET a b ; GET a ; ; 3 PING";
        assert_eq!(cut(line, false, true).unwrap(), "1:SET a b|SET a b|GET a|PING|PING|PING");
        assert_eq!(cut("", false, false).unwrap_or_default(), "1:");
        assert_eq!(cut("ECHO ;> ;?", false, false).unwrap(), "1:ECHO ;> ;?", "the peers' words");
    }

    #[test]
    fn in_a_mix_each_command_is_an_operation_and_the_number_its_weight() {
        assert_eq!(cut("9 GET a ; SET a b ;", true, true).unwrap(), "9:GET a 1:SET a b");
        let line = "9 GET a ;? SET a b ;> 2 PING ; 1 DEL a";
        assert_eq!(cut(line, true, true).unwrap(), "9:GET a>?SET a b>PING|PING 1:DEL a");
    }

    #[test]
    fn steps_gather_the_commands_between_them() {
        assert_eq!(cut("A ; B ;> C ; D ;? E", false, true).unwrap(), "1:A|B>C|D>?E");
        assert_eq!(cut("A ;* B ;~ C ;~3 D", false, true).unwrap(), "1:A>*B>~C>~3D");
        assert_eq!(cut("A ;~x B", false, true).unwrap(), "1:A ;~x B");
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let fault = |line: &str, mixed| cut(line, mixed, true).unwrap_err();
        assert!(fault("2x SET a b", false).contains("2x"));
        assert!(fault("101 PING", false).contains("at most 100"));
        for (line, mixed) in
            [("1 ; 2 ping", true), ("2 ping ; 1", true), ("1", true), ("3 ; ping", false)]
        {
            assert!(fault(line, mixed).contains("must be followed by a command"), "{line}");
        }
        assert_eq!(cut("3 ; PING", false, false).unwrap(), "1:PING", "nothing to the peers");
        for line in ["0 GET a", "-1 GET a", "1.5 GET a", "9 GET a ; 0 SET a b"] {
            assert!(fault(line, true).contains("whole number from 1"), "{line}");
        }
        assert!(fault("5000000000 GET a", true).contains("the maximum is 4294967295"));
        assert!(fault(";", true).contains("no operation"));
        for line in [";> GET a", "GET a ;>", "GET a ;> ; SET a b", "GET a ;? ;> SET a b"] {
            assert!(fault(line, false).contains("must stand between two commands"), "{line}");
        }
    }
}
