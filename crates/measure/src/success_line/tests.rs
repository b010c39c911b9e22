use std::ops::Range;

use super::*;
use crate::{Outage, Tenure, UsualPauses};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// Ten successes in each slice of these spans, in milliseconds.
fn line(spans: &[(u64, u64)]) -> SuccessLine {
    let mut line = SuccessLine::default();
    for (from, to) in spans {
        for at in (*from..*to).step_by(10) {
            let mut slices = Slices::default();
            slices.succeeded(at % 250 * MS, 10);
            line.add(at / 250 * 250 * MS, &[slices]);
        }
    }
    line
}

fn fail(line: &mut SuccessLine, node: usize, at_ms: u64, failures: Failures) {
    let mut slices = vec![Slices::default(); node + 1];
    slices[node].failed(at_ms % 250 * MS, &failures);
    line.add(at_ms / 250 * 250 * MS, &slices);
}

/// Adds failures, with nothing in flight when the interval ends.
fn fail_unasked(line: &mut SuccessLine, at_ms: u64, failures: Failures) {
    let mut slices = Slices::default();
    slices.failed(at_ms % 250 * MS, &failures);
    slices.ask(false);
    line.add(at_ms / 250 * 250 * MS, &[slices]);
}

#[test]
fn what_failed_for_those_who_cause_successes_is_in_the_outage() {
    let mut line = line(&[(0, 2000), (2200, 4000)]);
    let usual = UsualPauses::default();
    assert!(line.outages(4 * SECOND, &usual, &[], &[]).is_empty(), "it is only silent");
    let mut senders = SuccessLine::default();
    let errors = Failures { errors: 7, ..Failures::default() };
    fail(&mut senders, 0, 2100, errors);
    fail(&mut senders, 2, 2110, errors);
    line.add_failures(&senders);
    let outages = line.outages(4 * SECOND, &usual, &[], &[]);
    assert_eq!((outages.len(), outages[0].failures.errors), (1, 14));
}

#[test]
fn an_outage_has_its_times_and_counts() {
    let mut line = line(&[(0, 2000), (4100, 6000)]);
    let lost = Failures { lost: 5, ..Failures::default() };
    let errors = Failures { errors: 7, ..Failures::default() };
    fail(&mut line, 0, 1990, lost);
    fail(&mut line, 0, 4050, errors);
    fail(&mut line, 0, 5000, errors);
    let outages = line.outages(6 * SECOND, &UsualPauses::default(), &[], &[]);
    assert_eq!(
        outages,
        [Outage {
            node: 0,
            from_ns: 2000 * MS,
            to_ns: 4100 * MS,
            to_the_end: false,
            of_all: false,
            first_failure_ns: Some(1990 * MS),
            failures: Failures { errors: 7, lost: 5, timed_out: 0 },
            rate_before_per_s: Some(1000.0),
            recovered_ns: Some(4100 * MS),
        }]
    );
    assert_eq!(outages[0].length_ns(), 2100 * MS);
}

/// Errors come at once, so nothing is in flight when activity is noted.
#[test]
fn errors_without_anything_in_flight_are_one_outage() {
    let mut line = lines(&[(&[(0, 2000)], &[(0, 2000)])]);
    let errors = Failures { errors: 1, ..Failures::default() };
    (2000..10_000).step_by(20).for_each(|at_ms| fail_unasked(&mut line, at_ms, errors));
    assert_eq!(outages_of(&line, &[]), [(0, 2000, 10_000, true)]);
}

#[test]
fn a_failure_between_two_outages_counts_once() {
    let mut line = line(&[(0, 2000), (2300, 2310), (2600, 4000)]);
    let errors = Failures { errors: 2, ..Failures::default() };
    for at_ms in [2100, 2300, 2450] {
        fail(&mut line, 0, at_ms, errors);
    }
    let outages = line.outages(4 * SECOND, &UsualPauses::default(), &[], &[]);
    let found = outages.iter().map(|o| (o.from_ns / MS, o.first_failure_ns, o.failures.errors));
    let first = |ms: u64| Some(ms * MS);
    assert_eq!(found.collect::<Vec<_>>(), [(2000, first(2100), 4), (2310, first(2450), 2)]);
    // The success at the edge may be of whoever has to answer from then on.
    let mut line = lines(&[(&[(0, 2000)], &[(0, 2300)]), (&[(2300, 2310), (2600, 4000)], ALL)]);
    for at_ms in [2100, 2300, 2450] {
        fail(&mut line, 1, at_ms, errors);
    }
    let tenures = [tenure(0, 0, Some(2050), &[1]), heir(1, 2050, None, &[])];
    let outages = line.outages(4 * SECOND, &UsualPauses::default(), &tenures, &[]);
    let found = outages.iter().map(|o| (o.node, o.from_ns / MS, o.failures.errors));
    assert_eq!(found.collect::<Vec<_>>(), [(0, 2000, 4), (1, 2310, 2)]);
}

