//! Results of two servers on recorded traffic, beside its figures.

use crate::compare::{Comparison, Difference};
use crate::grouped;
use workload::quantity::counted;

use crate::page::{Block, Section, Table};

/// The section; `None` without recorded traffic.
pub(super) fn section(comparison: &Comparison) -> Option<Section> {
    let replayed = comparison.replayed.as_ref()?;
    let names = comparison.names();
    let notes = replayed.notes(&names);
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
    let columns = ["times", "command"].into_iter().chain(names.iter().map(String::as_str));
    let columns = columns.chain(["for example"]).chain(names.iter().map(String::as_str));
    let mut table = Table::new(columns);
    for of in replayed.differences() {
        let count = grouped(of.count as f64);
        let cells = [&[count, of.command.clone()][..], &of.kinds, &of.example].concat();
        table.row(cells);
    }
    blocks.extend((!table.rows.is_empty()).then_some(Block::Table(table)));
    Some(Section::new("Answers and head room", blocks))
}

/// Lines of text about it.
pub(super) fn text(comparison: &Comparison) -> Vec<Block> {
    let (Some(replayed), names) = (&comparison.replayed, comparison.names()) else {
        return Vec::new();
    };
    let differences = replayed.differences().iter().map(
        |Difference { command, kinds: [a, b], count, example: [asked, of_a, of_b] }| {
            format!(
                "  {command}, {}: {a} from {}, {b} from {}; {asked} is answered {of_a} and {of_b}",
                counted(*count, "time"),
                names[0],
                names[1]
            )
        },
    );
    replayed.notes(&names).into_iter().chain(differences).map(Block::Text).collect()
}
