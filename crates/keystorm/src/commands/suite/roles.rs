//! The command lines of a spec's clients as plans: memtier_benchmark by its own words, tools that measure messages
//! by those of `deliver`.

use std::ffi::OsString;
use std::sync::Arc;

use super::options::SuiteJob;
use job::{Intent, Job, ToolOutput};
use lab::suite::{MEMTIER, Spec, ToolLine};
use workload::{Plan, PlanParts, ProtocolKind, Stop, Target};

/// Reason why there are no plans.
pub(super) enum PlanRefusal {
    /// Keystorm or the server has nothing of the kind.
    Unsupported(String),
    /// The spec is wrong.
    Broken(String),
}

/// A client of a spec.
pub(super) struct Role {
    /// Description of what it sends, in a few words.
    pub(super) name: String,
    pub(super) plan: Plan,
    /// Output that the tool would print that it is written for.
    pub(super) tool: Option<Arc<dyn ToolOutput>>,
}

/// The clients of a spec, the one that stands for it first.
pub(super) struct Roles {
    pub(super) roles: Vec<Role>,
    pub(super) remarks: Vec<String>,
}

/// Words like `__name__` that would be placeholders in other tools and are text in memtier.
const NO_PLACEHOLDERS: [&str; 2] = ["__timestamp__", "__value__"];
/// Queues whose commands `deliver` has.
const QUEUES: [&str; 4] = ["sidekiq", "bullmq", "celery", "resque"];
/// Tool of which only one entry measures.
const LISTENER: &str = "bcast-listener";
const SUBSCRIBER: &str = "pubsub-sub-bench";

/// The plans of a spec on a server, for so many seconds. Their tests have the name of the spec, by which saved runs
/// are told apart.
pub(super) fn of_spec(
    spec: &Spec,
    job: &SuiteJob,
    target: &Target,
    seconds: f64,
) -> Result<Roles, PlanRefusal> {
    let mut found = clients(spec, job, target, seconds)?;
    let is_alone = found.roles.len() == 1;
    for role in &mut found.roles {
        let mut parts: PlanParts = (*role.plan).clone();
        parts.name =
            if is_alone { spec.name.clone() } else { format!("{}: {}", spec.name, role.name) };
        parts.named = true;
        role.plan = parts.build().map_err(|why| PlanRefusal::Broken(why.to_string()))?;
    }
    Ok(found)
}

fn clients(
    spec: &Spec,
    job: &SuiteJob,
    target: &Target,
    seconds: f64,
) -> Result<Roles, PlanRefusal> {
    let is = |line: &&ToolLine, tool: &str| line.tool.contains(tool);
    let find = |tool: &str| spec.clients.iter().find(|line| is(line, tool));
    if let Some(queue) = QUEUES.iter().find(|queue| find(queue).is_some()) {
        let words = vec![format!("--like={queue}")];
        return delivery(job, target, words, seconds, queue);
    }
    let publisher = spec.clients.iter().find(|line| line.tool == MEMTIER);
    match (publisher, find(SUBSCRIBER), find(LISTENER)) {
        (Some(publisher), Some(subscriber), _) => {
            let words = pubsub(publisher, subscriber)?;
            delivery(job, target, words, seconds, "PUBLISH to subscribers")
        }
        (Some(_), None, Some(listener))
            if listeners(listener) > 0
                && option(&listener.words, &["acl-user-patterns"]).is_some() =>
        {
            let why = format!("{LISTENER} --acl-user-patterns: keystorm's listeners see all keys");
            Err(PlanRefusal::Unsupported(why))
        }
        (Some(writer), None, Some(listener)) if listeners(listener) > 0 => {
            let words = invalidate(writer, listener)?;
            delivery(job, target, words, seconds, "SET to listeners")
        }
        _ => of_memtier(spec, job, target, seconds),
    }
}

/// A load of memtier's words, as preloads are too.
pub(super) fn load(line: &ToolLine, job: &SuiteJob, target: &Target) -> Result<Role, PlanRefusal> {
    let mut remarks = Vec::new();
    memtier(line, job, target, None, &mut remarks)
}

