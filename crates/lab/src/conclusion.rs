//! What a search has found, as data and in words.

use std::fmt::{self, Display, Formatter};

use report::{Cause, grouped};
use serde::{Deserialize, Serialize};

use crate::figures::limited_by;
use crate::rate_search::{Phase, RateSearch};
use report::slo::Outcome;

/// The conclusion of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchOutcome {
    /// A rate is kept, and a higher one is missed.
    Found,
    /// A rate is kept, and nothing is known of higher ones.
    AtLeast,
    /// The lowest rate that was tried is missed.
    NotEven,
    /// No rate that was tried is clear.
    Undecided,
    /// The client or the machine decided most trials.
    NotHere,
    /// Nothing has been tried.
    #[default]
    Nothing,
}

/// What a search has found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The sentences.
    pub answered: SearchOutcome,
    /// The highest rate that is kept, with as many digits as its interval carries.
    pub rate_per_s: Option<f64>,
    /// The highest rate that a server of this kind keeps is above this, 19 times in 20.
    pub low_per_s: Option<f64>,
    /// And below this; `None` where nothing higher is missed.
    pub high_per_s: Option<f64>,
    /// The result in a few words.
    pub headline: String,
    /// What happens above it and who was the limit.
    pub text: String,
    /// Whether the client or the schedule, and not the server, set the limit.
    pub not_the_server: bool,
}

/// The trials that decide nothing, and the most frequent cause.
struct VoidTrials {
    all: usize,
    count: usize,
    cause: Option<Cause>,
}

impl VoidTrials {
    fn new(search: &RateSearch) -> Self {
        let (all, count, cause) = search.void();
        Self { all, count, cause }
    }

    /// The conclusion of a search in which most trials were void.
    fn conclusion(&self) -> Conclusion {
        let text = match self.cause {
            Some(Cause::ClientBusy) => {
                "No rate is given. Give the client more --threads or CPUs, and search again."
            }
            Some(Cause::CpuStolen) => "No rate is given. Use a machine with dedicated CPUs.",
            _ => {
                "No rate is given. Stop other programs, or give client and server CPUs of their own \
                 (--cpus, --server-cpus), and search again."
            }
        };
        Conclusion {
            answered: SearchOutcome::NotHere,
            headline: format!("cannot be judged here: {self}"),
            text: text.to_owned(),
            ..Conclusion::default()
        }
    }
}

impl Display for VoidTrials {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { all, count, cause } = self;
        match cause {
            Some(cause) => write!(f, "{} in {count} of {all} trials", cause.describe()),
            None => Ok(()),
        }
    }
}

fn per_s(rate: f64) -> String {
    format!("{}/s", grouped(rate))
}

impl RateSearch {
    /// What was found.
    pub(crate) fn concluded(&self) -> Conclusion {
        let found = self.found();
        let void = VoidTrials::new(self);
        let is_mostly_void = found.passes_per_s.is_none() && void.count * 2 > void.all;
        if is_mostly_void && !found.given_up && !self.complete() {
            let headline = format!("no rate is known yet for {}; {void}", self.slo.text);
            return Conclusion { headline, ..Conclusion::default() };
        }
        if found.given_up || is_mostly_void {
            return void.conclusion();
        }
        match found.passes_per_s {
            Some(passes) => self.rate_kept(passes, &void),
            None => self.no_rate_kept(),
        }
    }

    /// The conclusion where no rate that was tried is kept.
    fn no_rate_kept(&self) -> Conclusion {
        let slo = &self.slo.text;
        let lowest = self.rates.iter().min_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        let (answered, headline) = match lowest {
            Some(rate) if rate.judgement.outcome == Outcome::Missed => {
                (SearchOutcome::NotEven, format!("not even {} keep {slo}", per_s(rate.rate_per_s)))
            }
            Some(rate) => {
                let rate = per_s(rate.rate_per_s);
                (SearchOutcome::Undecided, format!("undecided whether {rate} keep {slo}"))
            }
            None => (SearchOutcome::Nothing, format!("no rate has been tried for {slo}")),
        };
        let why = lowest.map_or(String::new(), |rate| {
            format!("At {}: {}. ", per_s(rate.rate_per_s), rate.judgement.why)
        });
        let (not_the_server, text) = self.above();
        let text = if text.is_empty() { why.trim_end().to_owned() } else { text };
        let text = format!("{} {text}", self.time_up()).trim().to_owned();
        Conclusion { answered, headline, text, not_the_server, ..Conclusion::default() }
    }

    /// The conclusion where this is the highest rate that is kept.
    fn rate_kept(&self, passes: f64, void: &VoidTrials) -> Conclusion {
        let found = self.found();
        let (rate, high) = match found.fails_per_s {
            Some(fails) => {
                let (low, high) = carried(passes, fails);
                (low, Some(high))
            }
            None => (passes, None),
        };
        let (is_other, above) = self.above();
        let is_unjudged = high.is_none() && found.unjudged_per_s.is_some();
        if is_unjudged {
            return self.not_above(rate, void);
        }
        let (headline, mut before) = self.higher_rates((rate, high), void);
        if high.is_none_or(|high| high > rate * (1.0 + 2.0 * self.settings.within)) {
            before += &self.time_up();
        }
        let doubt = self.doubt();
        let not_the_server = is_other || doubt.is_some();
        Conclusion {
            answered: if high.is_some() { SearchOutcome::Found } else { SearchOutcome::AtLeast },
            rate_per_s: Some(rate),
            low_per_s: Some(rate),
            high_per_s: high,
            headline,
            text: (doubt.unwrap_or_default() + &before + &above).trim_end().to_owned(),
            not_the_server,
        }
    }