#[test]
fn the_rate_comes_back_later_than_the_first_success() {
    let mut line = line(&[(0, 2000), (5000, 9000)]);
    for at in (3000..5000).step_by(10) {
        let mut slices = Slices::default();
        slices.succeeded(at % 250 * MS, 2);
        line.add(at / 250 * 250 * MS, &[slices]);
    }
    let [outage] = line.outages(9 * SECOND, &UsualPauses::default(), &[], &[])[..] else {
        panic!("one outage")
    };
    assert_eq!((outage.from_ns, outage.to_ns), (2000 * MS, 3000 * MS));
    assert_eq!(outage.recovered_ns, Some(5000 * MS));
}

#[test]
fn a_server_that_never_answers_is_out_all_the_time() {
    let mut line = SuccessLine::default();
    (0..12).for_each(|n| line.add(n * 250 * MS, &[Slices::default()]));
    let [outage] = line.outages(3 * SECOND, &UsualPauses::default(), &[], &[])[..] else {
        panic!("one")
    };
    assert_eq!((outage.from_ns, outage.to_ns, outage.to_the_end), (0, 3 * SECOND, true));
    let mut unasked = Slices::default();
    unasked.ask(false);
    let mut line = SuccessLine::default();
    (0..12).for_each(|n| line.add(n * 250 * MS, &[unasked.clone()]));
    assert_eq!(line.outages(3 * SECOND, &UsualPauses::default(), &[], &[]), []);
}

#[test]
fn silence_must_be_longer_than_failure() {
    let mut quiet = line(&[(0, 1000), (1400, 3000)]);
    assert_eq!(quiet.outages(3 * SECOND, &UsualPauses::default(), &[], &[]), []);
    fail(&mut quiet, 0, 1200, Failures { timed_out: 1, ..Failures::default() });
    assert_eq!(quiet.outages(3 * SECOND, &UsualPauses::default(), &[], &[]).len(), 1);
    let silent = line(&[(0, 1000), (1500, 3000)]);
    let outages = silent.outages(3 * SECOND, &UsualPauses::default(), &[], &[]);
    assert_eq!((outages.len(), outages[0].first_failure_ns), (1, None));
}

#[test]
fn an_outage_may_last_to_the_end_or_begin_the_run() {
    let [outage] = line(&[(0, 1000)]).outages(3 * SECOND, &UsualPauses::default(), &[], &[])[..]
    else {
        panic!("one")
    };
    assert_eq!((outage.to_ns, outage.to_the_end), (3 * SECOND, true));
    assert_eq!(outage.recovered_ns, None);
    let [outage] = line(&[(1000, 3000)]).outages(3 * SECOND, &UsualPauses::default(), &[], &[])[..]
    else {
        panic!("one")
    };
    assert_eq!((outage.from_ns, outage.to_ns), (0, SECOND));
    assert_eq!(outage.rate_before_per_s, None);
}

#[test]
fn slow_loads_have_pauses_of_their_own() {
    // One success every 200 ms, and none for 3 s; then for 5 s.
    let spans: Vec<(u64, u64)> = (0..100).map(|n| (n * 200, n * 200 + 10)).collect();
    let slow = line(&spans);
    assert_eq!(slow.outages(22 * SECOND, &UsualPauses::default(), &[], &[]), []);
    assert_eq!(slow.outages(25 * SECOND, &UsualPauses::default(), &[], &[]).len(), 1);
    // A schedule of one a second is not down in between.
    let two = line(&[(0, 10), (1000, 1010)]);
    assert_eq!(
        two.outages(2 * SECOND, &UsualPauses { due_every_ns: SECOND, service_ns: 0 }, &[], &[]),
        []
    );
}

