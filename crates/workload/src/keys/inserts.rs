//! Keys inserted by a run: the next one, and the number of existing ones.
//!
//! Owns the one pair of numbers that the workers of a run share, touched by operations that insert and read
//! by those that draw the newest keys. A key counts as existing once its insert and those of all earlier keys
//! were answered, so that no key is read while its insert is in flight.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::Shard;

/// Maximum number of answered inserts after an unanswered one; each takes a bit.
const WINDOW: u64 = 1 << 20;
/// Maximum number of workers that take a number at the same time.
const SLACK: u64 = 1 << 12;

/// Keys inserted by a run, shared by its workers. The position of a key is its rank by age: first the initial
/// keys, then the inserted ones in order.
#[derive(Debug)]
pub struct Inserts {
    /// Number of initial keys.
    range: u64,
    shard: Shard,
    /// Number of inserts begun.
    begun: AtomicU64,
    /// Number of inserts answered, without a gap.
    answered: AtomicU64,
    /// Set for each answered insert after those.
    window: Box<[AtomicU64]>,
}

impl Inserts {
    /// Creates the inserts of a share of a run that begins with the keys `0..range`.
    pub fn new(range: u64, shard: Shard) -> Self {
        let window = (0..WINDOW / 64).map(|_| AtomicU64::new(0)).collect();
        let [begun, answered] = [0, 0].map(AtomicU64::new);
        Self { range, shard, begun, answered, window }
    }

    /// Returns the next key to insert. `None` while far too many inserts wait for an earlier one.
    pub fn begin(&self) -> Option<u64> {
        let ahead = self.begun.load(SeqCst).saturating_sub(self.answered.load(SeqCst));
        (ahead < WINDOW - SLACK).then(|| self.key_at(self.range + self.begun.fetch_add(1, SeqCst)))
    }

    /// Notes that the insert of a key was answered. Has no effect if it was already.
    pub fn answered(&self, key: u64) {
        let Some(nth) = self.nth(key).filter(|nth| *nth >= self.answered.load(SeqCst)) else {
            return;
        };
        let (word, bit) = self.bit(nth);
        word.fetch_or(bit, SeqCst);
        loop {
            let next = self.answered.load(SeqCst);
            let (word, bit) = self.bit(next);
            // The thread that clears the bit advances; a thread that finds it clear was overtaken, or waits for
            // an earlier insert, whose reply will advance past this one.
            if word.fetch_and(!bit, SeqCst) & bit == 0 {
                return;
            }
            self.answered.store(next + 1, SeqCst);
        }
    }

    /// Number of existing keys: all positions below it.
    #[inline]
    pub fn present(&self) -> u64 {
        self.range + self.answered.load(SeqCst)
    }

    /// The key at a place. The shares of a run take turns.
    #[inline]
    pub fn key_at(&self, place: u64) -> u64 {
        let Shard { index, of } = self.shard;
        match place.checked_sub(self.range) {
            None => place,
            Some(nth) => self.range + nth * u64::from(of) + u64::from(index - 1),
        }
    }

    /// Returns whether a key and all keys before it have been inserted.
    pub fn is_there(&self, key: u64) -> bool {
        self.nth(key).is_none_or(|nth| nth < self.answered.load(SeqCst))
    }

    /// Number of a key's insert, unless the key is an initial one.
    fn nth(&self, key: u64) -> Option<u64> {
        key.checked_sub(self.range).map(|beyond| beyond / u64::from(self.shard.of))
    }

    fn bit(&self, nth: u64) -> (&AtomicU64, u64) {
        let at = nth % WINDOW;
        (&self.window[(at / 64) as usize], 1 << (at % 64))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn only_what_is_answered_with_all_before_it_is_there() {
        let inserts = Inserts::new(10, Shard::WHOLE);
        let keys: Vec<u64> = (0..5).map(|_| inserts.begin().unwrap()).collect();
        assert_eq!((keys, inserts.present()), (vec![10, 11, 12, 13, 14], 10));
        for (key, present) in [(11, 10), (10, 12), (14, 12), (12, 13), (13, 15)] {
            inserts.answered(key);
            assert_eq!(inserts.present(), present, "after {key}");
        }
    }

    #[test]
    fn shares_insert_keys_of_their_own() {
        let keys: BTreeSet<u64> = (1..=3)
            .map(|index| Inserts::new(7, Shard { index, of: 3 }))
            .flat_map(|inserts| {
                let keys: Vec<u64> = (0..4).map(|_| inserts.begin().unwrap()).collect();
                keys.iter().rev().for_each(|key| inserts.answered(*key));
                assert_eq!(inserts.present(), 11);
                assert_eq!((inserts.key_at(6), inserts.key_at(7)), (6, keys[0]));
                keys
            })
            .collect();
        assert_eq!(keys, (7..19).collect());
    }

    #[test]
    fn an_insert_without_an_answer_stops_the_others_before_room_runs_out() {
        let inserts = Inserts::new(0, Shard::WHOLE);
        let lost = inserts.begin().unwrap();
        let mut count = 0;
        while let Some(key) = inserts.begin() {
            inserts.answered(key);
            count += 1;
        }
        assert!((WINDOW / 2..WINDOW).contains(&count) && inserts.present() == 0);
        inserts.answered(lost);
        assert_eq!(inserts.present(), count + 1);
        assert!(inserts.begin().is_some());
    }

    #[test]
    fn threads_lose_nothing_and_see_nothing_too_early() {
        let inserts = Inserts::new(3, Shard::WHOLE);
        let there = Mutex::new(BTreeSet::new());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (inserts, there) = (&inserts, &there);
                scope.spawn(move || {
                    for round in 0..200 {
                        let mut keys: Vec<u64> = (0..9).map(|_| inserts.begin().unwrap()).collect();
                        keys.rotate_left((thread + round) % 9);
                        for key in keys {
                            there.lock().unwrap().insert(key);
                            inserts.answered(key);
                            let present = inserts.present();
                            let there = there.lock().unwrap();
                            assert!((3..present).all(|key| there.contains(&key)));
                        }
                    }
                });
            }
        });
        assert_eq!(inserts.present(), 3 + 4 * 200 * 9);
    }
}
