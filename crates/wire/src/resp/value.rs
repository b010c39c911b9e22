//! RESP replies as values, for requests outside the load: `INFO`, `CONFIG GET`, topology. Not for the hot
//! path, which only frames ([`super::RespDecoder`]).

use memchr::memchr;

use super::NAME;
use super::line::length;
use crate::ProtocolError;

/// A whole reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A status.
    Simple(Vec<u8>),
    /// An error's text.
    Error(Vec<u8>),
    /// A number.
    Integer(i64),
    /// A string.
    Bulk(Vec<u8>),
    /// A null, in any of its three spellings.
    Null,
    /// A list.
    Array(Vec<Value>),
    /// Pairs, in the server's order.
    Map(Vec<(Value, Value)>),
    /// A set, in the server's order.
    Set(Vec<Value>),
    /// A floating-point number.
    Double(f64),
    /// A truth value.
    Boolean(bool),
    /// An integer of any size, in decimal.
    BigNumber(Vec<u8>),
    /// A string, after its three-letter format.
    Verbatim(Vec<u8>),
    /// A message that answers no request.
    Push(Vec<Value>),
}

/// Deepest nesting read; servers stay below ten.
const DEPTH_MAX: u32 = 64;

impl Value {
    /// Parses one reply at the start of `input` into a value and its length in bytes; `None` if more bytes
    /// are needed.
    ///
    /// # Errors
    /// Returns an error if the bytes are not RESP, or nested more deeply than any server nests.
    pub fn parse(input: &[u8]) -> Result<Option<(Self, usize)>, ProtocolError> {
        let mut at = 0;
        Ok(parse(input, &mut at, DEPTH_MAX)?.map(|value| (value, at)))
    }

    /// The text of a status, string, number or error.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Simple(b)
            | Self::Error(b)
            | Self::Bulk(b)
            | Self::BigNumber(b)
            | Self::Verbatim(b) => Some(String::from_utf8_lossy(b).into_owned()),
            Self::Integer(n) => Some(n.to_string()),
            Self::Double(d) => Some(d.to_string()),
            _ => None,
        }
    }

    /// The members of a list or a set.
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) | Self::Set(items) => Some(items),
            _ => None,
        }
    }

    /// The pairs of a map, which RESP2 sends as a flat list.
    pub fn pairs(&self) -> Option<Vec<(&Self, &Self)>> {
        match self {
            Self::Map(pairs) => Some(pairs.iter().map(|(key, value)| (key, value)).collect()),
            Self::Array(flat) => Some(flat.chunks_exact(2).map(|two| (&two[0], &two[1])).collect()),
            _ => None,
        }
    }
}

type ParseResult<T> = Result<Option<T>, ProtocolError>;

fn fault(why: &'static str, bytes: &[u8]) -> ProtocolError {
    ProtocolError::new(NAME, why, bytes)
}

fn parse(input: &[u8], at: &mut usize, depth: u32) -> ParseResult<Value> {
    let rest = &input[*at..];
    if depth == 0 {
        return Err(fault("a reply nested too deeply", rest));
    }
    let Some(newline) = memchr(b'\n', rest) else {
        let unknown = rest.first().is_some_and(|b| !b"+-:$*_,#!=(~%>|".contains(b));
        return if unknown { Err(fault("no reply type begins like this", rest)) } else { Ok(None) };
    };
    let Some(line) = rest[..newline].strip_suffix(b"\r") else {
        return Err(fault("a line that does not end in CR LF", rest));
    };
    let Some((&kind, body)) = line.split_first() else {
        return Err(fault("an empty line", rest));
    };
    *at += newline + 1;
    let bytes = || body.to_vec();
    let number = || -> Result<i64, ProtocolError> {
        let text = std::str::from_utf8(body).ok();
        text.and_then(|t| t.parse().ok()).ok_or_else(|| fault("a number is missing", rest))
    };
    Ok(Some(match kind {
        b'+' => Value::Simple(bytes()),
        b'-' => Value::Error(bytes()),
        b':' => Value::Integer(number()?),
        b'_' => Value::Null,
        b'#' => Value::Boolean(body == b"t"),
        b'(' => Value::BigNumber(bytes()),
        b',' => {
            let text = std::str::from_utf8(body).unwrap_or_default();
            Value::Double(text.parse().map_err(|_| fault("a number is missing", rest))?)
        }
        b'$' | b'!' | b'=' => {
            let Some(len) = length(body, line)? else { return Ok(Some(Value::Null)) };
            let Some(body) = bulk(input, at, len as usize)? else {
                return Ok(None);
            };
            match kind {
                b'!' => Value::Error(body),
                b'=' => Value::Verbatim(body.get(4..).unwrap_or_default().to_vec()),
                _ => Value::Bulk(body),
            }
        }
        b'*' | b'~' | b'>' | b'%' | b'|' => {
            let Some(count) = length(body, line)? else { return Ok(Some(Value::Null)) };
            return collection(input, at, kind, count, depth - 1);
        }
        _ => return Err(fault("no reply type begins like this", rest)),
    }))
}

