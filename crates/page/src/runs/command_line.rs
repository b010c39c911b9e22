//! A plan as a command line of keystorm's, option by option.
//!
//! Where its server is [`super::server_words`] says, and what is sent [`super::command_words`].

use report::Run;
use workload::{
    Arrivals, DrawnBy, EngineKind, KeyDist, KeySpace, OnError, Pick, Piece, Plan, ProtocolKind,
    RowBy, Share, SizeBy, Stop, ValueSpec, Window, pace, quantity, suite::SUITE,
};

use super::command_words::{argument, commands};
use super::server_words::{list, target};

/// Where it stands which operations there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operations<'f> {
    /// On the command line, behind everything else.
    Typed,
    /// In a workload file, each with its keys.
    InFile(&'f str),
}

/// What a test of the suite may be asked for by.
pub(super) type Names = &'static [&'static str];

/// A name for each test. One that comes with another, as the `LPUSH` that fills the list for
/// `LRANGE`, goes by that one's name.
pub(super) fn chosen(mut tests: Vec<Names>) -> Vec<&'static str> {
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

/// The command line of keystorm's that asks for what a plan says, so many times, without its passwords and
/// but for what is [`unsaid`](super::unsaid).
#[must_use]
pub fn command_line_of(plan: &Plan, repeats: u32) -> String {
    let (mut words, test) = command_line(plan, None, Operations::Typed);
    if let Some(names) = test {
        words.extend(["-t".to_owned(), chosen(vec![names]).join(",")]);
    }
    joined(words, repeats)
}

/// The same for a plan whose operations, and their keys, a workload file says.
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

