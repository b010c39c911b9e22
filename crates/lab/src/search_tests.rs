use std::convert::Infallible;

use measure::statistics::Noise;

use super::*;

fn search(settings: Settings, trial: impl Fn(f64) -> RateOutcome) -> (Bracket, Vec<f64>) {
    let mut tried = Vec::new();
    let found = Search::new(settings).run(|rate| {
        tried.push(rate);
        Ok::<_, Infallible>(trial(rate))
    });
    let Ok(found) = found;
    (found, tried)
}

fn kept(kept: bool) -> RateOutcome {
    if kept { RateOutcome::Kept } else { RateOutcome::Missed }
}

#[test]
fn a_sharp_edge_is_found_from_above_and_below() {
    for start_per_s in [1.0, 900.0, 50_000.0, 1e8] {
        let settings = Settings { start_per_s, ..Settings::default() };
        let (found, tried) = search(settings, |rate| kept(rate <= 51_234.5));
        let (passes, fails) = (found.passes_per_s.unwrap(), found.fails_per_s.unwrap());
        assert!(passes <= 51_234.5 && fails > 51_234.5, "{found:?}");
        assert!(fails / passes <= 1.02 + 1e-9, "{found:?}");
        assert!(tried.len() < 80, "{}", tried.len());
        assert!(tried.iter().all(|rate| format!("{rate:.2e}").parse() == Ok(*rate)));
    }
}

#[test]
fn there_may_be_no_edge() {
    let (found, _) =
        search(Settings { most_per_s: 5e4, ..Settings::default() }, |_| RateOutcome::Kept);
    let most = Bracket { passes_per_s: Some(5e4), ..Bracket::default() };
    assert_eq!(found, most);
    let (found, tried) = search(Settings::default(), |_| RateOutcome::Missed);
    assert_eq!((found.passes_per_s, found.fails_per_s), (None, Some(1.0)));
    assert!(tried.iter().all(|rate| *rate >= 1.0));
}

#[test]
fn no_rate_above_the_highest_is_tried_whatever_the_lowest_is() {
    for most_per_s in [50.0, 99.0, 123_456.0] {
        let settings = Settings { most_per_s, least_per_s: 100.0, ..Settings::default() };
        let (found, tried) = search(settings.clone(), |_| RateOutcome::Kept);
        assert_eq!(found.passes_per_s, Some(most_per_s));
        assert!(tried.iter().all(|rate| *rate <= most_per_s), "{tried:?}");
        let (found, _) = search(settings, |_| RateOutcome::Missed);
        assert_eq!(found.fails_per_s, Some(f64::min(100.0, most_per_s)));
    }
}

#[test]
fn noise_and_hiccups_do_not_lead_astray() {
    // A trial is off by up to 1.5 % of the edge, and one in twenty is missed whatever the rate.
    let edge = 83_000.0;
    let close = (0..500).filter(|seed| {
        let noise = std::cell::RefCell::new(Noise::new(*seed));
        let settings = Settings { start_per_s: 20_000.0, ..Settings::default() };
        let (found, _) = search(settings, |rate| {
            let mut noise = noise.borrow_mut();
            let off = 1.0 + 0.03 * (noise.uniform() - 0.5);
            kept(noise.uniform() > 0.05 && rate < edge * off)
        });
        (found.passes_per_s.unwrap() / edge - 1.0).abs() < 0.03
    });
    let close = close.count();
    assert!(close >= 490, "{close} of 500 are within 3 %");
}

#[test]
fn what_is_undecided_lies_between_what_is_kept_and_what_is_missed() {
    let (found, _) = search(Settings::default(), |rate| match rate {
        rate if rate < 50_000.0 => RateOutcome::Kept,
        rate if rate < 60_000.0 => RateOutcome::Undecided,
        _ => RateOutcome::Missed,
    });
    let close = |rate: Option<f64>, to: f64| (rate.unwrap() / to - 1.0).abs() < 0.055;
    assert!(close(found.passes_per_s, 50_000.0) && close(found.fails_per_s, 60_000.0));
    assert!(close(found.undecided_per_s, 50_000.0), "{found:?}");
}

#[test]
fn a_rate_with_too_few_requests_to_tell_is_left_upwards() {
    let settings = Settings { start_per_s: 300.0, ..Settings::default() };
    let (found, _) = search(settings, |rate| match rate {
        rate if rate < 1000.0 => RateOutcome::Undecided,
        rate => kept(rate <= 51_234.5),
    });
    assert!((found.passes_per_s.unwrap() / 51_234.5 - 1.0).abs() < 0.025, "{found:?}");
}

#[test]
fn void_trials_are_repeated_and_decide_nothing() {
    // Two of five are void, whatever the rate.
    let at = std::cell::Cell::new(0);
    let (found, tried) = search(Settings::default(), |rate| {
        at.set(at.get() + 1);
        if at.get() % 5 < 2 { RateOutcome::Disturbed } else { kept(rate <= 51_234.5) }
    });
    assert!((found.passes_per_s.unwrap() / 51_234.5 - 1.0).abs() < 0.025, "{found:?}");
    assert!(!found.given_up && tried.len() < 120, "{}", tried.len());
}

