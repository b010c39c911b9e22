//! The cost of recording, as a client beside it sees it: the round trip of a command that does nothing,
//! alternately with and without recording, measured after the recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::feed::Pieces;
use super::node::Node;
use super::options::Options;
use crate::server::Server;

/// Number of pairs of turns, duration of a turn, and number of questions in it.
const PAIRS: usize = 4;
const TURN: Duration = Duration::from_millis(150);
const EVERY: Duration = Duration::from_millis(2);
/// Minimum number of answers of each kind for a statement.
const ANSWERS_MIN: usize = 50;

/// Round trips, one list for each turn.
#[derive(Debug, Default)]
pub(super) struct Cost {
    with: Vec<Vec<Duration>>,
    without: Vec<Vec<Duration>>,
}

impl Cost {
    /// Measures in turns, in reverse order in every other pair.
    ///
    /// # Errors
    /// Returns an error if a server does not answer, or can no longer be recorded.
    pub(super) fn measure(nodes: &mut [Node], server: &Server, job: &Options) -> Result<Self> {
        let mut cost = Self::default();
        for pair in 0..PAIRS {
            for is_recorded in [pair % 2 == 0, pair % 2 == 1] {
                if is_recorded {
                    let recorders = Recorders::start(nodes, server, job)?;
                    cost.with.push(answers(nodes)?);
                    recorders.stop();
                } else {
                    cost.without.push(answers(nodes)?);
                }
            }
        }
        Ok(cost)
    }

    /// Describes the result in a sentence.
    pub(super) fn sentence(&self) -> String {
        let all = |turns: &[Vec<Duration>]| turns.concat();
        let (with, without) = (all(&self.with), all(&self.without));
        if with.len() < ANSWERS_MIN || without.len() < ANSWERS_MIN {
            return NOT_MEASURED.to_owned();
        }
        let mut pairs = self.with.iter().zip(&self.without);
        let differs = |sign: fn(&Duration, &Duration) -> bool| {
            move |(with, without): (&Vec<Duration>, &Vec<Duration>)| {
                sign(&percentile(with, 50), &percentile(without, 50))
            }
        };
        let is_sure = pairs.clone().all(differs(Duration::gt)) || pairs.all(differs(Duration::lt));
        let unsure = if is_sure { "" } else { "; not every turn shows this difference" };
        let ms = |times: &[Duration], percent| percentile(times, percent).as_secs_f64() * 1e3;
        format!(
            "Cost of recording, measured by a client afterwards, with and without it in turn: a command that does nothing took \
             {:.3} ms at p50 and {:.3} ms at p99 while the server was recorded, {:.3} and {:.3} ms while it was \
             not{unsure}.",
            ms(&with, 50),
            ms(&with, 99),
            ms(&without, 50),
            ms(&without, 99)
        )
    }
}

/// Sentence without a result.
pub(super) const NOT_MEASURED: &str = "The cost of recording was not measured.";

/// The time that `percent` of these do not exceed; 0 without any.
fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// The times of answers in a turn.
fn answers(nodes: &mut [Node]) -> Result<Vec<Duration>> {
    let end = Instant::now() + TURN;
    let mut times = Vec::new();
    while Instant::now() < end {
        for node in &mut *nodes {
            times.push(node.round_trip()?);
        }
        std::thread::sleep(EVERY);
    }
    Ok(times)
}

/// Connections on which all servers are recorded, to be thrown away.
struct Recorders {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Recorders {
    fn start(nodes: &mut [Node], server: &Server, job: &Options) -> Result<Self> {
        let mut all = Self { stop: Arc::new(AtomicBool::new(false)), threads: Vec::new() };
        for node in nodes {
            match node.feed(server, job, &all.stop) {
                Ok(feed) => {
                    let stop = Arc::clone(&all.stop);
                    all.threads.push(std::thread::spawn(move || {
                        drop_all(feed.bytes, &stop);
                        drop(feed.reader.join());
                    }));
                }
                Err(error) => {
                    all.stop();
                    return Err(error);
                }
            }
        }
        Ok(all)
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Reads and discards a server's output until asked to stop; then the connection is closed.
fn drop_all(mut bytes: Pieces, stop: &AtomicBool) {
    let mut piece = [0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        match std::io::Read::read(&mut bytes, &mut piece) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_what_the_turns_agree_on() {
        let turns = |ms: &[u64]| -> Vec<Vec<Duration>> {
            ms.iter().map(|ms| vec![Duration::from_millis(*ms); 20]).collect()
        };
        let cost =
            |with: &[u64], without: &[u64]| Cost { with: turns(with), without: turns(without) };
        let sure = cost(&[2, 2, 3, 9], &[1, 1, 1, 8]).sentence();
        assert!(
            sure.contains("2.000 ms at p50 and 9.000 ms at p99 while the server was recorded"),
            "{sure}"
        );
        assert!(sure.ends_with("1.000 and 8.000 ms while it was not."), "{sure}");
        let unsure = cost(&[2, 2, 3, 1], &[1, 1, 1, 1]).sentence();
        assert!(unsure.contains("not every turn shows this difference"), "{unsure}");
        assert_eq!(cost(&[1], &[1]).sentence(), NOT_MEASURED);
    }
}
