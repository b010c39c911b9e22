//! Operations that insert keys, and those that draw the newest.

use naming::{HIT_RATIO, KEY_DIST, KEY_RANGE, MIX, text};

use super::check::refuse;
use super::{Plan, PlanError, PlanParts};
use crate::{Inserts, KeySpace, Piece, Slot, Source};

/// Maximum number of initial keys of a run that inserts: twelve digits hold nine times as many more.
const RANGE_MAX: u64 = 100_000_000_000;

impl PlanParts {
    /// Key spaces that depend on the run's inserts.
    fn growing(&self) -> impl Iterator<Item = &KeySpace> {
        self.key_spaces().map(|(_, keys)| keys).filter(|keys| keys.source() != Source::Number)
    }

    pub(super) fn check_inserts(&self) -> Result<(), PlanError> {
        let Some(first) = self.growing().next() else { return Ok(()) };
        let draw = &first.draw;
        refuse(
            self.mix.is_some() && self.growing().any(|keys| keys.source() == Source::Next),
            || {
                text!(
                    "{KEY_DIST} {draw}: it draws the newest inserted keys, but no operation \
                     inserts any; to insert, use __insert__ as a key, such as {MIX} -- 95 get \
                     k:__key__ ';' 5 set k:__insert__ __data__"
                )
            },
        )?;
        let range = first.range.unwrap_or(0);
        refuse((1..=RANGE_MAX).contains(&range), || {
            let given = first.range.map_or_else(String::new, |range| format!(" {range}"));
            text!(
                "{KEY_RANGE}{given}: with inserts, it is the number of keys that exist before, from 1 to \
                 10^11"
            )
        })?;
        refuse(self.growing().all(|keys| keys.range == first.range), || {
            "operations that insert keys and operations that draw the newest keys must have the \
             same range"
                .to_owned()
        })?;
        refuse(self.growing().all(|keys| !keys.draw.may_miss()), || {
            text!(
                "{HIT_RATIO}: cannot be combined with inserts, which write the keys beyond the range"
            )
        })?;
        for (span, _) in self.key_spaces().filter(|(_, keys)| keys.source() != Source::Number) {
            let pieces = self.sequence[span].iter().flat_map(|c| &c.args).flat_map(|a| &a.pieces);
            let mut numbers = pieces.filter_map(|piece| match piece {
                Piece::Number(slot) => Some(*slot),
                _ => None,
            });
            refuse(numbers.all(|slot| slot == Slot::Key), || {
                "an operation that inserts keys, or draws the newest, has one key: use __key__ \
                 or __insert__ in it, not __rand_int__ and the like"
                    .to_owned()
            })?;
        }
        Ok(())
    }
}

impl Plan {
    /// The keys that a run of this plan inserts, if it inserts any.
    pub fn inserts(&self) -> Option<Inserts> {
        let keys = self.growing().next()?;
        Some(Inserts::new(keys.range.unwrap_or(0).max(1), self.load.shard))
    }
}