fn of_memtier(
    spec: &Spec,
    job: &SuiteJob,
    target: &Target,
    seconds: f64,
) -> Result<Roles, PlanRefusal> {
    let mut remarks = Vec::new();
    let lines = || spec.clients.iter().filter(|line| line.tool != LISTENER);
    let longest = |line: &ToolLine| {
        option(&line.words, &["test-time"]).and_then(|text| text.parse::<f64>().ok())
    };
    let shortest = lines().filter_map(longest).fold(f64::INFINITY, f64::min);
    let mut roles = Vec::new();
    for line in lines() {
        // Those that go on for longer than others still do.
        let more = longest(line).map_or(0.0, |own| own - shortest);
        roles.push(memtier(line, job, target, Some(seconds + more.min(seconds)), &mut remarks)?);
    }
    if roles.is_empty() {
        return Err(PlanRefusal::Unsupported("no client puts load on the server".to_owned()));
    }
    // The last one's results are the spec's.
    roles.reverse();
    Ok(Roles { roles, remarks })
}

fn memtier(
    line: &ToolLine,
    job: &SuiteJob,
    target: &Target,
    seconds: Option<f64>,
    remarks: &mut Vec<String>,
) -> Result<Role, PlanRefusal> {
    if line.tool != MEMTIER {
        return Err(PlanRefusal::Unsupported(format!("keystorm has no {}", line.tool)));
    }
    let words = line.words.iter().map(OsString::from).collect();
    let intent = job::FrontEnd::parse(&memtier::Memtier, None, words);
    let mut found: Job = match intent {
        Ok(Intent::Run(job)) => *job,
        Ok(Intent::Tell(message)) => {
            let why = message.err.lines().next().unwrap_or("it only prints something");
            return Err(PlanRefusal::Broken(why.trim_start_matches("error: ").to_owned()));
        }
        Ok(_) => return Err(PlanRefusal::Broken("its arguments ask for no load".to_owned())),
        Err(why) => return Err(PlanRefusal::Broken(why.0)),
    };
    for note in found.notes.drain(..) {
        let note = note.trim_start_matches("warning: ").to_owned();
        if !remarks.contains(&note) {
            remarks.push(note);
        }
    }
    for name in NO_PLACEHOLDERS {
        if line.words.iter().any(|word| word.contains(name)) {
            remarks
                .push(format!("{name} is no placeholder of memtier_benchmark and is sent as text"));
        }
    }
    if found.plans.len() != 1 {
        return Err(PlanRefusal::Broken("its arguments are several loads".to_owned()));
    }
    let protocol = job.first.plans.first().map_or(ProtocolKind::Resp2, |first| first.protocol);
    let plan = on_target(&found.plans[0], protocol, target, seconds)?;
    Ok(Role { name: commands(&plan), plan, tool: found.output.reports })
}

/// The commands of a plan, each once.
fn commands(plan: &Plan) -> String {
    let mut names: Vec<String> = Vec::new();
    for command in &plan.sequence {
        if !names.contains(&command.name()) {
            names.push(command.name());
        }
    }
    names.join(", ")
}

/// Returns the same load on this server, for so many seconds where it ends by time.
fn on_target(
    plan: &Plan,
    protocol: ProtocolKind,
    target: &Target,
    seconds: Option<f64>,
) -> Result<Plan, PlanRefusal> {
    let mut parts: PlanParts = (**plan).clone();
    parts.protocol = protocol;
    let db = parts.target.db;
    parts.target = target.clone();
    if db != 0 {
        parts.target.db = db;
    }
    if let (Stop::AfterNs(_), Some(seconds)) = (parts.load.stop, seconds) {
        parts.load.stop = Stop::AfterNs((seconds * 1e9) as u64);
    }
    let plan = parts.build().map_err(|why| PlanRefusal::Broken(why.to_string()))?;
    wire::check(&plan).map_err(|why| PlanRefusal::Broken(why.to_string()))?;
    runner::check_memory(&plan).map_err(|why| PlanRefusal::Broken(why.to_string()))?;
    Ok(plan)
}

/// A delivery in keystorm's own words.
fn delivery(
    job: &SuiteJob,
    target: &Target,
    words: Vec<String>,
    seconds: f64,
    name: &str,
) -> Result<Roles, PlanRefusal> {
    let duration = ["--duration".to_owned(), format!("{seconds}s")];
    let words = words.into_iter().chain(duration).map(OsString::from);
    let words = words.chain(job.server.words()).collect();
    let front = cli::OWN.iter().find(|front| front.names() == ["deliver"]);
    let intent = front.map(|front| front.parse(Some("deliver"), words));
    match intent {
        Some(Ok(Intent::Run(found))) if found.plans.len() == 1 => {
            let plan = &found.plans[0];
            let plan = on_target(plan, plan.protocol, target, Some(seconds))?;
            let remarks = vec![format!(
                "measured by keystorm deliver: latency is that of messages until they are received ({})",
                plan.name
            )];
            let role = Role { name: name.to_owned(), plan, tool: None };
            Ok(Roles { roles: vec![role], remarks })
        }
        Some(Err(why)) => Err(PlanRefusal::Unsupported(why.0)),
        _ => Err(PlanRefusal::Unsupported("keystorm deliver has no such kind".to_owned())),
    }
}

