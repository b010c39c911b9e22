//! Values that replies brought and later steps of their operations have in them.
//!
//! Owns the buffers: one for the reply that is coming in on each connection, and one for each
//! operation under way that has kept a value. They are exchanged, so that nothing is allocated once
//! there are as many as are needed.

use wire::Look;

use crate::request::Progress;

/// Longest value that is kept, in bytes.
const KEPT_MAX: usize = 64 << 20;

/// The first string of the reply that is coming in on a connection.
#[derive(Debug, Default)]
pub(crate) struct Coming {
    /// Strings that have begun.
    strings: usize,
    is_null: bool,
    bytes: Vec<u8>,
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
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// For each command of the sequence, whether the value of its reply is kept; empty if none is.
    commands: Vec<bool>,
    values: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Kept {
    pub(super) fn of(commands: Vec<bool>) -> Self {
        Self { commands, values: Vec::new(), free: Vec::new() }
    }

    /// Whether anything is ever kept.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        !self.commands.is_empty()
    }

    /// The value that an operation has kept, if it has one.
    #[inline]
    pub(crate) fn value(&self, progress: &Progress) -> Option<&[u8]> {
        let at = progress.kept.checked_sub(1)?;
        Some(&self.values[at as usize])
    }

    /// The reply to a command has ended: keeps what came for the rest of its operation. A reply without
    /// a string leaves what an earlier one brought.
    pub(super) fn keep(&mut self, command: u32, coming: &mut Coming, progress: &mut Progress) {
        let strings = std::mem::take(&mut coming.strings);
        if strings == 0 || !self.commands[command as usize] {
            return;
        }
        self.release(*progress);
        progress.kept = 0;
        if coming.is_null {
            return;
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.values.push(Vec::new());
            self.values.len() as u32 - 1
        });
        std::mem::swap(&mut self.values[at as usize], &mut coming.bytes);
        progress.kept = at + 1;
    }

    /// What an operation that has come so far has kept is needed no more, if it has kept anything.
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
                assert_eq!(kept.value(&progress), expected.map(str::as_bytes), "{round}");
            }
        }
        coming.begin(Some(1));
        kept.keep(1, &mut coming, &mut progress);
        assert_eq!((kept.value(&progress), kept.values.len(), kept.free.len()), (None, 1, 1));
    }
}
