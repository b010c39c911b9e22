//! In which order SETs, GETs and WAITs follow each other.

use workload::Span;

use super::fault::{Fault, check_error};

/// The operations, by their numbers among those of the plan.
pub(super) const SET: u32 = 0;
pub(super) const GET: u32 = 1;
/// The GETs of a turn that are left when several keys are asked for at a time.
pub(super) const REST: u32 = 2;
pub(super) const WAIT: u32 = 3;

/// Maximum number of spans of an order.
const SPANS_MAX: usize = 10_000;
/// Maximum number of requests that are looked at to find an order.
const REQUESTS_MAX: u64 = 10_000_000;

/// The order of a turn: `sets` SETs and then `gets` GETs, over and over, and a WAIT before everything
/// before each SET where the SETs for each WAIT, in whole numbers, are more than A / B in whole numbers.
/// (There the last SET of a turn has its WAIT before the GETs, so that the order never repeats itself.)
pub(super) fn order(
    (sets, gets): (u32, u32),
    wait_ratio: Option<(u32, u32)>,
) -> Result<Vec<Span>, Fault> {
    let turn = [Span { operation: SET, times: sets }, Span { operation: GET, times: gets }];
    let turn = turn.into_iter().filter(|span| span.times > 0);
    let Some((a, b)) = wait_ratio else { return Ok(turn.collect()) };
    if b == 0 || sets == 0 {
        // None ever, or one for all time.
        return Err(check_error(format!(
            "--wait-ratio {a}:{b} with a --ratio of {sets} SETs is not carried out by keystorm: WAITs \
             follow SETs; see docs/memtier.md"
        )));
    }
    // Sets / waits > a / b, both cut to whole numbers.
    let sets_per_wait = u64::from(a / b) + 1;
    let mut spans: Vec<Span> = vec![Span { operation: WAIT, times: 1 }];
    let (mut of_turn, mut since_wait) = (0u64, 0u64);
    let (sets, gets) = (u64::from(sets), u64::from(gets));
    for _ in 0..REQUESTS_MAX {
        let operation = if since_wait == sets_per_wait && of_turn < sets {
            WAIT
        } else if of_turn < sets {
            SET
        } else {
            GET
        };
        // Where a turn and a WAIT begin together it goes on as it began.
        if operation == WAIT && of_turn == 0 {
            return Ok(spans);
        }
        match operation {
            WAIT => since_wait = 0,
            _ => {
                since_wait += u64::from(operation == SET);
                of_turn = (of_turn + 1) % (sets + gets);
            }
        }
        match spans.last_mut() {
            Some(last) if last.operation == operation => last.times += 1,
            _ => spans.push(Span { operation, times: 1 }),
        }
        if spans.len() > SPANS_MAX {
            break;
        }
    }
    Err(check_error(format!(
        "--wait-ratio {a}:{b} with --ratio {sets}:{gets} is not carried out by keystorm: its order \
         repeats itself too late"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(ratio: (u32, u32), wait: Option<(u32, u32)>, count: usize) -> String {
        let turn: String = order(ratio, wait)
            .unwrap()
            .iter()
            .map(|span| ["S", "G", "R", "W"][span.operation as usize].repeat(span.times as usize))
            .collect();
        turn.chars().cycle().take(count).collect()
    }

    /// Returns the order of the original, request by request, except that a WAIT waits for the next SET.
    fn original((sets, gets): (u32, u32), (a, b): (u32, u32), count: usize) -> String {
        let (mut s, mut g, mut all, mut waits) = (0, 0, 0, 0);
        let mut text = String::new();
        while text.len() < count {
            if s < sets && (waits == 0 || all / waits > a / b) {
                waits += 1;
                text.push('W');
            } else if s < sets {
                (s, all) = (s + 1, all + 1);
                text.push('S');
            } else if g < gets {
                g += 1;
                text.push('G');
            } else {
                (s, g) = (0, 0);
            }
        }
        text
    }

    #[test]
    fn sets_come_before_gets() {
        assert_eq!(letters((1, 3), None, 8), "SGGGSGGG");
        assert_eq!(
            (letters((0, 3), None, 3), letters((2, 0), None, 3)),
            ("GGG".into(), "SSS".into())
        );
    }

    #[test]
    fn waits_come_where_they_do_there() {
        assert_eq!(letters((1, 0), Some((1, 1)), 10), "WSSWSSWSSW");
        for ratio in [(1, 0), (1, 10), (3, 2), (5, 1), (4, 7)] {
            for wait in [(1, 1), (1, 10), (10, 1), (3, 2), (0, 1)] {
                assert_eq!(
                    letters(ratio, Some(wait), 500),
                    original(ratio, wait, 500),
                    "{ratio:?} {wait:?}"
                );
            }
        }
        assert!(order((1, 10), Some((1, 0))).is_err() && order((0, 1), Some((1, 1))).is_err());
    }
}
