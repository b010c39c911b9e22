//! Positions of keys in the commands of a plan: from the table of known commands, and from the server for
//! others.

use wire::cluster::{KeyPlace, Routing, known};
use wire::resp::Value;
use workload::{Arg, CommandSpec, Piece, Plan, argument, derived::Source, values::Lcg};

use super::refused;
use crate::{Address, CommandInfo, Login, ProbeError, log_in};

/// Finds the routing of each command of a plan's sequence; no position is [`KeyPlace::Movable`] afterwards.
///
/// # Errors
/// Returns an error if the server does not answer, or refuses to locate the keys of a command.
pub fn routings(
    plan: &Plan,
    address: &Address,
    login: Login<'_>,
) -> Result<Vec<Routing>, ProbeError> {
    let mut asking = KeyQueries { plan, address, login, client: None };
    let mut routing = |(at, command)| {
        let known = asking.routing(command)?;
        Ok(Routing { read_only: known.read_only || plan.read_only.contains(&at), ..known })
    };
    (0..).zip(&plan.sequence).map(&mut routing).collect()
}

struct KeyQueries<'a, C> {
    plan: &'a Plan,
    address: &'a Address,
    login: Login<'a>,
    /// Connection, opened for the first question.
    client: Option<C>,
}

type Client = crate::Client<crate::Transport>;

impl KeyQueries<'_, Client> {
    fn ask(&mut self, words: &[&[u8]]) -> Result<Value, ProbeError> {
        let client = match &mut self.client {
            Some(client) => client,
            None => self.client.insert(log_in(self.address, self.login)?),
        };
        Ok(client.ask(words)?)
    }

    fn routing(&mut self, command: &CommandSpec) -> Result<Routing, ProbeError> {
        let words: Vec<Vec<u8>> =
            command.args.iter().enumerate().map(|(n, arg)| self.sample(arg, n)).collect();
        let text = |n: usize| words.get(n).map(|word| String::from_utf8_lossy(word).into_owned());
        let name = text(0).unwrap_or_default();
        let mut routing = match known(&name, text(1).as_deref()) {
            Some(routing) => routing,
            None => self.described(&name, text(1))?,
        };
        routing.key = match routing.key {
            // Each request of a source knows its own.
            KeyPlace::Movable if self.plan.has_source() => KeyPlace::Keyless,
            KeyPlace::Movable => self.movable(&name, &words)?,
            // The server says what is missing better than we would.
            KeyPlace::Arg(n) if n >= words.len() => KeyPlace::Keyless,
            place => place,
        };
        Ok(routing)
    }

    /// Asks the server about a command. A command that it does not know has no key.
    fn described(&mut self, name: &str, sub: Option<String>) -> Result<Routing, ProbeError> {
        let keyless = Routing { key: KeyPlace::Keyless, read_only: false };
        let reply = self.ask(&[b"COMMAND", b"INFO", name.as_bytes()])?;
        if let Value::Error(text) = &reply {
            return Err(refused(self.address, "COMMAND INFO", text));
        }
        let Value::Array(found) = &reply else { return Ok(keyless) };
        let info = found.first().and_then(|entry| CommandInfo::new(entry, name, sub.as_deref()));
        let Some(info) = info else { return Ok(keyless) };
        let key = match info.first_key() {
            Some(first @ 1..) => KeyPlace::Arg(first),
            _ if info.has("movablekeys") => KeyPlace::Movable,
            _ => KeyPlace::Keyless,
        };
        Ok(Routing { key, read_only: info.has("readonly") })
    }

    /// The first key of a command whose arguments give its position.
    fn movable(&mut self, name: &str, words: &[Vec<u8>]) -> Result<KeyPlace, ProbeError> {
        let mut question: Vec<&[u8]> = vec![b"COMMAND", b"GETKEYS"];
        question.extend(words.iter().map(Vec::as_slice));
        let keys = match self.ask(&question)? {
            Value::Array(keys) => keys,
            Value::Error(text) if text.starts_with(b"NOPERM") => {
                let question = format!("COMMAND GETKEYS {name}");
                return Err(refused(self.address, &question, &text));
            }
            // It has no key, or is not what the server takes, which the run will show.
            _ => return Ok(KeyPlace::Keyless),
        };
        // Equal arguments are equal for every request, or their samples would differ.
        let first = keys.first().and_then(|key| match key {
            Value::Bulk(key) => words.iter().skip(1).position(|word| word == key),
            _ => None,
        });
        Ok(first.map_or(KeyPlace::Keyless, |n| KeyPlace::Arg(n + 1)))
    }

    /// An argument with sample numbers, derived from its position, so that two arguments with numbers differ.
    fn sample(&self, arg: &Arg, place: usize) -> Vec<u8> {
        let digits = self.plan.data.keys.range.map(|_| self.plan.data.keys.digits());
        let mut out = Vec::new();
        for piece in &arg.pieces {
            match (piece, digits) {
                (Piece::Bytes(bytes), _) => out.extend_from_slice(bytes),
                (Piece::Secret(bytes), _) => out.extend_from_slice(bytes.reveal()),
                (Piece::Fill { len, skip }, _) => Lcg::at(*skip).fill(*len as usize, &mut out),
                (Piece::Value, _) => out.extend_from_slice(b"__data__"),
                (Piece::Reply { .. }, _) => out.extend_from_slice(b"__reply__"),
                (Piece::Message | Piece::MessageNumber, _) => out.extend_from_slice(b"__message__"),
                (Piece::Cas, _) => out.extend_from_slice(b"__cas__"),
                (Piece::Lifetime(lifetime), _) => {
                    out.extend_from_slice(lifetime.least_s.to_string().as_bytes());
                }
                (Piece::Derived(derived), _) => {
                    let source = Source { key: place as u64, seed: 0, request: 0 };
                    derived.append(source, &mut out);
                }
                (Piece::Tag, _) => out.extend_from_slice(argument::TAG_PLACEHOLDER),
                (Piece::Field(column), _) => {
                    let cell = self.plan.data.dataset.as_ref().map(|d| d.cell(0, *column));
                    out.extend_from_slice(cell.unwrap_or_default());
                }
                (Piece::Number(slot), None) => {
                    out.extend_from_slice(argument::placeholder(*slot).as_bytes());
                }
                (Piece::Number(_), Some(digits)) => {
                    out.extend_from_slice(format!("{place:0digits$}").as_bytes());
                }
            }
        }
        out
    }
}
