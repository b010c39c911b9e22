//! The key choosers of YCSB, exactly: its zipfian is much flatter than Zipf's law.
//!
//! Keys are drawn from a window of COUNT keys from number START on; keys inserted by the run extend it for
//! the choosers for which YCSB extends it. A draw beyond the existing keys is repeated, as there.

use super::{KeyDraw, Source};
use crate::hashes::fnv;
use crate::random::{self, Stream};

/// The exponent of both zipfian generators.
const THETA: f64 = 0.99;
/// Ranks of the scrambled distribution for any number of keys, and the sum of their weights.
const RANKS: u64 = 10_000_000_001;
const RANKS_ZETA: f64 = 26.469_028_201_783_02;
/// Number of repeated draws after which a draw is taken modulo the existing keys. A window with half of its
/// keys gets here once in 2^256 draws.
const REPEATS_MAX: u64 = 256;

#[derive(Debug, Clone, Copy)]
struct Ycsb {
    chooser: Chooser,
    start: u64,
    count: u64,
    range: u64,
    /// Set if keys inserted by the run are drawn, too.
    grows: bool,
}

#[derive(Debug, Clone, Copy)]
enum Chooser {
    Uniform,
    Sequential,
    /// Hashes over numbers from the start on: those of the window, those that may be inserted, and one more.
    Scrambled {
        ranks: Zipfian,
        over: u64,
    },
    Latest {
        zipfian: Zipfian,
    },
    Hotspot {
        hot: u64,
        share: f64,
    },
    Exponential {
        gamma: f64,
    },
}

/// Parses parameters. `uniform`, `sequential`, `zipfian` and `hotspot` take `START,COUNT`; then `zipfian`
/// takes the number of possible inserts and an exponent, and `hotspot` the hot parts of the keys and of the
/// draws. `exponential` takes a percentile and a part of the keys. It and `latest` end in 0 if a run inserts
/// nothing.
pub(super) fn read(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String> {
    let mut words = parameters.unwrap_or("zipfian").split(',');
    let name = words.next().unwrap_or_default();
    let mut numbers = Vec::new();
    for word in words {
        let number = word.parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
        numbers.push(number.ok_or_else(|| format!("{word:?} is not a number from 0 on"))?);
    }
    let given = numbers.len();
    let at = |n: usize, or: f64| numbers.get(n).copied().unwrap_or(or);
    // A window lies within the range.
    let start = (at(0, 0.0) as u64).min(range - 1);
    let count = numbers.get(1).map_or(range, |count| *count as u64).clamp(1, range - start);
    let (chooser, most) = match name {
        "uniform" => (Chooser::Uniform, 2),
        "sequential" => (Chooser::Sequential, 2),
        "zipfian" => {
            let over = count.saturating_add(at(2, 0.0) as u64).saturating_add(1);
            let ranks = match numbers.get(3) {
                None => Zipfian { items: RANKS, theta: THETA, zeta: RANKS_ZETA },
                Some(theta) if *theta > 0.0 && *theta < 1.0 => Zipfian::new(RANKS, *theta),
                Some(theta) => return Err(format!("{theta} is not an exponent between 0 and 1")),
            };
            (Chooser::Scrambled { ranks, over }, 4)
        }
        "latest" => (Chooser::Latest { zipfian: Zipfian::new(range - 1, THETA) }, 1),
        "hotspot" => {
            let share = [at(2, 0.2), at(3, 0.8)];
            if share.iter().any(|share| *share > 1.0) {
                return Err("the fractions of a hotspot are from 0 to 1".to_owned());
            }
            (Chooser::Hotspot { hot: (count as f64 * share[0]) as u64, share: share[1] }, 4)
        }
        "exponential" => {
            let (percentile, fraction) = (at(0, 95.0), at(1, 6.0 / 7.0));
            if percentile >= 100.0 || percentile == 0.0 || fraction == 0.0 {
                return Err(
                    "expected a percentile between 0 and 100 and a fraction above 0".to_owned()
                );
            }
            let gamma = -(-percentile / 100.0).ln_1p() / (range as f64 * fraction);
            (Chooser::Exponential { gamma }, 3)
        }
        _ => return Err(format!("unknown generator {name:?}")),
    };
    if given > most {
        return Err(format!("{name} takes at most {most} parameters"));
    }
    let grows = match chooser {
        Chooser::Scrambled { .. } => at(2, 0.0) > 0.0,
        Chooser::Latest { .. } => at(0, 1.0) > 0.0,
        Chooser::Exponential { .. } => at(2, 1.0) > 0.0,
        Chooser::Uniform | Chooser::Sequential | Chooser::Hotspot { .. } => false,
    };
    Ok(Box::new(Ycsb { chooser, start, count, range, grows }))
}

impl KeyDraw for Ycsb {
    fn draw(&self, stream: Stream, index: u64) -> u64 {
        self.draw_present(stream, index, self.range)
    }

    fn draw_present(&self, stream: Stream, index: u64, present: u64) -> u64 {
        let present = present.max(1);
        let mut bits = stream.draw(index);
        for repeat in 1..=REPEATS_MAX {
            if let Some(key) = self.number(bits, index, present).filter(|key| *key < present) {
                return key;
            }
            bits = random::draw(bits, repeat);
        }
        self.start.wrapping_add(bits % self.count) % present
    }

    fn source(&self) -> Source {
        if self.grows { Source::Present } else { Source::Number }
    }
}

impl Ycsb {
    /// The number that these bits draw; `None` if it is negative.
    #[inline]
    fn number(&self, bits: u64, index: u64, present: u64) -> Option<u64> {
        // From 0 and below 1, as Java draws it.
        let u = 1.0 - random::unit(bits);
        let last = present - 1;
        Some(match self.chooser {
            Chooser::Uniform => self.start + random::within(bits, self.count),
            Chooser::Sequential => self.start + index % self.count,
            Chooser::Scrambled { ranks, over } => {
                self.start.wrapping_add(fnv(ranks.rank(u)) % over)
            }
            Chooser::Latest { .. } if last == 0 => 0,
            Chooser::Latest { zipfian } => last - zipfian.among(last).rank_of(u, last).min(last),
            Chooser::Hotspot { hot, share } => {
                let (cold, key) = (self.count - hot, random::mix(bits));
                match (u < share && hot > 0) || cold == 0 {
                    true => self.start + random::within(key, hot),
                    false => self.start + hot + random::within(key, cold),
                }
            }
            Chooser::Exponential { gamma } => {
                return last.checked_sub((-random::unit(bits).ln() / gamma) as u64);
            }
        })
    }
}

/// Ranks by Zipf's law in the approximation of Gray and others ("Quickly generating billion-record synthetic
/// databases", 1994), exact for the first two ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zipfian {
    items: u64,
    theta: f64,
    /// The sum of the weights of all ranks.
    zeta: f64,
}

