//! Values from replies that later steps of their operations contain.
//!
//! Owns the buffers: one for the incoming reply on each connection, and one for each operation under way with
//! kept values. They are exchanged, so that nothing is allocated once there are enough.

use wire::{EarlierReplies, ReplyVisitor};
use workload::CaptureRule;

use crate::request::OperationState;

/// Maximum number of bytes kept of a reply.
const KEPT_MAX: usize = 64 << 20;
/// Bytes of the length before each string.
const HEAD: usize = 4;

/// Kept strings of the incoming reply on a connection, the first or all, and the token of its item.
#[derive(Debug, Default)]
pub(crate) struct PartialCapture {
    /// Number of strings begun.
    strings: usize,
    /// Set if all strings are kept.
    all: bool,
    is_null: bool,
    /// Set if the kept value is a status or a number rather than a string.
    is_line: bool,
    /// Bytes of the current string still to be kept.
    room: usize,
    /// Kept strings, each with its length before it.
    bytes: Vec<u8>,
    cas: Option<u64>,
}

impl ReplyVisitor for PartialCapture {
    /// Keeps a status or a number, if the reply has no string and is no list.
    fn line(&mut self, text: &[u8]) {
        if self.strings == 0 && !self.all {
            self.begin(Some(text.len() as u64));
            self.bytes(text);
            self.is_line = true;
        }
    }

    fn begin(&mut self, len: Option<u64>) {
        if std::mem::take(&mut self.is_line) {
            self.strings = 0;
        }
        self.strings += 1;
        self.room = 0;
        if self.strings == 1 {
            self.is_null = len.is_none();
            self.bytes.clear();
        }
        if let Some(len) = len.filter(|_| self.strings == 1 || self.all) {
            let left = KEPT_MAX.saturating_sub(self.bytes.len() + HEAD);
            self.room = left.min(usize::try_from(len).unwrap_or(left));
            self.bytes.extend_from_slice(&(self.room as u32).to_le_bytes());
        }
    }

    fn bytes(&mut self, part: &[u8]) {
        let kept = &part[..part.len().min(self.room)];
        self.bytes.extend_from_slice(kept);
        self.room -= kept.len();
    }

    fn cas(&mut self, cas: u64) {
        if self.strings <= 1 {
            self.cas = Some(cas);
        }
    }
}

/// Values captured from replies for later steps of their operations.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// Part of the reply that is kept, for each command of the sequence; empty if none is.
    commands: Vec<CaptureRule>,
    held: Vec<OperationCapture>,
    free: Vec<u32>,
}

/// Values that one operation has kept.
#[derive(Debug, Default)]
struct OperationCapture {
    /// Strings, each with its length before it.
    strings: Vec<u8>,
    cas: Option<u64>,
}

impl Captures {
    pub(super) fn from_commands(commands: Vec<CaptureRule>) -> Self {
        Self { commands, held: Vec::new(), free: Vec::new() }
    }

