//! Warnings about the server's queue of connections that wait to be accepted.

use measure::Measurement;

use crate::quantity::grouped;

/// Time after which a kernel repeats a dropped first packet (one second, RFC 6298, section 2), less a margin.
const ASKED_AGAIN_NS: u64 = 950_000_000;

/// Describes connections that found the queue full; `None` if none did, or if connections are kept.
pub(super) fn beyond_backlog(measurement: &Measurement) -> Option<String> {
    let stages = measurement.total.connections.stages.as_deref()?;
    let slow = stages.connected.recorded().filter(|(ns, _)| *ns >= ASKED_AGAIN_NS);
    let late = slow.map(|(_, count)| count).fold(0u64, u64::saturating_add);
    (late > 0).then(|| {
        format!(
            "{} of {} connections took a second or more to open, as happens when the server's queue of new \
             connections is full: raise its tcp-backlog (memcached: -b) and net.core.somaxconn there",
            grouped(late as f64),
            grouped(stages.connected.count() as f64)
        )
    })
}
