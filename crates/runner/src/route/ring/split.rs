//! Requests whose parts go to several servers: a `get` of keys on several servers, or a step with such
//! commands.
//!
//! Owns the state of each until its last part is answered or lost. Buffers are reused, so that nothing is
//! allocated once there are enough.

use measure::Outcome;

use crate::request::{CommandReply, Keys, Request, SettledReply};

/// Number of a split request: its index plus 1; 0 for none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct SplitId(u32);

/// Requests in parts.
#[derive(Debug, Default)]
pub(super) struct SplitRequests {
    all: Vec<SplitRequest>,
    free: Vec<SplitId>,
}

/// Request whose parts go to several servers.
#[derive(Debug)]
pub(super) struct SplitRequest {
    /// The step that this command belongs to, if that has several.
    parent: SplitId,
    /// Parts without a reply.
    left: u32,
    /// Set once any part was handed over.
    begun: bool,
    /// Findings of the replies so far: any miss, any error, and any lost part.
    missed: bool,
    failed: bool,
    lost: bool,
    /// Due time of its parts, and time at which the first was handed over.
    intended_ns: u64,
    sent_ns: u64,
    /// The answers to a command, put together.
    answer: Option<SettledReply>,
    /// The server of each of its keys.
    pub(super) servers: Vec<u16>,
}

/// Effect of the end of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartEnd {
    /// Other parts are still to come.
    Not,
    /// All parts are answered.
    Whole,
    /// All parts have ended, and some are lost.
    Lost,
}

impl Default for SplitRequest {
    fn default() -> Self {
        Self {
            parent: SplitId::NONE,
            left: 0,
            begun: false,
            missed: false,
            failed: false,
            lost: false,
            intended_ns: u64::MAX,
            sent_ns: u64::MAX,
            answer: None,
            servers: Vec::new(),
        }
    }
}

impl SplitId {
    /// No split request.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl SplitRequests {
    /// Adds a split request of `parts` parts, as a command of step `parent` if there is one.
    pub(super) fn begin(&mut self, parent: SplitId, parts: u32) -> SplitId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.all.push(SplitRequest::default());
            SplitId(self.all.len() as u32)
        });
        let split = self.of_mut(id);
        let mut servers = std::mem::take(&mut split.servers);
        servers.clear();
        *split = SplitRequest { parent, left: parts, servers, ..SplitRequest::default() };
        id
    }

    pub(super) fn get(&self, id: SplitId) -> &SplitRequest {
        &self.all[id.0 as usize - 1]
    }

    pub(super) fn of_mut(&mut self, id: SplitId) -> &mut SplitRequest {
        &mut self.all[id.0 as usize - 1]
    }

    /// Returns the outermost split request that `id` is a part of.
    fn root(&self, id: SplitId) -> SplitId {
        let parent = self.get(id).parent;
        if parent.is_none() { id } else { parent }
    }

    /// Returns whether any part of its outermost request was handed over.
    pub(super) fn has_begun(&self, id: SplitId) -> bool {
        self.get(self.root(id)).begun
    }

    /// Notes that a part was handed over. Returns whether it is the first.
    pub(super) fn hand(&mut self, id: SplitId) -> bool {
        let root = self.root(id);
        !std::mem::replace(&mut self.of_mut(root).begun, true)
    }

    /// A part of a command was answered without an error.
    pub(super) fn answer(&mut self, id: SplitId, part: &SettledReply) {
        let split = self.of_mut(id);
        split.answer = Some(match split.answer {
            None => *part,
            Some(whole) => joined(&whole, part),
        });
    }

    /// Notes that a part was answered with an error. Returns whether it is the first error, which is the
    /// result of all.
    pub(super) fn fail(&mut self, id: SplitId) -> bool {
        let split = self.of_mut(id);
        !std::mem::replace(&mut split.failed, true) && !split.lost
    }

    /// Ends a part, answered or lost. Returns the whole command if it is now complete, and the effect on its
    /// step. After the last part, the answer combines the findings of all.
    pub(super) fn end<M>(
        &mut self,
        id: SplitId,
        part: &mut Request<M>,
        answered: bool,
    ) -> (Option<SettledReply>, PartEnd) {
        let split = self.of_mut(id);
        split.left -= 1;
        if answered {
            split.missed |= part.progress.missed;
            split.failed |= part.progress.failed;
            split.intended_ns = split.intended_ns.min(part.intended_ns);
            split.sent_ns = split.sent_ns.min(part.sent_ns);
        }
        if split.left > 0 {
            return (None, PartEnd::Not);
        }
        let SplitRequest { parent, failed, lost, missed, .. } = *split;
        (part.intended_ns, part.sent_ns) = (split.intended_ns, split.sent_ns);
        let answer = split.answer.take().filter(|_| !failed && !lost);
        // A command has missed if none of its keys was there, a step if any command has.
        part.progress.missed = answer.map_or(missed, |whole| whole.outcome == Outcome::Miss);
        part.progress.failed = failed;
        self.free.push(id);
        if parent.is_none() {
            return (answer, if lost { PartEnd::Lost } else { PartEnd::Whole });
        }
        let (_, ended) = self.end(parent, part, true);
        (answer, ended)
    }

    /// Number of commands to count as lost with a part: each command once. Commands already lost or failed do
    /// not count again.
    pub(super) fn lose(&mut self, id: SplitId, commands: u32) -> u64 {
        let split = self.of_mut(id);
        if split.is_step() {
            split.lost = true;
            return u64::from(commands);
        }
        let counts = !split.lost && !split.failed;
        split.lost |= counts;
        let parent = split.parent;
        if counts && !parent.is_none() {
            self.of_mut(parent).lost = true;
        }
        u64::from(counts)
    }
}

