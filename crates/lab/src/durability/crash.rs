//! Judgement of a crash: the server's content afterwards, held against what it had acknowledged.

use measure::LaneRecord;
use serde::{Deserialize, Serialize};

/// Numbers of a lane: those of the next lane begin behind them.
pub const LANE: u64 = 1 << 30;

/// Effects of one crash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Crash {
    /// Time of the crash in seconds since load began.
    pub at_s: f64,
    /// Number of writes that the server acknowledged, before the crash and after it.
    pub acknowledged: u64,
    /// Number of acknowledged writes that are not there.
    pub lost: u64,
    /// Age in seconds of the oldest lost write when the server crashed, from its acknowledgement; `None` if none was
    /// lost.
    pub rpo_s: Option<f64>,
    /// Time in seconds from the last successful write to the next; `None` if there was none until the end.
    pub rto_s: Option<f64>,
    /// Number of writes that are there and were never acknowledged, which is no fault.
    pub unacknowledged: u64,
    /// Number of writes that are there more than once, counted without the first.
    pub doubled: u64,
    /// Number of writes that are there behind a later one of the same connection.
    pub out_of_order: u64,
    /// Number of entries that are not as they were sent.
    pub damaged: u64,
    /// Number of writes that a reader saw before the crash and that are not there.
    pub read_and_gone: u64,
}

/// Content of a server: numbers of writes in the order in which they are there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// Numbers of intact entries.
    pub numbers: Vec<u64>,
    /// Number of entries that are not as they were sent.
    pub damaged: u64,
}

impl Content {
    /// Adds an entry: a number, a colon and `bytes` more bytes.
    pub fn add(&mut self, entry: &[u8], bytes: usize) {
        let colon = entry.iter().position(|byte| *byte == b':');
        let number = colon.filter(|at| entry.len() == at + 1 + bytes);
        let number = number.and_then(|at| std::str::from_utf8(&entry[..at]).ok()?.parse().ok());
        match number {
            Some(number) => self.numbers.push(number),
            None => self.damaged += 1,
        }
    }
}

impl Crash {
    /// Holds a server's content against what it had acknowledged on each lane when it crashed, `at_ns` after load
    /// began, and against the numbers that a reader `saw` before that.
    pub fn judge(lanes: &[LaneRecord], content: &Content, saw: &[u64], at_ns: u64) -> Self {
        let mut present = vec![Vec::new(); lanes.len()];
        let mut last = vec![0; lanes.len()];
        let acknowledged = lanes.iter().map(LaneRecord::count).sum();
        let mut crash = Self {
            at_s: at_ns as f64 / 1e9,
            acknowledged,
            damaged: content.damaged,
            ..Self::default()
        };
        for number in &content.numbers {
            let (lane, own) = ((number / LANE) as usize, (number % LANE) as usize);
            let (Some(present), Some(record)) = (present.get_mut(lane), lanes.get(lane)) else {
                crash.damaged += 1;
                continue;
            };
            if present.len() <= own {
                present.resize(own + 1, false);
            }
            if std::mem::replace(&mut present[own], true) {
                crash.doubled += 1;
                continue;
            }
            crash.out_of_order += u64::from(own < last[lane]);
            last[lane] = last[lane].max(own);
            crash.unacknowledged += u64::from(!record.contains(own as u64));
        }
        let has = |lane: usize, own: u64| {
            let known = present.get(lane).and_then(|present: &Vec<bool>| present.get(own as usize));
            known.copied().unwrap_or(false)
        };
        let mut oldest_ns = None;
        for (lane, record) in lanes.iter().enumerate() {
            for own in (0..record.next).filter(|own| record.contains(*own) && !has(lane, *own)) {
                crash.lost += 1;
                let since_ns = record.at_ns(own).unwrap_or(at_ns);
                oldest_ns = Some(oldest_ns.map_or(since_ns, |oldest: u64| oldest.min(since_ns)));
            }
        }
        crash.rpo_s = oldest_ns.map(|oldest| at_ns.saturating_sub(oldest) as f64 / 1e9);
        let mut saw: Vec<u64> = saw.to_vec();
        saw.sort_unstable();
        saw.dedup();
        crash.read_and_gone =
            saw.iter().filter(|number| !has((**number / LANE) as usize, **number % LANE)).count()
                as u64;
        crash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lanes of 1,000 writes, all acknowledged, one each microsecond.
    fn lanes() -> Vec<LaneRecord> {
        let times: Vec<(u64, u64)> = (1..=1000).map(|next| (next, next * 1_000)).collect();
        vec![LaneRecord { next: 1000, missing: Vec::new(), times }; 2]
    }

    fn content(change: impl Fn(&mut Vec<u64>)) -> Content {
        let mut numbers: Vec<u64> = (0..1000).flat_map(|own| [own, LANE + own]).collect();
        change(&mut numbers);
        Content { numbers, damaged: 0 }
    }

    #[test]
    fn every_fault_of_a_server_is_counted_exactly() {
        let judge = |change: &dyn Fn(&mut Vec<u64>), saw: &[u64]| {
            Crash::judge(&lanes(), &content(change), saw, 1_000_000)
        };
        let whole = judge(&|_| {}, &[5, LANE]);
        assert_eq!(whole, Crash { at_s: 0.001, acknowledged: 2000, ..Crash::default() });
        let lossy = judge(&|numbers| numbers.retain(|number| number % 100 != 0), &[0, 1, 0]);
        // Of each lane number 0, 100, ... but LANE itself ends with another digit.
        let lost = (0..1000).flat_map(|own| [own, LANE + own]).filter(|n| n % 100 == 0).count();
        assert_eq!((lossy.lost, lossy.read_and_gone), (lost as u64, 1));
        assert_eq!(lossy.rpo_s, Some(0.000_999));
        let doubled = judge(&|numbers| numbers.push(3), &[]);
        assert_eq!((doubled.doubled, doubled.lost, doubled.out_of_order), (1, 0, 0));
        let swapped = judge(&|numbers| numbers.swap(10, 12), &[]);
        assert_eq!((swapped.out_of_order, swapped.lost), (1, 0));
        let strange = judge(&|numbers| numbers.push(9 * LANE), &[]);
        assert_eq!((strange.damaged, strange.lost), (1, 0));
    }

    #[test]
    fn writes_without_a_reply_may_be_there_or_not() {
        let mut lanes = lanes();
        lanes[0].missing = vec![4..5, 5..6];
        let judge = |own: &[u64]| {
            let content = content(|numbers| numbers.retain(|number| !own.contains(number)));
            Crash::judge(&lanes, &content, &[], 1_000_000)
        };
        let (there, half, none) = (judge(&[]), judge(&[5]), judge(&[4, 5]));
        assert_eq!([there.lost, half.lost, none.lost], [0; 3]);
        assert_eq!([there.unacknowledged, half.unacknowledged, none.unacknowledged], [2, 1, 0]);
        assert_eq!(none.acknowledged, 1998);
    }

    #[test]
    fn entries_are_numbers_with_their_bytes() {
        let mut content = Content::default();
        for entry in ["17:abc", "18:ab", ":abc", "x:abc", "19", "20:abcd", "21:a:c"] {
            content.add(entry.as_bytes(), 3);
        }
        assert_eq!(content, Content { numbers: vec![17, 21], damaged: 5 });
    }
}
