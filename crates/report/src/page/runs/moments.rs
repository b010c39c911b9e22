//! The worst moments of a test as a table.

use crate::{Summary, WorstMoments, msec_at_most};

use crate::page::{Block, Table, Tone};

/// The table, and the unavailable sources, if there are any. `of` is the server, if the page is about
/// several.
pub(crate) fn blocks(summary: &Summary<'_>, of: Option<&str>) -> Vec<Block> {
    let Some(found) = WorstMoments::from_run(summary.run) else { return Vec::new() };
    let WorstMoments { interval_s, usual_p99_ms, moments, totals, besides, unseen } = found;
    let mut blocks = Vec::new();
    let of = of.map_or(String::new(), |name| format!(" of {name}"));
    let ms = |ms: f64| msec_at_most((ms * 1e6).round() as u64);
    let mut table = Table::new(["from (UTC)", "what went on", "to", "p99 (ms)", "max (ms)"]);
    table.caption = format!(
        "Worst moments{of}: intervals of {interval_s} s whose p99 was far above the usual {} ms",
        ms(usual_p99_ms)
    );
    for moment in moments {
        let causes = moment.causes.join("; ");
        table.row([moment.at, causes, moment.until, ms(moment.p99_ms), ms(moment.max_ms)]);
    }
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    for (what, of_it) in [("In all", totals), ("Besides", besides), ("Not looked at", unseen)] {
        if !of_it.is_empty() {
            let text = format!("{what}{of}: {}.", of_it.join("; "));
            blocks.push(Block::Note(Tone::Plain, text));
        }
    }
    blocks
}