fn pubsub(publisher: &ToolLine, subscriber: &ToolLine) -> Result<Vec<String>, PlanRefusal> {
    let of = |names: &[&str]| option(&subscriber.words, names);
    let number = |names: &[&str], default: u64| {
        of(names).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let channels =
        number(&["channel-maximum"], 100).saturating_sub(number(&["channel-minimum"], 1)) + 1;
    let each = number(&["min-number-channels-per-subscriber"], 1);
    let mut words = vec![
        "pubsub".to_owned(),
        "--channels".to_owned(),
        channels.to_string(),
        "--subscribers".to_owned(),
        number(&["clients"], 50).to_string(),
        "--channels-per-subscriber".to_owned(),
        each.to_string(),
    ];
    match of(&["mode"]).unwrap_or("subscribe") {
        "subscribe" => {}
        "psubscribe" => words.push("--patterns".to_owned()),
        "ssubscribe" => words.push("--sharded".to_owned()),
        other => return Err(PlanRefusal::Unsupported(format!("{SUBSCRIBER} -mode {other}"))),
    }
    words.extend(sending(publisher, "--publishers"));
    Ok(words)
}

fn invalidate(writer: &ToolLine, listener: &ToolLine) -> Result<Vec<String>, PlanRefusal> {
    let caches = ["invalidate", "--tracking", "bcast", "--caches"].map(str::to_owned);
    let mut words: Vec<String> = caches.into();
    words.push(listeners(listener).to_string());
    words.extend(sending(writer, "--writers"));
    Ok(words)
}

fn listeners(line: &ToolLine) -> u32 {
    option(&line.words, &["listener-count"]).and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Says how many send what how fast, in the words of `deliver`.
fn sending(line: &ToolLine, senders: &str) -> Vec<String> {
    let number = |names: &[&str], default: u64| {
        option(&line.words, names).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let connections = number(&["c", "clients"], 50) * number(&["t", "threads"], 4);
    let mut words = vec![senders.to_owned(), connections.to_string()];
    let bytes = number(&["d", "data-size"], 32);
    words.extend(["-d".to_owned(), bytes.max(8).to_string()]);
    if let Some(rate) =
        option(&line.words, &["rate-limiting"]).and_then(|text| text.parse::<u64>().ok())
    {
        words.extend(["--rps".to_owned(), (rate * connections).to_string()]);
    }
    words
}

/// The value of an option, as `-c 5`, `--clients 5` or `--clients=5`.
fn option<'w>(words: &'w [String], names: &[&str]) -> Option<&'w str> {
    words.iter().enumerate().find_map(|(at, word)| {
        let name = word.strip_prefix('-')?;
        let name = name.strip_prefix('-').unwrap_or(name);
        match name.split_once('=') {
            Some((name, value)) if names.contains(&name) => Some(value),
            None if names.contains(&name) => words.get(at + 1).map(String::as_str),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        shell_words::split(line).unwrap()
    }

    #[test]
    fn options_are_found_however_they_are_written() {
        let words = words("-c 5 --threads=2 --key-prefix=a=b -mode subscribe --tail");
        assert_eq!(option(&words, &["c", "clients"]), Some("5"));
        assert_eq!(option(&words, &["t", "threads"]), Some("2"));
        assert_eq!(option(&words, &["key-prefix"]), Some("a=b"));
        assert_eq!(
            (option(&words, &["mode"]), option(&words, &["tail"])),
            (Some("subscribe"), None)
        );
    }

    #[test]
    fn publishers_and_subscribers_are_one_delivery() {
        let line = |tool: &str, text: &str| ToolLine { tool: tool.into(), words: words(text) };
        let publisher = line(MEMTIER, "-c 10 -t 2 --data-size 64 --rate-limiting 5");
        let subscriber =
            line(SUBSCRIBER, "-clients 30 -channel-minimum 1 -channel-maximum 20 -mode psubscribe");
        let Ok(found) = pubsub(&publisher, &subscriber) else { panic!("refused") };
        assert_eq!(
            found.join(" "),
            "pubsub --channels 20 --subscribers 30 --channels-per-subscriber 1 --patterns --publishers 20 -d 64 \
             --rps 100"
        );
    }
}