    /// Returns whether anything is ever kept.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Returns the kept values of an operation; of several strings, the next one.
    #[inline]
    pub(crate) fn of_operation(&self, progress: &OperationState) -> EarlierReplies<'_> {
        let Some(at) = progress.kept.checked_sub(1) else { return EarlierReplies::default() };
        EarlierReplies { value: self.value(progress), cas: self.held[at as usize].cas }
    }

    /// Returns the next kept string of an operation, if there is one.
    #[inline]
    pub(super) fn value(&self, progress: &OperationState) -> Option<&[u8]> {
        let (start, end) = self.span(progress)?;
        self.held[progress.kept as usize - 1].strings.get(start..end)
    }

    /// Returns the offset of the string after the current one, if there is one.
    #[inline]
    pub(super) fn after(&self, progress: &OperationState) -> Option<u32> {
        let (_, end) = self.span(progress)?;
        (end < self.held[progress.kept as usize - 1].strings.len()).then_some(end as u32)
    }

    fn span(&self, progress: &OperationState) -> Option<(usize, usize)> {
        let at = progress.kept.checked_sub(1)?;
        let start = progress.at as usize + HEAD;
        let head = self.held[at as usize].strings.get(progress.at as usize..start)?;
        let len = u32::from_le_bytes(head.try_into().ok()?) as usize;
        Some((start, start + len))
    }

    /// Prepares for a new or continued reply to this command.
    #[inline]
    pub(super) fn expect(&self, command: u32, partial: &mut PartialCapture) {
        partial.all = self.commands[command as usize] == CaptureRule::Each;
    }

    /// Keeps the values of a complete reply for the rest of its operation. A reply without a string leaves
    /// the string, or the note that there is none, of an earlier one.
    pub(super) fn keep(
        &mut self,
        command: u32,
        partial: &mut PartialCapture,
        progress: &mut OperationState,
    ) {
        let (strings, mut cas) = (std::mem::take(&mut partial.strings), partial.cas.take());
        let is_line = std::mem::take(&mut partial.is_line);
        if strings == 0 && cas.is_none() || self.commands[command as usize] == CaptureRule::Nothing
        {
            return;
        }
        if is_line {
            if progress.kept_string {
                return;
            }
            let known = progress.kept.checked_sub(1).and_then(|at| self.held[at as usize].cas);
            cas = cas.or(known);
        }
        progress.kept_string |= strings > 0 && !is_line;
        self.release(*progress);
        (progress.kept, progress.at) = (0, 0);
        let has_value = strings > 0 && !(partial.is_null && partial.bytes.is_empty());
        if !has_value && cas.is_none() {
            return;
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.held.push(OperationCapture::default());
            self.held.len() as u32 - 1
        });
        let held = &mut self.held[at as usize];
        held.cas = cas;
        if has_value {
            std::mem::swap(&mut held.strings, &mut partial.bytes)
        } else {
            held.strings.clear()
        }
        progress.kept = at + 1;
    }

    /// Frees the kept values of an operation in this state.
    #[inline]
    pub(crate) fn release(&mut self, progress: OperationState) {
        self.free.extend(progress.kept.checked_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_and_a_null_keeps_nothing() {
        let mut kept = Captures::from_commands(vec![CaptureRule::First, CaptureRule::Nothing]);
        let (mut partial, mut progress) = (PartialCapture::default(), OperationState::default());
        for round in 0..3 {
            for (strings, expected) in
                [(&[Some("abc"), Some("x")][..], Some("abc")), (&[], Some("abc")), (&[None], None)]
            {
                for string in strings {
                    partial.begin(string.map(|s| s.len() as u64));
                    string.iter().for_each(|s| partial.bytes(s.as_bytes()));
                }
                kept.keep(0, &mut partial, &mut progress);
                assert_eq!(kept.value(&progress), expected.map(str::as_bytes), "{round}");
            }
        }
        partial.begin(Some(1));
        kept.keep(1, &mut partial, &mut progress);
        assert_eq!((kept.value(&progress), kept.held.len(), kept.free.len()), (None, 1, 1));
    }

    #[test]
    fn a_status_or_a_number_is_kept_where_no_string_came() {
        let mut kept = Captures::from_commands(vec![CaptureRule::First, CaptureRule::Each]);
        let (mut partial, mut progress) = (PartialCapture::default(), OperationState::default());
        for line in ["7", "OK"] {
            partial.line(line.as_bytes());
            kept.keep(0, &mut partial, &mut progress);
            assert_eq!(kept.value(&progress), Some(line.as_bytes()), "the last one");
        }
        // In a list the first string counts, and a string is what a command was sent for.
        partial.line(b"1");
        partial.begin(Some(2));
        partial.bytes(b"ab");
        partial.line(b"2");
        kept.keep(0, &mut partial, &mut progress);
        assert_eq!(kept.value(&progress), Some(&b"ab"[..]));
        partial.line(b"OK");
        kept.keep(0, &mut partial, &mut progress);
        assert_eq!(kept.value(&progress), Some(&b"ab"[..]));
        // So is that there is none.
        partial.begin(None);
        kept.keep(0, &mut partial, &mut progress);
        partial.line(b"OK");
        kept.keep(0, &mut partial, &mut progress);
        assert_eq!(kept.value(&progress), None);
        let mut progress = OperationState::default();
        kept.expect(1, &mut partial);
        partial.line(b"3");
        kept.keep(1, &mut partial, &mut progress);
        assert_eq!(kept.value(&progress), None, "a list is one of strings");
    }

    #[test]
    fn the_token_of_an_item_is_kept_with_its_value_or_alone() {
        let mut kept = Captures::from_commands(vec![CaptureRule::First]);
        let (mut partial, mut progress) = (PartialCapture::default(), OperationState::default());
        partial.begin(Some(1));
        partial.cas(7);
        partial.bytes(b"v");
        kept.keep(0, &mut partial, &mut progress);
        let EarlierReplies { value, cas } = kept.of_operation(&progress);
        assert_eq!((value, cas), (Some(&b"v"[..]), Some(7)));
        partial.cas(8);
        kept.keep(0, &mut partial, &mut progress);
        let EarlierReplies { value, cas } = kept.of_operation(&progress);
        assert_eq!((value, cas, kept.held.len()), (None, Some(8), 1));
        partial.begin(None);
        kept.keep(0, &mut partial, &mut progress);
        assert_eq!(kept.of_operation(&progress).cas, None, "a miss has no token");
    }

    #[test]
    fn a_list_is_gone_through_string_by_string() {
        let mut kept = Captures::from_commands(vec![CaptureRule::Each]);
        let (mut partial, mut progress) = (PartialCapture::default(), OperationState::default());
        kept.expect(0, &mut partial);
        for string in [&b"first"[..], b"", b"third"] {
            partial.begin(Some(string.len() as u64));
            string.chunks(2).for_each(|part| partial.bytes(part));
        }
        kept.keep(0, &mut partial, &mut progress);
        let mut seen = Vec::new();
        loop {
            seen.push(kept.value(&progress).unwrap().to_vec());
            match kept.after(&progress) {
                Some(at) => progress.at = at,
                None => break,
            }
        }
        assert_eq!(seen, [&b"first"[..], b"", b"third"]);
    }
}
