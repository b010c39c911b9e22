//! Check of the round trip, measured by PING or version on an idle connection.

use std::time::Duration;

use crate::doctor::finding::{Outcome, Verdict};
use crate::doctor::{Evidence, RoundTrips};

fn trips(evidence: &Evidence) -> Result<RoundTrips, String> {
    evidence.round_trips.as_ref().map(|trips| *trips).map_err(Clone::clone)
}

fn shown(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1000.0 { format!("{us:.0} µs") } else { format!("{:.2} ms", us / 1000.0) }
}

pub(super) fn round_trip(evidence: &Evidence) -> Verdict {
    let trips = trips(evidence)?;
    let RoundTrips { count, min, median, .. } = trips;
    let load = &evidence.load;
    let in_flight = f64::from(load.connections) * f64::from(load.pipeline);
    let most = in_flight / median.as_secs_f64().max(1e-9);
    let asked = if evidence.memcache.is_some() { "version commands" } else { "PINGs" };
    let seen = format!("median {}, min {} of {count} {asked}", shown(median), shown(min));
    let bound = format!(
        "{} requests in flight over this round trip make at most {most:.0} per second",
        load.connections as u64 * u64::from(load.pipeline)
    );
    let mend = "use more connections (-c), a deeper pipeline (-P), or a client closer to the \
        server";
    let slow = if evidence.location.is_here() { 500 } else { 2000 };
    Ok(Outcome::ok(seen)
        .bad_if(load.rate_per_s.is_some_and(|rate| rate > most), &bound, mend)
        .warn_if(
            median > Duration::from_micros(slow),
            format!("latencies will be mostly network round trips; {bound}"),
            mend,
        ))
}

pub(super) fn jitter(evidence: &Evidence) -> Verdict {
    let RoundTrips { median, p99, max, .. } = trips(evidence)?;
    let seen = format!("p99 {}, max {}, median {}", shown(p99), shown(max), shown(median));
    let why = "an idle connection varies this much without load, so high percentiles come from \
        the machine or the network, not the server";
    let mend = "find what else runs on both machines and between them; then measure again";
    let is_bad = p99 > median * 20 && p99 > Duration::from_millis(5);
    let is_high = p99 > median * 5 && p99 > Duration::from_millis(1);
    Ok(Outcome::graded(is_bad, is_high, seen, why, mend))
}
