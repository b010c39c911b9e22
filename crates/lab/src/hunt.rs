//! The results of a search: every trial, what was found, and the curve around it.

use report::{LimitedBy, RecordError, Run, Summary};
use serde::{Deserialize, Serialize};

use crate::csv::Csv;
use crate::figures::{Figures, limited_by};
use crate::runs::Runs;
use crate::search::{Bracket, Settings};
use crate::slo::{Judgement, Slo};

/// The name of the document's layout.
pub const SCHEMA: &str = "keystorm.search/1";
/// Where the curve has its points, as shares of the rate that was found.
pub const CURVE: [f64; 9] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1];

/// A search, as far as it has come. Reads and writes as the document `keystorm.search/1`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hunt {
    schema: String,
    /// Whether the search and the curve have been carried out as planned.
    complete: bool,
    /// The test's title.
    pub test: String,
    /// What is to be kept.
    pub slo: Slo,
    /// How it was searched.
    pub settings: Settings,
    /// What was found.
    pub found: Bracket,
    /// Every run in order.
    pub trials: Vec<Trial>,
    /// Every run, as `keystorm.run/1`, in the order of the trials.
    run: Runs,
}

/// Why a run was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// A closed loop, to know where to begin.
    Closed,
    /// To find the rate.
    Search,
    /// For the curve.
    Curve,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What for.
    pub phase: Phase,
    /// The rate asked for; what was reached in a closed loop.
    pub rate_per_s: f64,
    /// Whether the target was kept, and why not.
    pub judgement: Judgement,
    /// The latency that the target bounds, in nanoseconds; the 99th percentile if it bounds none.
    pub bounded_ns: f64,
    /// Its figures.
    pub figures: Figures,
}

/// What kept the rate from being higher, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The result in a few words.
    pub headline: String,
    /// What happens above it and who was the limit.
    pub text: String,
    /// Whether the client or the schedule, and not the server, set the limit.
    pub not_the_server: bool,
}

