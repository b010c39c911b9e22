//! The server's view of its clients: which are connected, and how much data waits for each.

use engine::{Address, ConnectOptions};
use wire::ReplyVisitor;
use wire::resp::encode_command;

use super::connection::{Connection, State};
use crate::Fatal;

/// A connection that asks for CLIENT LIST.
pub(super) struct Watch {
    pub(super) connection: Connection,
    text: Text,
    /// Set while an answer is outstanding.
    is_asked: bool,
    /// Set if the server does not support the request.
    is_refused: bool,
}

/// The last string of a reply.
#[derive(Debug, Default)]
struct Text(Vec<u8>);

impl ReplyVisitor for Text {
    fn line(&mut self, _text: &[u8]) {}

    fn begin(&mut self, _len: Option<u64>) {
        self.0.clear();
    }

    fn bytes(&mut self, part: &[u8]) {
        self.0.extend_from_slice(part);
    }
}

/// A connected client: its number, and the bytes that wait for it at the server.
pub(super) type ClientBacklog = (u64, u64);

impl Watch {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, text: Text::default(), is_asked: false, is_refused: false }
    }

    pub(super) fn open(&mut self, address: &Address, options: &ConnectOptions) {
        self.is_asked = false;
        self.connection.open(address, options);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.connection.state == State::Closed
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.connection.now_ns()
    }

    /// Requests the state of these clients, unless an answer is outstanding, and waits for it until
    /// `until_ns`. Returns the clients that the server names; `None` if it did not answer.
    pub(super) fn look(&mut self, ids: &[u64], until_ns: u64) -> Option<Vec<ClientBacklog>> {
        if !self.is_asked
            && !self.is_refused
            && !ids.is_empty()
            && self.connection.state == State::Open
        {
            let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
            let words = ["CLIENT", "LIST", "ID"].into_iter().chain(ids.iter().map(String::as_str));
            let mut out = Vec::new();
            encode_command(&words.map(str::as_bytes).collect::<Vec<_>>(), &mut out);
            self.connection.send(&out);
            self.is_asked = true;
        }
        let mut answered = false;
        let read = self.connection.read(until_ns, &mut self.text, |_, _| {
            answered = true;
            Ok::<_, Fatal>(())
        });
        if read.is_err() {
            (self.is_refused, self.is_asked) = (true, false);
            return None;
        }
        (answered && std::mem::take(&mut self.is_asked))
            .then(|| listed(&String::from_utf8_lossy(&self.text.0)))
    }
}

/// Parses the clients in a reply to CLIENT LIST.
fn listed(text: &str) -> Vec<ClientBacklog> {
    // In RESP3 the kind of text stands before it.
    let text = text.strip_prefix("txt:").unwrap_or(text);
    let number = |line: &str, name: &str| {
        let words = line.split_ascii_whitespace();
        let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        values.next()?.parse::<u64>().ok()
    };
    let client = |line: &str| Some((number(line, "id")?, number(line, "omem").unwrap_or(0)));
    text.lines().filter_map(client).collect()
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn a_client_has_its_number_and_what_waits_for_it() {
        let text = "id=3 addr=127.0.0.1:5 qbuf=0 obl=0 oll=2 omem=20504 tot-mem=22298\n\
                    id=17 addr=x name=omem=1 omem=0\n";
        assert_eq!(listed(text), [(3, 20_504), (17, 0)]);
        assert_eq!(listed(&format!("txt:{text}")), listed(text));
        assert_eq!(listed(""), []);
    }
}
