//! Search for the highest kept rate: doubling, bisection, and a second look at both ends.
//!
//! Owns the choice of the next rate, the number of trials, and the end. The caller makes and judges trials.
//! An undecided rate is neither kept nor missed: the result is the highest kept rate, the lowest missed one,
//! and any rates between.

mod known;

use serde::{Deserialize, Serialize};

pub(crate) use known::KnownRates;

/// Settings of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The rate to begin with, per second.
    pub start_per_s: f64,
    /// Relative distance of the result from a rate that is not kept: 0.02 for 2 %.
    pub within: f64,
    /// Maximum number of trials of a rate, not counting void ones; a clear rate gets no more.
    pub repeats: u32,
    /// Lowest rate to try, unless `most_per_s` is lower.
    pub least_per_s: f64,
    /// Highest rate to try.
    pub most_per_s: f64,
    /// Seconds that all trials may take, after which the result is the present bracket. The caller keeps this
    /// limit, as the search has no clock.
    #[serde(default = "Settings::budget_s")]
    pub budget_s: f64,
}

impl Settings {
    /// Default limit: long enough for a sharp edge, and short enough to wait for.
    fn budget_s() -> f64 {
        60.0
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            start_per_s: 1000.0,
            within: 0.02,
            repeats: 5,
            least_per_s: 1.0,
            most_per_s: 1e9,
            budget_s: Self::budget_s(),
        }
    }
}

/// Outcome of all trials of a rate so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateOutcome {
    /// The rate is kept.
    Kept,
    /// The rate is missed.
    Missed,
    /// The trials allow both.
    Undecided,
    /// The machine's delays decide: they may have caused every miss.
    Disturbed,
    /// The trial is void: the client was the limit.
    ClientLimit,
}

/// Rates known so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Bracket {
    /// The highest kept rate.
    pub passes_per_s: Option<f64>,
    /// The lowest missed rate above it, if any.
    pub fails_per_s: Option<f64>,
    /// The lowest undecided rate above it, if there is one below the missed rate.
    #[serde(default)]
    pub undecided_per_s: Option<f64>,
    /// The lowest rate above it that the machine's delays or the client decide, if there is one below the
    /// missed rate.
    #[serde(default)]
    pub unjudged_per_s: Option<f64>,
    /// Set if most trials were void, and the search was given up.
    #[serde(default)]
    pub given_up: bool,
}

/// Number of times that an end of the bracket may prove wrong before the search stops.
const DOUBTS_MAX: u32 = 4;
/// Number of void trials of a rate after which it is left unjudged.
const VOID_MAX: u32 = 4;
/// Number of void trials after which the search is given up if they are the majority: four rates, each half
/// of the previous one, could not be judged.
const GIVEN_UP_AT: u32 = 16;

/// Factor from the first rate, about half of what the server can do, to one that it surely cannot.
const FAR_ABOVE: f64 = 8.0;
/// Maximum number of doubling steps above an undecided rate in which a missed rate is looked for.
const STEPS_ABOVE_MAX: u32 = 6;
/// Maximum number of trials of a rate while the bracket is wide. A rate that is still undecided then is not
/// worth more: the rates between decide, and both ends are tried again.
const WIDE_REPEATS: u32 = 3;
/// A step of this factor or more makes a bracket wide.
const WIDE: f64 = 1.25;
/// Precision of the edge of undecided rates, as a share; it is not sharper than that.
const UNDECIDED_WITHIN: f64 = 0.05;
/// Precision of the edge of rates that the machine decides, which moves with its other load.
const UNJUDGED_WITHIN: f64 = 0.2;

/// State of a search.
#[derive(Debug, Clone)]
pub struct Search {
    settings: Settings,
    /// The bracket so far, valid also after a failed trial has ended the search.
    pub bracket: Bracket,
    /// Answers of the rates that were tried.
    known: KnownRates,
    counted: u32,
    disturbed: u32,
    client_limit: u32,
}

