//! `--as keystorm`: another tool's command line in keystorm's own words.
//!
//! If the line cannot express the operations, a workload file follows it. Differences that neither can express
//! precede it as comments in the name of the tool.

use report::command_line::{command_line_beside, command_line_of, unexpressed_beside_a_file};
use spec::LoadSpec;
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
    if let Some(load) = LoadSpec::of_plan(plan).given {
        let line = command_line_beside("-", plan, repeats);
        let file = of_load(&load, &plan.data.keys).text();
        let mut end = "END".to_owned();
        while file.lines().any(|line| line == end) {
            end += "_";
        }
        text += &format!("{line} <<'{end}'\n{file}{end}\n");
    } else {
        text += &command_line_of(plan, repeats);
        text.push('\n');
    }
    text
}
