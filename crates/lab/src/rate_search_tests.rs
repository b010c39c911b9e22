use report::{Disturbance, LimitedBy};

use super::*;
use crate::SearchOutcome;
use crate::document::Findings;
use crate::figures::tests::figures;

fn judged(outcome: Outcome, why: &str) -> Judgement {
    let disturbance = (outcome == Outcome::Void).then(|| Disturbance {
        cause: Cause::CpuHeld,
        evidence: Vec::new(),
        text: "the server waited for a CPU for 30 % of the time, and ran for 5 %".into(),
    });
    Judgement {
        outcome,
        kept: outcome == Outcome::Kept,
        why: why.to_owned(),
        misses: Vec::new(),
        bounds: Vec::new(),
        certain: Vec::new(),
        disturbance,
    }
}

fn trial(rate_per_s: f64, why: &str, limited_by: LimitedBy) -> Trial {
    let outcome = if why.is_empty() { Outcome::Kept } else { Outcome::Missed };
    let figures = Figures { limited_by, ..figures(rate_per_s, 2_000_000) };
    let judgement = judged(outcome, why);
    Trial { phase: Phase::Search, rate_per_s, judgement, bounded_ns: 2e6, figures }
}

fn void(rate_per_s: f64) -> Trial {
    let judgement = judged(Outcome::Void, "other programs held the CPU");
    Trial { judgement, ..trial(rate_per_s, "", LimitedBy::Schedule) }
}

/// A search in which each miss counts.
fn record_of(given_up: bool, trials: Vec<Trial>) -> RateSearch {
    let slo = Slo::parse("p99<1ms").unwrap();
    let settings = Settings { repeats: 1, ..Settings::default() };
    let mut record = RateSearch::new("GET".into(), slo, settings);
    for (number, trial) in trials.into_iter().enumerate() {
        let known = record.rates.iter_mut().find(|rate| rate.rate_per_s == trial.rate_per_s);
        match known {
            Some(rate) => {
                rate.trials.push(number);
                rate.judgement = trial.judgement.clone();
            }
            None => record.rates.push(Rate {
                rate_per_s: trial.rate_per_s,
                trials: vec![number],
                void: 0,
                judgement: trial.judgement.clone(),
            }),
        }
        record.trials.push(trial);
    }
    record.conclude(given_up);
    record
}

/// Creates a search in which 50,000/s are kept.
fn record(trials: Vec<Trial>) -> RateSearch {
    let kept = trial(50_000.0, "", LimitedBy::Schedule);
    record_of(false, [trials, vec![kept]].concat())
}

#[test]
fn the_obstacle_is_the_failure_just_above() {
    let record = record(vec![
        trial(100_000.0, "p99 90ms", LimitedBy::Server),
        trial(51_000.0, "p99 1.2ms", LimitedBy::Schedule),
        trial(50_000.0, "p99 1.1ms", LimitedBy::Schedule),
    ]);
    assert_eq!(record.obstacle().unwrap().1.rate_per_s, 51_000.0);
    let conclusion = record.conclusion();
    assert_eq!(conclusion.headline, "50,000/s keep p99<1ms");
    assert_eq!(conclusion.answered, SearchOutcome::Found);
    assert_eq!((conclusion.low_per_s, conclusion.high_per_s), (Some(50_000.0), Some(51_000.0)));
    let text = &conclusion.text;
    assert!(
        text.starts_with("The highest rate that does is between 50,000 and 51,000/s"),
        "{text}"
    );
    assert!(text.contains("At 51,000/s: p99 1.2ms. "), "{text}");
    assert!(!conclusion.not_the_server);
}

#[test]
fn nobody_is_reported_to_raise_a_rate_that_fails() {
    let mut missed = trial(51_000.0, "p99 1.2 ms", LimitedBy::Schedule);
    missed.figures.finding = Some(Finding::ScheduleKept);
    missed.figures.statement = "the server kept up with 51,000 requests/s".to_owned();
    missed.figures.verdict =
        "not saturated: the server kept up with 51,000 requests/s; raise --rps".to_owned();
    let text = record(vec![missed.clone()]).conclusion().text.clone();
    assert!(text.ends_with("At this rate, the server kept up with 51,000 requests/s"), "{text}");
    missed.judgement.misses = vec![Miss::NoRoom];
    missed.figures.finding = Some(Finding::ScheduleMissed);
    missed.figures.verdict = "schedule: 9 % left late; see why".to_owned();
    let text = record(vec![missed]).conclusion().text.clone();
    assert!(text.ends_with("limited by: schedule: 9 % left late; see why"), "{text}");
}

