use super::*;
use crate::history::series::tests::entry;
use crate::history::{Figure, Grouping, series};
use measure::statistics::Noise;

const TERMS: Terms<'_> =
    Terms { metrics: &[Metric::Throughput], last: 60, percent: None, disturbed: false };
const NIGHTLY_TERMS: Terms<'_> = Terms { metrics: &report::compare::WATCHED, ..TERMS };

fn judged(rates: &[f64], terms: Terms<'_>) -> (Finding, GateState) {
    let entries: Vec<Entry> = rates.iter().zip(1..).map(|(rate, n)| entry(n, *rate)).collect();
    let judged = judge(&series(&entries, Grouping::Machine), &|_| true, terms);
    (judged[0].figures[0].finding, gate(&judged, terms))
}

fn rates(count: usize) -> Vec<f64> {
    let mut noise = Noise::new(77_000);
    (0..count).map(|_| 1e5 * (0.005 * noise.normal()).exp()).collect()
}

#[test]
fn a_step_fails_and_one_bad_run_that_is_sure() {
    let level = rates(30);
    assert_eq!(judged(&level, TERMS), (Finding::Level, GateState::Passed));
    let mut bad = level.clone();
    bad[29] *= 0.9;
    let (finding, gate) = judged(&bad, TERMS);
    assert!(
        matches!(finding, Finding::Off { ratio, runs: 1, .. } if (0.88..0.92).contains(&ratio)),
        "{finding:?}"
    );
    assert_eq!(gate, GateState::Failed);
    let allowed = |percent| judged(&bad, Terms { percent: Some(percent), ..TERMS }).1;
    assert_eq!((allowed(5.0), allowed(12.0)), (GateState::Failed, GateState::Passed));
    let mut step = level.clone();
    step[25..].iter_mut().for_each(|rate| *rate *= 0.97);
    let (finding, gate) = judged(&step, TERMS);
    assert!(
        matches!(finding, Finding::LevelStep { at: 25, extent: Extent::Beyond, .. }),
        "{finding:?}"
    );
    assert_eq!(gate, GateState::Failed);
    // One that is allowed, one for the better, and one that is older than the last runs.
    assert_eq!(judged(&step, Terms { percent: Some(5.0), ..TERMS }).1, GateState::Passed);
    let better: Vec<f64> = step.iter().map(|rate| 1e10 / rate).collect();
    assert_eq!(judged(&better, TERMS).1, GateState::Passed);
    step.extend(rates(20).iter().map(|rate| rate * 0.97));
    assert_eq!(judged(&step, Terms { last: 20, ..TERMS }).1, GateState::Passed);
    assert_eq!(judged(&step, TERMS).1, GateState::Failed);
}

/// Nights of one test, each with its p99, its share of noise, and p99 without the noise.
fn nights(p99: &[(f64, f64, f64)]) -> Vec<Entry> {
    let nights = p99.iter().enumerate().map(|(at, (value, noise, without_noise))| {
        let mut entry = entry(at as u64, 500.0);
        entry.noise = *noise;
        entry.figures.push(Figure {
            metric: Metric::P99.name().into(),
            mean: *value,
            interval: None,
            without_noise: *without_noise,
        });
        entry
    });
    nights.collect()
}

/// The p99 of the eleven nights of a noisy machine.
const NIGHTS: [f64; 11] = [3.4, 11.2, 57.0, 8.1, 23.5, 5.9, 41.0, 17.3, 3.0, 29.8, 12.6];

fn judged_p99(nights: &[Entry]) -> (FigureJudgement, GateState, String) {
    let judged = judge(&series(nights, Grouping::Machine), &|_| true, NIGHTLY_TERMS);
    let p99 = judged[0].figures.iter().find(|figure| figure.metric == Metric::P99).unwrap();
    let text = crate::history::sentences(&judged, NIGHTLY_TERMS).join(" ");
    (p99.clone(), gate(&judged, NIGHTLY_TERMS), text)
}

/// The nights, followed by these values without any noise.
fn after(newest: &[f64]) -> (FigureJudgement, GateState, String) {
    let all = NIGHTS.iter().chain(newest).map(|value| (*value, 0.0, *value));
    judged_p99(&nights(&all.collect::<Vec<_>>()))
}

