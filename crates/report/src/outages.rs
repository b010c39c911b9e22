//! Outages common to several clients.
//!
//! A client knows only its own failures. When nothing succeeded for every client at once, nothing succeeded
//! for all together.

use measure::{Failures, Measurement, Outage};
use workload::{Endpoint, Plan};

/// Returns the name of an outage's server; `None` if there is only one server.
pub(crate) fn server_name(
    plan: &Plan,
    measurement: &Measurement,
    outage: &Outage,
) -> Option<String> {
    let at = usize::from(outage.node);
    match (&plan.target.endpoint, measurement.nodes.get(at)) {
        (_, Some(node)) => Some(node.name.clone()),
        (Endpoint::Pool { servers }, None) => servers.get(at).map(ToString::to_string),
        _ => None,
    }
}

/// Describes the requests in an outage without a failure, or the messages if senders saw none.
pub(crate) fn only_waited(of_messages: bool) -> &'static str {
    if of_messages {
        "no message was refused, and none was received"
    } else {
        "no request failed, requests only waited"
    }
}

/// Outages of one client, with the nanoseconds by which it started after the first.
pub(crate) type ClientOutages<'o> = (u64, &'o [Outage]);

/// Spans in which every client had an outage on the same node, from the start of the first client.
pub(crate) fn common(clients: &[ClientOutages<'_>]) -> Vec<Outage> {
    let Some((first, rest)) = clients.split_first() else { return Vec::new() };
    let mut common = later(first);
    for client in rest {
        let mut theirs = later(client);
        let mut of_both = Vec::new();
        for ours in &mut common {
            for their in &mut theirs {
                let Some(both) = both(ours, their).filter(Outage::is_long) else { continue };
                of_both.push(both);
                // Failures of an outage that overlaps several count once.
                (ours.failures, their.failures) = (Failures::default(), Failures::default());
            }
        }
        common = of_both;
    }
    common
}

fn later((offset_ns, outages): &ClientOutages<'_>) -> Vec<Outage> {
    let shift = |ns: u64| ns.saturating_add(*offset_ns);
    let outages = outages.iter().map(|outage| Outage {
        from_ns: shift(outage.from_ns),
        to_ns: shift(outage.to_ns),
        first_failure_ns: outage.first_failure_ns.map(shift),
        recovered_ns: outage.recovered_ns.map(shift),
        ..*outage
    });
    outages.collect()
}

/// Returns the overlap of two outages. Rates add up, and recover when both have.
fn both(a: &Outage, b: &Outage) -> Option<Outage> {
    let (from_ns, to_ns) = (a.from_ns.max(b.from_ns), a.to_ns.min(b.to_ns));
    let mut failures = a.failures;
    failures.merge(&b.failures);
    (a.node == b.node && from_ns < to_ns).then(|| Outage {
        node: a.node,
        from_ns,
        to_ns,
        to_the_end: a.to_the_end && b.to_the_end,
        of_all: a.of_all && b.of_all,
        first_failure_ns: a.first_failure_ns.into_iter().chain(b.first_failure_ns).min(),
        failures,
        rate_before_per_s: a.rate_before_per_s.zip(b.rate_before_per_s).map(|(a, b)| a + b),
        recovered_ns: a.recovered_ns.zip(b.recovered_ns).map(|(a, b)| a.max(b)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// An outage between these times, in milliseconds.
    fn outage(from_ms: u64, to_ms: u64) -> Outage {
        let (from_ns, to_ns) = (from_ms * MS, to_ms * MS);
        Outage {
            node: 0,
            from_ns,
            to_ns,
            to_the_end: false,
            of_all: false,
            first_failure_ns: Some(from_ns),
            failures: Failures { errors: 0, lost: 5, timed_out: 0 },
            rate_before_per_s: Some(100.0),
            recovered_ns: Some(to_ns),
        }
    }

    #[test]
    fn only_what_all_saw_is_an_outage_of_all() {
        let (a, b) = ([outage(100, 500), outage(1000, 2000)], [outage(0, 300), outage(3000, 4000)]);
        let expected = Outage {
            failures: Failures { lost: 10, ..Failures::default() },
            rate_before_per_s: Some(200.0),
            recovered_ns: Some(500 * MS),
            first_failure_ns: Some(50 * MS),
            ..outage(100, 350)
        };
        assert_eq!(common(&[(0, &a), (50 * MS, &b)]), [expected]);
        assert_eq!(common(&[(0, &a)]), a);
        assert_eq!(common(&[(0, &a), (0, &[])]), []);
        assert_eq!(common(&[(u64::MAX, &a), (u64::MAX, &a)]), [], "no sum overflows");
    }

    #[test]
    fn what_failed_in_one_that_meets_several_counts_once() {
        let lost = |seen: &[ClientOutages<'_>]| -> Vec<(u64, u64, u64)> {
            let common = common(seen);
            common.iter().map(|o| (o.from_ns / MS, o.to_ns / MS, o.failures.lost)).collect()
        };
        let (whole, parts) = ([outage(0, 3000)], [outage(0, 1000), outage(1500, 3000)]);
        for (a, b) in [(&whole[..], &parts[..]), (&parts[..], &whole[..])] {
            assert_eq!(lost(&[(0, a), (0, b)]), [(0, 1000, 10), (1500, 3000, 5)]);
        }
        assert_eq!(
            lost(&[(0, &whole), (0, &parts), (0, &whole)]).iter().map(|o| o.2).sum::<u64>(),
            20
        );
        // Where two meet for an instant, nothing was out.
        let (early, late) = ([outage(0, 1000)], [outage(990, 3000)]);
        assert_eq!(lost(&[(0, &early), (0, &late)]), []);
    }
}