    /// The conclusion where this rate is kept and the machine decided all higher ones: it is a lower bound, and
    /// no answer.
    fn not_above(&self, rate: f64, void: &VoidTrials) -> Conclusion {
        let void_conclusion = void.conclusion();
        let kept = format!("{} keep {} also beside other programs. ", per_s(rate), self.slo.text);
        let kept = match void.cause {
            Some(Cause::CpuHeld) => kept,
            _ => kept.replace(" also beside other programs", ""),
        };
        let advice =
            void_conclusion.text.replacen("No rate is given.", "Higher rates were all void.", 1);
        let doubt = self.doubt().unwrap_or_default();
        Conclusion {
            headline: format!("cannot be judged here above {}: {void}", per_s(rate)),
            text: doubt + &kept + &self.time_up() + &advice,
            low_per_s: Some(rate),
            not_the_server: true,
            ..void_conclusion
        }
    }

    /// The headline for a rate that is kept, and what is known of higher ones; `high` is missed.
    fn higher_rates(
        &self,
        (rate, high): (f64, Option<f64>),
        void: &VoidTrials,
    ) -> (String, String) {
        const UNSTEADY: &str = "the latency is too unsteady for the requests that were sent. ";
        let found = self.found();
        let headline = format!("{} keep {}", per_s(rate), self.slo.text);
        let Some(high) = high else {
            return if found.undecided_per_s.is_some() {
                (format!("at least {headline}"), format!("Higher rates stay undecided: {UNSTEADY}"))
            } else {
                (headline + "; higher rates were not tried", String::new())
            };
        };
        let mut text = format!(
            "The highest rate that does is between {} and {} (95 % confidence at each end). ",
            grouped(rate),
            per_s(high)
        );
        if found.unjudged_per_s.is_some() {
            text += &format!("Rates between them could not be judged: {void}. ");
        } else if found.undecided_per_s.is_some() {
            text += &format!("Between them it stays undecided: {UNSTEADY}");
        }
        (headline, text)
    }

    /// The sentence about a search that had no more time.
    fn time_up(&self) -> String {
        if !self.out_of_time() {
            return String::new();
        }
        let budget = self.settings.budget_s;
        format!(
            "The search ended after its budget of {budget} s; a longer --budget narrows the answer. "
        )
    }

    /// What happened just above, and whether somebody else than the server was the limit there.
    fn above(&self) -> (bool, String) {
        let Some((rate, trial)) = self.obstacle() else { return (false, String::new()) };
        let who = Self::other_limit(trial);
        let mut text = format!("At {}/s: {}. ", grouped(rate.rate_per_s), rate.judgement.why);
        if let Some(who) = who {
            text += &format!("{who}, so the server may be able to do more. ");
        }
        text += &match Self::done(trial) {
            Some(done) => format!("At this rate, {done}"),
            None => limited_by(&trial.figures, "At this rate, limited by: "),
        };
        (who.is_some(), text)
    }

    /// The sentence for when lower rates miss the target too, so that more than the rate decides.
    fn doubt(&self) -> Option<String> {
        const ROUNDING: f64 = 1.001;
        let found = self.found().passes_per_s?;
        let below = self.of(Phase::Curve).filter(|trial| {
            trial.rate_per_s <= found * ROUNDING && trial.judgement.outcome != Outcome::Void
        });
        let missed = |outcome: Outcome| outcome == Outcome::Missed;
        let (all, missed) = below.fold((0, 0), |(all, count), trial| {
            (all + 1, count + usize::from(missed(trial.judgement.outcome)))
        });
        (missed * 3 > all).then(|| {
            format!(
                "This result is not reliable: {missed} of the {all} points at or below this rate \
                 missed the target. Something else, probably other load on this machine, decided. "
            )
        })
    }
}

/// The ends of an interval with the digits that its width carries, rounded away from each other: by at most a
/// fifth of it each, and the lower end to two digits at least.
fn carried(low: f64, high: f64) -> (f64, f64) {
    let magnitude = |rate: f64| 10f64.powf(rate.log10().floor());
    let unit = magnitude((high - low) / 5.0).min(magnitude(low) / 10.0);
    if !unit.is_normal() || low < unit {
        return (low, high);
    }
    // What is a multiple of the unit stays one, whatever a division makes of it.
    let off = 1e-9;
    ((low / unit + off).floor() * unit, (high / unit - off).ceil() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_the_digits_that_its_interval_carries() {
        for (low, high, shown) in [
            (51_727.0, 52_290.0, (51_700.0, 52_300.0)),
            (51_700.0, 52_300.0, (51_700.0, 52_300.0)),
            (51_727.0, 58_000.0, (51_000.0, 58_000.0)),
            (1_000.0, 1_020.0, (1_000.0, 1_020.0)),
            (3.0, 3.05, (3.0, 3.05)),
            (900.0, 4_000.0, (900.0, 4_000.0)),
            (2.0, 90.0, (2.0, 90.0)),
            (194_000.0, 434_000.0, (190_000.0, 440_000.0)),
            (141_000.0, 883_000.0, (140_000.0, 890_000.0)),
        ] {
            let (found_low, found_high) = carried(low, high);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
            assert!(
                close(found_low, shown.0) && close(found_high, shown.1),
                "{low} {high}: {found_low} {found_high}"
            );
        }
    }
}
