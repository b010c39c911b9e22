use super::*;
use crate::fixture;

fn point(index: u32, late_max_ns: Option<u64>) -> Point {
    Point { late_max_ns, ..fixture::point(index, 1) }
}

#[test]
fn neighbouring_misses_are_one_span() {
    let late = |ms: u64| Some(ms * 1_000_000);
    let points = [
        point(0, late(1)),
        point(1, late(30)),
        point(2, late(20)),
        point(3, None),
        point(4, late(11)),
    ];
    let quarter = 250_000_000;
    let span = |from: u64, to: u64| LateSpan { from_ns: from * quarter, to_ns: to * quarter };
    assert_eq!(spans(&points, quarter), [span(1, 3), span(4, 5)]);
}

/// An open loop with this many requests late by 20 ms, with room since `room_ns`, and this many unsent.
fn missed(late: u64, room_ns: u64, unsent: u64) -> ScheduleFigures {
    let mut run = fixture::open_loop();
    let lateness = run.measurement.total.lateness.as_mut().unwrap();
    lateness.record_n(0, room_ns, 20_000_000, late);
    lateness.due = 2000 + late + unsent;
    ScheduleFigures::new(&run.plan, &run.measurement).unwrap()
}

#[test]
fn a_schedule_that_was_kept_says_so() {
    let run = fixture::open_loop();
    let figures = ScheduleFigures::new(&run.plan, &run.measurement).unwrap();
    assert_eq!((figures.missed_share, figures.fault, figures.kept()), (0.0, None, true));
    assert!(figures.to_string().starts_with("kept; 8000.00 requests per second; lateness p50="));
}

#[test]
fn one_in_a_hundred_may_be_late_and_is_reported() {
    let few = missed(10, 0, 10);
    assert_eq!((few.due, few.sent, few.late, few.unsent), (2020, 2010, 10, 10));
    let text = few.to_string();
    assert!(few.kept() && text.starts_with("kept; "), "{text}");
    assert!(text.ends_with(", 0.50 % over 10 ms late, 10 of 2,020 never sent"), "{text}");
    let text = missed(500, 0, 0).to_string();
    assert!(
        text.starts_with("MISSED; 20.00 % of 2,500 requests were sent over 10 ms late"),
        "{text}"
    );
    assert!(text.ends_with(": connections had room, but keystorm was late"), "{text}");
}

#[test]
fn requests_never_sent_are_nobodys_fault_unless_others_were_late() {
    let text = missed(0, 0, 500).to_string();
    assert_eq!(text, "MISSED; 500 of 2,500 requests were due and never sent");
    assert!(missed(99, 0, 1).to_string().contains(", and 1 was due and never sent"));
    assert_eq!(missed(1, 20_000_000, 500).fault, Some(Fault::NoRoom));
    assert_eq!(missed(1, 0, 500).fault, Some(Fault::Client));
    // A connection that hangs keeps requests from leaving, whatever was late before.
    let (hung, out) = (Some(Fault::NoRoom), Some(Fault::Outage));
    assert_eq!(fault(2, 2, 268, hung), hung);
    assert_eq!((fault(2, 2, 268, out), fault(0, 0, 9, out)), (out, out), "idle ones were lost");
    assert_eq!(fault(2, 2, 1, out), Some(Fault::Client));
}

#[test]
fn the_wait_for_the_last_replies_is_no_part_of_the_schedule() {
    let of = |ms: &[u64], elapsed_ms: u64| {
        let mut parts = fixture::parts();
        parts.load.pace = workload::Pace::constant(500.0);
        parts.load.stop = workload::Stop::AfterNs(2_000_000_000);
        let ns: Vec<u64> = ms.iter().map(|ms| ms * 1_000_000).collect();
        let mut run = fixture::run(parts, &ns);
        run.measurement.elapsed_ns = elapsed_ms * 1_000_000;
        ScheduleFigures::new(&run.plan, &run.measurement).unwrap()
    };
    let slow = of(&[100; 1000], 2100);
    assert_eq!((slow.due_rps, slow.span_ns, slow.behind_ns), (500.0, 2_000_000_000, None));
    let growing: Vec<u64> = (0..1000).map(|n| n * 8).collect();
    let behind = of(&growing, 10_000);
    assert_eq!(behind.behind_ns, Some(8_000_000_000));
    let text = behind.to_string();
    assert!(text.starts_with("kept; ") && text.ends_with("8.00 s after the end"), "{text}");
    let one_slow: Vec<u64> = (0..1000).map(|n| if n == 999 { 3000 } else { 1 }).collect();
    assert_eq!(of(&one_slow, 4998).behind_ns, None);
}

#[test]
fn a_closed_loop_has_no_schedule() {
    let run = fixture::complete();
    assert_eq!(ScheduleFigures::new(&run.plan, &run.measurement), None);
}
