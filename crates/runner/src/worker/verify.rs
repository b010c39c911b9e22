//! Values that come back, compared as they pass with what was written.
//!
//! What they must be follows from the number of the request, so nothing that was sent is remembered. A
//! value that is another is an error of its request, of a kind of its own.

use measure::CORRUPT;
use wire::{Batch, Expected, Given, Look};

use super::checked::CheckedReply;
use super::kept::Coming;
use crate::request::Request;

/// Bytes of both sides that are quoted.
const QUOTED: usize = 16;

/// How far the reply that is coming in has been compared.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Strings of it that have begun.
    strings: usize,
    /// What the one at hand must be, and how much of it has come.
    expected: Option<Expected>,
    passed: usize,
    /// The first that was wrong.
    fault: Option<Box<Fault>>,
    /// The same of values that tell whose they are.
    checked: CheckedReply,
}

/// A wrong value.
#[derive(Debug)]
struct Fault {
    expected: Expected,
    /// The place of the first wrong byte.
    at: usize,
    /// What came from there on; how long the value is if it is only that.
    came: Came,
}

#[derive(Debug)]
enum Came {
    Bytes(Vec<u8>),
    Length(u64),
}

/// Compares the strings of the reply to a request, and has those kept that are.
pub(super) struct Checker<'c> {
    pub(super) batch: &'c Batch,
    /// What the request was made from, and the command of the sequence.
    pub(super) given: Given<'c>,
    pub(super) command: u32,
    pub(super) comparison: &'c mut Comparison,
    /// Where nothing is compared, only this is shown.
    pub(super) compares: bool,
    pub(super) coming: Option<&'c mut Coming>,
}

impl Look for Checker<'_> {
    fn begin(&mut self, len: Option<u64>) {
        if let Some(coming) = &mut self.coming {
            coming.begin(len);
        }
        if !self.compares {
            return;
        }
        if self.batch.checks() {
            return self.comparison.checked.begin(self.batch, self.given, self.command, len);
        }
        let Comparison { strings, expected, passed, fault, .. } = self.comparison;
        // A null has no bytes to compare: it is a miss.
        *expected = len.and_then(|_| self.batch.expected(self.given, self.command, *strings));
        *strings += 1;
        *passed = 0;
        if let (Some(expected), Some(len), None) = (*expected, len, &fault)
            && len < expected.len as u64
        {
            let at = len as usize;
            *fault = Some(Box::new(Fault { expected, at, came: Came::Length(len) }));
        }
    }

    fn bytes(&mut self, part: &[u8]) {
        if let Some(coming) = &mut self.coming {
            coming.bytes(part);
        }
        if self.compares && self.batch.checks() {
            return self.comparison.checked.bytes(part);
        }
        let Comparison { expected, passed, fault, .. } = self.comparison;
        let Some(expected) = *expected else { return };
        let from = std::mem::replace(passed, *passed + part.len());
        // A wrong byte tells more than a wrong length.
        if !fault.as_ref().is_none_or(|fault| matches!(fault.came, Came::Length(_))) {
            return;
        }
        if let Some(at) = self.batch.differs_at(expected, from, part) {
            let came = part.iter().skip(at - from).take(QUOTED).copied().collect();
            *fault = Some(Box::new(Fault { expected, at, came: Came::Bytes(came) }));
        }
    }
}

impl Comparison {
    /// The reply has ended. What was wrong with it, in words for a person, if anything was.
    #[inline]
    pub(super) fn ended<M>(&mut self, batch: &Batch, request: &Request<M>) -> Option<String> {
        self.strings = 0;
        self.expected = None;
        if let Some(field) = self.checked.ended() {
            let asked = asked(batch, request);
            return Some(format!(
                "{CORRUPT}: {asked}: the value of {field} is not what was written"
            ));
        }
        let fault = self.fault.take()?;
        Some(fault.told(batch, request))
    }
}

/// What a request asked for, as it would be typed.
fn asked<M>(batch: &Batch, request: &Request<M>) -> String {
    let mut bytes = Vec::new();
    let command = request.command as usize;
    let given = Given { key: request.progress.key, ..request.number.into() };
    batch.append_of(given, command..command + 1, &mut bytes);
    words(&bytes)
}

impl Fault {
    #[cold]
    fn told<M>(&self, batch: &Batch, request: &Request<M>) -> String {
        let Self { expected, at, came } = self;
        let asked = asked(batch, request);
        let quoted = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let len = expected.len;
        let wrong = match came {
            Came::Length(came) => format!("{came} bytes came, and {len} were written"),
            Came::Bytes(came) if *at >= len => {
                format!("more than the {len} bytes that were written came: \"{}\"", quoted(came))
            }
            Came::Bytes(came) => {
                let written = batch.part_of(*expected, *at, came.len());
                format!(
                    "byte {at} of {len} is not what was written: \"{}\" came instead of \"{}\"",
                    quoted(came),
                    quoted(&written)
                )
            }
        };
        format!("{CORRUPT}: {asked}: {wrong}")
    }
}

/// A request as it would be typed.
fn words(request: &[u8]) -> String {
    let Ok(Some((wire::resp::Value::Array(words), _))) = wire::resp::Value::parse(request) else {
        return request.escape_ascii().to_string();
    };
    let text = |word: &wire::resp::Value| match word {
        wire::resp::Value::Bulk(bytes) => bytes.escape_ascii().to_string(),
        _ => String::new(),
    };
    words.iter().map(text).collect::<Vec<_>>().join(" ")
}