impl Zipfian {
    /// Returns the law for `items` ranks.
    pub(crate) fn new(items: u64, theta: f64) -> Self {
        let head = items.min(TERMS);
        let sum: f64 = (1..=head).map(|rank| (rank as f64).powf(-theta)).sum();
        Self { items: head, theta, zeta: sum }.grown(items)
    }

    /// The distribution with YCSB's exponent.
    pub(crate) fn of_ycsb(items: u64) -> Self {
        Self::new(items, THETA)
    }

    /// The distribution over more items; the weights of the added ranks are summed by the Euler-Maclaurin
    /// formula.
    fn grown(self, items: u64) -> Self {
        if items <= self.items || self.items == 0 {
            return self;
        }
        let (a, b, s) = (self.items as f64, items as f64, self.theta);
        let term = |k: f64| k.powf(-s);
        let integral = (b.powf(1.0 - s) - a.powf(1.0 - s)) / (1.0 - s);
        let slope = |k: f64| -s * term(k) / k;
        let more = integral + (term(b) - term(a)) / 2.0 + (slope(b) - slope(a)) / 12.0;
        Self { items, zeta: self.zeta + more, ..self }
    }

    /// Returns the law with the weights of `items` ranks. Other values that depend on their number stay as
    /// they were, as in YCSB.
    fn among(self, items: u64) -> Self {
        let near = self.items >= TERMS;
        let zeta = if near { self.grown(items) } else { Self::new(items, self.theta) }.zeta;
        Self { zeta, ..self }
    }

    /// The rank at this fraction, from 0 to below 1.
    pub(crate) fn rank(self, u: f64) -> u64 {
        self.rank_of(u, self.items)
    }

    fn rank_of(self, u: f64, items: u64) -> u64 {
        let second = 1.0 + 0.5f64.powf(self.theta);
        let weight = u * self.zeta;
        if weight < 1.0 {
            return 0;
        }
        if weight < second {
            return 1;
        }
        let first = 1.0 - (2.0 / self.items as f64).powf(1.0 - self.theta);
        let eta = first / (1.0 - second / self.zeta);
        (items as f64 * (eta * u - eta + 1.0).powf(1.0 / (1.0 - self.theta))) as u64
    }
}