/// Answers of rates that are not kept.
const UNKEPT: [RateOutcome; 4] =
    [RateOutcome::Missed, RateOutcome::Undecided, RateOutcome::Disturbed, RateOutcome::ClientLimit];

/// A kept rate, and one above it that is not.
type Ends = Option<(f64, f64)>;

impl Search {
    /// Creates a search without trials.
    pub fn new(settings: Settings) -> Self {
        let bracket = Bracket::default();
        let known = KnownRates::default();
        Self { settings, bracket, known, counted: 0, disturbed: 0, client_limit: 0 }
    }

    /// Searches. `trial` applies a rate, per second, and returns the answer for it.
    ///
    /// First the rate is doubled until it is no longer kept (or halved until it is), then the gap is halved
    /// by ratio until it is as narrow as requested, or as undecided rates allow. Then both ends are tried
    /// again: if the upper one is kept now or the lower one is not, a hiccup had decided, and the search
    /// continues from there. If the upper end is undecided, or the machine decided its trials, the lowest
    /// missed rate is looked for above it.
    ///
    /// # Errors
    /// Returns the error of a trial.
    pub fn run<E>(
        &mut self,
        mut trial: impl FnMut(f64) -> Result<RateOutcome, E>,
    ) -> Result<Bracket, E> {
        let narrow = 1.0 + self.settings.within;
        let start = self.rate(self.settings.start_per_s);
        let (mut first, mut answer) = (start, self.decide(start, WIDE_REPEATS, &mut trial)?);
        // Go up, not down: a lower rate has even fewer requests to judge by.
        for _ in 0..STEPS_ABOVE_MAX {
            if answer != RateOutcome::Undecided || first >= self.settings.most_per_s {
                break;
            }
            first = self.rate(first * 2.0);
            answer = self.decide(first, WIDE_REPEATS, &mut trial)?;
        }
        let found = match answer {
            RateOutcome::Kept => self.rise(first, 2.0, &mut trial)?,
            _ => self.fall(start, 2.0, &mut trial)?,
        };
        let Some((mut low, mut high)) = found else {
            self.miss_far_above(start, &mut trial)?;
            return Ok(self.bracket);
        };
        if self.known.outcome(high) == Some(RateOutcome::Disturbed) {
            match self.climb(low, high, &mut trial)? {
                Some(ends) => (low, high) = ends,
                None => return Ok(self.bracket),
            }
        }
        for doubts in 0..=DOUBTS_MAX {
            while let Some(middle) = self.between(low, high) {
                let repeats = self.repeats(high / low);
                match self.decide(middle, repeats, &mut trial)? {
                    RateOutcome::Kept => low = middle,
                    _ => high = middle,
                }
                if self.bracket.given_up {
                    return Ok(self.bracket);
                }
            }
            if doubts == DOUBTS_MAX {
                break;
            }
            let step = narrow * narrow;
            let repeats = self.settings.repeats;
            let moved = if self.decide(high, repeats, &mut trial)? == RateOutcome::Kept {
                self.rise(high, step, &mut trial)?
            } else if matches!(
                self.decide(low, repeats, &mut trial)?,
                RateOutcome::Missed | RateOutcome::Undecided
            ) {
                self.fall(low, step, &mut trial)?
            } else {
                break;
            };
            let Some(ends) = moved else { return Ok(self.bracket) };
            (low, high) = ends;
        }
        self.miss_above(high, &mut trial)?;
        Ok(self.bracket)
    }

    /// Goes up from a rate that the machine decided, since the moment matters more than the rate. Returns the
    /// highest kept rate and the lowest above it that is not.
    fn climb<E>(
        &mut self,
        low: f64,
        from: f64,
        trial: &mut impl FnMut(f64) -> Result<RateOutcome, E>,
    ) -> Result<Ends, E> {
        let (mut kept, mut rate) = (low, from);
        for _ in 0..STEPS_ABOVE_MAX {
            if rate >= self.settings.most_per_s {
                break;
            }
            rate = self.rate(rate * 2.0);
            match self.decide(rate, WIDE_REPEATS, trial)? {
                RateOutcome::Kept => kept = rate,
                RateOutcome::Missed | RateOutcome::ClientLimit => break,
                RateOutcome::Undecided | RateOutcome::Disturbed => {}
            }
        }
        Ok(self.known.lowest(kept, &UNKEPT).map(|high| (kept, high)))
    }

