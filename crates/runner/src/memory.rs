//! Memory that a plan needs, computed in advance.
//!
//! Owns the sum of everything that grows with a plan: tallies of commands, images of pipelines, the log of
//! operations and the per-second counts of connections. The limit on connections bounds their own memory.

use measure::{ByConnection, OperationLog, Tally};
use naming::{PIPELINE, PRECISION, SIZE, THREADS, Text, text};
use workload::{CommandSpec, Plan, Stop};

use crate::measurement::tally_shape;
use crate::worker::ending::DRAIN_MAX_NS;

/// Maximum number of bytes that tallies, pipelines, a log and per-second counts of connections may take
/// together.
const BYTES_MAX: u64 = 4 << 30;
/// Tallies of each worker: one to fill and one to exchange.
const PER_WORKER: u64 = 2;
/// Tallies of the collector: the total, and intervals that not every worker has reported.
const COLLECTED: u64 = 4;

/// Checks that a plan fits in memory.
///
/// # Errors
/// Returns, in words for a person, the memory needed and the option to change.
pub fn check_memory(plan: &Plan) -> Result<(), Text> {
    let MemoryNeed { tallies, images, log, seconds } = needed(plan);
    let all = [images, log, seconds].into_iter().fold(tallies, u64::saturating_add);
    if all <= BYTES_MAX {
        return Ok(());
    }
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    let (commands, workers) =
        (plan.different_commands().commands.len(), plan.load.concurrency.workers);
    let threads = if workers > 1 { format!(" on {workers} threads") } else { String::new() };
    let (what, change) = if seconds > tallies.max(images).max(log) {
        let connections = plan.own_connections();
        let what = format!("the seconds of each of {connections} connections");
        (what, "fewer connections, a shorter run, or no files of connections".into())
    } else if log > tallies.max(images) {
        let operations = plan.own_requests().unwrap_or_default();
        (format!("the log of {operations} operations"), "fewer operations".into())
    } else if tallies > images {
        let precision = plan.recording.precision;
        let what = format!("the latencies of {commands} different commands, to {precision} digits");
        (what + &threads, text!("fewer different commands, a lower {PRECISION} or fewer {THREADS}"))
    } else {
        (
            format!("the pipelines{threads}"),
            text!("a lower {PIPELINE} or {SIZE}, or fewer {THREADS}"),
        )
    };
    Err(text!(
        "{what} would need {} of memory, over the limit of {}; use {change}",
        gib(all),
        gib(BYTES_MAX)
    ))
}

/// Returns the empty log of one of `workers` workers, if the plan asks for a log.
pub(crate) fn empty_log(plan: &Plan, workers: u16) -> Option<OperationLog> {
    let most = BYTES_MAX / OperationLog::bytes(1);
    let room = match plan.own_requests() {
        // All of them fit, whichever worker sends how many.
        Some(_) => most,
        None => most / u64::from(workers.max(1)),
    };
    let (commands, operations) = (plan.logged_commands(), plan.logged_operations());
    (!plan.peer.logged.is_empty()).then(|| OperationLog::new(&commands, &operations, room))
}

/// Number of seconds kept for each connection: those of the run, or the maximum if its length is unknown.
pub(crate) fn seconds_by_connection(plan: &Plan) -> u64 {
    let commands = plan.different_commands().commands.len() as u64;
    let each = ByConnection::bytes_of_seconds(plan.own_connections().into(), commands, 1);
    planned_seconds(plan).unwrap_or(BYTES_MAX / each.max(1))
}

/// Number of seconds in which a run receives replies, if its length is known.
fn planned_seconds(plan: &Plan) -> Option<u64> {
    let ns = match plan.load.stop {
        Stop::AfterNs(ns) => Some(ns),
        Stop::Requests(_) => plan.load.at_most_ns,
    };
    Some(ns?.saturating_add(DRAIN_MAX_NS).div_ceil(1_000_000_000) + 1)
}

/// Bytes of all tallies, images of pipelines, logs of known length, and per-second counts of connections.
struct MemoryNeed {
    tallies: u64,
    images: u64,
    log: u64,
    seconds: u64,
}

