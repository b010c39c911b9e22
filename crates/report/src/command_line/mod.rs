//! A plan as a keystorm command line: the options of its specification, and its clients.

mod unexpressed;

use spec::LoadSpec;
use spec::values::{Count, Threads};
use spec::write::PrintedOption;
use workload::{Plan, RecordedTraffic};

use crate::Run;

pub use unexpressed::{unexpressed, unexpressed_beside_a_file};

/// Names of a test of the suite in `-t`.
pub type Names = &'static [&'static str];

/// A name for each test. A test that comes with another, such as the `LPUSH` that fills the list for
/// `LRANGE`, has that one's name.
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

/// Keystorm command line for a plan with this many repeats, without passwords and without parts that no
/// option expresses ([`unexpressed()`]).
#[must_use]
pub fn command_line_of(plan: &Plan, repeats: u32) -> String {
    let (mut words, test) = command_line(plan, None);
    if let Some(names) = test {
        words.extend(["-t".to_owned(), chosen(vec![names]).join(",")]);
    }
    joined(words, repeats)
}

/// Returns the command line of a plan whose operations, and their keys, are in a workload file.
#[must_use]
pub fn command_line_beside(file: &str, plan: &Plan, repeats: u32) -> String {
    let spec = LoadSpec::of_plan_beside(file, plan);
    joined(words(vec!["keystorm".to_owned()], &spec), repeats)
}

fn joined(mut words: Vec<String>, repeats: u32) -> String {
    if repeats > 1 {
        words.splice(1..1, ["--repeat".to_owned(), repeats.to_string()]);
    }
    shell_words::join(words)
}

/// Quotes nothing: the words of a plan are texts, so the specification always has words.
fn words(mut line: Vec<String>, spec: &LoadSpec) -> Vec<String> {
    line.extend(spec.words().unwrap_or_default());
    line
}

/// The options of a plan's command line with their values, in order: `given` for an option without a value,
/// and `the command` for the commands.
pub(crate) fn options_of(plan: &Plan) -> Vec<(String, String)> {
    let given = |value: String| if value.is_empty() { "given".to_owned() } else { value };
    let recorded = plan.recorded.as_ref();
    let spec = recorded.map_or_else(|| LoadSpec::of_plan(plan), |of| of_record(plan, of));
    let printed = spec.given().unwrap_or_default().into_iter();
    let printed = printed.map(|option: PrintedOption| (option.name(), given(option.argument())));
    let mut options: Vec<(String, String)> = printed.collect();
    if let Some(recorded) = recorded {
        options.push(("replay".to_owned(), recorded.source.clone()));
        options.push(("--speed".to_owned(), recorded.speed.to_string()));
    }
    let test = spec::suite_test(plan).map(|test| chosen(vec![test.names]).join(","));
    options.extend(test.map(|test| ("-t".to_owned(), test)));
    options
}

/// The words of the command line of one test, with the settings of `run`, and the suite's names for the test,
/// if any.
#[must_use]
pub fn command_line(plan: &Plan, run: Option<&Run>) -> (Vec<String>, Option<Names>) {
    let mut line = vec!["keystorm".to_owned()];
    if let Some(recorded) = &plan.recorded {
        line.push("replay".to_owned());
        line.extend(recorded.source.split(", ").map(str::to_owned));
        line.extend(["--speed".to_owned(), recorded.speed.to_string()]);
        return (words(line, &of_record(plan, recorded)), None);
    }
    let mut spec = LoadSpec::of_plan(plan);
    let kind = spec.delivery.as_ref().map(|delivery| delivery.kind.as_str());
    line.extend(kind.iter().flat_map(|kind| ["deliver", kind]).map(str::to_owned));
    clients(plan, run, &mut spec, &mut line);
    (words(line, &spec), spec::suite_test(plan).map(|test| test.names))
}

/// Adds the clients.
fn clients(plan: &Plan, run: Option<&Run>, spec: &mut LoadSpec, line: &mut Vec<String>) {
    if let Some(probe) = run.and_then(|run| run.probe.as_ref()) {
        line.extend(["--probe".to_owned(), probe.rate_per_s.to_string()]);
    }
    let clients = run.and_then(|run| run.clients.as_ref());
    let placed = clients.and_then(|clients| Some((clients.on.as_ref()?, clients)));
    let Some((on, clients)) = placed else { return };
    line.extend(["--on".to_owned(), on.to_string()]);
    // The plan has those of all together.
    let receivers = usize::from(clients.receivers_each(plan));
    let workers = clients.rows.iter().map(|row| row.workers.saturating_sub(receivers));
    let workers = workers.max().filter(|workers| *workers > 1);
    spec.load.threads = workers.map(|workers| Threads::Number(workers as i64));
}

/// The options for replaying a record, as far as a plan holds them.
fn of_record(plan: &Plan, recorded: &RecordedTraffic) -> LoadSpec {
    let mut spec = LoadSpec::of_server(plan);
    let concurrency = &plan.load.concurrency;
    if u64::from(concurrency.connections) != recorded.clients {
        spec.load.connections = Some(Count(concurrency.connections));
    }
    if concurrency.workers > 1 {
        spec.load.threads = Some(Threads::Number(concurrency.workers.into()));
    }
    spec
}