    /// Tries a rate far above, if the machine decided whatever was tried: noise does not hide what no server can do.
    fn miss_far_above<E>(
        &mut self,
        start: f64,
        trial: &mut impl FnMut(f64) -> Result<RateOutcome, E>,
    ) -> Result<(), E> {
        let far = self.rate(start * FAR_ABOVE);
        let by_machine = self.bracket.given_up && self.disturbed > self.client_limit;
        if by_machine && far > start && self.bracket.fails_per_s.is_none() {
            self.decide(far, WIDE_REPEATS, trial)?;
        }
        Ok(())
    }

    /// Looks for the lowest missed rate, from one that is not kept. There is none if the client is the limit.
    fn miss_above<E>(
        &mut self,
        from: f64,
        trial: &mut impl FnMut(f64) -> Result<RateOutcome, E>,
    ) -> Result<(), E> {
        let (mut low, mut step) = match self.known.outcome(from) {
            Some(RateOutcome::Undecided) => (from, 1.0 + self.settings.within),
            Some(RateOutcome::Disturbed) => (from, 1.0 + UNJUDGED_WITHIN),
            _ => return Ok(()),
        };
        let missed = |search: &Self| search.known.lowest(from, &[RateOutcome::Missed]);
        for _ in 0..STEPS_ABOVE_MAX {
            if missed(self).is_some() || low >= self.settings.most_per_s || self.bracket.given_up {
                break;
            }
            step = faster(step);
            let high = self.rate(low * step);
            match self.decide(high, self.repeats(step), trial)? {
                RateOutcome::ClientLimit => break,
                _ => low = high,
            }
        }
        let Some(mut high) = missed(self) else { return Ok(()) };
        low = self.known.highest(high).map_or(from, |rate| rate.max(from));
        while let Some(middle) = self.between(low, high) {
            match self.decide(middle, self.settings.repeats, trial)? {
                RateOutcome::Missed => high = middle,
                _ => low = middle,
            }
            if self.bracket.given_up {
                break;
            }
        }
        Ok(())
    }

    /// Goes up from a kept rate, by `step` at first and then faster, to one that is not.
    fn rise<E>(
        &mut self,
        from: f64,
        step: f64,
        trial: &mut impl FnMut(f64) -> Result<RateOutcome, E>,
    ) -> Result<Ends, E> {
        let (mut low, mut step) = (from, step);
        loop {
            if low >= self.settings.most_per_s || self.bracket.given_up {
                return Ok(None);
            }
            let high = self.rate(low * step);
            if self.decide(high, self.repeats(step), trial)? != RateOutcome::Kept {
                return Ok((!self.bracket.given_up).then_some((low, high)));
            }
            (low, step) = (high, faster(step));
        }
    }

    /// Goes down from a rate that is not kept to one that is.
    fn fall<E>(
        &mut self,
        from: f64,
        step: f64,
        trial: &mut impl FnMut(f64) -> Result<RateOutcome, E>,
    ) -> Result<Ends, E> {
        let (mut high, mut step) = (from, step);
        loop {
            if high <= self.least() || self.bracket.given_up {
                return Ok(None);
            }
            let low = self.rate(high / step);
            if self.decide(low, self.repeats(step), trial)? == RateOutcome::Kept {
                return Ok(Some((low, high)));
            }
            (high, step) = (low, faster(step));
        }
    }

    /// Returns the most trials for a rate whose ratio to another is `apart`.
    fn repeats(&self, apart: f64) -> u32 {
        let most = if apart >= WIDE { WIDE_REPEATS } else { u32::MAX };
        self.settings.repeats.min(most)
    }

