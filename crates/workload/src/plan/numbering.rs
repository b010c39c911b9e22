//! The number by which a request draws its keys: the test's, or a count by its connection or operation.
//!
//! Nothing is counted while a test runs. The number of a connection's earlier requests follows from the
//! number of a request, because connections with their own budgets have their own numbers.

use crate::keys::{DrawnBy, KeySpace, slice_of};
use crate::{Plan, Stop};

use super::{Mix, Pick, Span};

/// Numbering of the requests of one operation.
#[derive(Debug, Clone)]
pub struct Numbering {
    by: DrawnBy,
    /// Count of numbers after which another connection's begin.
    round: u64,
    /// Number of connections, if each counts its own requests; otherwise 1.
    connections: u64,
    keys: u64,
    /// Requests of a full turn of all operations, this operation's number of them, and their positions.
    turn: u64,
    each: u64,
    own: Vec<RequestRange>,
}

/// Consecutive requests of one operation.
#[derive(Debug, Clone, Copy)]
struct RequestRange {
    from: u64,
    count: u64,
    /// Number of requests of the operation before this range, in the same turn.
    before: u64,
}

impl Numbering {
    /// Creates the numbering of the only operation.
    fn of_all(keys: &KeySpace, round: u64, connections: u64) -> Self {
        Self {
            by: keys.numbered.by,
            round,
            connections,
            keys: keys.range.unwrap_or(0).max(1),
            turn: 1,
            each: 1,
            own: vec![RequestRange { from: 0, count: 1, before: 0 }],
        }
    }

    fn of_spans(self, spans: &[Span], operation: u32) -> Self {
        let (mut turn, mut each, mut own) = (0, 0, Vec::new());
        for span in spans {
            let count = u64::from(span.times);
            if span.operation == operation {
                own.push(RequestRange { from: turn, count, before: each });
                each += count;
            }
            turn += count;
        }
        Self { turn: turn.max(1), each, own, ..self }
    }

    /// Returns the number that determines the draws of request number `number` of the operation.
    #[inline]
    pub fn index(&self, number: u64) -> u64 {
        match self.by {
            DrawnBy::Request => number,
            DrawnBy::Connection => number % self.round,
            DrawnBy::Operation | DrawnBy::Slice => self.before(number),
        }
    }

    /// Returns whether the number of a request is that of its draws.
    #[inline]
    pub fn is_of_request(&self) -> bool {
        self.by == DrawnBy::Request
    }

    /// Returns the number of earlier requests of the operation on the connection of request number `number`.
    #[inline]
    pub fn before(&self, number: u64) -> u64 {
        let own = number % self.round;
        let (turns, at) = (own / self.turn, own % self.turn);
        let span = self.own.iter().rev().find(|span| span.from <= at);
        let within = span.map_or(0, |span| span.before + (at - span.from).min(span.count));
        turns * self.each + within
    }

    /// Returns the key of draw number `index` of the connection that sends request number `number`, if keys
    /// are drawn in slices.
    #[inline]
    pub fn of_slice(&self, number: u64, index: u64) -> Option<u64> {
        if self.by != DrawnBy::Slice {
            return None;
        }
        let (first, len) = slice_of(self.keys, self.connections, number / self.round);
        Some(first + index % len)
    }

    /// Returns whether the operation's draws are counted separately from other operations'.
    pub fn is_of_operation(&self) -> bool {
        matches!(self.by, DrawnBy::Operation | DrawnBy::Slice)
    }
}

impl Plan {
    /// Returns the numbering of each operation; one without a mix.
    pub fn numberings(&self) -> Vec<Numbering> {
        let round = self.connection_round();
        // Requests that go where their keys belong have numbers of one connection after another, if they end at all.
        let by_key = self.target.is_by_key() && !self.target.has_clients();
        let apart = !by_key || matches!(self.load.stop, Stop::Requests(_));
        let connections = if apart { u64::from(self.load.concurrency.connections) } else { 1 };
        let spans = self.mix.as_ref().and_then(Mix::turn);
        let spaces = self.key_spaces().map(|(_, keys)| keys);
        let all = spaces.map(|keys| Numbering::of_all(keys, round, connections));
        match spans {
            Some(spans) => {
                (0..).zip(all).map(|(operation, of)| of.of_spans(&spans, operation)).collect()
            }
            None => all.collect(),
        }
    }
}

