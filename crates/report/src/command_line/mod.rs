//! A plan as a command line of keystorm's, option by option.
//!
//! Where its server is, [`server`] says, and what is sent, [`commands`].

mod commands;
mod deliveries;
mod server;
mod unexpressed;
mod words;

use std::fmt::Display;

use workload::{
    Arrivals, BudgetScope, ConnectionPerRequest, DrawnBy, EngineKind, KeyDist, OnError, Pick,
    Piece, Plan, RecordedTraffic, Recording, RowBy, SizeBy, Stop, ValueSpec, Window, pace,
    quantity, suite::SUITE,
};

use crate::Run;
use commands::{argument, commands};
use server::server;
use words::{Words, list};

pub use commands::words_of;
pub use unexpressed::{needs_a_file, unexpressed, unexpressed_beside_a_file};

/// Place of the operations' text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations<'f> {
    /// On the command line, behind everything else.
    Typed,
    /// In a workload file, each with its keys.
    InFile(&'f str),
}

/// Names by which a test of the suite may be asked for.
pub type Names = &'static [&'static str];

/// A name for each test. One that comes with another, as the `LPUSH` that fills the list for
/// `LRANGE`, goes by that one's name.
#[must_use]
pub fn chosen(mut tests: Vec<Names>) -> Vec<&'static str> {
    tests.sort_by_key(|names| names.len());
    let mut chosen: Vec<&str> = Vec::new();
    for names in tests {
        if names.iter().any(|name| chosen.contains(name)) {
            continue;
        }
        // The longest name is that of the fewest tests.
        chosen.extend(names.iter().max_by_key(|name| name.len()));
    }
    chosen
}

/// The command line of keystorm that asks for what a plan says, so many times, without its passwords and without
/// what no option can ask for ([`unexpressed()`]).
#[must_use]
pub fn command_line_of(plan: &Plan, repeats: u32) -> String {
    let (mut words, test) = command_line(plan, None, Operations::Typed);
    if let Some(names) = test {
        words.extend(["-t".to_owned(), chosen(vec![names]).join(",")]);
    }
    joined(words, repeats)
}

/// Returns the command line of a plan whose operations, and their keys, are in a workload file.
#[must_use]
pub fn command_line_beside(file: &str, plan: &Plan, repeats: u32) -> String {
    joined(command_line(plan, None, Operations::InFile(file)).0, repeats)
}

fn joined(mut words: Vec<String>, repeats: u32) -> String {
    if repeats > 1 {
        words.splice(1..1, ["--repeat".to_owned(), repeats.to_string()]);
    }
    shell_words::join(words)
}

/// The options of a plan's command line with their values, in order: `given` where an option has none. What it
/// sends is `the command`.
pub(crate) fn options_of(plan: &Plan) -> Vec<(String, String)> {
    let (mut words, test) = command_line(plan, None, Operations::Typed);
    let sent = words.iter().position(|word| word == "--").map(|at| words.split_off(at));
    let mut options: Vec<(String, String)> = Vec::new();
    for word in words.into_iter().skip(1) {
        match (word.starts_with('-'), options.last_mut()) {
            // Settings differ one by one.
            (false, Some((name, value))) if name == "--set" => {
                let (set, to) = word.split_once('=').unwrap_or((&word, "given"));
                (*name, *value) = (format!("--set {set}"), to.to_owned());
            }
            (false, Some((_, value))) => *value = word,
            (true, _) | (false, None) => options.push((word, "given".to_owned())),
        }
    }
    options.extend(test.map(|names| ("-t".to_owned(), chosen(vec![names]).join(","))));
    let sent = sent.map(|words| shell_words::join(words.into_iter().skip(1)));
    options.extend(sent.map(|sent| ("the command".to_owned(), sent)));
    options
}