    /// Tries a rate until it is clear, at most `repeats` times, and returns its answer. A second trial
    /// confirms a miss, as one bad moment is no rate's fault.
    fn decide<E>(
        &mut self,
        rate: f64,
        repeats: u32,
        trial: &mut impl FnMut(f64) -> Result<RateOutcome, E>,
    ) -> Result<RateOutcome, E> {
        let (mut counted, mut void) = (0, 0);
        let answer = loop {
            let answer = trial(rate)?;
            match answer {
                RateOutcome::Disturbed => self.disturbed += 1,
                RateOutcome::ClientLimit => self.client_limit += 1,
                _ => self.counted += 1,
            }
            if matches!(answer, RateOutcome::Disturbed | RateOutcome::ClientLimit) {
                void += 1;
                self.give_up();
                if self.bracket.given_up || void == VOID_MAX {
                    break if counted > 0 { RateOutcome::Undecided } else { answer };
                }
                continue;
            }
            counted += 1;
            let clear = answer == RateOutcome::Kept || answer == RateOutcome::Missed && counted > 1;
            if clear || counted >= repeats {
                break answer;
            }
            // Whatever ends the search before the next trial, one miss is none.
            self.learn(rate, RateOutcome::Undecided);
        };
        // A void trial does not contradict earlier ones.
        let void = matches!(answer, RateOutcome::Disturbed | RateOutcome::ClientLimit);
        let answer = self.known.outcome(rate).filter(|_| void).unwrap_or(answer);
        self.learn(rate, answer);
        Ok(answer)
    }

    /// Notes the answer for a rate, and updates the bracket.
    fn learn(&mut self, rate: f64, answer: RateOutcome) {
        self.known.learn(rate, answer);
        self.bracket = Bracket { given_up: self.bracket.given_up, ..self.known.bracket() };
    }

    /// Gives up if most trials are void and no rate was kept nevertheless. Once one was, the result is at
    /// least that rate, and higher ones are tried while time remains.
    fn give_up(&mut self) {
        let void = self.disturbed + self.client_limit;
        let nothing = self.known.highest_kept().is_none();
        self.bracket.given_up = nothing && void >= GIVEN_UP_AT && void > self.counted;
    }

    /// The lowest tried rate above the kept one that is neither kept nor missed, and its answer.
    pub fn unjudged(&self) -> Option<(f64, RateOutcome)> {
        let from = self.bracket.passes_per_s.unwrap_or(0.0);
        let open = [RateOutcome::Undecided, RateOutcome::Disturbed, RateOutcome::ClientLimit];
        let rate = self.known.lowest(from, &open)?;
        Some((rate, self.known.outcome(rate)?))
    }

    /// The geometric mean of two rates, unless they are as close as requested, or as undecided rates allow.
    fn between(&self, low: f64, high: f64) -> Option<f64> {
        let middle = self.rate((low * high).sqrt());
        let is = |answer| [low, high].iter().any(|rate| self.known.outcome(*rate) == Some(answer));
        let least = match () {
            () if is(RateOutcome::Disturbed) => UNJUDGED_WITHIN,
            () if is(RateOutcome::Undecided) => UNDECIDED_WITHIN,
            () => 0.0,
        };
        let apart = high / low > 1.0 + self.settings.within.max(least);
        (apart && low < middle && middle < high).then_some(middle)
    }

    fn least(&self) -> f64 {
        self.settings.least_per_s.min(self.settings.most_per_s)
    }

    /// Rounds a rate to a tenth of the search's precision, within the allowed range.
    fn rate(&self, rate: f64) -> f64 {
        let (least, most) = (self.least(), self.settings.most_per_s);
        let digits = if self.settings.within >= 0.01 { 2 } else { 3 };
        let round = format!("{rate:.digits$e}").parse().unwrap_or(rate);
        match rate {
            rate if rate >= most => most,
            rate if rate <= least => least,
            _ => f64::clamp(round, least, most),
        }
    }
}

/// The next step of a way up or down: doubled each time, up to a factor of two.
fn faster(step: f64) -> f64 {
    (step * step).min(2.0)
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