impl Mix {
    /// The repeated sequence of runs of operations; `None` if operations are drawn.
    pub(super) fn turn(&self) -> Option<Vec<Span>> {
        match &self.pick {
            Pick::Drawn | Pick::Row => None,
            Pick::InOrder => {
                let spans = (0..).zip(&self.operations);
                let spans = spans.map(|(operation, o)| Span { operation, times: o.weight });
                Some(spans.collect())
            }
            Pick::Spans(spans) => Some(spans.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parts;
    use super::super::{BudgetScope, MixStep, Operation, StepCondition};
    use super::*;
    use crate::keys::KeyNumbering;
    use crate::{CommandSpec, KeyDist, PlanParts};

    /// Connections with eight requests each: SET, GET, GET, GET, over and over.
    fn plan(by: DrawnBy, pick: Pick) -> Plan {
        let step = vec![MixStep { commands: 1, when: StepCondition::Always }];
        let operation = |name: &str, weight| Operation {
            name: name.into(),
            weight,
            steps: step.clone(),
            keys: None,
        };
        let mut keys = KeySpace::new(Some(10), KeyDist::SEQUENTIAL);
        keys.numbered = KeyNumbering { by, ..KeyNumbering::default() };
        let mut plan = PlanParts {
            sequence: vec![CommandSpec::from_words(["PING"]); 2],
            mix: Some(Mix { operations: vec![operation("set", 1), operation("get", 3)], pick }),
            ..parts()
        };
        (plan.load.share, plan.load.stop) = (BudgetScope::PerConnection, Stop::Requests(8));
        plan.data.keys = keys;
        plan.load.concurrency.connections = 3;
        plan.build().unwrap()
    }

    fn indexes(plan: &Plan) -> Vec<u64> {
        let (numberings, operations) = (plan.numberings(), plan.operations().unwrap());
        (0..16).map(|n| numberings[operations.pick(n) as usize].index(n)).collect()
    }

    #[test]
    fn draws_are_counted_by_request_connection_and_operation() {
        let of = |by| indexes(&plan(by, Pick::InOrder));
        assert_eq!(of(DrawnBy::Request), (0..16).collect::<Vec<_>>());
        assert_eq!(of(DrawnBy::Connection), (0..8).chain(0..8).collect::<Vec<_>>());
        let each = [0, 0, 1, 2, 1, 3, 4, 5];
        assert_eq!(of(DrawnBy::Operation), [each, each].concat());
        // Where operations are drawn nobody can tell how many of one there were.
        assert_eq!(indexes(&plan(DrawnBy::Operation, Pick::Drawn))[..4], [0, 1, 2, 3]);
    }

    #[test]
    fn an_operation_may_come_several_times_in_a_turn() {
        let span = |operation, times| Span { operation, times };
        let spans = Pick::Spans(vec![span(0, 2), span(1, 1), span(0, 1)]);
        let plan = plan(DrawnBy::Operation, spans);
        let picked: Vec<u32> = (0..8).map(|n| plan.operations().unwrap().pick(n)).collect();
        assert_eq!(picked, [0, 0, 1, 0, 0, 0, 1, 0]);
        assert_eq!(indexes(&plan)[..8], [0, 1, 0, 2, 3, 4, 1, 5]);
    }

    #[test]
    fn slices_are_walked_in_order_and_again() {
        let plan = plan(DrawnBy::Slice, Pick::InOrder);
        let set = &plan.numberings()[0];
        let keys = |numbers: [u64; 5]| numbers.map(|n| set.of_slice(n, set.index(n)).unwrap());
        assert_eq!(keys([0, 4, 8, 12, 16]), [0, 1, 4, 5, 8], "four keys for each of three");
        assert_eq!(set.of_slice(16, 7), Some(9), "the last has two");
        assert_eq!(set.of_slice(16, 8), Some(8));
    }
}
