//! The commands of a record one by one, in order, for a caller that waits for each answer.

use wire::resp::Value;
use workload::{DueRequest, DueRequests, RequestSource};

use super::Traffic;

/// Time limit, in seconds, of a command that waits for other clients, of which there are none here.
const SECONDS: &[u8] = b"0.01";
const MILLISECONDS: &[u8] = b"10";

/// A command of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Number of the connection that sends it.
    pub connection: u32,
    /// The database that it is sent to.
    pub db: u32,
    /// Words of the command. A command that would wait for another client waits for a hundredth of a second
    /// instead.
    pub words: Vec<Vec<u8>>,
}

/// A record for a Redis server, command by command.
pub struct Conversation<'t> {
    requests: Box<dyn DueRequests + Send + 't>,
    bytes: Vec<u8>,
}

impl Traffic {
    /// Begins to read the record.
    ///
    /// # Errors
    /// Returns an error if the record cannot be read.
    pub fn conversation(&self) -> Result<Conversation<'_>, String> {
        Ok(Conversation { requests: self.requests()?, bytes: Vec::new() })
    }
}

impl Conversation<'_> {
    /// The next command, or `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the record cannot be read any further.
    pub fn next_question(&mut self) -> Result<Option<Question>, String> {
        self.bytes.clear();
        let Some(DueRequest { connection, db, blocks, .. }) =
            self.requests.next(&mut self.bytes)?
        else {
            return Ok(None);
        };
        let parsed = Value::parse(&self.bytes).map_err(|error| error.to_string())?;
        let Some((Value::Array(values), _)) = parsed else {
            return Err("a command that is no list of words".to_owned());
        };
        let words = values.into_iter().map(|value| match value {
            Value::Bulk(word) => word,
            _ => Vec::new(),
        });
        let mut words: Vec<Vec<u8>> = words.collect();
        if blocks {
            shorten(&mut words);
        }
        Ok(Some(Question { connection, db, words }))
    }
}

/// Limits the time that a command waits for other clients.
fn shorten(words: &mut [Vec<u8>]) {
    let name = words.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
    let block = words.iter().position(|word| word.eq_ignore_ascii_case(b"BLOCK"));
    let (at, wait) = match name.as_slice() {
        b"XREAD" | b"XREADGROUP" => (block.map(|at| at + 1), MILLISECONDS),
        b"WAIT" | b"WAITAOF" => (words.len().checked_sub(1), MILLISECONDS),
        b"BLMPOP" | b"BZMPOP" => (Some(1), SECONDS),
        _ => (words.len().checked_sub(1), SECONDS),
    };
    if let Some(word) = at.and_then(|at| words.get_mut(at)) {
        *word = wait.to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_waits_longer_than_a_moment() {
        for (command, shortened) in [
            ("BLPOP a b 0", "BLPOP a b 0.01"),
            ("bzmpop 5 1 a MIN", "bzmpop 0.01 1 a MIN"),
            ("XREAD COUNT 1 BLOCK 0 STREAMS s $", "XREAD COUNT 1 BLOCK 10 STREAMS s $"),
            ("WAIT 1 0", "WAIT 1 10"),
        ] {
            let mut words: Vec<Vec<u8>> =
                command.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            shorten(&mut words);
            assert_eq!(words.join(&b' '), shortened.as_bytes());
        }
    }
}
