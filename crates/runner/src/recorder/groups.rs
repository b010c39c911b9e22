//! Groups of replies from one read with equal time stamps, each recorded as one sample.

use measure::Sample;

/// Maximum number of groups at a time: a mix has few commands, each of which hits or misses.
const GROUPS_MAX: usize = 8;

/// The groups of the current read.
#[derive(Debug)]
pub(super) struct ReplyGroups {
    samples: Vec<Sample>,
    /// Index of the last reply's group.
    newest: usize,
}

impl ReplyGroups {
    pub(super) fn new() -> Self {
        Self { samples: Vec::with_capacity(GROUPS_MAX), newest: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Returns whether there is no room for another group.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.samples.len() == GROUPS_MAX
    }

    /// Returns the group of `reply`: replies to one send that came with one read share every stamp.
    #[inline]
    pub(super) fn find(&mut self, reply: &Sample) -> Option<&mut Sample> {
        let is_alike = |group: &Sample| {
            group.command == reply.command
                && group.outcome == reply.outcome
                && group.sent_ns == reply.sent_ns
                && group.intended_ns == reply.intended_ns
        };
        if !self.samples.get(self.newest).is_some_and(is_alike) {
            self.newest = self.samples.iter().position(is_alike)?;
        }
        self.samples.get_mut(self.newest)
    }

    /// Begins a group.
    #[inline]
    pub(super) fn push(&mut self, reply: Sample) {
        self.newest = self.samples.len();
        self.samples.push(reply);
    }

    /// Returns the group at this index; `None` after the last.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<Sample> {
        self.samples.get(at).copied()
    }

    /// Forgets all groups.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.samples.clear();
    }
}
