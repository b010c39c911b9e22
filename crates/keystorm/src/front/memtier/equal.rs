//! `--as keystorm`: the command line of keystorm that comes nearest, and what it leaves out.

use page::runs::{command_line_of, unsaid};

use super::fault::Fault;
use crate::front::{Intent, Job};

/// The line of a job; what differs stands before it as comments.
pub(super) fn printed(job: &Job) -> Result<Intent, Fault> {
    let mut text = String::new();
    for plan in job.every_plan() {
        for difference in unsaid(plan) {
            text += &format!("# memtier_benchmark: {difference}\n");
        }
        text += &command_line_of(plan, if plan.verify { 1 } else { job.repeats });
        text.push('\n');
    }
    Ok(Intent::Say(text))
}
