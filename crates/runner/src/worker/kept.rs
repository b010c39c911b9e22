//! Values that replies brought and later steps of their operations have in them.
//!
//! Owns the buffers: one for the reply that is coming in on each connection, and one for each
//! operation under way that has kept a value. They are exchanged, so that nothing is allocated once
//! there are as many as are needed.

use wire::{Look, Replied};

use crate::request::Progress;

/// Longest value that is kept, in bytes.
const KEPT_MAX: usize = 64 << 20;

/// The first string of the reply that is coming in on a connection, and the token of its item.
#[derive(Debug, Default)]
pub(crate) struct Coming {
    /// Strings that have begun.
    strings: usize,
    is_null: bool,
    bytes: Vec<u8>,
    cas: Option<u64>,
}

impl Look for Coming {
    fn begin(&mut self, len: Option<u64>) {
        self.strings += 1;
        if self.strings == 1 {
            self.is_null = len.is_none();
            self.bytes.clear();
        }
    }

    fn bytes(&mut self, part: &[u8]) {
        if self.strings == 1 {
            let room = KEPT_MAX - self.bytes.len();
            self.bytes.extend_from_slice(&part[..part.len().min(room)]);
        }
    }

    fn cas(&mut self, cas: u64) {
        if self.strings <= 1 {
            self.cas = Some(cas);
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// For each command of the sequence, whether the value of its reply is kept; empty if none is.
    commands: Vec<bool>,
    held: Vec<Held>,
    free: Vec<u32>,
}

/// What one operation has kept.
#[derive(Debug, Default)]
struct Held {
    value: Vec<u8>,
    has_value: bool,
    cas: Option<u64>,
}

impl Kept {
    pub(super) fn of(commands: Vec<bool>) -> Self {
        Self { commands, held: Vec::new(), free: Vec::new() }
    }

    /// Whether anything is ever kept.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        !self.commands.is_empty()
    }

    /// What an operation has kept, if anything.
    #[inline]
    pub(crate) fn of_operation(&self, progress: &Progress) -> Replied<'_> {
        let Some(at) = progress.kept.checked_sub(1) else { return Replied::default() };
        let Held { value, has_value, cas } = &self.held[at as usize];
        Replied { value: has_value.then_some(value), cas: *cas }
    }

    /// The reply to a command has ended: keeps what came for the rest of its operation. A reply without
    /// a string leaves what an earlier one brought.
    pub(super) fn keep(&mut self, command: u32, coming: &mut Coming, progress: &mut Progress) {
        let (strings, cas) = (std::mem::take(&mut coming.strings), coming.cas.take());
        if strings == 0 && cas.is_none() || !self.commands[command as usize] {
            return;
        }
        self.release(*progress);
        progress.kept = 0;
        let has_value = strings > 0 && !coming.is_null;
        if !has_value && cas.is_none() {
            return;
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.held.push(Held::default());
            self.held.len() as u32 - 1
        });
        let held = &mut self.held[at as usize];
        (held.has_value, held.cas) = (has_value, cas);
        if has_value {
            std::mem::swap(&mut held.value, &mut coming.bytes);
        }
        progress.kept = at + 1;
    }

    /// What an operation that has come so far has kept is needed no more.
    #[inline]
    pub(crate) fn release(&mut self, progress: Progress) {
        self.free.extend(progress.kept.checked_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_and_a_null_keeps_nothing() {
        let mut kept = Kept::of(vec![true, false]);
        let (mut coming, mut progress) = (Coming::default(), Progress::default());
        for round in 0..3 {
            for (strings, expected) in
                [(&[Some("abc"), Some("x")][..], Some("abc")), (&[], Some("abc")), (&[None], None)]
            {
                for string in strings {
                    coming.begin(string.map(|s| s.len() as u64));
                    string.iter().for_each(|s| coming.bytes(s.as_bytes()));
                }
                kept.keep(0, &mut coming, &mut progress);
                assert_eq!(
                    kept.of_operation(&progress).value,
                    expected.map(str::as_bytes),
                    "{round}"
                );
            }
        }
        coming.begin(Some(1));
        kept.keep(1, &mut coming, &mut progress);
        let none = kept.of_operation(&progress).value;
        assert_eq!((none, kept.held.len(), kept.free.len()), (None, 1, 1));
    }

    #[test]
    fn the_token_of_an_item_is_kept_with_its_value_or_alone() {
        let mut kept = Kept::of(vec![true]);
        let (mut coming, mut progress) = (Coming::default(), Progress::default());
        coming.begin(Some(1));
        coming.cas(7);
        coming.bytes(b"v");
        kept.keep(0, &mut coming, &mut progress);
        let Replied { value, cas } = kept.of_operation(&progress);
        assert_eq!((value, cas), (Some(&b"v"[..]), Some(7)));
        coming.cas(8);
        kept.keep(0, &mut coming, &mut progress);
        let Replied { value, cas } = kept.of_operation(&progress);
        assert_eq!((value, cas, kept.held.len()), (None, Some(8), 1));
        coming.begin(None);
        kept.keep(0, &mut coming, &mut progress);
        assert_eq!(kept.of_operation(&progress).cas, None, "a miss has no token");
    }
}
