//! `--as keystorm`: the command line of keystorm that comes nearest, and what it leaves out.

use page::runs::{command_line, unsaid};

use super::fault::Fault;
use crate::front::{Intent, Job};

/// The line of a job; what differs stands before it as comments.
pub(super) fn printed(job: &Job) -> Result<Intent, Fault> {
    let mut text = String::new();
    for plan in &job.plans {
        for difference in unsaid(plan) {
            text += &format!("# memtier_benchmark: {difference}\n");
        }
        let mut words = command_line(plan);
        if job.repeats > 1 {
            words.splice(1..1, ["--repeat".to_owned(), job.repeats.to_string()]);
        }
        text += &shell_words::join(words);
        text.push('\n');
    }
    Ok(Intent::Say(text))
}