fn bulk(input: &[u8], at: &mut usize, len: usize) -> ParseResult<Vec<u8>> {
    let rest = &input[*at..];
    let Some(end) = len.checked_add(2).filter(|end| *end <= rest.len()) else {
        return Ok(None);
    };
    if &rest[len..end] != b"\r\n" {
        return Err(fault("a string longer than its announced length", rest));
    }
    *at += end;
    Ok(Some(rest[..len].to_vec()))
}

fn collection(
    input: &[u8],
    at: &mut usize,
    kind: u8,
    count: u64,
    depth: u32,
) -> ParseResult<Value> {
    if matches!(kind, b'%' | b'|') {
        let mut pairs = Vec::new();
        for _ in 0..count {
            let Some(key) = parse(input, at, depth)? else {
                return Ok(None);
            };
            let Some(value) = parse(input, at, depth)? else {
                return Ok(None);
            };
            pairs.push((key, value));
        }
        // An attribute says something about the reply after it, and that is what was asked for.
        return if kind == b'|' { parse(input, at, depth) } else { Ok(Some(Value::Map(pairs))) };
    }
    let mut items = Vec::new();
    for _ in 0..count {
        let Some(item) = parse(input, at, depth)? else {
            return Ok(None);
        };
        items.push(item);
    }
    Ok(Some(match kind {
        b'~' => Value::Set(items),
        b'>' => Value::Push(items),
        _ => Value::Array(items),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_whole_or_not_at_all() {
        let input = b"*3\r\n$1\r\na\r\n%1\r\n+k\r\n:-4\r\n_\r\n+rest";
        let (value, len) = Value::parse(input).unwrap().unwrap();
        let map = Value::Map(vec![(Value::Simple(b"k".to_vec()), Value::Integer(-4))]);
        assert_eq!(value, Value::Array(vec![Value::Bulk(b"a".to_vec()), map, Value::Null]));
        assert_eq!(len, input.len() - 5);
        for end in 0..len {
            assert_eq!(Value::parse(&input[..end]).unwrap(), None, "cut at {end}");
        }
    }

    #[test]
    fn what_is_not_resp_is_an_error() {
        assert!(Value::parse(b"HTTP/1.1 200\r\n").is_err());
        assert!(Value::parse(b"$1\r\nabc\r\n").is_err());
        assert!(Value::parse(b"+a line\n in a line\r\n").is_err(), "found by fuzzing");
        assert!(Value::parse(&b"*1\r\n".repeat(100)).is_err());
    }

    #[test]
    fn nulls_and_attributes() {
        for null in [&b"$-1\r\n"[..], b"*-1\r\n", b"_\r\n"] {
            assert_eq!(Value::parse(null).unwrap().unwrap().0, Value::Null);
        }
        assert_eq!(
            Value::parse(b"|1\r\n+a\r\n:1\r\n:2\r\n").unwrap().unwrap().0,
            Value::Integer(2)
        );
        assert_eq!(Value::parse(b"=5\r\ntxt:a\r\n").unwrap().unwrap().0.text().unwrap(), "a");
    }
}
