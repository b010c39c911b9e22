//! Replies of one read that share every stamp, put together into one sample each.

use measure::Sample;

/// Groups that are kept at a time: a mix has few commands, each of which hits or misses.
const GROUPS_MAX: usize = 8;

/// The groups of the current read.
#[derive(Debug)]
pub(super) struct ReplyGroups {
    samples: Vec<Sample>,
    /// The group that the last reply belongs to.
    newest: usize,
}

impl ReplyGroups {
    pub(super) fn new() -> Self {
        Self { samples: Vec::with_capacity(GROUPS_MAX), newest: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Returns whether a new group would be one too many.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.samples.len() == GROUPS_MAX
    }

    /// The group that `reply` belongs to: the replies to one send that came with one read share every stamp.
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

    /// The group at this place; `None` behind the last.
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
