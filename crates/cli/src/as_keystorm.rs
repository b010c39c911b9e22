//! `--as keystorm`: another tool's command line in keystorm's own words.
//!
//! If the line cannot express the operations, a workload file follows it. Differences that neither can express
//! precede it as comments in the name of the tool.

use spec::{LoadSpec, unexpressed_beside_a_file};
use workload::Plan;

use super::Job;
use super::workload_file::of_load;

/// Returns what the shell carries out as the job of that tool.
pub fn in_own_words(job: &Job, tool: &str) -> String {
    let all = job.plans.iter().map(|plan| (plan, job.repeats));
    let last = job.last.iter().map(|plan| (plan, 1));
    all.chain(last).map(|(plan, repeats)| one(plan, repeats, tool)).collect()
}

fn one(plan: &Plan, repeats: u32, tool: &str) -> String {
    let differences = unexpressed_beside_a_file(plan).into_iter();
    let mut text: String = differences.map(|why| format!("# {tool}: {why}\n")).collect();
    let mut spec = LoadSpec::of_plan(plan);
    let file = spec.given.take().map(|load| of_load(&load, &plan.data.keys).text());
    if file.is_some() {
        spec = LoadSpec::of_plan_beside("-", plan);
    }
    spec.load.repeats = (repeats > 1).then_some(repeats);
    text += &spec.command_line(plan, Vec::new());
    if let Some(file) = file {
        let mut end = "END".to_owned();
        while file.lines().any(|line| line == end) {
            end += "_";
        }
        text += &format!(" <<'{end}'\n{file}{end}");
    }
    text + "\n"
}