#[test]
fn three_bad_nights_beyond_eleven_are_a_step_and_one_or_two_are_told_too() {
    let (level, gate, _) = after(&[]);
    assert_eq!((level.finding, gate), (Finding::Level, GateState::Passed));
    for (newest, text) in [
        (&[473.0][..], "in the newest run: 473.000 ("),
        (&[473.0, 455.0], "in the newest two runs: 455.000 ("),
        (&[473.0, 455.0, 413.0], "Gate failed: p99 of GET is worse by "),
    ] {
        let (judged, gate, said) = after(newest);
        assert_eq!(gate, GateState::Failed, "{said}");
        assert!(said.contains(text), "{said}");
        let found = match judged.finding {
            Finding::Off { runs, .. } => runs,
            Finding::LevelStep { at, .. } => 14 - at,
            _ => 0,
        };
        assert_eq!(found, newest.len(), "{judged:?}");
        // What was expected is of the nights before, and holds none of the bad ones.
        let expected = judged.expected.unwrap();
        assert!(NIGHTS.iter().all(|value| expected.holds(*value)), "{expected:?}");
        assert!(newest.iter().all(|value| !expected.holds(*value)), "{expected:?}");
    }
    // Between them: outside of what was expected, and not farther off than bad nights may be.
    let (judged, gate, said) = after(&[230.0]);
    assert!(matches!(judged.finding, Finding::Off { extent: Extent::Unsure, .. }), "{judged:?}");
    assert!(gate == GateState::Undecided && said.contains("may be a bad day"), "{said}");
}

#[test]
fn noise_that_the_nights_before_did_not_have_excuses_what_it_can_have_done() {
    let newest = |noise, without| {
        let before = NIGHTS.iter().map(|value| (*value, 0.02, value / 2.0));
        let bad = [473.0, 455.0, 413.0].map(|value| (value, noise, without));
        let one: Vec<_> = before.clone().chain([bad[0]]).collect();
        let three: Vec<_> = before.chain(bad).collect();
        [judged_p99(&nights(&one)), judged_p99(&nights(&three))]
    };
    for (_, gate, said) in newest(0.4, 20.0) {
        assert_eq!(gate, GateState::Undecided, "{said}");
    }
    let [(_, _, one), (_, _, three)] = newest(0.4, 20.0);
    assert!(one.contains("others had the CPU for 40 % of its time"), "{one}");
    assert!(three.contains("not surely more than allowed"), "{three}");
    // As noisy as those before, or slower than noise can make it.
    for (_, gate, said) in [newest(0.02, 20.0), newest(0.4, 390.0)].as_flattened() {
        assert_eq!(*gate, GateState::Failed, "{said}");
    }
}

#[test]
fn nights_of_one_level_fail_less_than_one_time_in_twenty_and_planted_steps_are_found() {
    // By p99s that vary by half, as on a shared machine, and by throughputs that do by a hundredth.
    let drawn = |seed: u64, worse: f64, bad: usize, count: usize| {
        let mut noise = Noise::new(seed);
        let spread = if seed.is_multiple_of(2) { 0.5 } else { 0.01 };
        let mut night = |at: usize| {
            // One night in ten is far off by itself.
            let tail = if noise.uniform() < 0.1 { 3.0 } else { 1.0 };
            let value = 10.0 * (spread * tail * noise.normal()).exp();
            let value = if at + bad >= count { value * worse } else { value };
            (value, 0.0, value)
        };
        judged_p99(&nights(&(0..count).map(&mut night).collect::<Vec<_>>()))
    };
    for count in [5, 14, 40] {
        let all = (0..400).map(|seed| drawn(seed, 1.0, 0, count));
        let (mut failed, mut outside) = (0, 0);
        for (figure, gate, _) in all {
            failed += usize::from(gate == GateState::Failed);
            outside += usize::from(figure.finding != Finding::Level);
            let newest_is_expected = figure.expected.unwrap().holds(figure.newest);
            assert!(figure.finding != Finding::Level || newest_is_expected, "{figure:?}");
        }
        assert!(failed <= 20, "{failed} of 400 of {count} nights fail");
        assert!(outside <= 40, "{outside} of 400 of {count} nights are off");
    }
    let found = (0..200).filter(|seed| drawn(*seed, 30.0, 3, 14).1 == GateState::Failed).count();
    assert!(found >= 180, "{found} of 200 steps are found");
    let found = (0..200).filter(|seed| drawn(*seed, 30.0, 1, 14).1 == GateState::Failed).count();
    assert!(found >= 140, "{found} of 200 nights are found");
}

