//! Commands of a sequence in a transaction: their own reply says that they were queued, and the reply to
//! `EXEC` has their values.

use std::ops::Range;

use super::PlanParts;
use crate::CommandSpec;

/// The transactions of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transactions {
    /// For each command, the commands whose replies are in its reply, if it is an `EXEC`.
    queue: Vec<Option<Range<u32>>>,
    /// For each command, whether it is queued.
    queued: Vec<bool>,
}

impl Transactions {
    /// Commands whose replies are, in this order, in the reply to this one.
    pub fn answered_by(&self, command: usize) -> Option<&Range<u32>> {
        self.queue.get(command)?.as_ref()
    }

    /// Returns whether a command is queued.
    pub fn is_queued(&self, command: usize) -> bool {
        self.queued.get(command).is_some_and(|queued| *queued)
    }

    /// Returns whether any command answers for others.
    pub fn any(&self) -> bool {
        self.queue.iter().any(Option::is_some)
    }
}

impl PlanParts {
    /// The transactions of the sequence, each within one operation.
    pub fn transactions(&self) -> Transactions {
        let mut queue = vec![None; self.sequence.len()];
        let mut queued = vec![false; self.sequence.len()];
        let spans = if self.protocol.is_memcache() {
            Vec::new()
        } else {
            self.key_spaces().map(|(span, _)| span).collect()
        };
        for span in spans {
            let mut first: Option<usize> = None;
            for at in span {
                match (self.sequence[at].name().as_str(), first) {
                    ("MULTI", None) => first = Some(at + 1),
                    ("EXEC", Some(from)) => {
                        queue[at] = Some(from as u32..at as u32);
                        first = None;
                    }
                    ("DISCARD" | "RESET", _) => first = None,
                    (_, since) => queued[at] = since.is_some(),
                }
            }
        }
        Transactions { queue, queued }
    }
}

impl CommandSpec {
    /// Returns whether a reply to the command reports a hit or a miss.
    pub fn looks_up(&self, protocol: crate::ProtocolKind) -> bool {
        if protocol.is_memcache() {
            return self.needs_item();
        }
        let name = self.name();
        // A module's command is called as Redis's own is: JSON.GET.
        let own = name.rsplit_once('.').map(|(_, own)| Self::from_words([own]));
        self.finds() || own.is_some_and(|own| own.finds())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parts;
    use super::*;
    use crate::ProtocolKind;

    #[test]
    fn what_stands_between_multi_and_exec_is_queued() {
        let lines = "get a;multi;get b;set c 1;exec;get d;multi;incr e;discard;get f;exec";
        let sequence = lines.split(';').map(|line| CommandSpec::parse(line.split(' '))).collect();
        let transactions = PlanParts { sequence, ..parts() }.transactions();
        let queued: Vec<usize> = (0..11).filter(|at| transactions.is_queued(*at)).collect();
        assert_eq!(queued, [2, 3, 7]);
        let answered: Vec<_> = (0..11).filter_map(|at| transactions.answered_by(at)).collect();
        assert_eq!(answered, [&(2..4)]);
        assert!(transactions.any());
    }

    #[test]
    fn commands_that_look_nothing_up_have_no_hits() {
        let of = |line: &str, protocol| CommandSpec::parse(line.split(' ')).looks_up(protocol);
        for line in ["get k", "mget a b", "hgetall h", "spop s", "JSON.GET k", "exists k"] {
            assert!(of(line, ProtocolKind::Resp2), "{line}");
        }
        for line in ["set k v", "ping", "incr k", "strlen k", "exec", "eval x 0"] {
            assert!(!of(line, ProtocolKind::Resp2), "{line}");
        }
        for line in ["get k", "mg k v", "touch k 1", "delete k", "incr k 1"] {
            assert!(of(line, ProtocolKind::MemcacheText), "{line}");
        }
        for line in ["set k 0 0 v", "add k 0 0 v", "mn", "version", "stats"] {
            assert!(!of(line, ProtocolKind::MemcacheText), "{line}");
        }
    }
}
