//! Comparison of returned values, as they pass, with the values written.
//!
//! The number of a request determines its expected value, so nothing that was sent is remembered. A wrong
//! value is an error of its request, of a kind of its own.

use std::time::SystemTime;

use measure::CORRUPT;
use wire::resp::Value;
use wire::{Batch, ExpectedValue, Keys, Protocol, ReplyVisitor, RequestInputs};
use workload::{Plan, ReplicaWait};

use super::captures::PartialCapture;
use super::checked::CheckedReply;
use super::queued::QueuedReplies;
use super::reply_rules::Queue;
use crate::FailedRequest;

/// Bytes quoted from either side.
const QUOTED: usize = 16;
/// Bytes quoted from a key.
const KEY_QUOTED: usize = 64;

/// Verifier of replies, in a plan that verifies.
#[derive(Debug)]
pub(super) struct Verifier {
    /// Keys of commands, in protocols whose replies name their keys.
    keys: Keys,
    /// A buffer for a key.
    key: Vec<u8>,
}

impl Verifier {
    pub(super) fn for_plan<P: Protocol>(plan: &Plan) -> Option<Self> {
        let verifies = P::SHOWS && (plan.data.verify || plan.peer.checks.is_some());
        verifies.then(|| Self { keys: Keys::for_plan::<P>(plan), key: Vec::new() })
    }
}

/// State of the comparison of the incoming reply.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Number of its strings that have begun.
    strings: usize,
    /// Expected value of the current string, and the bytes of it so far.
    expected: Option<ExpectedValue>,
    passed: usize,
    /// The first fault.
    fault: Option<Box<Fault>>,
    /// State for values that name their key.
    checked: CheckedReply,
    /// State of the replies in it, if it answers for commands queued by a transaction.
    pub(super) queued: QueuedReplies,
}

/// Fault of a reply.
#[derive(Debug)]
struct Fault {
    /// The command that it answers.
    command: u32,
    wrong: Mismatch,
}

#[derive(Debug)]
enum Mismatch {
    /// Other bytes, from this offset of the value on.
    Bytes(ExpectedValue, usize, Vec<u8>),
    /// Another length of the value.
    Length(ExpectedValue, u64),
    /// A value of a key that was not requested, or not again.
    Key(Vec<u8>),
    /// Number of replies, and a different number of queued commands.
    Replies(u32, u32),
}

/// Compares the strings of the reply to a request, and keeps those that are needed later.
pub(super) struct Checker<'c> {
    pub(super) batch: &'c Batch,
    /// Inputs that the request was made from, and its command of the sequence.
    pub(super) given: RequestInputs<'c>,
    pub(super) command: u32,
    pub(super) comparison: &'c mut Comparison,
    /// Verifier; without one, strings are only kept.
    pub(super) verifier: Option<&'c mut Verifier>,
    /// The queued commands that this one answers for, if they are inspected.
    pub(super) queue: Option<Queue<'c>>,
    pub(super) partial: Option<&'c mut PartialCapture>,
    /// Numbers that a reply which counts replicas must reach.
    pub(super) replicas: Option<ReplicaWait>,
    /// Presence of each string, and success of each such number, if noted.
    pub(super) found: Option<&'c mut Vec<bool>>,
}

impl ReplyVisitor for Checker<'_> {
    fn marked(&mut self, command: u32) {
        self.command = command;
    }

    /// Takes a key of the reply. Missing keys are left out, and the others come in the order of the request.
    fn key(&mut self, key: &[u8]) {
        let Some(Verifier { keys, key: asked }) = &mut self.verifier else { return };
        let command = self.command as usize;
        let count = keys.count(command);
        while self.comparison.strings < count {
            asked.clear();
            let at = self.comparison.strings;
            self.batch.append_key(keys, command, at, self.given, asked);
            if asked == key {
                return;
            }
            self.comparison.strings += 1;
        }
        let kept = key[..key.len().min(KEY_QUOTED)].to_vec();
        self.comparison.fault(self.command, || Mismatch::Key(kept));
    }

    fn element(&mut self, header: &[u8]) {
        let Some(queue) = self.queue else { return };
        self.comparison.queued.begin(queue, header);
        self.comparison.strings = 0;
    }

    fn line(&mut self, text: &[u8]) {
        if let Some(partial) = &mut self.partial {
            partial.line(text);
        }
        if let (Some(wait), Some(found)) = (&self.replicas, &mut self.found)
            && self.command == ReplicaWait::COMMAND
            && let Some(Some(wanted)) = wait.wanted().get(found.len())
        {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u32>().ok());
            found.push(number.is_some_and(|number| number >= *wanted));
        }
    }

    fn cas(&mut self, cas: u64) {
        if let Some(partial) = &mut self.partial {
            partial.cas(cas);
        }
    }

    fn begin(&mut self, len: Option<u64>) {
        if let Some(partial) = &mut self.partial {
            partial.begin(len);
        }
        if let Some(found) = self.found.as_mut().filter(|_| self.replicas.is_none()) {
            found.push(len.is_some());
        }
        if len.is_none() && self.queue.is_some() {
            self.comparison.queued.null();
        }
        if self.verifier.is_none() {
            return;
        }
        let command = self.current_command();
        if self.batch.checks() {
            return self.comparison.checked.begin(self.batch, self.given, command, len);
        }
        let Comparison { strings, expected, passed, .. } = self.comparison;
        // A null has no bytes to compare: it is a miss.
        *expected = len.and_then(|_| self.batch.expected(self.given, command, *strings));
        *strings += 1;
        *passed = 0;
        if let (Some(expected), Some(len)) = (*expected, len)
            && len < expected.len as u64
        {
            self.comparison.fault(command, || Mismatch::Length(expected, len));
        }
    }

    fn bytes(&mut self, part: &[u8]) {
        if let Some(partial) = &mut self.partial {
            partial.bytes(part);
        }
        if self.verifier.is_some() && self.batch.checks() {
            return self.comparison.checked.bytes(part);
        }
        let Comparison { expected, passed, fault, .. } = self.comparison;
        let Some(expected) = *expected else { return };
        let from = std::mem::replace(passed, *passed + part.len());
        // A wrong byte tells more than a wrong length.
        if !fault.as_ref().is_none_or(|fault| matches!(fault.wrong, Mismatch::Length(..))) {
            return;
        }
        if let Some(at) = self.batch.differs_at(expected, from, part) {
            let came = part.iter().skip(at - from).take(QUOTED).copied().collect();
            let (command, wrong) = (self.current_command(), Mismatch::Bytes(expected, at, came));
            self.comparison.fault = Some(Box::new(Fault { command, wrong }));
        }
    }
}

