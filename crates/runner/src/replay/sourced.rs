//! Recorded traffic on fake time: every command is sent once, at its time, on its client's connection.

use measure::Measurement;
use wire::resp::{Resp, encode_command};
use workload::{
    CommandSpec, DueRequest, DueRequests, OnError, Pace, PlanParts, RecordedTraffic, RequestSource,
    Stop, Window,
};

use super::server::{Log, Server};
use super::{MS, SECOND, parts, replay_by};
use crate::concrete::work;
use crate::route::DirectRoute;
use crate::source::feed::Feed;
use crate::worker::Worker;

/// Commands of a record with their words; the first of them is `GET`, the second kind anything else.
#[derive(Clone)]
struct Commands(Vec<(DueRequest, Vec<String>)>);

impl RequestSource for Commands {
    fn requests(&self) -> Result<Box<dyn DueRequests + Send + '_>, String> {
        Ok(Box::new(Reading(self.0.iter())))
    }
}

/// A reading of the commands.
struct Reading<'c>(std::slice::Iter<'c, (DueRequest, Vec<String>)>);

impl DueRequests for Reading<'_> {
    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<DueRequest>, String> {
        let Some((command, words)) = self.0.next() else { return Ok(None) };
        let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        encode_command(&words, bytes);
        Ok(Some(*command))
    }
}

/// A command of a client at a time.
fn at(due_ns: u64, connection: u32, text: &str) -> (DueRequest, Vec<String>) {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let command = u32::from(words[0] != "GET");
    let blocks = words[0] == "BLPOP";
    (DueRequest { due_ns, connection, command, db: 0, blocks, slot: None, bound: false }, words)
}

fn in_db(db: u32, mut command: (DueRequest, Vec<String>)) -> (DueRequest, Vec<String>) {
    command.0.db = db;
    command
}

/// A plan for this many clients, each with at most `depth` commands in flight.
fn plan(connections: u32, depth: u32, commands: &Commands) -> PlanParts {
    let mut plan = parts(connections, depth, Stop::Requests(commands.0.len() as u64));
    plan.sequence = ["GET", "SET"].map(|name| CommandSpec::parse([name])).to_vec();
    plan.load.concurrency.window = Window::Rolling;
    plan.load.pace = Pace::constant(1000.0);
    plan.recovery.on_error = OnError::Count;
    plan.recovery.reconnect = true;
    plan.recorded = Some(RecordedTraffic {
        source: "a file".to_owned(),
        clients: connections.into(),
        span_ns: SECOND,
        speed: "1".to_owned(),
        stalls: Vec::new(),
    });
    plan
}

/// Commands that are read before a run begins.
const READ_FIRST: usize = 3000;

/// Runs a plan that sends these commands; returns its measurement and the server's log.
fn sent(plan: PlanParts, commands: &Commands, server: Server) -> (Measurement, Log) {
    let connections = plan.load.concurrency.connections;
    let (feed, mut sources) = Feed::new(commands, std::iter::once(0..connections)).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| feed.run().unwrap());
        // Fake time does not wait for a reader that is behind.
        if commands.0.len() <= READ_FIRST {
            reader.join().unwrap();
        }
        replay_by(plan, server, |engine, mut context, recorder| {
            context.source = sources.pop();
            let route = DirectRoute::new(&context, &[]);
            work(Worker::<_, Resp, _>::new(engine, context, recorder, route))
        })
    })
}

/// Returns each request: its time since the first, its connection and its words.
fn seen(log: &Log) -> Vec<(u64, u32, String)> {
    let first_ns = log.requests[0].0;
    let requests =
        log.requests.iter().map(|(at_ns, conn, words)| (at_ns - first_ns, conn.0, words.join(" ")));
    requests.collect()
}