/// The words of the command line of one test, which was run so if it was, and the names that the suite has
/// for it, if any.
#[must_use]
pub fn command_line(
    plan: &Plan,
    run: Option<&Run>,
    operations: Operations<'_>,
) -> (Vec<String>, Option<Names>) {
    let mut words = Words(vec!["keystorm".to_owned()]);
    if let Some(delivery) = &plan.delivery {
        words.word("deliver");
        words.word(deliveries::name(delivery.kind));
    }
    if let Some(recorded) = &plan.recorded {
        return (replay(plan, recorded, words), None);
    }
    server(plan, &mut words);
    let threads = clients(plan, run, &mut words);
    load(plan, threads.senders, &mut words);
    connections(plan, &mut words);
    failures(plan, &mut words);
    if operations == Operations::Typed {
        keys(plan, &mut words);
    }
    data(plan, &mut words);
    if plan.recording.precision != 3 {
        words.option("--precision", &plan.recording.precision);
    }
    words.flags(&[(plan.recording.first_byte, "--first-byte")]);
    let stamps = plan.recording.kernel_stamps;
    let by_default =
        plan.delivery.is_none() && Recording::stamps_by_default(&plan.load, &plan.target.endpoint);
    if stamps != by_default {
        words.word(if stamps { "--kernel-stamps" } else { "--kernel-stamps=no" });
    }
    if plan.named {
        words.option("--name", &plan.name);
    }
    if let Operations::InFile(file) = operations {
        order(plan, &mut words);
        words.option("--workload", &file);
        return (words.0, None);
    }
    if let Some(delivery) = &plan.delivery {
        deliveries::options(plan, delivery, threads.receivers, &mut words);
        return (words.0, None);
    }
    if plan.mix.as_ref().is_some_and(|mix| mix.pick == Pick::Row) {
        return (words.0, None);
    }
    let test = SUITE.iter().find(|test| test.title == plan.name && !plan.named);
    if test.is_none() {
        if is_mixed(plan) {
            words.word("--mix");
            order(plan, &mut words);
        }
        words.word("--");
        commands(plan, is_mixed(plan), &mut words);
    }
    (words.0, test.map(|test| test.names))
}

/// The command line of a record that is sent again, as far as a plan says.
fn replay(plan: &Plan, recorded: &RecordedTraffic, mut words: Words) -> Vec<String> {
    words.word("replay");
    recorded.source.split(", ").for_each(|file| words.word(file));
    server(plan, &mut words);
    words.option("--speed", &recorded.speed);
    let concurrency = &plan.load.concurrency;
    if u64::from(concurrency.connections) != recorded.clients {
        words.option("-c", &concurrency.connections);
    }
    if concurrency.workers > 1 {
        words.option("--threads", &concurrency.workers);
    }
    failures(plan, &mut words);
    words.0
}