impl SplitRequest {
    /// Returns whether its parts are commands, rather than keys of one.
    pub(super) fn is_step(&self) -> bool {
        self.servers.is_empty()
    }
}

/// Combines two answers to parts of a command: from the first sending to the last reply.
fn joined(a: &SettledReply, b: &SettledReply) -> SettledReply {
    let SettledReply { answered: x, outcome: _, bytes, keys } = *a;
    let y = b.answered;
    let keys = Keys { asked: keys.asked, found: keys.found + b.keys.found };
    let found = a.outcome == Outcome::Ok || b.outcome == Outcome::Ok;
    SettledReply {
        answered: CommandReply {
            intended_ns: x.intended_ns.min(y.intended_ns),
            sent_ns: x.sent_ns.min(y.sent_ns),
            first_byte_ns: x.first_byte_ns.min(y.first_byte_ns),
            ..x
        },
        outcome: if found { Outcome::Ok } else { Outcome::Miss },
        bytes: bytes + b.bytes,
        keys,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::OperationState;

    fn answer(sent_ns: u64, found: u32) -> SettledReply {
        let outcome = if found > 0 { Outcome::Ok } else { Outcome::Miss };
        let answered = CommandReply {
            intended_ns: sent_ns,
            sent_ns,
            first_byte_ns: sent_ns + 5,
            command: 0,
            measured: true,
        };
        SettledReply { answered, outcome, bytes: 10, keys: Keys { asked: 3, found } }
    }

    fn part(missed: bool) -> Request<()> {
        Request {
            number: 0,
            intended_ns: 10,
            sent_ns: 10,
            handed_ns: 10,
            command: 0,
            left: 1,
            measured: true,
            progress: OperationState { missed, ..OperationState::default() },
            mark: (),
        }
    }

    fn command(splits: &mut SplitRequests, parent: SplitId, servers: &[u16]) -> SplitId {
        let id = splits.begin(parent, servers.len() as u32);
        splits.of_mut(id).servers.extend(servers);
        id
    }

    #[test]
    fn parts_are_one_answer_from_the_first_sent_to_the_last_come() {
        let mut splits = SplitRequests::default();
        let id = command(&mut splits, SplitId::NONE, &[0, 1, 2]);
        assert!(!splits.has_begun(id) && splits.hand(id) && !splits.hand(id));
        for (sent_ns, found) in [(20, 0), (10, 2)] {
            splits.answer(id, &answer(sent_ns, found));
            assert_eq!(splits.end(id, &mut part(found == 0), true), (None, PartEnd::Not));
        }
        splits.answer(id, &answer(30, 0));
        let mut last = Request { sent_ns: 30, ..part(true) };
        let (whole, ended) = splits.end(id, &mut last, true);
        let SettledReply { answered, outcome, bytes, keys } = whole.unwrap();
        assert_eq!((answered.sent_ns, answered.first_byte_ns), (10, 15));
        assert_eq!((outcome, bytes, keys), (Outcome::Ok, 30, Keys { asked: 3, found: 2 }));
        assert_eq!((ended, last.sent_ns), (PartEnd::Whole, 10));
        assert!(!last.progress.missed, "some of its keys were there");
        let again = command(&mut splits, SplitId::NONE, &[0, 1]);
        assert_eq!((again, splits.all.len(), splits.has_begun(again)), (id, 1, false));
    }

    #[test]
    fn what_is_lost_is_counted_once_and_so_is_an_error() {
        let mut splits = SplitRequests::default();
        let id = command(&mut splits, SplitId::NONE, &[0, 1, 2]);
        let mut last = part(false);
        assert_eq!(splits.lose(id, 1), 1);
        assert_eq!(splits.end(id, &mut last, false), (None, PartEnd::Not));
        assert_eq!(splits.lose(id, 1), 0);
        assert_eq!(splits.end(id, &mut last, false), (None, PartEnd::Not));
        assert!(!splits.fail(id), "it is lost");
        assert_eq!(splits.end(id, &mut last, true), (None, PartEnd::Lost));
        let id = command(&mut splits, SplitId::NONE, &[0, 1]);
        assert!(splits.fail(id) && !splits.fail(id));
        assert_eq!(splits.lose(id, 1), 0, "its error is its result");
        splits.end(id, &mut last, false);
        let (whole, ended) = splits.end(id, &mut last, true);
        assert_eq!((whole, ended, last.progress.failed), (None, PartEnd::Whole, true));
    }

    #[test]
    fn a_step_ends_with_the_last_of_its_commands() {
        let mut splits = SplitRequests::default();
        let step = splits.begin(SplitId::NONE, 2);
        let get = command(&mut splits, step, &[0, 1]);
        assert!(splits.get(step).is_step());
        let mut last = part(true);
        assert!(splits.hand(step) && splits.has_begun(get) && !splits.hand(get));
        assert_eq!(splits.end(step, &mut part(false), true), (None, PartEnd::Not));
        for is_last in [false, true] {
            splits.answer(get, &answer(10, 0));
            let (whole, ended) = splits.end(get, &mut last, true);
            assert_eq!((whole.is_some(), ended == PartEnd::Whole), (is_last, is_last));
        }
        assert!(last.progress.missed, "one of its commands found nothing");
        assert_eq!(splits.free.len(), 2);
    }
}