#[test]
fn every_command_leaves_at_its_time_on_the_connection_of_its_client() {
    let commands: Vec<_> =
        (0..3000).map(|n| at(n * MS / 3, (n * 7 % 5) as u32, &format!("GET k{n}"))).collect();
    let commands = Commands(commands);
    let (measured, log) = sent(plan(5, 1000, &commands), &commands, Server::taking(10));
    for (n, ((due, words), (at_ns, conn, text))) in commands.0.iter().zip(seen(&log)).enumerate() {
        assert_eq!((conn, text), (due.connection, words.join(" ")), "{n}");
        assert!(at_ns - due.due_ns < MS / 10, "{n}: due {}, sent {at_ns}", due.due_ns);
    }
    let lateness = measured.total.lateness.as_ref().unwrap();
    assert_eq!((log.requests.len(), lateness.due, lateness.total.count()), (3000, 3000, 3000));
    assert_eq!(measured.total.commands[0].ok, 3000);
}

#[test]
fn a_command_leaves_although_an_earlier_one_is_open_and_its_time_counts_from_when_it_was_due() {
    let commands = Commands((0..100).map(|n| at(n * MS, 0, "GET k")).collect());
    let frozen = || Server::taking(10).frozen(20 * MS..70 * MS);
    let (measured, log) = sent(plan(1, 1000, &commands), &commands, frozen());
    assert!(seen(&log).iter().zip(0..).all(|((at_ns, ..), n)| at_ns.abs_diff(n * MS) < MS / 10));
    let longest_ns = measured.total.response().max_ns().unwrap();
    assert!((48 * MS..51 * MS).contains(&longest_ns), "{longest_ns}");
    // As an application that waits for each reply: the same waiting, and requests that leave late.
    let (measured, log) = sent(plan(1, 1, &commands), &commands, frozen());
    let most = log.reads.iter().map(|(_, _, requests)| *requests).max();
    assert_eq!((log.requests.len(), most), (100, Some(1)));
    let lateness = measured.total.lateness.as_ref().unwrap();
    assert!(lateness.total.max_ns().unwrap() > 45 * MS, "{lateness:?}");
    assert!(
        lateness.own.max_ns().unwrap() < MS,
        "a connection without room is not keystorm's doing"
    );
    assert!(measured.total.response().max_ns().unwrap() >= longest_ns - MS);
}

#[test]
fn a_gap_of_the_record_is_no_outage_and_a_server_that_stands_still_is_one() {
    let until = 100 * MS;
    let around = |from_ns: u64| (0..100).map(move |n| at(from_ns + n * MS, 0, "GET k"));
    let mut commands: Vec<_> = around(0).chain(around(until + 1400 * MS)).collect();
    // It waits all the time, for somebody else.
    commands.push(at(1600 * MS, 1, "BLPOP q 0"));
    let commands = Commands(commands);
    let (measured, _) = sent(plan(2, 1000, &commands), &commands, never_popping());
    assert_eq!(measured.outages, []);
    let commands = Commands((0..300).map(|n| at(n * 10 * MS, 0, "GET k")).collect());
    let frozen = Server::taking(10).frozen(500 * MS..1900 * MS);
    let (measured, _) = sent(plan(1, 1000, &commands), &commands, frozen);
    assert_eq!(measured.outages.len(), 1, "{:?}", measured.outages);
}

