//! The queue of requests of one connection.

use super::*;

fn request(sent_ns: u64, left: u32) -> Request<()> {
    Request {
        number: 0,
        intended_ns: sent_ns,
        sent_ns,
        handed_ns: sent_ns,
        command: 0,
        left,
        measured: true,
        progress: OperationState::default(),
        mark: (),
    }
}

fn left(request: &Request<()>) -> u64 {
    u64::from(request.left)
}

#[test]
fn replies_settle_in_order_and_know_their_command() {
    let mut requests = Requests::default();
    requests.push(request(10, 3));
    requests.push(request(20, 1));
    let settled: Vec<(u64, u32, u32)> = std::iter::from_fn(|| {
        let (_, request) = requests.settle(30)?;
        let settled = (request.sent_ns, request.command, request.left);
        requests.advance(2);
        Some(settled)
    })
    .collect();
    assert_eq!(settled, [(10, 0, 2), (10, 1, 1), (10, 0, 0), (20, 0, 0)]);
    assert_eq!(requests.commands(), 0);
}

#[test]
fn replies_settled_together_are_those_settled_one_by_one() {
    let (mut together, mut singly) = (Requests::default(), Requests::default());
    for requests in [&mut together, &mut singly] {
        requests.push(request(10, 5));
        requests.push(request(20, 1));
    }
    for count in [3, 2, 1] {
        let first_byte_ns = together.settle_many(count, 30 + u64::from(count)).unwrap().0;
        together.advance_many(count);
        for _ in 0..count {
            let settled = singly.settle(30 + u64::from(count)).unwrap();
            assert_eq!(settled.0, first_byte_ns);
            singly.advance(1);
        }
        assert_eq!(together.oldest_mut(), singly.oldest_mut());
        assert_eq!(together.commands(), singly.commands());
    }
}

#[test]
fn requests_are_alike_up_to_another_command_or_one_with_more_replies() {
    let mut requests = Requests::default();
    assert_eq!(requests.alike(), 0);
    (0..3).for_each(|_| requests.push(request(10, 1)));
    requests.push(Request { command: 1, ..request(10, 1) });
    assert_eq!(requests.alike(), 3);
    for _ in 0..3 {
        assert!(requests.settle(20).is_some());
        requests.advance(2);
    }
    assert_eq!(requests.alike(), 1);
    requests.push(Request { command: 1, ..request(10, 2) });
    assert_eq!(requests.alike(), 1, "the one behind waits for two");
}

#[test]
fn a_run_is_settled_like_its_operations() {
    let operations = |number, left| {
        let progress = OperationState { is_run: true, ..OperationState::default() };
        Request { number, progress, ..request(10, left) }
    };
    let mut requests = Requests::default();
    requests.push(operations(5, 4));
    requests.push(operations(9, 3));
    assert_eq!(requests.alike(), 7);
    for count in [4, 1] {
        assert!(requests.settle_many(count, 20).is_some());
        requests.advance_many(count);
    }
    assert_eq!((requests.commands(), requests.alike()), (2, 2));
    assert_eq!(requests.settle(20).unwrap().1.left, 1);
    requests.advance(3);
    let last = requests.oldest_mut().unwrap();
    assert_eq!((last.number, last.command, last.left), (11, 0, 1));
}

#[test]
fn the_first_byte_is_that_of_all_that_was_sent_together() {
    let mut requests = Requests::default();
    requests.push(request(10, 2));
    requests.push(request(10, 1));
    requests.push(request(20, 1));
    assert_eq!(requests.reply_begun(15), Some(15));
    let first_bytes = [20, 30, 40, 50].map(|now| {
        let first_byte_ns = requests.settle(now).unwrap().0;
        requests.advance(1);
        first_byte_ns
    });
    assert_eq!(first_bytes, [15, 15, 15, 50]);
    assert_eq!(requests.reply_begun(60), None);
}

#[test]
fn abandoned_requests_are_counted_if_measured() {
    let mut requests = Requests::default();
    requests.push(Request { measured: false, ..request(10, 4) });
    requests.push(request(20, 2));
    requests.push(request(30, 1));
    assert_eq!(requests.oldest_ns(), Some(10));
    assert_eq!(requests.abandon(20, 0, left), LostRequests { timed_out: 2, lost: 1 });
    assert_eq!((requests.commands(), requests.oldest_ns()), (0, None));
    requests.push(request(30, 1));
    assert_eq!(requests.abandon(0, 2, left), LostRequests { timed_out: 0, lost: 3 });
}