#[test]
fn a_search_of_void_trials_is_given_up_without_a_rate() {
    let (found, tried) = search(Settings::default(), |_| RateOutcome::Disturbed);
    assert!(found.given_up && found.unjudged_per_s.is_some(), "{found:?}");
    assert_eq!((found.passes_per_s, found.fails_per_s), (None, None));
    // Four rates, and one that would surely be too much.
    assert_eq!(tried.len(), 17);
    assert!(tried[16] > 7.0 * tried[0], "{tried:?}");
    let (found, _) = search(Settings::default(), |rate| {
        if rate < 4_000.0 { RateOutcome::Disturbed } else { RateOutcome::Missed }
    });
    assert!(found.given_up && found.fails_per_s.is_some(), "{found:?}");
    // Also if a few were missed.
    let at = std::cell::Cell::new(0);
    let (found, _) = search(Settings::default(), |_| {
        at.set(at.get() + 1);
        if at.get() % 4 == 0 { RateOutcome::Missed } else { RateOutcome::Disturbed }
    });
    assert!(found.given_up && found.passes_per_s.is_none(), "{found:?}");
}

#[test]
fn what_was_kept_among_void_trials_is_a_lower_end() {
    // Three of four are void whatever the rate, and so is whatever is missed by less than a half.
    for seed in 0..50 {
        let noise = std::cell::RefCell::new(Noise::new(seed));
        let (found, tried) =
            search(Settings { start_per_s: 20_000.0, ..Settings::default() }, |rate| {
                let calm = noise.borrow_mut().uniform() < 0.25;
                match rate {
                    rate if rate > 1.5 * 51_234.5 => RateOutcome::Missed,
                    rate if rate <= 51_234.5 && calm => RateOutcome::Kept,
                    _ => RateOutcome::Disturbed,
                }
            });
        assert!(tried.len() < 150, "{}", tried.len());
        if found.given_up {
            continue;
        }
        let (passes, fails) = (found.passes_per_s.unwrap(), found.fails_per_s.unwrap());
        assert!(passes <= 51_234.5 && fails > 51_234.5, "{found:?}");
    }
}

#[test]
fn above_the_reach_of_the_client_nothing_is_judged() {
    let (found, _) = search(Settings::default(), |rate| {
        if rate < 70_000.0 { RateOutcome::Kept } else { RateOutcome::ClientLimit }
    });
    assert!((found.passes_per_s.unwrap() / 70_000.0 - 1.0).abs() < 0.025, "{found:?}");
    assert_eq!((found.fails_per_s, found.given_up), (None, false));
    assert!(found.unjudged_per_s.unwrap() >= 70_000.0, "{found:?}");
    let (found, _) = search(Settings::default(), |_| RateOutcome::ClientLimit);
    assert!(found.given_up, "{found:?}");
}

#[test]
fn a_trial_that_breaks_off_leaves_what_is_known() {
    let mut search = Search::new(Settings { repeats: 1, ..Settings::default() });
    let mut left = 4;
    let ended = search.run(|rate| {
        left -= 1;
        if left == 0 { Err("stop") } else { Ok(kept(rate < 3000.0)) }
    });
    assert_eq!(ended, Err("stop"));
    assert_eq!(search.bracket.passes_per_s, Some(2000.0));
    assert_eq!(search.bracket.fails_per_s, Some(4000.0));
}

#[test]
fn one_bad_trial_misses_no_rate() {
    let outcomes = [RateOutcome::Missed, RateOutcome::Undecided, RateOutcome::Kept];
    let at = std::cell::Cell::new(0);
    let settings = Settings { most_per_s: 1000.0, ..Settings::default() };
    let (found, tried) = search(settings, |_| {
        at.set(at.get() + 1);
        outcomes[(at.get() - 1) % 3]
    });
    assert_eq!((found.passes_per_s, tried.len()), (Some(1000.0), 3));
}

#[test]
fn what_ends_a_search_early_leaves_nothing_that_one_miss_decides() {
    let mut left = 5;
    let mut search = Search::new(Settings::default());
    // Of a rate that was kept, and of one above that was missed once.
    let _ = search.run(|rate| {
        left -= 1;
        if left == 0 { Err(()) } else { Ok(kept(rate < 3000.0)) }
    });
    assert_eq!(search.bracket.passes_per_s, Some(2000.0));
    assert_eq!(search.bracket.fails_per_s, Some(4000.0));
    let mut left = 4;
    let mut search = Search::new(Settings::default());
    let _ = search.run(|rate| {
        left -= 1;
        if left == 0 { Err(()) } else { Ok(kept(rate < 3000.0)) }
    });
    assert_eq!((search.bracket.fails_per_s, search.bracket.undecided_per_s), (None, Some(4000.0)));
}

#[test]
fn where_noise_decides_what_is_missed_nothing_false_is_concluded() {
    // Any trial above a third of the edge is decided by noise three times in four, as beside busy loops.
    for seed in 0..200 {
        let noise = std::cell::RefCell::new(Noise::new(seed));
        let settings = Settings { start_per_s: 10_000.0, ..Settings::default() };
        let edge = 51_234.5;
        let (found, _) = search(settings, |rate| {
            let noisy = rate > edge / 3.0 && noise.borrow_mut().uniform() < 0.75;
            if noisy && rate < 2.0 * edge { RateOutcome::Disturbed } else { kept(rate <= edge) }
        });
        let passes = found.passes_per_s.unwrap();
        assert!(passes <= edge && passes >= edge / 3.1, "{found:?}");
        assert!(found.fails_per_s.is_none_or(|fails| fails > edge), "{found:?}");
    }
}