/// Ranks whose weights are added one by one.
const TERMS: u64 = 64;

#[cfg(test)]
mod tests {
    use super::super::KeyDist;
    use super::*;

    const DRAWS: u64 = 200_000;

    fn counts(text: &str, range: u64) -> Vec<u64> {
        let keys = text.parse::<KeyDist>().unwrap().over(range);
        let mut counts = vec![0; range as usize];
        (0..DRAWS).for_each(|index| counts[keys.draw(7.into(), index) as usize] += 1);
        counts
    }

    #[test]
    fn the_hottest_records_are_those_of_ycsb() {
        let first = |over: u64| [0, 1, 2, 3, 4].map(|rank| fnv(rank) % over);
        assert_eq!(first(1001), [144, 610, 213, 679, 10]);
        assert_eq!(first(1_000_001), [801_320, 216_074, 971_811, 386_565, 464_295]);
        let counts = counts("ycsb:zipfian,0,1000", 1000);
        let part = |count: u64| count as f64 / DRAWS as f64;
        assert!((part(counts[144]) - 0.0386).abs() < 0.002, "{}", part(counts[144]));
        let mut sorted = counts.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let top = |n: usize| part(sorted[..n].iter().sum());
        // What its formula comes to, and what its own client draws.
        assert!((top(10) - 0.126).abs() < 0.004, "{}", top(10));
        assert!((top(200) - 0.401).abs() < 0.02, "{}", top(200));
        assert_eq!(counts.iter().max(), Some(&counts[144]));
    }

    #[test]
    fn the_constant_is_the_sum_that_it_stands_for() {
        assert!((Zipfian::of_ycsb(RANKS).zeta - RANKS_ZETA).abs() < 1e-6);
        for items in [1u64, 2, 63, 64, 65, 100, 5000] {
            let sum: f64 = (1..=items).map(|rank| (rank as f64).powf(-THETA)).sum();
            assert!((Zipfian::of_ycsb(items).zeta - sum).abs() < 1e-8, "{items}");
        }
    }

    #[test]
    fn a_window_is_all_that_is_drawn_from() {
        for text in ["uniform", "sequential", "hotspot", "zipfian"] {
            let counts = counts(&format!("ycsb:{text},500,250"), 1000);
            let drawn = |at: usize| counts[at] > 0;
            assert!((0..500).chain(751..1000).all(|at| !drawn(at)), "{text}");
            assert!((500..750).all(drawn), "{text}");
        }
        let counts = counts("ycsb:hotspot,0,1000,0.2,0.8", 1000);
        let hot: u64 = counts[..200].iter().sum();
        assert!((hot as f64 / DRAWS as f64 - 0.8).abs() < 0.01);
    }

    #[test]
    fn the_newest_are_read_most_and_the_oldest_never() {
        let latest = counts("ycsb:latest", 1000);
        assert_eq!(latest[0], 0);
        assert!(latest[999] > latest[998] && latest[998] > latest[900]);
        let keys = "ycsb:latest".parse::<KeyDist>().unwrap().over(100);
        assert_eq!(keys.source(), Source::Present);
        for (text, source) in [
            ("latest,0", Source::Number),
            ("exponential,95,0.8", Source::Present),
            ("exponential,95,0.8,0", Source::Number),
            ("zipfian,0,9,2", Source::Present),
            ("zipfian,0,9,0,0.5", Source::Number),
            ("uniform,0,9", Source::Number),
        ] {
            let keys = format!("ycsb:{text}").parse::<KeyDist>().unwrap().over(100);
            assert_eq!(keys.source(), source, "{text}");
        }
        let newest = (0..1000).map(|index| keys.draw_present(1.into(), index, 5000)).max();
        assert_eq!(newest, Some(4999));
        assert_eq!(keys.draw_present(1.into(), 1, 1), 0);
        let exponential = counts("ycsb:exponential", 1000);
        let near: u64 = exponential[143..].iter().sum();
        // 95 % of all, and of those that are not cut off 98.
        assert!((near as f64 / DRAWS as f64 - 0.98).abs() < 0.01, "{near}");
    }

    #[test]
    fn what_it_is_not_is_refused() {
        for (bad, why) in [
            ("ycsb:zipf", "unknown generator"),
            ("ycsb:uniform,x", "not a number"),
            ("ycsb:uniform,1,2,3", "2 parameters"),
            ("ycsb:hotspot,0,9,2", "from 0 to 1"),
            ("ycsb:exponential,100", "percentile"),
            ("ycsb:zipfian,0,9,0,1.2", "exponent"),
        ] {
            let error = bad.parse::<KeyDist>().unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
