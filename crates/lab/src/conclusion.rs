//! Derivation of the conclusion of a search, in words.

use std::fmt::{self, Display, Formatter};

use report::slo::Outcome;
use report::{Cause, grouped};

use crate::figures::limited_by;
use crate::rate_search::{Conclusion, Phase, Rate, RateSearch, SearchOutcome};

/// The trials that noise or the client decided, and the most frequent cause.
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

    /// Returns advice against the cause.
    fn advice(&self) -> &'static str {
        match self.cause {
            Some(Cause::ClientBusy) => "Give the client more --threads or CPUs, and search again. ",
            Some(Cause::CpuStolen) => "Use a machine with dedicated CPUs. ",
            _ => {
                "Put chrt -f 10 in front of the command, or give client and server CPUs of their own \
                 (--cpus, --server-cpus), and search again. "
            }
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

/// Deciding measurement for rates that are neither kept nor missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decides {
    Machine,
    Client,
    Requests,
}

impl Display for Decides {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Machine => "this machine's own delays decide",
            Self::Client => "the client is the limit",
            Self::Requests => "the latency is too unsteady to tell",
        })
    }
}

/// Ratio of a missed rate to a kept one from which the headline names it, too.
const APART: f64 = 1.1;
/// Ratio from which there is no answer if the rates between are unknown.
const FAR: f64 = 2.0;

fn per_s(rate: f64) -> String {
    format!("{}/s", grouped(rate))
}

impl RateSearch {
    /// Draws the conclusion.
    pub(crate) fn concluded(&self) -> Conclusion {
        let found = self.found();
        let void = VoidTrials::new(self);
        if let Some(passes) = found.passes_per_s {
            return self.rate_kept(passes, &void);
        }
        let is_mostly_void = found.fails_per_s.is_none() && void.count * 2 > void.all;
        if is_mostly_void && !found.given_up && !self.complete() {
            let headline = format!("no rate is known yet for {}; {void}", self.slo.text);
            return Conclusion { headline, ..Conclusion::default() };
        }
        if is_mostly_void {
            let nearest = self.nearest().map_or(String::new(), |rate| {
                format!("The nearest was {}: {}. ", per_s(rate.rate_per_s), rate.judgement.why)
            });
            return Conclusion {
                answered: SearchOutcome::Unjudged,
                headline: format!("no rate is sure to keep {} here: {void}", self.slo.text),
                text: format!("{nearest}{}", void.advice()).trim_end().to_owned(),
                ..Conclusion::default()
            };
        }
        self.no_rate_kept(&void)
    }

    /// The rate that was measured nearest to the target, or below it.
    fn nearest(&self) -> Option<&Rate> {
        let of_bound = |rate: &Rate| {
            let shares = rate.judgement.bounds.iter().map(|bound| bound.value / bound.clause.below);
            shares.fold(0.0, f64::max)
        };
        let measured = self.rates.iter().filter(|rate| !rate.judgement.bounds.is_empty());
        measured.min_by(|a, b| of_bound(a).total_cmp(&of_bound(b)))
    }

    /// The conclusion if no rate was kept.
    fn no_rate_kept(&self, void: &VoidTrials) -> Conclusion {
        let (slo, fails) = (&self.slo.text, self.found().fails_per_s);
        let lowest = self.rates.iter().min_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        let (answered, headline) = match (lowest, fails) {
            (Some(lowest), Some(fails)) if fails <= lowest.rate_per_s => {
                (SearchOutcome::LowestMissed, format!("not even {} keep {slo}", per_s(fails)))
            }
            (Some(_), Some(fails)) => {
                let who = self.decides().unwrap_or(Decides::Requests);
                let headline =
                    format!("{} do not keep {slo}; whether lower rates do, {who}", per_s(fails));
                (SearchOutcome::Undecided, headline)
            }
            (Some(rate), None) => {
                let rate = per_s(rate.rate_per_s);
                (SearchOutcome::Undecided, format!("undecided whether {rate} keep {slo}"))
            }
            (None, _) => (SearchOutcome::NoTrial, format!("no rate has been tried for {slo}")),
        };
        let why = lowest.map_or(String::new(), |rate| {
            format!("At {}: {}. ", per_s(rate.rate_per_s), rate.judgement.why)
        });
        let (not_the_server, text) = self.above();
        let text = if text.is_empty() { why } else { format!("{text} ") };
        let advice = self.noise(void);
        let text = format!("{}{text}{advice}", self.time_up()).trim_end().to_owned();
        Conclusion { answered, headline, text, not_the_server, ..Conclusion::default() }
    }

