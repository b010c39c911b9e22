//! What a search has found, as data and in words.

use report::grouped;
use serde::{Deserialize, Serialize};

use crate::figures::limited_by;
use crate::rate_search::{Phase, RateSearch};
use report::slo::Outcome;

/// What can be said at the end of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answered {
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
    /// What can be said.
    pub answered: Answered,
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

impl RateSearch {
    /// What was found.
    pub(crate) fn concluded(&self) -> Conclusion {
        let (slo, found) = (&self.slo.text, self.found());
        let (all, void, cause) = self.void();
        let in_trials = |void: usize| match cause {
            Some(cause) => format!("{} in {void} of {all} trials", cause.told()),
            None => String::new(),
        };
        let mostly_void = found.passes_per_s.is_none() && void * 2 > all;
        if mostly_void && !found.given_up && !self.complete() {
            let headline = format!("no rate is known yet for {slo}; {}", in_trials(void));
            return Conclusion { headline, ..Conclusion::default() };
        }
        if found.given_up || mostly_void {
            let headline = format!("cannot be judged here: {}", in_trials(void));
            let text = "No rate is given. Stop other programs, or give client and server CPUs of \
                their own (--cpus, --server-cpus), and search again.";
            let text = match cause {
                Some(report::Cause::ClientBusy) => {
                    "No rate is given. Give the client more --threads or CPUs, and search again."
                }
                Some(report::Cause::CpuStolen) => {
                    "No rate is given. Use a machine with dedicated CPUs."
                }
                _ => text,
            };
            let answered = Answered::NotHere;
            return Conclusion { answered, headline, text: text.into(), ..Conclusion::default() };
        }
        let per_s = |rate: f64| format!("{}/s", grouped(rate));
        let Some(passes) = found.passes_per_s else {
            let lowest = self.rates.iter().map(|rate| rate.rate_per_s).min_by(f64::total_cmp);
            let lowest =
                lowest.and_then(|lowest| self.rates.iter().find(|rate| rate.rate_per_s == lowest));
            let (answered, headline) = match lowest {
                Some(rate) if rate.judgement.outcome == Outcome::Missed => {
                    (Answered::NotEven, format!("not even {} keep {slo}", per_s(rate.rate_per_s)))
                }
                Some(rate) => {
                    let rate = per_s(rate.rate_per_s);
                    let headline = format!("undecided whether {rate} keep {slo}");
                    (Answered::Undecided, headline)
                }
                None => (Answered::Nothing, format!("no rate has been tried for {slo}")),
            };
            let why = lowest.map_or(String::new(), |rate| {
                format!("At {}: {}. ", per_s(rate.rate_per_s), rate.judgement.why)
            });
            let (who, text) = self.above();
            let text = if text.is_empty() { why.trim_end().to_owned() } else { text };
            let text = format!("{} {text}", self.time_up()).trim().to_owned();
            return Conclusion {
                answered,
                headline,
                text,
                not_the_server: who,
                ..Conclusion::default()
            };
        };
        let (rate, high) = match found.fails_per_s {
            Some(fails) => {
                let (low, high) = carried(passes, fails);
                (low, Some(high))
            }
            None => (passes, None),
        };
        let (who, text) = self.above();
        let mut not_the_server = who;
        let (mut answered, mut headline) =
            (Answered::AtLeast, format!("{} keep {slo}", per_s(rate)));
        let mut before = String::new();
        match high {
            Some(high) => {
                answered = Answered::Found;
                before = format!(
                    "The highest rate that does is between {} and {} (95 % confidence at each \
                     end). ",
                    grouped(rate),
                    per_s(high)
                );
                if found.unjudged_per_s.is_some() {
                    before +=
                        &format!("Rates between them could not be judged: {}. ", in_trials(void));
                } else if found.undecided_per_s.is_some() {
                    before += "Between them it stays undecided: the latency is too unsteady for the \
                        requests that were sent. ";
                }
            }
            None if found.unjudged_per_s.is_some() => {
                headline = format!("at least {headline}");
                not_the_server = true;
                before = format!("Higher rates could not be judged: {}. ", in_trials(void));
            }
            None if found.undecided_per_s.is_some() => {
                headline = format!("at least {headline}");
                before =
                    "Higher rates stay undecided: the latency is too unsteady for the requests \
                    that were sent. "
                        .to_owned();
            }
            None => headline += "; higher rates were not tried",
        }
        if high.is_none_or(|high| high > rate * (1.0 + 2.0 * self.settings.within)) {
            before += &self.time_up();
        }
        let doubt = self.doubt();
        not_the_server |= doubt.is_some();
        let text = (doubt.unwrap_or_default() + &before + &text).trim_end().to_owned();
        let (rate_per_s, low_per_s, high_per_s) = (Some(rate), Some(rate), high);
        Conclusion { answered, rate_per_s, low_per_s, high_per_s, headline, text, not_the_server }
    }

    /// What is to be said of a search that had no more time.
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

    /// What is to be said if lower rates miss the target too, so that more than the rate decides.
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
/// fifth of it each.
fn carried(low: f64, high: f64) -> (f64, f64) {
    let unit = 10f64.powf(((high - low) / 5.0).log10().floor());
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