#[test]
fn replies_that_take_long_leave_longer_pauses() {
    // 19,000 connections at 50,000/s: all of them are read before the first is answered.
    let bursts = line(&[(0, 500), (1300, 1500), (1600, 2000)]);
    let replies = |service_ns| UsualPauses { due_every_ns: 0, service_ns };
    assert_eq!(bursts.outages(2 * SECOND, &replies(MS), &[], &[]).len(), 1);
    assert_eq!(bursts.outages(2 * SECOND, &replies(300 * MS), &[], &[]), []);
    assert_eq!(bursts.outages(4 * SECOND, &replies(300 * MS), &[], &[]).len(), 1);
}

#[test]
fn errors_alone_are_no_outage_and_losses_alone_are_one() {
    let mut line = SuccessLine::default();
    for at in 0..300 {
        fail(&mut line, 0, at * 10, Failures { errors: 1, ..Failures::default() });
    }
    assert_eq!(line.outages(3 * SECOND, &UsualPauses::default(), &[], &[]), []);
    fail(&mut line, 0, 0, Failures { lost: 1, ..Failures::default() });
    assert_eq!(line.outages(3 * SECOND, &UsualPauses::default(), &[], &[]).len(), 1);
}

#[test]
fn each_node_has_outages_of_its_own() {
    let mut line = line(&[(0, 4000)]);
    fail(&mut line, 2, 1000, Failures { lost: 1, ..Failures::default() });
    let outages = line.outages(4 * SECOND, &UsualPauses::default(), &[], &[]);
    assert_eq!((outages.len(), outages[0].node), (1, 2));
}

#[test]
fn a_node_of_which_nothing_is_asked_is_not_out() {
    // Asked from 2 s to 4 s, and after 3 s in vain; the run lasts 9 s.
    let mut line = line(&[(2000, 3000)]);
    for interval in 0..36 {
        let mut slices = Slices::default();
        slices.ask((7..15).contains(&interval));
        line.add(interval * 250 * MS, &[slices]);
    }
    let outages = line.outages(9 * SECOND, &UsualPauses::default(), &[], &[]);
    assert_eq!(outages.len(), 1, "{outages:?}");
    assert_eq!((outages[0].from_ns, outages[0].to_ns), (3000 * MS, 4000 * MS));
    assert!(!outages[0].to_the_end);
    // One worker that asks is enough.
    let mut asking = Slices::default();
    asking.ask(true);
    (16..20).for_each(|interval| line.add(interval * 250 * MS, &[asking.clone()]));
    (15..20).for_each(|interval| line.add(interval * 250 * MS, &[asking.clone()]));
    assert_eq!(line.outages(9 * SECOND, &UsualPauses::default(), &[], &[])[0].to_ns, 5250 * MS);
}

#[test]
fn nothing_has_none() {
    assert_eq!(SuccessLine::default().outages(0, &UsualPauses::default(), &[], &[]), []);
    assert_eq!(
        SuccessLine::default().outages(
            SECOND,
            &UsualPauses { due_every_ns: 5, service_ns: 5 },
            &[],
            &[]
        ),
        []
    );
}

/// More requests in ten milliseconds than two bytes can count.
#[test]
fn a_rate_of_many_millions_is_reported_as_it_is() {
    let mut line = SuccessLine::default();
    for at in (0..2000).step_by(10).chain((3000..5000).step_by(10)) {
        let mut slices = Slices::default();
        slices.succeeded(at % 250 * MS, 100_000);
        line.add(at / 250 * 250 * MS, &[slices]);
    }
    let [outage] = line.outages(5 * SECOND, &UsualPauses::default(), &[], &[])[..] else {
        panic!("one")
    };
    assert_eq!(outage.rate_before_per_s, Some(1e7));
    assert_eq!(outage.recovered_ns, Some(3 * SECOND));
}

/// Start and end of each span, in milliseconds.
type Spans<'s> = &'s [(u64, u64)];