    /// The conclusion if `passes` is the highest kept rate.
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
        let open = self.decides();
        let answered = match high {
            Some(high) if !(high > rate * FAR && open.is_some()) => SearchOutcome::Found,
            None if open.is_none() => SearchOutcome::AtLeast,
            _ => SearchOutcome::Open,
        };
        let mut before = high.map_or(String::new(), |high| {
            format!(
                "The highest rate that does is between {} and {} (95 % confidence at each end). ",
                grouped(rate),
                per_s(high)
            )
        });
        before += &self.noise(void);
        if high.is_none_or(|high| high > rate * (1.0 + 2.0 * self.settings.within)) {
            before += &self.time_up();
        }
        let doubt = self.doubt();
        let not_the_server = is_other || doubt.is_some() || answered == SearchOutcome::Open;
        Conclusion {
            answered,
            rate_per_s: Some(rate),
            low_per_s: Some(rate),
            high_per_s: high,
            headline: self.headline(rate, high, open),
            text: (doubt.unwrap_or_default() + &before + &above).trim_end().to_owned(),
            not_the_server,
        }
    }

    /// The headline for a kept rate; `high` is missed, and `open` decides between them.
    fn headline(&self, rate: f64, high: Option<f64>, open: Option<Decides>) -> String {
        let kept = format!("{} keep {}", per_s(rate), self.slo.text);
        match (high, open) {
            (Some(high), Some(who)) if high > rate * APART => {
                format!("at least {kept}; {} do not; between them {who}", per_s(high))
            }
            (Some(_), _) => kept,
            (None, Some(who)) => format!("at least {kept}; above that {who}"),
            (None, None) => kept + "; higher rates were not tried",
        }
    }

    /// Returns what decides about rates between kept and missed ones; `None` without such rates.
    fn decides(&self) -> Option<Decides> {
        let found = self.found();
        let unjudged = found.unjudged_per_s.and_then(|rate| self.rate_of(rate));
        match (unjudged, found.undecided_per_s) {
            (Some(rate), _) => {
                let by_client = rate.judgement.disturbance.as_ref();
                let by_client = by_client.is_some_and(|found| !found.cause.by_others());
                Some(if by_client { Decides::Client } else { Decides::Machine })
            }
            (None, Some(_)) => Some(Decides::Requests),
            (None, None) => None,
        }
    }

    /// The sentences about noise, if it decides about some rates.
    fn noise(&self, void: &VoidTrials) -> String {
        match self.decides() {
            Some(Decides::Machine | Decides::Client) if void.cause.is_some() => {
                format!("This can explain what was missed there: {void}. {}", void.advice())
            }
            Some(Decides::Requests) => "The latency is too unsteady for the requests that were \
                sent: --duration and --repeat send more. "
                .to_owned(),
            _ => String::new(),
        }
    }

    /// The sentence about a search that ran out of time.
    fn time_up(&self) -> String {
        if !self.out_of_time {
            return String::new();
        }
        let budget = self.settings.budget_s;
        format!(
            "The search ended after its budget of {budget} s; a longer --budget narrows the answer. "
        )
    }

    /// Describes the trial just above, and returns whether its limit was not the server.
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

    /// The sentence for lower rates that miss the target too, so that more than the rate decides.
    fn doubt(&self) -> Option<String> {
        const ROUNDING: f64 = 1.001;
        let found = self.found().passes_per_s?;
        let below = self.trials_of(Phase::Curve).filter(|trial| {
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

/// Ends of an interval, rounded outwards to digits that its width justifies: by at most a fifth of it each,
/// and the lower end to two digits at least.
fn carried(low: f64, high: f64) -> (f64, f64) {
    let magnitude = |rate: f64| 10f64.powf(rate.log10().floor());
    let unit = magnitude((high - low) / 5.0).min(magnitude(low) / 10.0);
    if !unit.is_normal() || low < unit {
        return (low, high);
    }
    // A multiple of the unit stays one in spite of rounding errors.
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