impl Hunt {
    /// A search that has tried nothing.
    #[must_use]
    pub fn new(test: String, slo: Slo, settings: Settings) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            complete: false,
            test,
            slo,
            settings,
            found: Bracket::default(),
            trials: Vec::new(),
            run: Runs::default(),
        }
    }

    /// Adds a run and judges it.
    ///
    /// # Errors
    /// A count is too large to be written.
    pub fn add(&mut self, phase: Phase, run: &Run) -> Result<&Judgement, RecordError> {
        self.run.put(run)?;
        let summary = Summary::of(run);
        let bounded = self.slo.latency();
        let trial = Trial {
            phase,
            rate_per_s: summary.target_rps().unwrap_or(summary.counted_rps()),
            judgement: self.slo.judge(&summary),
            bounded_ns: bounded
                .map_or(summary.response.p99_ns as f64, |clause| clause.measure.of(&summary)),
            figures: Figures::of(run),
        };
        let at = self.trials.len();
        self.trials.push(trial);
        Ok(&self.trials[at].judgement)
    }

    /// Notes that nothing is left to do.
    pub fn set_complete(&mut self) {
        self.run.set_complete();
        self.complete = true;
    }

    /// Every run in full, in the order of the trials.
    ///
    /// # Errors
    /// What in a document contradicts itself.
    pub fn load(&self) -> Result<Vec<Run>, RecordError> {
        self.run.load()
    }

    /// What a reader must know before believing the figures, each once; unescaped.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.run.warnings()
    }

    pub(crate) fn runs(&self) -> &Runs {
        &self.run
    }

    /// Whether nothing is left to do.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// The rates of the curve.
    #[must_use]
    pub fn curve_rates(&self) -> Vec<f64> {
        let knee = self.found.passes_per_s;
        knee.map_or(vec![], |knee| CURVE.iter().map(|share| share * knee).collect())
    }

    /// The trials of a phase.
    pub fn of(&self, phase: Phase) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(move |trial| trial.phase == phase)
    }

    /// The document.
    ///
    /// # Errors
    /// A figure has no JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(report::record::steady(&serde_json::to_string_pretty(self)?) + "\n")
    }

    /// CSV: a line for each trial.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut table = Csv::new(["phase", "rate_per_s", "kept", "why"]);
        for Trial { phase, rate_per_s, judgement, figures, .. } in &self.trials {
            // A closed loop is no trial of a rate.
            let judged = *phase != Phase::Closed;
            let kept = if judged { judgement.kept.to_string() } else { String::new() };
            let why = if judged { judgement.why.clone() } else { String::new() };
            let phase = match phase {
                Phase::Closed => "closed",
                Phase::Search => "search",
                Phase::Curve => "curve",
            };
            table.row([phase.to_owned(), format!("{rate_per_s:.2}"), kept, why], figures);
        }
        table.text()
    }

    /// The trial that failed at the lowest rate above what was found: what stood in the way.
    #[must_use]
    pub fn obstacle(&self) -> Option<&Trial> {
        let above = self.found.fails_per_s?;
        let failed = |t: &&Trial| t.phase == Phase::Search && !t.judgement.kept;
        let off = |trial: &Trial| (trial.rate_per_s / above - 1.0).abs();
        // Of several repeats at that rate the last.
        self.trials.iter().filter(failed).rev().min_by(|a, b| off(a).total_cmp(&off(b)))
    }

    /// What was found, in words.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let slo = &self.slo.text;
        let per_s = |rate: f64| format!("{}/s", page::chart::grouped(rate));
        let headline = match self.found {
            Bracket { passes_per_s: Some(rate), fails_per_s: Some(_) } => {
                format!("{} keep {slo}", per_s(rate))
            }
            Bracket { passes_per_s: Some(rate), fails_per_s: None } => {
                format!("{} keep {slo}; higher rates were not tried", per_s(rate))
            }
            Bracket { passes_per_s: None, fails_per_s: Some(rate) } => {
                format!("not even {} keep {slo}", per_s(rate))
            }
            _ => format!("no rate has been tried for {slo}"),
        };
        let Some(trial) = self.obstacle() else {
            return Conclusion { headline, text: String::new(), not_the_server: false };
        };
        let Trial { rate_per_s, judgement, figures, .. } = trial;
        let who = match figures.limited_by {
            _ if judgement.own_fault => Some("The client was late, not the server"),
            LimitedBy::Client => Some("The client was the limit, not the server"),
            LimitedBy::Network => Some("The network was the limit, not the server"),
            LimitedBy::Concurrency => {
                Some("Too few requests in flight were the limit, not the server")
            }
            LimitedBy::Errors => Some("Errors were the limit"),
            LimitedBy::Outage => Some("An outage was the limit"),
            LimitedBy::Contention => Some("CPU contention was the limit, not the server"),
            LimitedBy::Schedule if judgement.why.contains("schedule missed") => {
                Some("The schedule was the limit, not the server's CPU")
            }
            LimitedBy::Schedule | LimitedBy::Server | LimitedBy::Unknown => None,
        };
        let mut text = format!("At {}: {}. ", per_s(*rate_per_s), judgement.why);
        if let Some(who) = who {
            text += &format!("{who}, so the server may be able to do more. ");
        }
        text += &match done(trial) {
            Some(done) => format!("At this rate, {done}"),
            None => limited_by(figures, "At this rate, limited by: "),
        };
        let doubt = self.doubt();
        let not_the_server = who.is_some() || doubt.is_some();
        Conclusion { headline, text: doubt.unwrap_or_default() + &text, not_the_server }
    }

    /// What is to be said if lower rates miss the target too, so that more than the rate decides.
    fn doubt(&self) -> Option<String> {
        const ROUNDING: f64 = 1.001;
        let found = self.found.passes_per_s?;
        let below = self.of(Phase::Curve).filter(|trial| trial.rate_per_s <= found * ROUNDING);
        let (kept, missed): (Vec<&Trial>, Vec<&Trial>) =
            below.partition(|trial| trial.judgement.kept);
        let (missed, all) = (missed.len(), kept.len() + missed.len());
        (missed * 3 > all).then(|| {
            format!(
                "Do not rely on it: {missed} of {all} points of the curve at or below this rate \
                 missed the target, so something other than the rate decides. "
            )
        })
    }
}

