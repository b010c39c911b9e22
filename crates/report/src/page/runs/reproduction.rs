//! Command lines that repeat a page's tests.

use crate::command_line::{Names, chosen, command_line, unexpressed};

use super::Source;
use crate::page::{Block, Section};

/// Makes the section with the command lines that run every test again.
pub(super) fn section(sources: &[Source<'_>]) -> Section {
    let mut lines: Vec<(Vec<String>, Vec<Names>)> = Vec::new();
    let mut secret = false;
    let mut left_out: Vec<String> = Vec::new();
    for run in sources.iter().flat_map(|source| source.runs) {
        secret |= !run.plan.secrets().is_empty();
        for why in unexpressed(&run.plan) {
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