/// The words of the command line of one test, which was run so if it was, and the names that the suite has
/// for it, if any.
pub(super) fn command_line(
    plan: &Plan,
    run: Option<&Run>,
    operations: Operations<'_>,
) -> (Vec<String>, Option<Names>) {
    let mut words: Vec<String> = vec!["keystorm".into()];
    target(plan, &mut words);
    let threads = clients(plan, run, &mut words);
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    let fleet = &plan.fleet;
    option("-c", fleet.connections.to_string());
    match plan.stop {
        Stop::Requests(count) => option("-n", count.to_string()),
        Stop::AfterNs(ns) => option("--duration", (ns as f64 / 1e9).to_string()),
    }
    if let Some(ns) = plan.at_most_ns {
        option("--time-limit", quantity::shown(ns));
    }
    if fleet.pipeline_depth > 1 {
        option("-P", fleet.pipeline_depth.to_string());
    }
    // What is assumed differs between open and closed loops.
    match (fleet.window, plan.pace.schedule()) {
        (Window::Rolling, _) => option("--window", "rolling".into()),
        (Window::Batch, Some(_)) => option("--window", "batch".into()),
        (Window::Batch, None) => {}
    }
    if let Some(threads) = threads {
        option("--threads", threads.to_string());
    }
    if !plan.shard.is_whole() {
        option("--shard", format!("{}/{}", plan.shard.index, plan.shard.of));
    }
    if !fleet.cpus.is_empty() {
        option("--cpus", list(&fleet.cpus));
    }
    if plan.warmup_ns > 0 {
        option("--warmup", (plan.warmup_ns as f64 / 1e9).to_string());
    }
    if let Some(schedule) = plan.pace.schedule() {
        option("--rps", pace::text::written(&schedule.stages));
        if schedule.arrivals == Arrivals::Poisson {
            option("--arrivals", "poisson".into());
        }
    }
    match plan.engine {
        EngineKind::Auto => {}
        EngineKind::Uring => option("--engine", "uring".into()),
        EngineKind::Epoll => option("--engine", "epoll".into()),
    }
    if operations == Operations::Typed {
        keys(&plan.keys, &mut option);
    }
    match &plan.values {
        Some(ValueSpec { sizes, by, content }) => {
            option("-d", sizes.to_string());
            if *by != SizeBy::Key && !sizes.is_fixed() {
                option("--size-by", by.to_string());
            }
            option("--content", content.to_string());
        }
        None => {
            // What the peers call payload is more than the value where they send such commands.
            let value = plan.pieces().find_map(|piece| match piece {
                Piece::Fill { len, .. } => Some(u64::from(*len)),
                _ => None,
            });
            option("-d", value.unwrap_or(plan.payload_bytes).to_string());
        }
    }
    let lifetime = plan.pieces().find_map(|piece| match piece {
        Piece::Lifetime(lifetime) => Some(lifetime),
        _ => None,
    });
    if let Some(lifetime) = lifetime.or(plan.fill_lifetime.as_ref()) {
        option("--ttl", lifetime.to_string());
    }
    option("--seed", plan.seed.to_string());
    if plan.precision != 3 {
        option("--precision", plan.precision.to_string());
    }
    let by_time = matches!(plan.stop, Stop::AfterNs(_));
    if plan.reconnect != by_time {
        option("--reconnect", if plan.reconnect { "yes" } else { "no" }.into());
    }
    match plan.on_error {
        OnError::Count if !plan.reconnect => option("--on-error", "count".into()),
        OnError::Stop if plan.reconnect => option("--on-error", "stop".into()),
        OnError::Count | OnError::Stop => {}
    }
    if let Some(ns) = plan.timeout_ns {
        option("--timeout", (ns as f64 / 1e6).to_string());
    }
    if let Some([with]) = plan.fill.as_deref() {
        let words = with.args.iter().map(|arg| argument(arg, plan, false));
        option("--fill-with", shell_words::join(words));
    }
    if let Some(retry) = &plan.retry {
        option("--retry", retry.most.map_or("forever".into(), |most| most.to_string()));
        option("--retry-wait", retry.backoff.to_string());
        if retry.jitter > 0.0 {
            option("--retry-jitter", retry.jitter.to_string());
        }
        if retry.waiting_max != fleet.pipeline_depth {
            option("--retry-queue", retry.waiting_max.to_string());
        }
        if !retry.on.is_empty() {
            option("--retry-on", retry.on.join(","));
        }
    }
    connecting(plan, &mut option);
    if let Some(dataset) = &plan.dataset {
        option("--dataset", dataset.source().to_owned());
        if dataset.by() != RowBy::Request {
            option("--rows-by", dataset.by().to_string());
        }
        let value = dataset.values().filter(|_| plan.verify);
        if let Some(column) = value.and_then(|column| dataset.columns().get(column)) {
            option("--row-value", column.clone());
        }
    }
    if !fleet.keep_alive {
        option("-k", "0".into());
    }
    let protocol = match plan.protocol {
        ProtocolKind::Resp2 | ProtocolKind::Resp3 => None,
        ProtocolKind::MemcacheText => Some("memcache"),
        ProtocolKind::MemcacheMeta => Some("memcache-meta"),
        ProtocolKind::MemcacheBinary => Some("memcache-binary"),
    };
    if let Some(protocol) = protocol {
        option("--protocol", protocol.into());
    }
    let flags = [
        (plan.protocol == ProtocolKind::Resp3, "-3"),
        (plan.share == Share::PerConnection, "--per-connection"),
        (plan.first_byte, "--first-byte"),
        (plan.fill.is_some(), "--fill"),
        (plan.verify, "--verify"),
        (plan.fail_on_miss, "--fail-on-miss"),
    ];
    words.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag.to_owned()));
    words.extend(functions(plan).into_iter().flatten());
    if let Operations::InFile(file) = operations {
        order(plan, &mut words);
        words.extend(["--workload".to_owned(), file.to_owned()]);
        return (words, None);
    }
    words.extend(flags_of_keys(&plan.keys).map(str::to_owned));
    let test = SUITE.iter().find(|test| test.title == plan.name);
    if test.is_none() {
        if is_mixed(plan) {
            words.push("--mix".to_owned());
            order(plan, &mut words);
        }
        words.push("--".into());
        commands(plan, is_mixed(plan), &mut words);
    }
    (words, test.map(|test| test.names))
}

