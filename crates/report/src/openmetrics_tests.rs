//! Text written for Prometheus.

use super::*;
use measure::{Outcome, Sample, TallyShape};

fn tally() -> Tally {
    let shape = TallyShape {
        commands: 1,
        precision: 3,
        scheduled: true,
        first_byte: false,
        operations: 0,
        separate_failures: false,
        places: 0,
        spans: false,
        deadline_ns: None,
    };
    let mut tally = Tally::new(&shape);
    for (service_ns, count) in [(9_000, 2), (1_499_000, 3), (250_000_000_000, 1)] {
        let (sent_ns, done_ns) = (500_000_000, 500_000_000 + service_ns);
        let outcome = Outcome::Ok;
        let (command, intended_ns, first_byte_ns) = (0, 0, done_ns);
        tally.record(&Sample {
            command,
            outcome,
            count,
            bytes: 0,
            intended_ns,
            sent_ns,
            first_byte_ns,
            arrived_ns: None,
            done_ns,
        });
    }
    tally.errors.add("OOM", "OOM command not allowed");
    tally
}

fn text() -> String {
    let name = "a\"b\\c\n\x1b[2J".to_owned();
    let (engine, seen) =
        ("epoll".to_owned(), Counters::new(&crate::fixture::complete().plan, &tally()));
    let state = TestState { name, engine, seen, cpu_s: vec![0.5, 1.25], ..Default::default() };
    openmetrics("1.2.3", &[state])
}

#[test]
fn buckets_are_cumulative_and_bounded_by_what_was_recorded() {
    let text = text();
    let bucket = |family: &str, le: &str| -> u64 {
        let lines = text.lines().filter(|l| l.starts_with(&format!("keystorm_{family}_seconds_")));
        let mut found = lines.filter(|l| l.contains(&format!("le=\"{le}\"")));
        found.next().and_then(|l| l.rsplit(' ').next()?.parse().ok()).expect(le)
    };
    let service = |le| bucket("service_time", le);
    assert_eq!([service("0.00001"), service("0.001"), service("0.0015")], [2, 2, 5]);
    assert_eq!([service("100.0"), service("+Inf")], [5, 6]);
    let response = |le| bucket("response_time", le);
    assert_eq!([response("0.3"), response("0.5"), response("0.7")], [0, 0, 5]);
    assert!(text.contains("keystorm_service_time_seconds_count{"), "{text}");
}

#[test]
fn a_name_breaks_no_line() {
    let text = text();
    assert!(text.ends_with("\n# EOF\n") && !text.contains('\x1b'), "{text}");
    let requests = text.lines().find(|l| l.starts_with("keystorm_requests_total")).unwrap();
    let name = r#"a\"b\\c\\n\\x1b[2J"#;
    let expected = format!("keystorm_requests_total{{test=\"{name}\",engine=\"epoll\"}} 7");
    assert_eq!(requests, expected);
}

#[test]
fn a_test_that_saw_nothing_has_all_buckets() {
    let text = openmetrics("1", &[TestState::default()]);
    let bounds = text.lines().filter(|l| l.contains("_bucket{") && l.ends_with(" 0")).count();
    assert_eq!((bounds, text.matches("le=\"+Inf\"").count()), (2 * 44, 2), "{text}");
}

#[test]
fn what_a_test_lacks_has_no_line() {
    let text = text();
    assert!(text.contains("\n# TYPE keystorm_requests_backlog gauge\n"), "{text}");
    assert!(!text.contains("\nkeystorm_requests_backlog{"), "a closed loop has none");
    assert!(!text.contains("NaN") && !text.contains("\nkeystorm_test_progress_ratio{"));
    assert!(text.contains("engine=\"epoll\",worker=\"1\"} 1.25\n"), "{text}");
    assert!(text.contains("kind=\"OOM\"} 1\n") && text.contains("version=\"1.2.3\""));
}
