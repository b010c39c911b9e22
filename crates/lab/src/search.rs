//! The search for the highest rate that is kept: doubling, bisection, and a second look at both
//! ends.
//!
//! Owns which rate is tried next and when to stop. What a trial is, and whether it keeps the
//! target, is the caller's: trials are noisy, so a rate passes when most of its repeats do.

use serde::{Deserialize, Serialize};

/// How to search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The rate to begin with, per second.
    pub start_per_s: f64,
    /// How close the answer is to a rate that fails, as a share: 0.02 for 2 %.
    pub within: f64,
    /// How often a rate is tried at most; as soon as most have one outcome, no more.
    pub repeats: u32,
    /// No lower rate is tried.
    pub least_per_s: f64,
    /// No higher rate is tried.
    pub most_per_s: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { start_per_s: 1000.0, within: 0.02, repeats: 3, least_per_s: 1.0, most_per_s: 1e9 }
    }
}

/// What was found, or is known so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Bracket {
    /// The highest rate that passed.
    pub passes_per_s: Option<f64>,
    /// The lowest rate above it that failed; `None` if none did.
    pub fails_per_s: Option<f64>,
}

/// How often an end of the bracket is believed to have been a mistake, and the search goes on.
const DOUBTS_MAX: u32 = 4;

/// A search as it goes.
#[derive(Debug, Clone)]
pub struct Search {
    settings: Settings,
    /// What is known so far; holds also when a trial has put an end to the search.
    pub bracket: Bracket,
}

impl Search {
    /// A search that has tried nothing.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, bracket: Bracket::default() }
    }

    /// Searches. `trial` puts on a rate, per second, and says whether it was kept.
    ///
    /// First the rate is doubled until it fails (or halved until it passes), then the gap is halved
    /// by ratio until it is as narrow as asked. Then both ends are tried anew: if the upper one
    /// passes now or the lower one fails, a hiccup had decided, and the search goes on from there.
    ///
    /// # Errors
    /// What a trial fails with.
    pub fn run<E>(&mut self, mut trial: impl FnMut(f64) -> Result<bool, E>) -> Result<Bracket, E> {
        let Settings { start_per_s, within, least_per_s, most_per_s, .. } = self.settings;
        let start = start_per_s.clamp(least_per_s, most_per_s);
        let narrow = 1.0 + within;
        let found = if self.passes(start, &mut trial)? {
            self.rise(start, 2.0, &mut trial)?
        } else {
            self.fall(start, 2.0, &mut trial)?
        };
        let Some((mut low, mut high)) = found else { return Ok(self.bracket) };
        for doubts in 0..=DOUBTS_MAX {
            while high / low > narrow {
                let middle = (low * high).sqrt();
                if self.passes(middle, &mut trial)? {
                    low = middle
                } else {
                    high = middle
                }
                self.note(low, high);
            }
            if doubts == DOUBTS_MAX {
                break;
            }
            let step = narrow * narrow;
            let moved = if self.passes(high, &mut trial)? {
                self.rise(high, step, &mut trial)?
            } else if !self.passes(low, &mut trial)? {
                self.fall(low, step, &mut trial)?
            } else {
                break;
            };
            let Some(ends) = moved else { return Ok(self.bracket) };
            (low, high) = ends;
        }
        Ok(self.bracket)
    }

    /// Goes up from a rate that passes, by `step` at first and then faster, to one that fails.
    fn rise<E>(
        &mut self,
        from: f64,
        step: f64,
        trial: &mut impl FnMut(f64) -> Result<bool, E>,
    ) -> Result<Option<(f64, f64)>, E> {
        let (mut low, mut step) = (from, step);
        loop {
            self.bracket = Bracket { passes_per_s: Some(low), fails_per_s: None };
            if low >= self.settings.most_per_s {
                return Ok(None);
            }
            let high = (low * step).min(self.settings.most_per_s);
            if !self.passes(high, trial)? {
                self.note(low, high);
                return Ok(Some((low, high)));
            }
            (low, step) = (high, faster(step));
        }
    }

    /// Goes down from a rate that fails to one that passes.
    fn fall<E>(
        &mut self,
        from: f64,
        step: f64,
        trial: &mut impl FnMut(f64) -> Result<bool, E>,
    ) -> Result<Option<(f64, f64)>, E> {
        let (mut high, mut step) = (from, step);
        loop {
            self.bracket = Bracket { passes_per_s: None, fails_per_s: Some(high) };
            if high <= self.settings.least_per_s {
                return Ok(None);
            }
            let low = (high / step).max(self.settings.least_per_s);
            if self.passes(low, trial)? {
                self.note(low, high);
                return Ok(Some((low, high)));
            }
            (high, step) = (low, faster(step));
        }
    }

    fn note(&mut self, low: f64, high: f64) {
        self.bracket = Bracket { passes_per_s: Some(low), fails_per_s: Some(high) };
    }

    /// Whether most repeats of a rate pass.
    fn passes<E>(
        &self,
        rate: f64,
        trial: &mut impl FnMut(f64) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let most = self.settings.repeats / 2 + 1;
        let (mut kept, mut failed) = (0, 0);
        loop {
            if trial(rate)? {
                kept += 1
            } else {
                failed += 1
            }
            if kept == most || failed == most {
                return Ok(kept == most);
            }
        }
    }
}