#[test]
fn a_page_has_no_empty_chart() {
    let headings = |record: &RateSearch| -> Vec<String> {
        let page = record.page("keystorm search");
        assert!(
            page.title.starts_with("GET: the highest rate that keeps p99<1ms"),
            "{}",
            page.title
        );
        page.sections.iter().map(|section| section.heading.clone()).collect()
    };
    let mut record = record(vec![trial(51_000.0, "p99 2 ms", LimitedBy::Schedule)]);
    assert_eq!(headings(&record)[..2], ["Every rate", "Every trial"]);
    assert!(report::page::pictures(&record.page("")).is_empty());
    record.trials.push(Trial { phase: Phase::Curve, ..record.trials[0].clone() });
    assert_eq!(headings(&record)[..3], ["Around the rate found", "Every rate", "Every trial"]);
    assert!(report::page::pictures(&record.page(""))[0].1.of.starts_with("GET: "));
}

#[test]
fn whoever_else_was_the_limit_is_named() {
    for (limit, misses, named) in [
        (LimitedBy::Client, vec![], "The client was the limit"),
        (LimitedBy::Network, vec![], "The network"),
        (LimitedBy::Concurrency, vec![], "Too few requests in flight"),
        (LimitedBy::Schedule, vec![Miss::NoRoom], "The schedule"),
    ] {
        let mut trial = trial(51_000.0, "p99 2ms", limit);
        trial.judgement.misses = misses;
        let record = record(vec![trial]);
        let conclusion = record.conclusion();
        assert!(conclusion.not_the_server && conclusion.text.contains(named), "{conclusion:?}");
    }
}

#[test]
fn a_rate_is_in_doubt_if_lower_ones_miss_the_target() {
    let mut record = record(vec![trial(51_000.0, "p99 1.2ms", LimitedBy::Schedule)]);
    for (rate, why) in [(25_000.0, "p99 2ms"), (40_000.0, ""), (50_000.0, "p99 2ms")] {
        let curve = trial(rate, why, LimitedBy::Schedule);
        record.trials.push(Trial { phase: Phase::Curve, ..curve });
    }
    record.set_complete();
    let text = &record.conclusion().text;
    assert!(text.starts_with("This result is not reliable: 2 of the 3 points"), "{text}");
    // What the machine decided is no point against it.
    record.trials[2] = Trial { phase: Phase::Curve, ..void(25_000.0) };
    record.trials[4] = Trial { phase: Phase::Curve, ..void(50_000.0) };
    record.set_complete();
    assert!(!record.conclusion().text.contains("reliable"));
}

#[test]
fn the_curve_goes_around_what_was_found_and_never_above_the_highest_rate() {
    let mut record = record(vec![]);
    let rates = record.curve_rates();
    assert_eq!((rates[0], rates[6], rates.len()), (25_000.0, 50_000.0, 9));
    record.settings.most_per_s = 50_000.0;
    assert_eq!(record.curve_rates().len(), 7);
    let missed = trial(1.0, "p99 2 ms", LimitedBy::Schedule);
    let nothing = record_of(false, vec![missed]);
    assert!(nothing.curve_rates().is_empty());
    assert_eq!(nothing.conclusion().headline, "not even 1/s keep p99<1ms");
    assert_eq!(nothing.conclusion().answered, SearchOutcome::LowestMissed);
}

#[test]
fn a_machine_that_decides_most_trials_gets_no_rate() {
    let mut trials: Vec<Trial> = (0..10).map(|_| void(1000.0)).collect();
    let record = record_of(true, trials.clone());
    let conclusion = record.conclusion();
    assert_eq!(
        conclusion.headline,
        "no rate is sure to keep p99<1ms here: other programs held the CPU in 10 of 10 trials"
    );
    assert_eq!((conclusion.answered, conclusion.rate_per_s), (SearchOutcome::Unjudged, None));
    let page = record.page("keystorm search");
    assert!(
        page.lede.iter().all(|verdict| verdict.tone != report::page::Tone::Bad),
        "{:?}",
        page.lede
    );
    // What is missed all the same is said.
    trials.push(trial(90_000.0, "p99 300 ms", LimitedBy::Server));
    let conclusion = record_of(true, trials).conclusion().clone();
    assert_eq!(
        conclusion.headline,
        "90,000/s do not keep p99<1ms; whether lower rates do, this machine's own delays decide"
    );
    assert_eq!(conclusion.answered, SearchOutcome::Undecided);
    assert!(conclusion.text.contains("other programs held the CPU in 10 of 11 trials"));
}

