//! Check of the latency that this machine alone adds.

use crate::machine::Delays;

use crate::doctor::Evidence;
use crate::doctor::finding::{Outcome, Verdict};

/// Delay at p99.9 that users of a fast server notice, and delay at p99 that hides the server's latency.
const P999_WARN_US: f64 = 1_000.0;
const P99_BAD_US: f64 = 1_000.0;

pub(super) fn busy(evidence: &Evidence) -> Verdict {
    let delays = evidence.intrinsic.ok_or("not measured; use --intrinsic")?.busy;
    let why = "a client or server thread that has work waits this long for its CPU: latencies below that are \
    the machine's, not the server's";
    Ok(judged(&delays, "delayed", why))
}

pub(super) fn timers(evidence: &Evidence) -> Verdict {
    let delays = evidence.intrinsic.ok_or("not measured; use --intrinsic")?.timers;
    let why =
        "a client that waits for the time of its next request, or for a reply, wakes up that late";
    Ok(judged(&delays, "late", why))
}

fn judged(delays: &Delays, word: &str, why: &str) -> Outcome {
    let ms = |us: f64| us / 1e3;
    let seen = format!(
        "{word} by {:.3} ms at p99, {:.3} ms at p99.9, {:.3} ms at most",
        ms(delays.p99_us),
        ms(delays.p999_us),
        ms(delays.max_us)
    );
    let mend = "stop other programs, use dedicated CPUs (isolcpus, a machine of your own), or judge no \
        percentile below these figures here";
    let is_late = delays.p999_us >= P999_WARN_US;
    Outcome::graded(delays.p99_us >= P99_BAD_US, is_late, seen, why, mend)
}
