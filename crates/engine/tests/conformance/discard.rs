//! Bytes that are dropped unseen.

use engine::Engine as _;

use crate::peer::Behaviour;
use crate::{A, Observed, for_each_lab};

#[test]
fn bytes_that_nobody_looks_at_are_dropped_and_those_after_them_are_not() {
    /// Bytes of a message that are looked at: at its beginning, and at its end.
    const SEEN: usize = 3;
    let long_and_short = [100_000, 1_000_000, 5, 60_000, 7, 8, 9, 10, 11, 12, 300_000, 6, 4_096];
    for_each_lab(Behaviour::Echo, |lab| {
        lab.opened(A);
        let mut dropped_in_all = 0;
        for len in long_and_short {
            let message: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            lab.engine.send(A, &message);
            let (mut at, mut dropped) = (0, 0);
            lab.run(|engine, _, seen| {
                let Observed::Bytes(bytes) = seen else { panic!("{seen:?}") };
                assert!(bytes[..] == message[at..at + bytes.len()], "of {len}, those from {at}");
                at += bytes.len();
                let to_come = (len - at).saturating_sub(SEEN);
                if to_come > 0 {
                    let skipped = engine.discard(A, to_come as u64) as usize;
                    assert!(skipped <= to_come);
                    (at, dropped) = (at + skipped, dropped + skipped);
                }
                at == len
            });
            dropped_in_all += dropped;
        }
        assert_eq!(dropped_in_all > 0, lab.drops, "{dropped_in_all} bytes");
    });
}

#[test]
fn a_connection_may_end_where_bytes_are_dropped() {
    const WORDS: &[u8] = b"a value that is longer than what comes of it";
    for_each_lab(Behaviour::SayAndClose(WORDS), |lab| {
        lab.opened(A);
        let mut received = 0;
        lab.run(|engine, _, seen| match seen {
            Observed::Bytes(bytes) => {
                received += bytes.len();
                engine.discard(A, 1 << 20);
                false
            }
            end => {
                assert_eq!(end, Observed::ClosedByPeer);
                true
            }
        });
        assert!(received > 0);
        lab.assert_quiet();
    });
}

#[test]
fn a_connection_that_drops_bytes_may_be_closed_and_opened_again() {
    for_each_lab(Behaviour::Echo, |lab| {
        let message = vec![b'x'; 200_000];
        for _ in 0..20 {
            lab.opened(A);
            lab.engine.send(A, &message);
            lab.receive();
            let inbox = lab.engine.inbox().len();
            lab.engine.consume(inbox);
            lab.engine.discard(A, 150_000);
            lab.engine.close(A);
        }
        lab.opened(A);
        lab.engine.send(A, b"hello");
        assert_eq!(lab.collect(A, 5).0, b"hello");
    });
}
