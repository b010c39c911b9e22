//! `--failed-keys-file`: a line for each request that failed for good, while a run goes on.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::time::SystemTime;

use runner::{FailedRequest, FailedRequests};

/// The file, as long as it can be written.
pub(super) struct FailedKeys {
    path: String,
    file: Option<File>,
    /// Set if lines are `SET`, `GET` and `WAIT`, and not of commands of the user's own.
    built_in: bool,
    left_out: u64,
}

const HEADER: &str = "timestamp,command,key,status,retries\n";

impl FailedKeys {
    /// Opens a file for appending.
    ///
    /// # Errors
    /// Returns the line to print if it cannot be opened.
    pub(super) fn open(path: &str, built_in: bool) -> (Self, Option<String>) {
        let mut keys = Self { path: path.to_owned(), file: None, built_in, left_out: 0 };
        let opened = OpenOptions::new().append(true).create(true).open(path);
        let note = match opened.and_then(|file| Ok((file.metadata()?.len(), file))) {
            Ok((len, file)) => {
                keys.file = Some(file);
                (len == 0).then(|| keys.write(HEADER)).flatten()
            }
            Err(error) => Some(keys.given_up("could not be opened", &error)),
        };
        (keys, note)
    }

    /// Adds a line for each. Returns the message to print if that fails.
    pub(super) fn add(&mut self, failed: &FailedRequests) -> Option<String> {
        self.left_out += failed.left_out;
        let lines: String = failed.list.iter().map(|failed| self.line(failed)).collect();
        self.write(&lines)
    }

    /// The message about keys that no line was written for.
    pub(super) fn end(&self) -> Option<String> {
        let (path, left_out) = (report::escape(&self.path), self.left_out);
        (left_out > 0).then(|| {
            format!("warning: failed-keys-file '{path}': {left_out} more requests failed than it lists\n")
        })
    }

    fn write(&mut self, text: &str) -> Option<String> {
        let error = self.file.as_mut()?.write_all(text.as_bytes()).err()?;
        self.file = None;
        Some(self.given_up("write failed", &error))
    }

    fn given_up(&self, what: &str, error: &std::io::Error) -> String {
        let path = report::escape(&self.path);
        format!("warning: failed-keys-file '{path}' {what} ({error}); logging disabled.\n")
    }

    fn line(&self, failed: &FailedRequest) -> String {
        let FailedRequest { at, command, key, why, retries } = failed;
        let command = if self.built_in { command.to_uppercase() } else { "ARBITRARY".to_owned() };
        let at = humantime::format_rfc3339_micros((*at).max(SystemTime::UNIX_EPOCH));
        format!("{at},{command},{},{},{retries}\n", quoted(key), quoted(why.as_bytes()))
    }
}

/// Writes bytes in quotes, with quotes doubled and unprintable bytes as `\xHH`.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' => text.push_str("\"\""),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_csv_whatever_the_key() {
        let failed = FailedRequest {
            at: SystemTime::UNIX_EPOCH + std::time::Duration::from_micros(1_500_000),
            command: "get".into(),
            key: b"a\"b,\n\xff".into(),
            why: "ERR no".into(),
            retries: 2,
        };
        let keys = FailedKeys { path: "f".into(), file: None, built_in: true, left_out: 3 };
        assert_eq!(
            keys.line(&failed),
            "1970-01-01T00:00:01.500000Z,GET,\"a\"\"b,\\x0a\\xff\",\"ERR no\",2\n"
        );
        let others = FailedKeys { built_in: false, left_out: 0, ..keys };
        assert!(others.line(&failed).contains("Z,ARBITRARY,"));
        assert_eq!(others.end(), None);
    }

    #[test]
    fn a_file_that_cannot_be_had_is_reported_and_no_more() {
        let (mut keys, note) = FailedKeys::open("/none/keys.csv", true);
        assert!(note.unwrap().contains("'/none/keys.csv' could not be opened"));
        assert_eq!(keys.add(&FailedRequests { list: Vec::new(), left_out: 1 }), None);
        assert!(keys.end().unwrap().contains("1 more"));
    }
}
