//! Replies to `stats`, parsed whole, for requests before and after load.

use super::binary::Header;
use super::fault::{BINARY, TEXT, fault, stranger};
use crate::ProtocolError;

/// Names and values, in the server's order.
pub type Stats = Vec<(String, String)>;

/// Reply to `stats`: the statistics, or the text of an error.
pub type StatsReply = Result<Stats, String>;

/// Statistics at the start of `input`, or the error in their place, and their length; `None` if more is to
/// come.
///
/// # Errors
/// Returns an error if the bytes are not of the text protocol.
pub fn parse_text(input: &[u8]) -> Result<Option<(StatsReply, usize)>, ProtocolError> {
    let mut stats = Stats::new();
    let mut at = 0;
    while let Some(end) = memchr::memchr(b'\n', &input[at..]) {
        let line = &input[at..at + end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        at += end + 1;
        let text = String::from_utf8_lossy(line);
        if let Some(stat) = text.strip_prefix("STAT ") {
            let (name, value) = stat.split_once(' ').unwrap_or((stat, ""));
            stats.push((name.to_owned(), value.to_owned()));
        } else if matches!(&text[..], "END" | "RESET" | "OK") {
            return Ok(Some((Ok(stats), at)));
        } else if ["ERROR", "CLIENT_ERROR", "SERVER_ERROR"].iter().any(|e| text.starts_with(e)) {
            return Ok(Some((Err(text.into_owned()), at)));
        } else {
            return Err(stranger(TEXT, line));
        }
    }
    match input.first() {
        None | Some(b'A'..=b'Z') => Ok(None),
        Some(_) => Err(stranger(TEXT, input)),
    }
}

/// Parses the replies to `stats` in the binary protocol, up to the empty one that ends them, and returns
/// their length; `None` while some are missing.
///
/// # Errors
/// Returns an error if the bytes are not of the binary protocol.
pub fn parse_binary(input: &[u8]) -> Result<Option<(StatsReply, usize)>, ProtocolError> {
    let mut stats = Stats::new();
    let mut at = 0;
    if input.first().is_some_and(|first| *first != 0x81) {
        return Err(stranger(BINARY, input));
    }
    while let Some(header) = input[at..].first_chunk() {
        let Some(Header { key, extras, status, body, .. }) = Header::read(header) else {
            return Err(fault(BINARY, "no header of a reply", &input[at..]));
        };
        let from = at + header.len() + usize::from(extras);
        let (value, end) = (from + usize::from(key), at + header.len() + body as usize);
        let text =
            |range| input.get(range).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let (Some(name), Some(value)) = (text(from..value), text(value..end)) else {
            return Ok(None);
        };
        at = end;
        if status != 0 {
            return Ok(Some((Err(value), at)));
        }
        if name.is_empty() {
            return Ok(Some((Ok(stats), at)));
        }
        stats.push((name, value));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn statistics_are_read_once_they_are_whole() {
        let text = b"STAT pid 12\r\nSTAT evictions on\r\nEND\r\nMN\r\n";
        let stats = vec![pair("pid", "12"), pair("evictions", "on")];
        assert_eq!(parse_text(text), Ok(Some((Ok(stats), text.len() - 4))));
        for cut in 0..text.len() - 4 {
            assert_eq!(parse_text(&text[..cut]), Ok(None), "{cut}");
        }
        let refused = Err("CLIENT_ERROR unauthenticated".to_owned());
        assert_eq!(parse_text(b"CLIENT_ERROR unauthenticated\r\n"), Ok(Some((refused, 30))));
        let error = parse_text(b"-ERR unknown command 'stats'\r\n").unwrap_err().to_string();
        assert!(error.contains("this server speaks RESP"), "{error}");
    }

    #[test]
    fn binary_statistics_end_with_an_empty_one() {
        let mut bytes = vec![0x81, 0x10, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5];
        bytes.extend([0; 12]);
        bytes.extend(b"pid12");
        assert_eq!(parse_binary(&bytes), Ok(None));
        bytes.extend([0x81, 0x10]);
        bytes.extend([0; 22]);
        let len = bytes.len();
        assert_eq!(parse_binary(&bytes), Ok(Some((Ok(vec![pair("pid", "12")]), len))));
        assert_eq!(parse_binary(&bytes[..len - 1]), Ok(None));
    }
}