/// The next step of a way up or down: it doubles each time, and is no more than a factor of two.
fn faster(step: f64) -> f64 {
    (step * step).min(2.0)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Numbers that look random, from a seed (SplitMix64).
    struct Noise(u64);

    impl Noise {
        /// Between 0 and 1.
        fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    fn search(settings: Settings, trial: impl Fn(f64) -> bool) -> (Bracket, Vec<f64>) {
        let mut tried = Vec::new();
        let found = Search::new(settings).run(|rate| {
            tried.push(rate);
            Ok::<_, Infallible>(trial(rate))
        });
        let Ok(found) = found;
        (found, tried)
    }

    #[test]
    fn a_sharp_edge_is_found_from_above_and_below() {
        for start_per_s in [1.0, 900.0, 50_000.0, 1e8] {
            let settings = Settings { start_per_s, ..Settings::default() };
            let (found, tried) = search(settings, |rate| rate <= 51_234.5);
            let (passes, fails) = (found.passes_per_s.unwrap(), found.fails_per_s.unwrap());
            assert!(passes <= 51_234.5 && fails > 51_234.5, "{found:?}");
            assert!(fails / passes <= 1.02 + 1e-9, "{found:?}");
            assert!(tried.len() < 80, "{}", tried.len());
        }
    }

    #[test]
    fn there_may_be_no_edge() {
        let (found, _) = search(Settings { most_per_s: 5e4, ..Settings::default() }, |_| true);
        assert_eq!(found, Bracket { passes_per_s: Some(5e4), fails_per_s: None });
        let (found, tried) = search(Settings::default(), |_| false);
        assert_eq!(found, Bracket { passes_per_s: None, fails_per_s: Some(1.0) });
        assert!(tried.iter().all(|rate| *rate >= 1.0));
    }

    #[test]
    fn noise_and_hiccups_do_not_lead_astray() {
        // A trial is off by up to 1.5 % of the edge, and one in twenty fails whatever the rate.
        let edge = 83_000.0;
        let close = (0..500).filter(|seed| {
            let noise = std::cell::RefCell::new(Noise(*seed));
            let settings = Settings { start_per_s: 20_000.0, ..Settings::default() };
            let (found, _) = search(settings, |rate| {
                let mut noise = noise.borrow_mut();
                let off = 1.0 + 0.03 * (noise.unit() - 0.5);
                noise.unit() > 0.05 && rate < edge * off
            });
            (found.passes_per_s.unwrap() / edge - 1.0).abs() < 0.03
        });
        let close = close.count();
        assert!(close >= 490, "{close} of 500 are within 3 %");
    }

    #[test]
    fn a_trial_that_breaks_off_leaves_what_is_known() {
        let mut search = Search::new(Settings { repeats: 1, ..Settings::default() });
        let mut left = 4;
        let ended = search.run(|rate| {
            left -= 1;
            if left == 0 { Err("stop") } else { Ok(rate < 3000.0) }
        });
        assert_eq!(ended, Err("stop"));
        assert_eq!(search.bracket.passes_per_s, Some(2000.0));
        assert_eq!(search.bracket.fails_per_s, Some(4000.0));
    }

    #[test]
    fn a_rate_passes_when_most_of_its_repeats_do() {
        let outcomes = [true, false, true];
        let at = std::cell::Cell::new(0);
        let trial = |_| {
            at.set(at.get() + 1);
            outcomes[(at.get() - 1) % 3]
        };
        let settings = Settings { most_per_s: 1000.0, ..Settings::default() };
        let (found, tried) = search(settings, trial);
        assert_eq!((found.passes_per_s, tried.len()), (Some(1000.0), 3));
    }
}