#[test]
fn what_cannot_be_seen_is_not_passed() {
    assert_eq!(judged(&rates(3), TERMS), (Finding::TooFew, GateState::Undecided));
    assert_eq!(judged(&rates(30), Terms { percent: Some(0.1), ..TERMS }).1, GateState::Undecided);
    assert_eq!(judged(&rates(30), Terms { percent: Some(5.0), ..TERMS }).1, GateState::Passed);
    assert_eq!(gate(&[], TERMS), GateState::Undecided);
}

#[test]
fn only_series_with_a_new_run_are_judged_up_to_it() {
    let entries: Vec<Entry> = rates(10).iter().zip(1..).map(|(rate, n)| entry(n, *rate)).collect();
    let all = series(&entries, Grouping::Machine);
    assert!(judge(&all, &|_| false, TERMS).is_empty());
    let of = judge(&all, &|entry| entry.started_ms == 7, TERMS);
    assert_eq!((of[0].series.entries.len(), of[0].counted), (7, 7));
}

#[test]
fn requests_that_fail_are_judged_whatever_the_noise_and_figures_without_values_are_open() {
    let all = |failed: &[(usize, f64)]| {
        let mut entries: Vec<Entry> =
            rates(12).iter().zip(0..).map(|(rate, n)| entry(n, *rate)).collect();
        for (at, share) in failed {
            (entries[*at].failed, entries[*at].noise) = (*share, 0.5);
        }
        let judged = judge(&series(&entries, Grouping::Machine), &|_| true, TERMS);
        (gate(&judged, TERMS), crate::history::sentences(&judged, TERMS).join(" "))
    };
    assert_eq!(all(&[(3, 0.2), (11, 0.0005)]).0, GateState::Passed);
    let said = "Gate failed: 20.00 % of the requests of the newest run of GET failed, 0.00 % before (11.json).";
    assert_eq!(all(&[(11, 0.2)]), (GateState::Failed, said.to_owned()));
    // So is the second bad night.
    assert_eq!(all(&[(10, 0.2), (11, 0.2)]).0, GateState::Failed);
    let entries: Vec<Entry> = (0..12).map(|n| entry(n, 1e5)).collect();
    let by_cpu = Terms { metrics: &[Metric::ServerCpu], ..TERMS };
    let judged = judge(&series(&entries, Grouping::Machine), &|_| true, by_cpu);
    assert_eq!(gate(&judged, by_cpu), GateState::Undecided);
    let said = "Gate undecided: server CPU per request of GET was not measured.";
    assert_eq!(crate::history::sentences(&judged, by_cpu), [said]);
}

#[test]
fn a_newest_run_that_does_not_count_is_not_judged_by_the_one_before() {
    let mut entries: Vec<Entry> =
        rates(12).iter().zip(0..).map(|(rate, n)| entry(n, *rate)).collect();
    let judged = |entries: &[Entry], terms: Terms<'_>| {
        let judged = judge(&series(entries, Grouping::Machine), &|_| true, terms);
        (gate(&judged, terms), crate::history::sentences(&judged, terms).join(" "))
    };
    entries[11].disturbed = Some("the client was late".to_owned());
    let said = "Gate undecided: the newest run of GET does not count (11.json): the client was late (--disturbed \
                count counts it).";
    assert_eq!(judged(&entries, TERMS), (GateState::Undecided, said.to_owned()));
    assert_eq!(judged(&entries, Terms { disturbed: true, ..TERMS }).0, GateState::Passed);
    entries[11].complete = false;
    let (state, said) = judged(&entries, TERMS);
    assert!(state == GateState::Undecided && said.contains("did not end as planned"), "{said}");
}
