//! What two servers make of recorded traffic beside its figures.

use report::compare::Comparison;
use report::grouped;
use workload::quantity::counted;

use crate::{Block, Section, Table};

/// The section; none where no recorded traffic was sent.
pub(crate) fn section(comparison: &Comparison) -> Option<Section> {
    let replayed = comparison.replayed.as_ref()?;
    let [first, second] = comparison.names();
    let notes = replayed.notes(&comparison.names());
    let mut blocks: Vec<Block> = notes.into_iter().map(Block::Text).collect();
    if let Some(answers) = &replayed.answers {
        let text = format!(
            "Both servers were asked {} in the record's order, one after another. What may differ on equal \
             servers is set aside: the order of sets and maps, cursors, random choices, clocks, the wording of \
             errors.",
            counted(answers.asked, "command")
        );
        blocks.push(Block::Text(text));
    }
    let columns = ["times", "command", &first, &second, "for example"];
    let mut table = Table::new(columns.into_iter().chain([first.as_str(), second.as_str()]));
    for of in replayed.differences() {
        let count = grouped(of.count as f64);
        let cells = [&[count, of.command.clone()][..], &of.kinds, &of.example].concat();
        table.row(cells);
    }
    blocks.extend((!table.rows.is_empty()).then_some(Block::Table(table)));
    Some(Section::new("Answers and head room", blocks))
}