/// What was done of a schedule that was kept, without the advice of its verdict: a higher rate, which is
/// what has just failed.
fn done(Trial { judgement, figures, .. }: &Trial) -> Option<&str> {
    let missed = ["schedule missed", "fell behind"].iter().any(|why| judgement.why.contains(why));
    let verdict = figures.verdict.strip_prefix("schedule: ")?;
    let (done, _) = verdict.rsplit_once("; ")?;
    (figures.limited_by == LimitedBy::Schedule && !missed).then_some(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::figures;

    fn trial(rate_per_s: f64, why: &str, limited_by: LimitedBy) -> Trial {
        let judgement = Judgement { kept: why.is_empty(), why: why.to_owned(), own_fault: false };
        let figures = Figures { limited_by, ..figures(rate_per_s, 2_000_000) };
        Trial { phase: Phase::Search, rate_per_s, judgement, bounded_ns: 2e6, figures }
    }

    fn hunt(trials: Vec<Trial>) -> Hunt {
        let slo = Slo::parse("p99<1ms").unwrap();
        let mut hunt = Hunt::new("GET".into(), slo, Settings::default());
        hunt.found = Bracket { passes_per_s: Some(50_000.0), fails_per_s: Some(51_000.0) };
        hunt.trials = trials;
        hunt
    }

    #[test]
    fn the_obstacle_is_the_failure_just_above() {
        let hunt = hunt(vec![
            trial(100_000.0, "p99 90ms", LimitedBy::Server),
            trial(51_000.0, "p99 1.2ms", LimitedBy::Schedule),
            trial(50_000.0, "", LimitedBy::Schedule),
            trial(50_000.0, "p99 1.1ms", LimitedBy::Schedule),
        ]);
        assert_eq!(hunt.obstacle().unwrap().rate_per_s, 51_000.0);
        let conclusion = hunt.conclusion();
        assert_eq!(conclusion.headline, "50,000/s keep p99<1ms");
        assert!(conclusion.text.starts_with("At 51,000/s: p99 1.2ms. "), "{}", conclusion.text);
        assert!(!conclusion.not_the_server);
    }

    #[test]
    fn nobody_is_told_to_raise_a_rate_that_fails() {
        let mut missed = trial(51_000.0, "p99 1.2 ms", LimitedBy::Schedule);
        missed.figures.verdict = "schedule: the requested 51,000/s were sent and answered; main \
            thread 5 % busy; use a higher rate to find the limit"
            .to_owned();
        let text = hunt(vec![missed.clone()]).conclusion().text;
        let told = "At 51,000/s: p99 1.2 ms. At this rate, the requested 51,000/s were sent and answered; \
                    main thread 5 % busy";
        assert_eq!(text, told);
        missed.judgement.why =
            "schedule missed: every connection was waiting for replies".to_owned();
        missed.figures.verdict = "schedule: 9 % left late; see why".to_owned();
        let text = hunt(vec![missed]).conclusion().text;
        assert!(text.ends_with("limited by: schedule: 9 % left late; see why"), "{text}");
    }

    #[test]
    fn a_page_has_no_empty_chart() {
        let headings = |hunt: &Hunt| -> Vec<String> {
            let page = hunt.page("keystorm search");
            assert!(page.title.starts_with("GET: the rate that keeps p99<1ms"), "{}", page.title);
            page.sections.iter().map(|section| section.heading.clone()).collect()
        };
        let mut hunt = hunt(vec![trial(51_000.0, "p99 2 ms", LimitedBy::Schedule)]);
        assert_eq!(headings(&hunt)[0], "Every trial");
        assert!(hunt.page("").charts().is_empty());
        hunt.trials.push(Trial { phase: Phase::Curve, ..hunt.trials[0].clone() });
        assert_eq!(headings(&hunt)[..2], ["Around the rate found", "Every trial"]);
        assert!(hunt.page("").charts()[0].1.of.starts_with("GET: "));
    }

    #[test]
    fn whoever_else_was_the_limit_is_named() {
        for (limit, why, named) in [
            (LimitedBy::Client, "p99 2ms", "The client was the limit"),
            (LimitedBy::Network, "p99 2ms", "The network"),
            (LimitedBy::Concurrency, "p99 2ms", "Too few requests in flight"),
            (LimitedBy::Schedule, "schedule missed: every connection waited", "The schedule"),
        ] {
            let conclusion = hunt(vec![trial(51_000.0, why, limit)]).conclusion();
            assert!(conclusion.not_the_server && conclusion.text.contains(named), "{conclusion:?}");
        }
        let mut late = trial(51_000.0, "schedule missed", LimitedBy::Schedule);
        late.judgement.own_fault = true;
        assert!(hunt(vec![late]).conclusion().text.contains("The client was late"));
    }

    #[test]
    fn a_rate_is_in_doubt_if_lower_ones_miss_the_target() {
        let mut hunt = hunt(vec![trial(51_000.0, "p99 1.2ms", LimitedBy::Schedule)]);
        for (rate, why) in [(25_000.0, "p99 2ms"), (40_000.0, ""), (50_000.0, "p99 2ms")] {
            let curve = trial(rate, why, LimitedBy::Schedule);
            hunt.trials.push(Trial { phase: Phase::Curve, ..curve });
        }
        let conclusion = hunt.conclusion();
        assert!(conclusion.text.starts_with("Do not rely on it: "), "{conclusion:?}");
        hunt.trials.truncate(3);
        hunt.trials[1].judgement = hunt.trials[2].judgement.clone();
        assert!(!hunt.conclusion().text.contains("rely"));
    }

    #[test]
    fn the_curve_goes_around_what_was_found() {
        let rates = hunt(vec![]).curve_rates();
        assert_eq!((rates[0], rates[6], rates.len()), (25_000.0, 50_000.0, 9));
        let mut nothing = hunt(vec![]);
        nothing.found = Bracket { passes_per_s: None, fails_per_s: Some(1.0) };
        assert!(nothing.curve_rates().is_empty());
        assert_eq!(nothing.conclusion().headline, "not even 1/s keep p99<1ms");
    }
}