#[test]
fn what_is_not_clear_is_called_undecided() {
    let mut unclear = trial(100.0, "p99 0.9 ms", LimitedBy::Schedule);
    unclear.judgement.outcome = Outcome::Undecided;
    let conclusion = record_of(false, vec![unclear]).conclusion().clone();
    assert_eq!(conclusion.headline, "undecided whether 100/s keep p99<1ms");
    assert!(conclusion.text.starts_with("At 100/s: p99 0.9 ms"), "{conclusion:?}");
    assert_eq!(conclusion.answered, SearchOutcome::Undecided);
    let conclusion = record(vec![void(60_000.0)]).conclusion().clone();
    assert_eq!(
        conclusion.headline,
        "at least 50,000/s keep p99<1ms; above that this machine's own delays decide"
    );
    assert!(conclusion.text.contains("other programs held the CPU in 1 of 2 trials"));
    assert_eq!(conclusion.answered, SearchOutcome::Open);
    assert_eq!((conclusion.low_per_s, conclusion.high_per_s), (Some(50_000.0), None));
    // Between two ends there is an answer, with the reason why it is wide; if they are not too far apart.
    for (missed, answered) in [(90_000.0, SearchOutcome::Found), (900_000.0, SearchOutcome::Open)] {
        let missed_trial = trial(missed, "p99 90 ms", LimitedBy::Server);
        let conclusion = record(vec![void(60_000.0), missed_trial]).conclusion().clone();
        assert_eq!((conclusion.answered, conclusion.rate_per_s), (answered, Some(50_000.0)));
        let missed = report::grouped(missed);
        assert_eq!(
            conclusion.headline,
            format!(
                "at least 50,000/s keep p99<1ms; {missed}/s do not; between them this machine's own \
                 delays decide"
            )
        );
    }
}

#[test]
fn the_tables_never_contradict_the_headline() {
    let unclear = |rate: f64, value: f64| {
        let mut unclear = trial(rate, "p99 (95 % interval from 0.091 ms)", LimitedBy::Schedule);
        unclear.judgement.outcome = Outcome::Undecided;
        let clause = Slo::parse("p99<1ms").unwrap().clauses.remove(0);
        let outcome = Outcome::Undecided;
        let (low, high, recorded) = (None, None, None);
        let bound = report::slo::Bound { clause, value, low, high, outcome, recorded };
        unclear.judgement.bounds = vec![bound];
        unclear
    };
    let record = record(vec![
        unclear(25_000.0, 0.268e6),
        trial(30_000.0, "p99 5 ms", LimitedBy::Schedule),
        void(40_000.0),
        unclear(60_000.0, 0.713e6),
    ]);
    assert_eq!(record.conclusion().rate_per_s, Some(50_000.0));
    let page = report::page::html(&record.page(""));
    for known in [
        "yes: 50,000/s keep it",
        "unsteady: p99 5 ms, though 50,000/s keep it",
        "undecided: p99 (95 % interval from 0.091 ms)",
        "p99 0.268 ms",
    ] {
        assert!(page.contains(known), "{known}");
    }
    assert!(!page.contains("no: p99 5 ms, though"), "below what is kept nothing is missed");
}

#[test]
fn one_trial_of_several_calls_no_rate_missed() {
    let missed = trial(51_000.0, "p99 1.2 ms", LimitedBy::Schedule);
    let mut record = record(vec![missed.clone()]);
    record.settings.repeats = 5;
    record.conclude(false);
    assert_eq!(record.found().fails_per_s, None, "{:?}", record.found());
    assert_eq!(record.conclusion().answered, SearchOutcome::Open);
    record.trials.push(missed);
    record.rates[0].trials.push(2);
    record.conclude(false);
    assert_eq!(record.found().fails_per_s, Some(51_000.0));
}