/// A line with ten successes in each slice of the first spans of each server, which is asked throughout the
/// second spans.
fn lines(nodes: &[(Spans<'_>, Spans<'_>)]) -> SuccessLine {
    let mut line = SuccessLine::default();
    for interval in (0..10_000).step_by(250) {
        let slices = nodes.iter().map(|(ok, asked)| {
            let within =
                |spans: &[(u64, u64)], at: u64| spans.iter().any(|(a, b)| (*a..*b).contains(&at));
            let mut slices = Slices::default();
            for at in (interval..interval + 250).step_by(10).filter(|at| within(ok, *at)) {
                slices.succeeded((at - interval) * MS, 10);
            }
            slices.ask(within(asked, interval + 249));
            slices
        });
        line.add(interval * MS, &slices.collect::<Vec<_>>());
    }
    line
}

fn tenure(node: u16, from_ms: u64, to_ms: Option<u64>, heirs: &[u16]) -> Tenure {
    let to_ns = to_ms.map(|ms| ms * MS);
    Tenure { to_ns, heirs: heirs.to_vec(), ..Tenure::new(node, from_ms * MS) }
}

fn heir(node: u16, from_ms: u64, to_ms: Option<u64>, heirs: &[u16]) -> Tenure {
    Tenure { inherits: true, ..tenure(node, from_ms, to_ms, heirs) }
}

/// Outages as server, start and end in milliseconds, and whether to the end of a run of ten seconds.
fn outages_of(line: &SuccessLine, tenures: &[Tenure]) -> Vec<(u16, u64, u64, bool)> {
    let outages = line.outages(10 * SECOND, &UsualPauses::default(), tenures, &[]);
    outages.iter().map(|o| (o.node, o.from_ns / MS, o.to_ns / MS, o.to_the_end)).collect()
}

const ALL: &[(u64, u64)] = &[(0, 10_000)];

#[test]
fn an_outage_ends_with_whoever_answers_then_and_has_the_name_of_who_did_before() {
    // 0 dies at 2 s, 1 is elected at 4 s and answers at 4.1 s.
    let line = lines(&[(&[(0, 2000)], &[(0, 4000)]), (&[(4100, 10_000)], &[(4000, 10_000)])]);
    let tenures = [tenure(0, 0, Some(4000), &[1]), heir(1, 4000, None, &[])];
    assert_eq!(outages_of(&line, &tenures), [(0, 2000, 4100, false)]);
    let [outage] = line.outages(10 * SECOND, &UsualPauses::default(), &tenures, &[])[..] else {
        panic!()
    };
    assert_eq!((outage.rate_before_per_s, outage.recovered_ns), (Some(1000.0), Some(4100 * MS)));
    // It dies before it has answered anything, and 2 takes its place.
    let line = lines(&[
        (&[(0, 2000)], &[(0, 4000)]),
        (&[], &[(4000, 7000)]),
        (&[(7100, 10_000)], &[(7000, 10_000)]),
    ]);
    let tenures =
        [tenure(0, 0, Some(4000), &[1]), heir(1, 4000, Some(7000), &[2]), heir(2, 7000, None, &[])];
    assert_eq!(outages_of(&line, &tenures), [(0, 2000, 7100, false)]);
    // Nobody ever does.
    let line = lines(&[(&[(0, 2000)], &[(0, 4000)]), (&[], &[(4000, 10_000)])]);
    let tenures = [tenure(0, 0, Some(4000), &[1]), heir(1, 4000, None, &[])];
    assert_eq!(outages_of(&line, &tenures), [(0, 2000, 10_000, true)]);
}

#[test]
fn slots_that_move_while_both_answer_are_no_outage() {
    // A planned failover at 4 s, and back at 6 s.
    let line = lines(&[
        (&[(0, 4000), (6000, 10_000)], &[(0, 4000), (6000, 10_000)]),
        (&[(4010, 6000)], &[(4000, 6000)]),
    ]);
    let tenures =
        [tenure(0, 0, Some(4000), &[1]), heir(1, 4000, Some(6000), &[0]), heir(0, 6000, None, &[])];
    assert_eq!(outages_of(&line, &tenures), []);
    // One that joins at 5 s, and one that has nothing left from 7 s on.
    let line =
        lines(&[(ALL, ALL), (&[(5000, 10_000)], &[(5000, 10_000)]), (&[(0, 7000)], &[(0, 7000)])]);
    let tenures =
        [tenure(0, 0, None, &[]), tenure(1, 5000, None, &[]), tenure(2, 0, Some(7000), &[0])];
    assert_eq!(outages_of(&line, &tenures), []);
    // What joins and never answers is out from then on.
    let line = lines(&[(ALL, ALL), (&[], &[(5000, 10_000)])]);
    let tenures = [tenure(0, 0, None, &[]), tenure(1, 5000, None, &[])];
    assert_eq!(outages_of(&line, &tenures), [(1, 5000, 10_000, true)]);
}

