//! Clients with a wrong clock: its times contradict the coordinator's, so that the client's measurements are
//! meaningless.

use std::time::{Duration, Instant};

use crate::clock::{CLOCK_NS, Offset};
use crate::round::Round;

/// Largest drift of a clock, as a share of the elapsed time; even bad clocks stay below a fifth of that.
const DRIFT_MAX: f64 = 0.001;
/// Largest excess of a client's run on its clock over the time on the coordinator's.
const LONGER: Duration = Duration::from_secs(10);

impl Round<'_> {
    /// Describes why a run cannot have lasted so long on the client's clock; `None` if it can.
    pub(crate) fn longer_than_here(&self, at: Instant, elapsed_ns: u64) -> Option<String> {
        let (start_ns, _) = self.start?;
        let here = Duration::from_nanos(self.fleet.on_clock(at).saturating_sub(start_ns));
        let theirs = Duration::from_nanos(elapsed_ns);
        (theirs > here + LONGER).then(|| {
            format!(
                "its clock is wrong: a run of {:.1} s took {:.1} s there",
                here.as_secs_f64(),
                theirs.as_secs_f64()
            )
        })
    }

    /// Loses the clients whose clocks ran impossibly fast or slow during the run.
    pub(crate) fn lose_wrong_clocks(&mut self) {
        let Some((start_ns, _)) = self.start else { return };
        let now_ns = self.fleet.on_clock(Instant::now());
        let passed_ns = now_ns.saturating_sub(start_ns) as f64;
        for client in 0..self.parts.len() {
            let part = &self.parts[client];
            let Some((before, after)) = part.offset.zip(part.offset_after) else { continue };
            let drift_ns = Offset::drift_ns(before, after);
            let sure_ns = drift_ns.abs() - CLOCK_NS as f64 - DRIFT_MAX * passed_ns;
            if part.lost.is_some() || sure_ns <= 0.0 {
                continue;
            }
            let why = format!(
                "its clock is wrong, or the coordinator's: it went {:.3} s in {:.3} s here",
                (passed_ns + drift_ns).max(0.0) / 1e9,
                passed_ns / 1e9
            );
            self.count_as_lost(client, &why);
            self.fleet.lose(client, why);
        }
    }
}