#[test]
fn clients_that_wait_hold_nobody_up() {
    let mut commands = vec![at(0, 0, "BLPOP q 0")];
    commands.extend((1..50).map(|n| at(n * MS, 0, "GET waits")));
    commands.extend((50..100).map(|n| at(n * MS, 1, "GET k")));
    let commands = Commands(commands);
    let server = Server::taking(10).answering(|words, _| match words[0].as_str() {
        "BLPOP" => Vec::new(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (measured, log) = sent(plan(2, 1, &commands), &commands, server);
    let of = |text: &str| seen(&log).iter().filter(|(.., said)| said == text).count();
    assert_eq!((of("BLPOP q 0"), of("GET k"), of("GET waits")), (1, 50, 0));
    assert_eq!(measured.total.commands[0].ok, 50);
}

#[test]
fn a_run_ends_although_a_command_waits_for_ever_that_is_no_loss() {
    let commands =
        Commands(vec![at(0, 0, "BLPOP q 0"), at(MS, 1, "GET k"), at(9 * MS, 1, "GET k")]);
    let server = Server::taking(10).answering(|words, _| match words[0].as_str() {
        "BLPOP" => Vec::new(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (measured, _) = sent(plan(2, 10, &commands), &commands, server);
    assert_eq!((measured.total.connections.unanswered, measured.total.commands[0].ok), (0, 2));
    assert!(measured.elapsed_ns < SECOND, "{}", measured.elapsed_ns);
}

#[test]
fn what_waits_behind_a_command_that_waits_for_ever_keeps_no_run_from_its_end() {
    let commands =
        Commands(vec![at(0, 0, "BLPOP q 0"), at(MS, 0, "GET waits"), at(2 * MS, 1, "GET k")]);
    for depth in [1, 10] {
        let (measured, _) = sent(plan(2, depth, &commands), &commands, never_popping());
        let unanswered = measured.total.connections.unanswered;
        assert_eq!((measured.total.commands[0].ok, unanswered), (1, u64::from(depth > 1)));
        assert_eq!(measured.total.lateness.as_ref().unwrap().due, 2);
    }
}

#[test]
fn a_client_that_waits_for_ever_leaves_room_for_what_others_send() {
    let mut commands = vec![at(0, 0, "BLPOP q 0")];
    commands.extend((0..90_000).map(|n| at(MS + n, 0, "GET waits")));
    commands.extend((0..10).map(|n| at(2 * SECOND + n * MS, 1, "GET k")));
    let commands = Commands(commands);
    let (measured, log) = sent(plan(2, 1, &commands), &commands, never_popping());
    assert_eq!((measured.total.commands[0].ok, log.requests.len()), (10, 11));
}

/// A server to which nobody pushes anything, so that commands behind `BLPOP` have no reply either.
fn never_popping() -> Server {
    Server::taking(10).answering(|words, _| match words {
        [name, ..] if name == "BLPOP" => Vec::new(),
        [_, key] if key == "waits" => Vec::new(),
        _ => b"+OK\r\n".to_vec(),
    })
}

#[test]
fn the_database_follows_each_client_also_on_a_connection_that_was_lost() {
    let commands = Commands(vec![
        at(0, 0, "SET a 1"),
        in_db(3, at(MS, 0, "SET b 1")),
        in_db(3, at(2 * MS, 0, "SET c 1")),
        in_db(3, at(500 * MS, 0, "SET d 1")),
        at(501 * MS, 0, "SET e 1"),
    ]);
    let server = Server::taking(10).down(100 * MS..200 * MS);
    let (measured, log) = sent(plan(1, 10, &commands), &commands, server);
    let said: Vec<String> = seen(&log).into_iter().map(|(.., text)| text).collect();
    assert_eq!(
        said,
        ["SET a 1", "SELECT 3", "SET b 1", "SET c 1", "SELECT 3", "SET d 1", "SELECT 0", "SET e 1"]
    );
    assert_eq!(measured.total.commands[1].ok, 5, "a SELECT of keystorm's own is in no count");
}

#[test]
fn what_is_due_while_the_server_is_away_leaves_when_it_is_back() {
    let commands = Commands((0..3000).map(|n| at(n * MS, (n % 3) as u32, "GET k")).collect());
    let server = Server::taking(10).down(300 * MS..1300 * MS);
    let (measured, log) = sent(plan(3, 1000, &commands), &commands, server);
    let lost = measured.total.connections.lost;
    assert_eq!(log.requests.len() as u64, 3000);
    assert_eq!(measured.total.commands[0].ok + lost, 3000);
    assert!(!measured.outages.is_empty());
    assert_eq!(measured.total.lateness.unwrap().due, 3000);
}

#[test]
fn without_times_each_client_sends_when_it_has_its_reply() {
    let commands = Commands((0..900).map(|n| at(0, (n % 3) as u32, "GET k")).collect());
    let mut plan = plan(3, 1, &commands);
    plan.load.pace = Pace::Closed;
    let (measured, log) = sent(plan, &commands, Server::taking(MS));
    assert_eq!(measured.total.commands[0].ok, 900);
    assert!(log.reads.iter().all(|(_, _, requests)| *requests == 1));
    assert!(measured.elapsed_ns.abs_diff(900 * MS) < 10 * MS, "{}", measured.elapsed_ns);
}
