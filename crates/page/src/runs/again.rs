//! The command line that asks for the same.

use std::path::PathBuf;

use workload::{
    Arg, Arrivals, ClusterOptions, Derived, Endpoint, EngineKind, KeyDist, OnError, Piece, Plan,
    ProtocolKind, ReadFrom, Schedule, Share, SizeBy, Slot, Stage, Stop, TlsOptions, ValueSpec,
    Verify, Window, WithoutReplica, argument::placeholder, secret::HIDDEN, secret::shown_arguments,
    suite::SUITE,
};

use report::Run;

use super::{Source, unsaid};
use crate::{Block, Section};

/// How to run every test again.
pub(super) fn section(sources: &[Source<'_>]) -> Section {
    let mut lines: Vec<(Vec<String>, Vec<Names>)> = Vec::new();
    let mut secret = false;
    let mut left_out: Vec<String> = Vec::new();
    for run in sources.iter().flat_map(|source| source.runs) {
        secret |= !run.plan.secrets().is_empty();
        for why in unsaid(&run.plan) {
            if !left_out.contains(&why) {
                left_out.push(why);
            }
        }
        // Tests of the suite that were asked for alike are asked for together.
        let (words, test) = command_line(&run.plan, Some(run));
        match lines.iter_mut().find(|(known, tests)| *known == words && !tests.is_empty()) {
            Some((_, tests)) if test.is_some() => tests.extend(test),
            _ => lines.push((words, test.into_iter().collect())),
        }
    }
    let lines = lines.into_iter().map(|(mut words, tests)| {
        if !tests.is_empty() {
            words.extend(["-t".to_owned(), chosen(tests).join(",")]);
        }
        shell_words::join(words)
    });
    let lines: Vec<String> = lines.collect();
    let mut blocks = vec![Block::Code(lines.join("\n"))];
    if secret {
        blocks.push(Block::Text("Passwords are never saved; replace *** with yours.".to_owned()));
    }
    if !left_out.is_empty() {
        let left_out = left_out.join("; ");
        blocks.push(Block::Text(format!("This command line differs from the plan: {left_out}.")));
    }
    Section::new("Run it again", blocks)
}

/// What a test of the suite may be asked for by.
type Names = &'static [&'static str];

/// A name for each test. One that comes with another, as the `LPUSH` that fills the list for
/// `LRANGE`, goes by that one's name.
fn chosen(mut tests: Vec<Names>) -> Vec<&'static str> {
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
    let (mut words, test) = command_line(plan, None);
    if let Some(names) = test {
        words.extend(["-t".to_owned(), chosen(vec![names]).join(",")]);
    }
    if repeats > 1 {
        words.splice(1..1, ["--repeat".to_owned(), repeats.to_string()]);
    }
    shell_words::join(words)
}