fn needed(plan: &Plan) -> MemoryNeed {
    let workers = u64::from(plan.load.concurrency.workers).min(u64::from(plan.own_connections()));
    let shape = tally_shape(plan);
    let connections = if plan.peer.by_connection { plan.own_connections() } else { 0 };
    let tallies = Tally::bytes(&shape)
        .saturating_mul(PER_WORKER * workers + COLLECTED)
        .saturating_add(ByConnection::bytes(connections.into(), shape.commands as u64));
    let sequence: u64 = plan.sequence.iter().map(CommandSpec::size_hint).sum();
    let image = sequence.saturating_mul(u64::from(plan.load.concurrency.pipeline_depth));
    let entries = plan.own_requests().unwrap_or_default().saturating_mul(plan.most_logged());
    let log = OperationLog::bytes(entries);
    let seconds = ByConnection::bytes_of_seconds(
        connections.into(),
        shape.commands as u64,
        planned_seconds(plan).unwrap_or_default(),
    );
    MemoryNeed { tallies, images: image.saturating_mul(workers), log, seconds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::parts;
    use workload::Stop;

    fn check(
        sequence: Vec<CommandSpec>,
        change: impl FnOnce(&mut workload::PlanParts),
    ) -> Result<(), String> {
        let mut parts = parts(50, 1, Stop::Requests(100_000));
        parts.sequence = sequence;
        change(&mut parts);
        check_memory(&parts.build().unwrap()).map_err(String::from)
    }

    #[test]
    fn repeats_take_no_memory_and_different_commands_do() {
        let ping = CommandSpec::from_words(["PING"]);
        assert_eq!(check(vec![ping.clone(); 65_535], |_| {}), Ok(()));
        let different = |n: u32| (0..n).map(|n| CommandSpec::from_words(["GET", &n.to_string()]));
        assert_eq!(check(different(1000).collect(), |_| {}), Ok(()));
        let error = check(different(65_535).collect(), |_| {}).unwrap_err();
        for part in ["65535 different commands", "GiB", "--precision"] {
            assert!(error.contains(part), "{error}");
        }
        let error = check(vec![ping], |parts| {
            (
                parts.recording.precision,
                parts.load.concurrency.workers,
                parts.load.concurrency.connections,
            ) = (5, 500, 500);
        });
        assert!(error.unwrap_err().contains("on 500 threads"));
    }

    #[test]
    fn every_request_of_a_log_takes_memory_and_one_without_end_has_a_bound() {
        let of = |requests| {
            check(vec![CommandSpec::from_words(["PING"])], |parts| {
                parts.load.stop = Stop::Requests(requests);
                parts.peer.logged = vec![workload::LogSubject::Command(0)];
            })
        };
        assert_eq!(of(200_000_000), Ok(()));
        let message = of(300_000_000).unwrap_err();
        assert!(
            message.starts_with("the log of 300000000 operations would need 4.5 GiB"),
            "{message}"
        );
        let mut parts = parts(50, 1, Stop::AfterNs(1));
        assert!(empty_log(&parts.clone().build().unwrap(), 2).is_none());
        parts.peer.logged = vec![workload::LogSubject::Command(0)];
        assert!(empty_log(&parts.build().unwrap(), 2).is_some());
    }

    #[test]
    fn every_worker_has_an_image_of_its_pipeline() {
        let value = "x".repeat(100_000);
        let set = CommandSpec::from_words(["SET", "k", &value]);
        let of = |workers| {
            check(vec![set.clone()], |parts| {
                (parts.load.concurrency.workers, parts.load.concurrency.pipeline_depth) =
                    (workers, 1000);
            })
        };
        assert_eq!(of(2), Ok(()));
        assert!(of(50).unwrap_err().starts_with("the pipelines on 50 threads"));
    }

    #[test]
    fn the_seconds_of_connections_are_counted_and_bounded() {
        let day = |parts: &mut workload::PlanParts| {
            (parts.peer.by_connection, parts.load.stop) = (true, Stop::AfterNs(86_400_000_000_000));
        };
        let get = || vec![CommandSpec::from_words(["GET", "k"])];
        assert_eq!(check(get(), day), Ok(()));
        let text = check(get(), |parts| {
            day(parts);
            parts.load.concurrency.connections = 1000;
        })
        .unwrap_err();
        assert!(
            text.starts_with("the seconds of each of 1000 connections would need 6."),
            "{text}"
        );
        let mut parts = parts(1000, 1, Stop::Requests(1 << 50));
        parts.peer.by_connection = true;
        let plan = parts.build().unwrap();
        let kept = seconds_by_connection(&plan);
        assert!(ByConnection::bytes_of_seconds(1000, 1, kept) <= BYTES_MAX && kept > 10_000);
    }
}