/// Writes the amount of load and its times. `threads` are those of a client, if the line names them.
fn load(plan: &Plan, threads: Option<usize>, words: &mut Words) {
    let concurrency = &plan.load.concurrency;
    words.option("-c", &concurrency.connections);
    match plan.load.stop {
        Stop::Requests(count) => words.option("-n", &count),
        Stop::AfterNs(ns) => words.option("--duration", &seconds(ns)),
    }
    words.flags(&[(plan.load.share == BudgetScope::PerConnection, "--per-connection")]);
    if let Some(ns) = plan.load.at_most_ns {
        words.option("--time-limit", &quantity::shown(ns));
    }
    if concurrency.pipeline_depth > 1 {
        words.option("-P", &concurrency.pipeline_depth);
    }
    // What is assumed differs between open and closed loops.
    match (concurrency.window, plan.load.pace.schedule()) {
        (Window::Rolling, None) => words.option("--window", &"rolling"),
        (Window::Batch, Some(_)) => words.option("--window", &"batch"),
        (Window::Rolling, Some(_)) | (Window::Batch, None) => {}
    }
    if let Some(threads) = threads {
        words.option("--threads", &threads);
    }
    if !plan.load.shard.is_whole() {
        words.option("--shard", &format_args!("{}/{}", plan.load.shard.index, plan.load.shard.of));
    }
    if !concurrency.cpus.is_empty() {
        words.option("--cpus", &list(&concurrency.cpus));
    }
    if plan.load.warmup_ns > 0 {
        words.option("--warmup", &seconds(plan.load.warmup_ns));
    }
    if let Some(schedule) = plan.load.pace.schedule() {
        words.option("--rps", &pace::text::written(&schedule.stages));
        match schedule.arrivals {
            Arrivals::Constant => {}
            Arrivals::Poisson => words.option("--arrivals", &"poisson"),
            Arrivals::Bursts(size) => words.option("--burst", &size),
        }
    }
    match plan.engine {
        EngineKind::Auto => {}
        EngineKind::Uring => words.option("--engine", &"uring"),
        EngineKind::Epoll => words.option("--engine", &"epoll"),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Writes when connections are opened and closed.
fn connections(plan: &Plan, words: &mut Words) {
    let concurrency = &plan.load.concurrency;
    if !concurrency.keep_alive {
        words.option("-k", &0);
    }
    if let Some(ConnectionPerRequest { hold_ns, reset }) = concurrency.per_request {
        words.word("--connect");
        match hold_ns {
            Some(0) => {}
            Some(ns) => words.option("--open-for", &quantity::shown(ns)),
            None => words.option("--open-for", &"end"),
        }
        if reset {
            words.option("--close", &"reset");
        }
    }
    for (name, number) in [
        ("--requests-per-connection", concurrency.requests_each),
        ("--renew", concurrency.renewed_per_s),
    ] {
        if number > 0 {
            words.option(name, &number);
        }
    }
    words.maybe("--join", concurrency.joining.as_ref().map(|joining| joining as &dyn Display));
    words.maybe(
        "--connect-spacing",
        concurrency.spacing.as_ref().map(|spacing| spacing as &dyn Display),
    );
}

/// Writes how failures are dealt with.
fn failures(plan: &Plan, words: &mut Words) {
    let by_time = matches!(plan.load.stop, Stop::AfterNs(_));
    if plan.recovery.reconnect != by_time {
        words.option("--reconnect", if plan.recovery.reconnect { &"yes" } else { &"no" });
    }
    words
        .maybe("--reconnect-wait", plan.recovery.backoff.as_ref().map(|wait| wait as &dyn Display));
    let tries = plan.recovery.reopening.tries.as_ref();
    words.maybe("--reconnect-tries", tries.map(|tries| tries as &dyn Display));
    if let Some(ns) = plan.recovery.reopening.within_ns {
        words.option("--reconnect-timeout", &quantity::shown(ns));
    }
    match plan.recovery.on_error {
        OnError::Count if !plan.recovery.reconnect => words.option("--on-error", &"count"),
        OnError::Stop if plan.recovery.reconnect => words.option("--on-error", &"stop"),
        OnError::Count | OnError::Stop => {}
    }
    if let Some(ns) = plan.recovery.timeout_ns {
        words.option("--timeout", &(ns as f64 / 1e6));
    }
    let Some(retry) = &plan.recovery.retry else { return };
    match &retry.most {
        Some(most) => words.option("--retry", most),
        None => words.option("--retry", &"forever"),
    }
    words.option("--retry-wait", &retry.backoff);
    if retry.jitter > 0.0 {
        words.option("--retry-jitter", &retry.jitter);
    }
    if retry.waiting_max != plan.load.concurrency.pipeline_depth {
        words.option("--retry-queue", &retry.waiting_max);
    }
    if !retry.on.is_empty() {
        words.option("--retry-on", &retry.on.join(","));
    }
}

/// Writes the range of keys, and how they are drawn and numbered.
fn keys(plan: &Plan, words: &mut Words) {
    let keys = &plan.data.keys;
    let Some(range) = keys.range else { return };
    // Of a delivery they are the places that messages go through.
    if plan.delivery.is_none() {
        words.option("-r", &range);
    }
    if keys.draw != KeyDist::UNIFORM && keys.draw != KeyDist::SEQUENTIAL {
        words.option("--key-dist", &keys.draw);
    }
    if keys.numbered.first > 0 {
        words.option("--first-key", &keys.numbered.first);
    }
    if keys.numbered.by != DrawnBy::default() {
        words.option("--keys-by", &keys.numbered.by);
    }
    words.flags(&[
        (keys.draw == KeyDist::SEQUENTIAL, "--sequential"),
        (keys.numbered.bare, "--unpadded"),
        (keys.one_slot.is_some(), "--one-slot"),
    ]);
}

/// Writes the values to store, and the checks of values that are read.
fn data(plan: &Plan, words: &mut Words) {
    match &plan.data.values {
        Some(ValueSpec { sizes, by, content }) => {
            words.option("-d", sizes);
            if *by != SizeBy::Key && !sizes.is_fixed() {
                words.option("--size-by", by);
            }
            words.option("--content", content);
        }
        None => {
            // What the peers call payload is more than the value where they send such commands.
            let value = plan.pieces().find_map(|piece| match piece {
                Piece::Fill { len, .. } => Some(u64::from(*len)),
                _ => None,
            });
            let value = deliveries::payload_bytes(plan).or(value);
            words.option("-d", &value.unwrap_or(plan.data.payload_bytes));
        }
    }
    let lifetime = plan.pieces().find_map(|piece| match piece {
        Piece::Lifetime(lifetime) => Some(lifetime),
        _ => None,
    });
    let lifetime = lifetime.or(plan.data.fill_lifetime.as_ref());
    words.maybe("--ttl", lifetime.map(|lifetime| lifetime as &dyn Display));
    words.option("--seed", &plan.load.seed);
    if let Some(dataset) = &plan.data.dataset {
        let replayed = plan.mix.as_ref().is_some_and(|mix| mix.pick == Pick::Row);
        let option = if replayed { "--replay" } else { "--dataset" };
        words.option(option, &dataset.source());
        if dataset.by() != RowBy::Request {
            words.option("--rows-by", &dataset.by());
        }
        let value = dataset.values().filter(|_| plan.data.verify);
        let column = value.and_then(|column| dataset.columns().get(column));
        words.maybe("--row-value", column.map(|column| column as &dyn Display));
    }
    words.flags(&[
        (plan.data.fill.is_some(), "--fill"),
        (plan.data.verify, "--verify"),
        (plan.data.fail_on_miss, "--fail-on-miss"),
    ]);
    if let Some([with]) = plan.data.fill.as_deref() {
        let with = with.args.iter().map(|arg| argument(arg, plan, false));
        words.option("--fill-with", &shell_words::join(with));
    }
    if let Some((option, given)) = functions(plan) {
        words.option(option, &given);
    }
}

/// Returns whether the plan has operations that take turns or are drawn.
fn is_mixed(plan: &Plan) -> bool {
    plan.mix.as_ref().is_some_and(|mix| mix.operations.len() > 1 || mix.pick != Pick::Drawn)
}

fn order(plan: &Plan, words: &mut Words) {
    let pick = plan.mix.as_ref().map(|mix| &mix.pick).filter(|pick| **pick != Pick::Drawn);
    words.maybe("--order", pick.map(|pick| pick as &dyn Display));
}

/// The threads of one client.
struct Threads {
    /// Threads that send, if the line names them.
    senders: Option<usize>,
    receivers: u16,
}

/// Writes the clients and their threads.
fn clients(plan: &Plan, run: Option<&Run>, words: &mut Words) -> Threads {
    if let Some(probe) = run.and_then(|run| run.probe.as_ref()) {
        words.option("--probe", &probe.rate_per_s);
    }
    let clients = run.and_then(|run| run.clients.as_ref());
    let placed = clients.and_then(|clients| Some((clients.on.as_ref()?, clients)));
    let Some((on, clients)) = placed else {
        let workers = usize::from(plan.load.concurrency.workers);
        let senders = plan.load.concurrency.multi_thread.then_some(workers);
        return Threads { senders, receivers: plan.receiver_threads() };
    };
    words.option("--on", on);
    // The plan has those of all together.
    let receivers = clients.receivers_each(plan);
    let workers = clients.rows.iter().map(|row| row.workers.saturating_sub(receivers.into()));
    Threads { senders: workers.max().filter(|workers| *workers > 1), receivers }
}

/// The arguments that only two tests of the suite have, where they are not the default.
fn functions(plan: &Plan) -> Option<(&'static str, String)> {
    let word = |n: usize| Some(argument(plan.sequence.first()?.args.get(n)?, plan, false));
    let (option, given, default) = match plan.name.as_str() {
        "FUNCTION LOAD" => {
            ("--num-functions", word(3)?.matches("register_function").count().to_string(), "10")
        }
        "FCALL" => ("--num-keys-in-fcall", word(2)?, "1"),
        _ => return None,
    };
    (given != default).then_some((option, given))
}
