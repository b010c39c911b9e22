//! What recording costs a server: its rate and its round trips, before and during.

use std::time::{Duration, Instant};

use report::grouped;

use super::node::Node;

/// How often a round trip is measured.
pub(super) const ROUND_TRIP_EVERY: Duration = Duration::from_millis(10);
/// Round trips that are kept: the first hours.
const ROUND_TRIPS_MAX: usize = 1 << 20;
/// Round trips below which there is no p99.
const ROUND_TRIPS_MIN: usize = 50;

/// What was measured in a stretch of time.
#[derive(Debug, Default)]
pub(super) struct Figures {
    round_trips: Vec<Duration>,
    commands: u64,
    seconds: f64,
}

/// A stretch of time that is being measured.
pub(super) struct Stretch {
    begin: Instant,
    commands: Option<u64>,
}

impl Stretch {
    pub(super) fn begin(nodes: &mut [Node]) -> Self {
        let commands = total(nodes);
        Self { begin: Instant::now(), commands }
    }

    /// Adds what happened since its beginning.
    pub(super) fn end(self, nodes: &mut [Node], figures: &mut Figures) {
        let after = total(nodes);
        // A server that was restarted meanwhile counts from 0.
        let done = self.commands.zip(after).and_then(|(before, after)| after.checked_sub(before));
        if let Some(done) = done {
            figures.commands += done;
            figures.seconds += self.begin.elapsed().as_secs_f64();
        }
    }
}

fn total(nodes: &mut [Node]) -> Option<u64> {
    nodes.iter_mut().map(Node::commands).sum()
}

impl Figures {
    pub(super) fn add(&mut self, round_trip: Duration) {
        if self.round_trips.len() < ROUND_TRIPS_MAX {
            self.round_trips.push(round_trip);
        }
    }

    fn rate(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.commands as f64 / self.seconds)
    }

    fn p99(&self) -> Option<Duration> {
        let mut sorted = self.round_trips.clone();
        workload::sort::sort_by(&mut sorted, Ord::cmp);
        let rank = (sorted.len() * 99).div_ceil(100);
        (sorted.len() >= ROUND_TRIPS_MIN).then(|| sorted[rank - 1])
    }
}

/// What recording cost, as a sentence; `None` where too little is known.
pub(super) fn sentence(before: &Figures, during: &Figures) -> Option<String> {
    let mut parts = Vec::new();
    if let Some((before, during)) = before.rate().zip(during.rate()) {
        let change = match before > 0.0 {
            true => format!(" ({})", percent(during / before - 1.0)),
            false => String::new(),
        };
        let (before, during) = (grouped(before.round()), grouped(during.round()));
        parts.push(format!("the server carried out {during}/s, {before}/s before{change}"));
    }
    if let Some((before, during)) = before.p99().zip(during.p99()) {
        let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
        let (before, during) = (ms(before), ms(during));
        parts.push(format!("a command that does nothing took {during} at p99, {before} before"));
    }
    (!parts.is_empty()).then(|| format!("While it was recorded, {}.", parts.join("; ")))
}

/// A change with its sign.
fn percent(change: f64) -> String {
    match (change * 100.0).round() {
        0.0 => "0 %".to_owned(),
        percent => format!("{percent:+} %").replace('-', "−"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_round_trips_are_compared() {
        let figures = |rate: u64, ms: u64| Figures {
            round_trips: vec![Duration::from_millis(ms); ROUND_TRIPS_MIN],
            commands: rate * 2,
            seconds: 2.0,
        };
        let text = sentence(&figures(40_000, 1), &figures(30_000, 2)).unwrap();
        assert_eq!(
            text,
            "While it was recorded, the server carried out 30,000/s, 40,000/s before (−25 %); a command that does \
             nothing took 2.00 ms at p99, 1.00 ms before."
        );
        assert_eq!(sentence(&Figures::default(), &Figures::default()), None);
    }
}
