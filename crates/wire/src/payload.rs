//! Values whose size or bytes vary between requests.
//!
//! When commands are compiled, each value is assigned a number: the one in its own key, if each value has a
//! key before it; otherwise that of `__key__`, if the command has one; otherwise the number before it;
//! otherwise the request's. Its size and bytes follow from that number alone, so nothing is stored for each
//! value.

use workload::sizes::{SizeDraw, size_at, size_by_rank, size_of};
use workload::value_key::{self, ValueKey};
use workload::{
    CommandSpec, Dataset, DerivedText, Piece, Plan, RowBy, SizeBy, Slot, Values, derived,
};

use crate::RequestInputs;
use crate::numbers::Numbers;

/// A place for a value in a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueAt {
    /// Number of the key that the value belongs to, and of the fresh numbers before it.
    pub key: Option<ValueKey>,
    /// Number added to the key's, to distinguish values of one key: derived from the field, or from the
    /// number of earlier values in the command.
    pub variant: u64,
    /// Number of values before it in the sequence.
    pub place: u64,
    /// Bytes of its size that come after it: the message at the end of its argument.
    pub behind: usize,
}

/// The values of a command, in order. Without `digits` numbers are text, and all keys are alike.
pub(crate) fn places(command: &CommandSpec, digits: Option<usize>) -> Vec<ValueAt> {
    let numbered = digits.is_some();
    let named = value_key::named(command).filter(|_| numbered);
    let pairs = value_key::of_pairs(command).filter(|_| numbered);
    let mut last = named;
    let mut fresh = 0;
    let mut places: Vec<ValueAt> = Vec::new();
    let pieces = command.args.iter().enumerate();
    for (at, arg, piece) in
        pieces.flat_map(|(at, arg)| arg.pieces.iter().map(move |p| (at, arg, p)))
    {
        match piece {
            Piece::Number(slot) if numbered => {
                last = named.or(Some((*slot, fresh)));
                fresh += u64::from(*slot == Slot::Fresh);
            }
            Piece::Value => {
                let place = places.len() as u64;
                let (key, variant) = match (&pairs, value_key::of_value(command, at)) {
                    // Each is the first, and only, value of its key.
                    (Some(keys), _) => (keys[at], 0),
                    (None, Some(field)) => (last, field),
                    (None, None) => {
                        let before = places.iter().filter(|before| before.key == last).count();
                        (last, (before as u64) << 56)
                    }
                };
                let behind = arg.pieces.last().map_or(0, Piece::message_bytes);
                places.push(ValueAt { key, variant, place, behind });
            }
            _ => {}
        }
    }
    places
}

impl ValueAt {
    /// The place after `fresh` more numbers and `values` more values, in a longer sequence.
    pub(crate) fn behind(self, fresh: u64, values: u64) -> Self {
        let key = self.key.map(|(slot, before)| (slot, before + fresh));
        Self { key, place: self.place + values, ..self }
    }
}

/// Bytes and sizes of values.
pub(crate) struct Payload {
    values: Values,
    sizes: Box<dyn SizeDraw>,
    by: SizeBy,
    /// Set if every value has its own bytes.
    fresh: bool,
    /// Set if neither bytes nor size depend on the key.
    keyless: bool,
    seed: u64,
    per_sequence: u64,
}

/// A value: the number of its key, and its length in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    pub(crate) key: u64,
    pub(crate) len: usize,
}

impl Payload {
    /// Prepares the values of a plan, with this many in a sequence; `None` without varying values.
    pub(crate) fn new(plan: &Plan, per_sequence: u64) -> Option<Self> {
        let spec = plan.data.values.as_ref()?;
        let values = Values::new(spec.content, plan.load.seed, spec.sizes.largest());
        let sizes = spec.sizes.draws();
        let (by, fresh) = (spec.by, spec.content.is_fresh());
        let keyless = fresh && (by == SizeBy::Request || spec.sizes.is_fixed());
        Some(Self { values, sizes, by, fresh, keyless, seed: plan.load.seed, per_sequence })
    }

    /// The value at a place of a request.
    pub(crate) fn value(
        &self,
        at: &ValueAt,
        request: RequestInputs<'_>,
        numbers: &Numbers,
        drawn: &mut LastDraw,
    ) -> Value {
        let place = request.number.wrapping_mul(self.per_sequence).wrapping_add(at.place);
        let key = match at.key {
            // Whatever its key is, nothing of it is asked.
            _ if self.keyless => place,
            Some((slot, fresh)) => drawn.number(numbers, request, slot, fresh),
            None => place,
        };
        let rank = numbers.rank(key);
        // Values of one key differ from each other.
        let key = key.wrapping_add(at.variant);
        let len = match self.by {
            SizeBy::Key => size_of(&*self.sizes, self.seed, key),
            SizeBy::Request => size_of(&*self.sizes, self.seed, place),
            SizeBy::Rank => size_by_rank(&*self.sizes, rank.0, rank.1),
            SizeBy::Turn(of) => {
                let of = u64::from(of.max(1));
                size_at(&*self.sizes, numbers.before(request.number) % of, of)
            }
        };
        let len = (len as usize).saturating_sub(at.behind);
        Value { key: if self.fresh { place } else { key }, len }
    }

