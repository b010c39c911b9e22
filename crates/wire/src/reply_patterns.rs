//! Checkable values in the replies to a sequence: those that name their key, and those that were stored.

use workload::derived::CheckedValues;
use workload::verify::{RequestedValue, keys_asked};
use workload::{Arg, Plan, Slot};

/// Positions of values that name their key in the reply to each command of a sequence.
#[derive(Debug)]
pub(crate) struct CheckedReads {
    pub(crate) values: CheckedValues,
    pub(crate) asks: Vec<StringPattern>,
}

/// Checkable values in the reply to a command.
#[derive(Debug)]
pub(crate) enum StringPattern {
    Nothing,
    /// The name and the value of each field.
    Pairs,
    /// The values of these fields.
    Fields(Vec<Arg>),
    /// All fields as one JSON object.
    Record,
}

impl CheckedReads {
    /// Builds the patterns of a plan that checks values; `None` for any other plan.
    pub(crate) fn from_plan(plan: &Plan) -> Option<Self> {
        let asks = plan.sequence.iter().map(|command| {
            // The records of a list are not those of the request's key.
            match (&*command.name(), command.names_reply()) {
                ("GET", false) if plan.protocol.is_memcache() => StringPattern::Record,
                ("HGETALL", false) => StringPattern::Pairs,
                ("HMGET", false) => {
                    StringPattern::Fields(command.args[2.min(command.args.len())..].to_vec())
                }
                _ => StringPattern::Nothing,
            }
        });
        Some(Self { values: plan.peer.checks.clone()?, asks: asks.collect() })
    }
}

/// The source of a value in a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueSource {
    /// The key with this number, and the index of its value.
    Key((Slot, u64), u64),
    /// The cell of the request's row in this column.
    Row(usize),
}

/// Values requested by each command of a sequence, keyed by position in its operation; `None` for an unknown
/// value.
#[derive(Debug, Default)]
pub(crate) struct ValueRequests(pub(crate) Vec<Vec<Option<ValueSource>>>);

impl ValueRequests {
    /// Collects the requested values of a plan that verifies; empty for any other plan.
    pub(crate) fn new(plan: &Plan, fresh_before: impl Fn(usize) -> u64) -> Self {
        if !plan.data.verify {
            return Self::default();
        }
        let column = plan.data.dataset.as_ref().and_then(|dataset| dataset.values());
        let patterns = plan.sequence.iter().enumerate().map(|(at, command)| {
            let before = fresh_before(at);
            let asked = keys_asked(command, plan.protocol);
            if let Some(column) = column {
                // All of a request is of one row.
                let one = asked.len() == 1;
                return asked.iter().map(|_| one.then_some(ValueSource::Row(column))).collect();
            }
            let of = |RequestedValue { key: (slot, fresh), variant }| {
                ValueSource::Key((slot, fresh + before), variant)
            };
            asked.into_iter().map(|key| key.map(of)).collect()
        });
        Self(patterns.collect())
    }
}
