//! Command lines that repeat a page's tests.

use spec::values::Threads;
use spec::{LoadSpec, suite_test, unexpressed};

use super::Source;
use crate::Run;
use crate::groups::unique;
use crate::page::{Block, Section};

/// Names of a test of the suite in `-t`.
type Names = &'static [&'static str];

/// Makes the section with the command lines that run every test again.
pub(super) fn section(sources: &[Source<'_>]) -> Section {
    let mut lines: Vec<(String, Vec<Names>)> = Vec::new();
    let mut secret = false;
    let mut left_out: Vec<String> = Vec::new();
    for run in sources.iter().flat_map(|source| source.runs) {
        secret |= !run.plan.secrets().is_empty();
        left_out.extend(unexpressed(&run.plan));
        // Tests of the suite that were asked for alike are asked for together.
        let (line, test) = (command_line(run), suite_test(&run.plan).map(|test| test.names));
        match lines.iter_mut().find(|(known, tests)| *known == line && !tests.is_empty()) {
            Some((_, tests)) if test.is_some() => tests.extend(test),
            _ => lines.push((line, test.into_iter().collect())),
        }
    }
    let lines = lines.into_iter().map(|(line, tests)| {
        if tests.is_empty() { line } else { format!("{line} -t {}", chosen(tests).join(",")) }
    });
    let lines: Vec<String> = lines.collect();
    let mut blocks = vec![Block::Code(lines.join("\n"))];
    if secret {
        blocks.push(Block::Text("Passwords are never saved; replace *** with yours.".to_owned()));
    }
    if !left_out.is_empty() {
        let left_out = unique(left_out).join("; ");
        blocks.push(Block::Text(format!("This command line differs from the plan: {left_out}.")));
    }
    Section::new("Run it again", blocks)
}

/// A name for each test. A test that comes with another, such as the `LPUSH` that fills the list for
/// `LRANGE`, has that one's name.
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

/// The command line of one test, without the suite's name for it.
fn command_line(run: &Run) -> String {
    let (plan, mut of_process) = (&run.plan, Vec::new());
    let mut spec = LoadSpec::of_plan(plan);
    spec.data.tests.take_if(|_| suite_test(plan).is_some());
    if plan.has_source() {
        return spec.command_line(plan, of_process);
    }
    if let Some(probe) = &run.probe {
        of_process.extend(["--probe".to_owned(), probe.rate_per_s.to_string()]);
    }
    let clients = run.clients.as_ref();
    if let Some((on, clients)) = clients.and_then(|clients| Some((clients.on.as_ref()?, clients))) {
        of_process.extend(["--on".to_owned(), on.to_string()]);
        // The plan has those of all together.
        let receivers = usize::from(clients.receivers_each(plan));
        let workers = clients.rows.iter().map(|row| row.workers.saturating_sub(receivers));
        let workers = workers.max().filter(|workers| *workers > 1);
        spec.load.threads = workers.map(|workers| Threads::Number(workers as i64));
    }
    spec.command_line(plan, of_process)
}