    /// Length of the first value of a key, if that depends on the key.
    pub(crate) fn len_of(&self, key: u64) -> usize {
        size_of(&*self.sizes, self.seed, key) as usize
    }

    /// Compares like [`Values::differs_at`].
    pub(crate) fn differs_at(&self, key: u64, len: usize, at: usize, part: &[u8]) -> Option<usize> {
        self.values.differs_at(key, 0, len, at, part)
    }

    pub(crate) fn append_of(&self, key: u64, len: usize, out: &mut Vec<u8>) {
        self.values.append(key, 0, len, out);
    }

    pub(crate) fn append(&self, value: Value, out: &mut Vec<u8>) {
        self.values.append(value.key, 0, value.len, out);
    }
}

/// Cache of the last drawn number of a request, which is often needed again at once.
#[derive(Debug, Default)]
pub(crate) struct LastDraw(Option<(Slot, u64, u64)>);

impl LastDraw {
    /// Returns the source that determines a derived text of a request.
    #[inline]
    pub(crate) fn source(
        &mut self,
        derived: &DerivedText,
        numbers: &Numbers,
        request: RequestInputs<'_>,
    ) -> derived::Source {
        let key = if derived.names_key() { self.number(numbers, request, Slot::Key, 0) } else { 0 };
        derived::Source { key, seed: numbers.seed, request: request.number }
    }

    /// The row of a dataset for a request.
    #[inline]
    pub(crate) fn row(
        &mut self,
        numbers: &Numbers,
        request: RequestInputs<'_>,
        dataset: &Dataset,
    ) -> u64 {
        match dataset.by() {
            RowBy::Request | RowBy::Random => dataset.row(numbers.seed, request.number),
            RowBy::Key => numbers.rank(self.number(numbers, request, Slot::Key, 0)).0,
            RowBy::Turn => numbers.before(request.number),
        }
    }

    /// The number for a slot after `fresh` fresh numbers of the request.
    #[inline]
    pub(crate) fn number(
        &mut self,
        numbers: &Numbers,
        request: RequestInputs<'_>,
        slot: Slot,
        fresh: u64,
    ) -> u64 {
        match self.0 {
            Some((of, before, number))
                if of == slot && (slot != Slot::Fresh || before == fresh) =>
            {
                number
            }
            _ => {
                let number = numbers.value(request, slot, &mut fresh.clone());
                self.0 = Some((slot, fresh, number));
                number
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Arg;

    fn values_in(line: &str) -> Vec<ValueAt> {
        let args = line.split(' ').map(|w| Arg::literal(w.as_bytes()).with_values().with_numbers());
        places(&CommandSpec { args: args.collect(), inline: false }, Some(12))
    }

    #[test]
    fn a_value_is_that_of_the_key_that_it_is_stored_under() {
        let at = |key, variant, place| ValueAt { key, variant, place, behind: 0 };
        assert_eq!(values_in("SET k:__rand_int__ __data__"), [at(Some((Slot::Fresh, 0)), 0, 0)]);
        let key = Some((Slot::Key, 0));
        let [f, g] = [&b"f:"[..], b"g"].map(workload::hashes::fnv_text);
        assert_eq!(
            values_in("HSET k:__key__ f:__rand_int__ __data__ g __data__"),
            [at(key, f, 0), at(key, g, 1)]
        );
        assert_eq!(
            values_in("RPUSH k:__key__ __data__ __data__"),
            [at(key, 0, 0), at(key, 1 << 56, 1)],
            "elements differ by their place"
        );
        assert_eq!(
            values_in("MSET __rand_int__ __data__ __rand_int__ __data__"),
            [at(Some((Slot::Fresh, 0)), 0, 0), at(Some((Slot::Fresh, 1)), 0, 1)]
        );
        assert_eq!(
            values_in(
                "MSET k:__key__ __data__ k:__rand_1st__ __data__ a:__key__ __data__ b __data__"
            ),
            [at(key, 0, 0), at(Some((Slot::Shared(1), 0)), 0, 1), at(key, 0, 2), at(None, 0, 3)],
            "each is that of its own key"
        );
        assert_eq!(values_in("LPUSH l __data__"), [at(None, 0, 0)]);
        let behind = at(Some((Slot::Fresh, 1)), 0, 1).behind(5, 2);
        assert_eq!(behind, at(Some((Slot::Fresh, 6)), 0, 3));
    }
}