#[test]
fn slots_of_a_dead_one_that_others_get_end_its_outage() {
    let line = lines(&[(&[(0, 3000)], &[(0, 5000)]), (ALL, ALL), (ALL, ALL)]);
    let tenures =
        [tenure(0, 0, Some(5000), &[1, 2]), tenure(1, 0, None, &[]), tenure(2, 0, None, &[])];
    assert_eq!(outages_of(&line, &tenures), [(0, 3000, 5000, false)]);
    // Nobody is asked for them any more.
    let tenures = [tenure(0, 0, Some(4500), &[]), tenure(1, 0, None, &[])];
    assert_eq!(outages_of(&line, &tenures), [(0, 3000, 4500, false)]);
}

#[test]
fn with_nobody_left_that_is_stated_of_the_last() {
    let line = lines(&[(&[(0, 3000)], ALL), (&[(0, 5000)], ALL), (&[(0, 4000)], ALL)]);
    let of_all = |line: &SuccessLine| -> Vec<(u16, bool, bool)> {
        let outages = line.outages(10 * SECOND, &UsualPauses::default(), &[], &[]);
        outages.iter().map(|o| (o.node, o.to_the_end, o.of_all)).collect()
    };
    assert_eq!(of_all(&line), [(0, true, false), (2, true, false), (1, true, true)]);
    let line = lines(&[(&[(0, 3000)], ALL), (ALL, ALL), (&[(0, 4000)], ALL)]);
    assert_eq!(of_all(&line), [(0, true, false), (2, true, false)], "one still answers");
}

#[test]
fn silence_while_the_client_did_not_run_is_not_the_servers() {
    let line = line(&[(0, 2000), (3000, 6000), (8000, 10_000)]);
    let found = |absent: &[[u64; 2]]| -> Vec<(u64, u64)> {
        let absent: Vec<Range<u64>> = absent.iter().map(|[from, to]| from * MS..to * MS).collect();
        let outages = line.outages(10 * SECOND, &UsualPauses::default(), &[], &absent);
        outages.iter().map(|o| (o.from_ns / MS, o.to_ns / MS)).collect()
    };
    assert_eq!(found(&[]), [(2000, 3000), (6000, 8000)]);
    assert_eq!(found(&[[1990, 2995]]), [(6000, 8000)]);
    assert_eq!(found(&[[2200, 3000]]), [(6000, 8000)], "too little is left");
    // A part of an outage at either end, and one within it.
    assert_eq!(found(&[[5990, 7000]]), [(2000, 3000), (7000, 8000)]);
    assert_eq!(found(&[[7200, 8000]]), [(2000, 3000), (6000, 7200)]);
    assert_eq!(found(&[[6500, 7500]]), [(2000, 3000), (6000, 8000)]);
    assert_eq!(found(&[[6200, 7900]]), [(2000, 3000)]);
}

#[test]
fn a_tenure_may_have_begun_before_the_run_and_may_be_over_by_then() {
    assert_eq!(tenure(0, 0, Some(10), &[1]).since(10 * MS), None);
    assert_eq!(heir(0, 5, None, &[]).since(10 * MS), Some(tenure(0, 0, None, &[])));
    assert_eq!(heir(0, 15, Some(20), &[]).since(10 * MS), Some(heir(0, 5, Some(10), &[])));
}

/// Nothing was due there for a while after the last success.
#[test]
fn an_outage_begins_when_something_is_asked_again() {
    let line = lines(&[(&[(0, 3000), (8000, 10_000)], &[(0, 3000), (6000, 10_000)])]);
    assert_eq!(outages_of(&line, &[]), [(0, 6000, 8000, false)]);
}
