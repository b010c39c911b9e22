//! Faults, and the results that remain after them.

use measure::Ending;
use workload::{Credentials, OnError, Secret, Stop};

use super::server::{Fault, Server};
use super::{MS, parts, replay};

fn failure(ending: &Ending) -> &str {
    match ending {
        Ending::Failed(failure) => &failure.text,
        other => panic!("the run should have failed and was {other:?}"),
    }
}

#[test]
fn an_error_reply_ends_the_run_and_keeps_the_results() {
    let server = Server::taking(MS).answering(|_, n| match n {
        50 => b"-WRONGTYPE no\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (got, log) = replay(parts(1, 1, Stop::Requests(100)), server);
    assert_eq!(failure(&got.ending), "Error from server: WRONGTYPE no");
    assert_eq!((got.total.requests(), got.total.errors.total()), (51, 1));
    assert_eq!(log.requests.len(), 51);
}

#[test]
fn errors_can_be_counted_instead() {
    let mut plan = parts(5, 4, Stop::Requests(1000));
    plan.recovery.on_error = OnError::Count;
    let server = Server::taking(1000).answering(|_, n| match n % 10 {
        0 => b"-OOM command not allowed\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (got, _) = replay(plan, server);
    assert_eq!(got.ending, Ending::Complete);
    assert_eq!((got.total.requests(), got.total.errors.total()), (1000, 100));
    assert_eq!(got.total.errors.examples(), ["OOM command not allowed"]);
}

#[test]
fn a_cut_in_the_middle_of_a_reply_counts_what_was_answered() {
    for fault in [Fault::CutAt(30), Fault::ResetAt(30)] {
        let server = Server::taking(MS).failing(fault);
        let (got, _) = replay(parts(2, 4, Stop::Requests(1000)), server);
        assert!(failure(&got.ending).contains("requests in flight"), "{:?}", got.ending);
        assert_eq!(got.total.requests(), 29);
        assert_eq!(got.total.connections.dropped, 1);
        let gone = &got.total.connections;
        assert_eq!((gone.lost, gone.unanswered), (3, 4), "of that pipeline, and of the other");
        assert!(got.elapsed_ns >= 29 * MS);
    }
}

#[test]
fn nobody_there_is_stated_with_the_address() {
    let server = Server::taking(MS).failing(Fault::Refused);
    let (got, _) = replay(parts(2, 1, Stop::Requests(10)), server);
    assert!(failure(&got.ending).starts_with("Could not connect to server at /nowhere: "));
    assert_eq!((got.total.requests(), got.elapsed_ns), (0, 0));
}

#[test]
fn bytes_of_another_protocol_are_named() {
    let server = Server::taking(MS).answering(|_, _| b"HTTP/1.1 400 Bad Request\r\n".to_vec());
    let (got, _) = replay(parts(1, 1, Stop::Requests(10)), server);
    assert!(failure(&got.ending).contains("not RESP"), "{:?}", got.ending);
}

#[test]
fn a_reply_that_nothing_asked_for_is_a_fault() {
    let server = Server::taking(MS).answering(|_, _| b"+OK\r\n+OK\r\n".to_vec());
    let (got, _) = replay(parts(1, 1, Stop::Requests(10)), server);
    assert!(failure(&got.ending).contains("to no request"), "{:?}", got.ending);
}

#[test]
fn pushes_are_counted_and_answer_nothing() {
    let server = Server::taking(MS)
        .answering(|_, _| b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n+OK\r\n".to_vec());
    let (got, _) = replay(parts(1, 1, Stop::Requests(10)), server);
    assert_eq!((got.total.requests(), got.total.connections.pushes), (10, 10));
}

#[test]
fn the_login_comes_first_and_its_refusal_ends_the_run_without_the_password() {
    let login = Credentials { user: Some("ann".into()), password: Secret::new("hunter2") };
    let mut plan = parts(3, 1, Stop::Requests(10));
    plan.target.credentials = Some(login);
    plan.target.db = 5;
    let (got, log) = replay(plan.clone(), Server::taking(MS));
    assert_eq!((got.ending, got.total.requests()), (Ending::Complete, 10));
    let first: Vec<&str> = log.requests[..2].iter().map(|r| r.2[0].as_str()).collect();
    assert_eq!(first, ["AUTH", "SELECT"]);
    assert_eq!(log.requests.len(), 10 + 3 * 2);
    let server = Server::taking(MS).answering(|words, _| match words[0].as_str() {
        "AUTH" => b"-WRONGPASS invalid username-password pair\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (got, _) = replay(plan, server);
    assert!(failure(&got.ending).contains("refused the login"));
    assert!(!failure(&got.ending).contains("hunter2"));
}