/// Whether its operations take turns, or are drawn.
pub(super) fn is_mixed(plan: &Plan) -> bool {
    plan.mix.as_ref().is_some_and(|mix| mix.operations.len() > 1 || mix.pick != Pick::Drawn)
}

fn order(plan: &Plan, words: &mut Vec<String>) {
    let pick = plan.mix.as_ref().map(|mix| &mix.pick).filter(|pick| **pick != Pick::Drawn);
    words.extend(pick.into_iter().flat_map(|pick| ["--order".to_owned(), pick.to_string()]));
}

/// Which keys there are, and how they are drawn and numbered.
fn keys(keys: &KeySpace, option: &mut impl FnMut(&str, String)) {
    let Some(range) = keys.range else { return };
    option("-r", range.to_string());
    if keys.draw != KeyDist::UNIFORM && keys.draw != KeyDist::SEQUENTIAL {
        option("--key-dist", keys.draw.to_string());
    }
    if keys.numbered.first > 0 {
        option("--first-key", keys.numbered.first.to_string());
    }
    if keys.numbered.by != DrawnBy::default() {
        option("--keys-by", keys.numbered.by.to_string());
    }
}

fn flags_of_keys(keys: &KeySpace) -> impl Iterator<Item = &'static str> {
    let flags = [
        (keys.draw == KeyDist::SEQUENTIAL, "--sequential"),
        (keys.numbered.bare, "--unpadded"),
        (keys.one_slot.is_some(), "--one-slot"),
    ];
    flags.into_iter().filter_map(|(on, flag)| on.then_some(flag))
}

/// When connections are opened, closed and opened again.
fn connecting(plan: &Plan, option: &mut impl FnMut(&str, String)) {
    let fleet = &plan.fleet;
    let times = |number: u32, least: u32| (number > least).then(|| number.to_string());
    let said = [
        ("--join", fleet.joining.map(|joining| joining.to_string())),
        ("--connect-spacing", fleet.spacing.map(|spacing| spacing.to_string())),
        ("--pipelines-per-connection", times(fleet.pipelines_each, 1)),
        ("--renew", times(fleet.renewed_per_s, 0)),
        ("--reconnect-wait", plan.backoff.map(|backoff| backoff.to_string())),
        ("--reconnect-tries", plan.reopening.tries.map(|tries| tries.to_string())),
        ("--reconnect-timeout", plan.reopening.within_ns.map(quantity::shown)),
    ];
    for (name, value) in said {
        if let Some(value) = value {
            option(name, value);
        }
    }
}

/// Who puts on the load, and how many threads each has where that is to be said.
fn clients(plan: &Plan, run: Option<&Run>, words: &mut Vec<String>) -> Option<usize> {
    if let Some(probe) = run.and_then(|run| run.probe.as_ref()) {
        words.extend(["--probe".into(), probe.rate_per_s.to_string()]);
    }
    let clients = run.and_then(|run| run.clients.as_ref());
    let placed = clients.and_then(|clients| Some((clients.on.as_ref()?, clients)));
    let Some((on, clients)) = placed else {
        return plan.fleet.multi_thread.then_some(plan.fleet.workers.into());
    };
    words.extend(["--on".into(), on.clone()]);
    // The plan has those of all together.
    clients.rows.iter().map(|row| row.workers).max().filter(|workers| *workers > 1)
}

/// What two tests of the suite were told that no other is, where it was not the default.
fn functions(plan: &Plan) -> Option<[String; 2]> {
    let word = |n: usize| Some(argument(plan.sequence.first()?.args.get(n)?, plan, false));
    let (option, given, default) = match plan.name.as_str() {
        "FUNCTION LOAD" => {
            ("--num-functions", word(3)?.matches("register_function").count().to_string(), "10")
        }
        "FCALL" => ("--num-keys-in-fcall", word(2)?, "1"),
        _ => return None,
    };
    (given != default).then(|| [option.to_owned(), given])
}