/// The words of the command line of one test, which was run so if it was, and the names that the suite has
/// for it, if any.
fn command_line(plan: &Plan, run: Option<&Run>) -> (Vec<String>, Option<Names>) {
    let mut words: Vec<String> = vec!["keystorm".into()];
    target(plan, &mut words);
    let threads = clients(plan, run, &mut words);
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    let fleet = &plan.fleet;
    option("-c", fleet.connections.to_string());
    match plan.stop {
        Stop::Requests(each) if plan.share == Share::PerConnection => {
            option("-n", each.saturating_mul(fleet.connections.into()).to_string());
        }
        Stop::Requests(count) => option("-n", count.to_string()),
        Stop::AfterNs(ns) => option("--duration", (ns as f64 / 1e9).to_string()),
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
        option("--rps", rate(schedule));
        if schedule.arrivals == Arrivals::Poisson {
            option("--arrivals", "poisson".into());
        }
    }
    match plan.engine {
        EngineKind::Auto => {}
        EngineKind::Uring => option("--engine", "uring".into()),
        EngineKind::Epoll => option("--engine", "epoll".into()),
    }
    if let Some(range) = plan.keys.range {
        option("-r", range.to_string());
    }
    if plan.keys.draw != KeyDist::UNIFORM && plan.keys.draw != KeyDist::SEQUENTIAL {
        option("--key-dist", plan.keys.draw.to_string());
    }
    match &plan.values {
        Some(ValueSpec { sizes, by, content }) => {
            option("-d", sizes.to_string());
            let differ = !sizes.to_string().starts_with(|c: char| c.is_ascii_digit());
            if *by == SizeBy::Request && differ {
                option("--size-by", "request".into());
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
        option("--retry-wait", format!("{}ms", retry.backoff.first_ns as f64 / 1e6));
        if !retry.on.is_empty() {
            option("--retry-on", retry.on.join(","));
        }
    }
    if plan.dataset.is_some() {
        option("--dataset", "FILE".into());
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
        (plan.keys.draw == KeyDist::SEQUENTIAL, "--sequential"),
        (plan.first_byte, "--first-byte"),
        (plan.fill.is_some(), "--fill"),
        (plan.verify, "--verify"),
        (plan.fail_on_miss, "--fail-on-miss"),
    ];
    words.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag.to_owned()));
    words.extend(functions(plan).into_iter().flatten());
    let test = SUITE.iter().find(|test| test.title == plan.name);
    if test.is_none() {
        command(plan, &mut words);
    }
    (words, test.map(|test| test.names))
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

fn place(endpoint: &Endpoint, words: &mut Vec<String>) {
    match endpoint {
        Endpoint::Pool { servers } => servers.iter().take(1).for_each(|first| place(first, words)),
        Endpoint::Tcp { host, port } => {
            words.extend(["-h".into(), host.clone(), "-p".into(), port.to_string()]);
        }
        Endpoint::Sentinel { sentinels, name } => {
            words.extend(["-u".into(), format!("redis-sentinel://{}/{name}", places(sentinels))]);
        }
        Endpoint::Replicated { primary, replicas } => {
            place(&primary.into(), words);
            words.extend(["--replicas".into(), places(replicas)]);
        }
        Endpoint::Unix(path) => words.extend(["-s".into(), path.display().to_string()]),
        Endpoint::Ring { hash, .. } => {
            words.extend(["-h".into(), endpoint.to_string()]);
            words.extend(["--hash".into(), hash.name().to_owned()]);
        }
        Endpoint::Spawned { program, args, unix, cpus } => {
            words.push(program.as_ref().map_or("--spawn".into(), |p| format!("--spawn={p}")));
            if *unix {
                words.push("--spawn-unix".into());
            }
            if !args.is_empty() {
                words.extend(["--spawn-args".into(), shell_words::join(shown_arguments(args))]);
            }
            if !cpus.is_empty() {
                words.extend(["--server-cpus".into(), list(cpus)]);
            }
        }
    }
}

fn places(servers: &[(String, u16)]) -> String {
    list(&servers.iter().map(Endpoint::from).collect::<Vec<_>>())
}

fn target(plan: &Plan, words: &mut Vec<String>) {
    let target = &plan.target;
    place(&target.endpoint, words);
    if let Some(login) = &target.credentials {
        if let Some(user) = &login.user {
            words.extend(["--user".into(), user.clone()]);
        }
        words.extend(["-a".into(), HIDDEN.into()]);
    }
    if target.db > 0 {
        words.extend(["--dbnum".into(), target.db.to_string()]);
    }
    if let Some(cluster) = &target.cluster {
        if target.is_cluster() {
            words.push("--cluster".into());
        }
        readers(cluster, words);
    }
    if let Some(options) = &target.tls {
        tls(options, words);
    }
    if !target.sources.is_empty() {
        words.extend(["--source-ip".into(), list(&target.sources)]);
    }
    let flags = [
        (target.tracking, "--enable-tracking"),
        (target.no_touch, "--no-touch"),
        (target.mptcp, "--mptcp"),
    ];
    words.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag.to_owned()));
}

fn readers(options: &ClusterOptions, words: &mut Vec<String>) {
    let from = match options.read_from {
        ReadFrom::Masters => None,
        ReadFrom::Replicas => Some("yes"),
        ReadFrom::All => Some("all"),
        ReadFrom::Nearest => Some("nearest"),
    };
    let without = match options.without_replica {
        WithoutReplica::Primary => None,
        WithoutReplica::Wait => Some("wait"),
    };
    let shares = options.connections.map(|of| format!("{}:{}", of.replica, of.primary));
    let said = [
        ("--rfr", from.map(str::to_owned)),
        ("--rfr-without", without.map(str::to_owned)),
        ("--rfr-replicas", options.replicas_max.map(|most| most.to_string())),
        ("--rfr-connections", shares),
    ];
    for (option, value) in said {
        words.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    }
}

