//! The outages that several clients saw alike.
//!
//! A client knows only that nothing succeeded for itself. Where that is so for every client at
//! once, nothing succeeded for all of them together.

use measure::{Measurement, Outage};
use workload::{Endpoint, Plan};

/// What people call the server that an outage is of; `None` where there is only one.
#[must_use]
pub fn server_name(plan: &Plan, measurement: &Measurement, outage: &Outage) -> Option<String> {
    let at = usize::from(outage.node);
    match (&plan.target.endpoint, measurement.nodes.get(at)) {
        (_, Some(node)) => Some(node.name.clone()),
        (Endpoint::Pool { servers }, None) => servers.get(at).map(ToString::to_string),
        _ => None,
    }
}

/// What one client saw: by how many nanoseconds it started after the first, and its outages.
pub(crate) type Seen<'o> = (u64, &'o [Outage]);

/// The spans in which every client had an outage on the same node, from the start of the first.
pub(crate) fn common(clients: &[Seen<'_>]) -> Vec<Outage> {
    let Some((first, rest)) = clients.split_first() else { return Vec::new() };
    let mut common = later(first);
    for client in rest {
        let theirs = later(client);
        let pairs = common.iter().flat_map(|ours| theirs.iter().map(move |their| (ours, their)));
        common = pairs.filter_map(|(ours, their)| both(ours, their)).collect();
    }
    common
}

fn later((offset_ns, outages): &Seen<'_>) -> Vec<Outage> {
    let shift = |ns: u64| ns.saturating_add(*offset_ns);
    let shifted = |outage: &Outage| Outage {
        from_ns: shift(outage.from_ns),
        to_ns: shift(outage.to_ns),
        first_failure_ns: outage.first_failure_ns.map(shift),
        recovered_ns: outage.recovered_ns.map(shift),
        ..*outage
    };
    outages.iter().map(shifted).collect()
}

/// Where two overlap. Rates add up, and are back when both are.
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
    use measure::Failures;

    use super::*;

    fn outage(from_ns: u64, to_ns: u64) -> Outage {
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
        let (a, b) = ([outage(10, 50), outage(100, 200)], [outage(0, 30), outage(300, 400)]);
        let expected = Outage {
            failures: Failures { lost: 10, ..Failures::default() },
            rate_before_per_s: Some(200.0),
            recovered_ns: Some(50),
            first_failure_ns: Some(5),
            ..outage(10, 35)
        };
        assert_eq!(common(&[(0, &a), (5, &b)]), [expected]);
        assert_eq!(common(&[(0, &a)]), a);
        assert_eq!(common(&[(0, &a), (0, &[])]), []);
        assert_eq!(common(&[(u64::MAX, &a), (u64::MAX, &a)]), [], "no sum overflows");
    }
}