impl Checker<'_> {
    /// Returns the command that the next string answers.
    fn current_command(&self) -> u32 {
        let queued = self.queue.and_then(|queue| self.comparison.queued.command(queue));
        queued.unwrap_or(self.command)
    }
}

impl Comparison {
    #[cold]
    fn fault(&mut self, command: u32, wrong: impl FnOnce() -> Mismatch) {
        self.fault.get_or_insert_with(|| Box::new(Fault { command, wrong: wrong() }));
    }

    /// Compares the number of elements in the reply to an `EXEC` with that of its commands; without elements,
    /// none was seen.
    pub(super) fn answered_queue(&mut self, queue: Queue<'_>, exec: u32, replies: u32) {
        let queued = queue.commands.len() as u32;
        if replies != queued {
            self.fault(exec, || Mismatch::Replies(replies, queued));
        }
    }

    /// Ends the reply to a command. Returns the fault in words for a person, if any; `asked` words the
    /// request of a command.
    #[inline]
    pub(super) fn ended(
        &mut self,
        batch: &Batch,
        command: u32,
        asked: impl FnOnce(u32) -> String,
    ) -> Option<String> {
        self.strings = 0;
        self.expected = None;
        if let Some(field) = self.checked.ended(batch) {
            return Some(format!(
                "{CORRUPT}: {}: the value of {field} is not the one written",
                asked(command)
            ));
        }
        let fault = self.fault.take()?;
        Some(fault.describe(batch, &asked(fault.command)))
    }
}

impl Fault {
    #[cold]
    fn describe(&self, batch: &Batch, asked: &str) -> String {
        let quoted = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let wrong = match &self.wrong {
            Mismatch::Key(key) => {
                format!(
                    "read a value of \"{}\", which was not asked for, or not twice",
                    quoted(key)
                )
            }
            Mismatch::Replies(came, queued) => {
                format!("{came} replies came, but {queued} commands were queued")
            }
            Mismatch::Length(expected, came) => {
                format!("read {came} bytes, but {} were written", expected.len)
            }
            Mismatch::Bytes(ExpectedValue { len, .. }, at, came) if at >= len => {
                format!("read more than the {len} bytes that were written: \"{}\"", quoted(came))
            }
            Mismatch::Bytes(expected, at, came) => {
                let len = expected.len;
                let written = batch.part_of(*expected, *at, came.len());
                format!(
                    "byte {at} of {len} is wrong: read \"{}\" instead of \"{}\"",
                    quoted(came),
                    quoted(&written)
                )
            }
        };
        format!("{CORRUPT}: {asked}: {wrong}")
    }
}

/// A request as a person would type it.
#[cold]
pub(super) fn asked<P: Protocol>(
    plan: &Plan,
    batch: &Batch,
    request: RequestInputs<'_>,
    command: u32,
) -> String {
    let at = command as usize;
    let keys = Keys::for_plan::<P>(plan);
    let mut bytes = Vec::new();
    if keys.count(at) == 0 {
        batch.append_of(request, at..at + 1, &mut bytes);
        return words(&bytes);
    }
    bytes.extend_from_slice(plan.sequence[at].name().to_lowercase().as_bytes());
    for key in 0..keys.count(at) {
        bytes.push(b' ');
        batch.append_key(&keys, at, key, request, &mut bytes);
    }
    bytes.escape_ascii().to_string()
}

/// A request that failed for good, for observers.
#[cold]
pub(super) fn failed<P: Protocol>(
    plan: &Plan,
    batch: &Batch,
    request: RequestInputs<'_>,
    command: u32,
    why: &str,
    retries: u32,
) -> FailedRequest {
    let at = command as usize;
    let keys = Keys::for_plan::<P>(plan);
    let mut key = Vec::new();
    if keys.count(at) > 0 {
        batch.append_key(&keys, at, 0, request, &mut key);
    } else {
        let mut bytes = Vec::new();
        batch.append_of(request, at..at + 1, &mut bytes);
        if let Ok(Some((Value::Array(words), _))) = Value::parse(&bytes)
            && let Some(Value::Bulk(word)) = words.get(1)
        {
            key.extend_from_slice(word);
        }
    }
    let command = plan.sequence[at].name();
    FailedRequest { at: SystemTime::now(), command, key, why: why.to_owned(), retries }
}

/// A RESP request as a person would type it.
fn words(request: &[u8]) -> String {
    let Ok(Some((Value::Array(words), _))) = Value::parse(request) else {
        return request.escape_ascii().to_string();
    };
    let texts = words.iter().map(|word| match word {
        Value::Bulk(bytes) => bytes.escape_ascii().to_string(),
        _ => String::new(),
    });
    texts.collect::<Vec<_>>().join(" ")
}