fn list(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn tls(options: &TlsOptions, words: &mut Vec<String>) {
    let TlsOptions { sni, verify, cacert, cacertdir, cert, key, .. } = options;
    let TlsOptions { ciphers, ciphersuites, groups, protocols, resume, .. } = options;
    words.push("--tls".into());
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let values = [
        ("--sni", sni.clone()),
        ("--cacert", path(cacert)),
        ("--cacertdir", path(cacertdir)),
        ("--cert", path(cert)),
        ("--key", path(key)),
        ("--tls-ciphers", ciphers.clone()),
        ("--tls-ciphersuites", ciphersuites.clone()),
        ("--tls-groups", groups.clone()),
        ("--tls-protocols", protocols.clone()),
    ];
    for (name, value) in values {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    }
    let flags = [(*verify == Verify::Nothing, "--insecure"), (*resume, "--tls-resume")];
    words.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag.to_owned()));
}

/// `RATE`, `FROM..TO/SECONDSs` or `RATE,RATE/SECONDSs`.
fn rate(schedule: &Schedule) -> String {
    if let Some(rate) = schedule.rate_per_s() {
        return rate.to_string();
    }
    let ramp = |s: &Stage| match s.from_per_s == s.to_per_s {
        true => s.to_per_s.to_string(),
        false => format!("{}..{}", s.from_per_s, s.to_per_s),
    };
    let rates: Vec<String> = schedule.stages.iter().map(ramp).collect();
    let lasts_ns = schedule.stages.iter().find_map(|stage| stage.lasts_ns).unwrap_or(1_000_000_000);
    format!("{}/{}s", rates.join(","), lasts_ns as f64 / 1e9)
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

/// The commands: of a sequence each after `;` but the first, of a mix as its operations are typed.
fn command(plan: &Plan, words: &mut Vec<String>) {
    let mixed = plan.mix.as_ref().is_some_and(|mix| mix.operations.len() > 1);
    words.extend(mixed.then(|| "--mix".to_owned()));
    words.push("--".into());
    let mut commands = plan.sequence.iter();
    let mut send = |sign: &str, count: usize, inserts: bool, words: &mut Vec<String>| {
        for (number, spec) in commands.by_ref().take(count).enumerate() {
            let sign = if number > 0 { ";" } else { sign };
            words.extend(Some(sign).filter(|sign| !sign.is_empty()).map(str::to_owned));
            words.extend(spec.args.iter().map(|arg| argument(arg, plan, inserts)));
        }
    };
    let Some(mix) = &plan.mix else { return send("", plan.sequence.len(), false, words) };
    for (number, operation) in mix.operations.iter().enumerate() {
        if number > 0 {
            words.push(";".into());
        }
        words.extend(mixed.then(|| operation.weight.to_string()));
        let inserts = operation.keys.as_ref().is_some_and(|keys| keys.draw == KeyDist::INSERT);
        for (at, step) in operation.steps.iter().enumerate() {
            let sign = if at > 0 { step.when.sign() } else { String::new() };
            send(&sign, step.commands as usize, inserts, words);
        }
    }
}

/// `inserts` says that its key is one that its operation inserts.
fn argument(arg: &Arg, plan: &Plan, inserts: bool) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Piece::Secret(_) => HIDDEN.to_owned(),
        Piece::Number(Slot::Key) if inserts => "__insert__".to_owned(),
        Piece::Number(slot) => placeholder(*slot).to_owned(),
        Piece::Fill { .. } | Piece::Value => "__data__".to_owned(),
        Piece::Lifetime(_) => "__ttl__".to_owned(),
        Piece::Derived(Derived::Key(text)) if inserts => format!("__insert:{text}__"),
        Piece::Derived(derived) => format!("__{derived}__"),
        Piece::Reply { or } if or.is_empty() => "__reply__".to_owned(),
        Piece::Reply { or } => format!("__reply_or:{}__", String::from_utf8_lossy(or)),
        Piece::Cas => "__cas__".to_owned(),
        Piece::Tag => "{tag}".to_owned(),
        Piece::Field(column) => {
            let columns = plan.dataset.as_ref().map_or(&[][..], |dataset| dataset.columns());
            let name = columns.get(*column).map_or(String::new(), ToString::to_string);
            format!("__field:{name}__")
        }
    };
    arg.pieces.iter().map(piece).collect()
}
