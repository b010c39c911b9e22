//! The command line of a spec's client as a plan, parsed as memtier_benchmark's.

use std::ffi::OsString;
use std::sync::Arc;

use super::options::Options;
use cli::job::{Intent, Job, ToolOutput};
use lab::suite::{MEMTIER, Spec, ToolLine};
use workload::{Plan, ProtocolKind, Stop, Target};

/// Reason why there is no plan.
pub(super) enum PlanRefusal {
    /// Keystorm or the server does not support the spec; the text says why.
    Unsupported(String),
    /// The spec is wrong.
    Broken(String),
}

/// The client of a spec.
pub(super) struct Client {
    pub(super) plan: Plan,
    /// Output of the imitated tool, if its documents are written.
    pub(super) tool: Option<Arc<dyn ToolOutput>>,
    /// Remarks on differences from the tool.
    pub(super) remarks: Vec<String>,
}

/// Words like `__name__` that would be placeholders in other tools and are text in memtier.
const NO_PLACEHOLDERS: [&str; 2] = ["__timestamp__", "__value__"];

/// The client of a spec on a server, for this many seconds. Its test has the name of the spec, by which saved
/// runs are distinguished.
pub(super) fn of_spec(
    spec: &Spec,
    job: &Options,
    target: &Target,
    seconds: f64,
) -> Result<Client, PlanRefusal> {
    let [line] = &spec.clients[..] else {
        let count = spec.clients.len();
        let why = format!("its {count} clients put load on the server at the same time");
        return Err(PlanRefusal::Unsupported(why));
    };
    let mut client = memtier(line, job, target, Some(seconds))?;
    let named = client.plan.with(|parts| {
        parts.name.clone_from(&spec.name);
        parts.named = true;
    });
    client.plan = named.map_err(|why| PlanRefusal::Broken(why.to_string()))?;
    Ok(client)
}

/// A load of memtier's words, as preloads are too.
pub(super) fn load(line: &ToolLine, job: &Options, target: &Target) -> Result<Client, PlanRefusal> {
    memtier(line, job, target, None)
}

fn memtier(
    line: &ToolLine,
    job: &Options,
    target: &Target,
    seconds: Option<f64>,
) -> Result<Client, PlanRefusal> {
    let mut remarks = Vec::new();
    if line.tool != MEMTIER {
        return Err(PlanRefusal::Unsupported(format!("keystorm has no {}", line.tool)));
    }
    let words = line.words.iter().map(OsString::from).collect();
    let intent = cli::job::FrontEnd::parse(&peers::memtier::Memtier, None, words);
    let mut found: Job = match intent {
        Ok(Intent::Run(job)) => *job,
        Ok(Intent::Tool(message)) => {
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
    let protocol = job
        .first
        .as_ref()
        .and_then(|job| job.plans.first())
        .map_or(ProtocolKind::Resp2, |first| first.protocol);
    let plan = on_target(&found.plans[0], protocol, target, seconds)?;
    Ok(Client { plan, tool: found.output.reports, remarks })
}

/// Returns the same load on this server, for this many seconds if it ends by time.
fn on_target(
    plan: &Plan,
    protocol: ProtocolKind,
    target: &Target,
    seconds: Option<f64>,
) -> Result<Plan, PlanRefusal> {
    let plan = plan.with(|parts| {
        parts.protocol = protocol;
        let db = parts.target.db;
        parts.target = target.clone();
        if db != 0 {
            parts.target.db = db;
        }
        if let (Stop::AfterNs(_), Some(seconds)) = (parts.load.stop, seconds) {
            parts.load.stop = Stop::AfterNs((seconds * 1e9) as u64);
        }
    });
    let plan = plan.map_err(|why| PlanRefusal::Broken(why.to_string()))?;
    wire::check(&plan).map_err(|why| PlanRefusal::Broken(why.to_string()))?;
    runner::check_memory(&plan).map_err(|why| PlanRefusal::Broken(why.to_string()))?;
    Ok(plan)
}
