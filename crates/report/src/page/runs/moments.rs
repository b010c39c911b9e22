//! The worst moments of a test as a table.

use crate::{Moment, Summary, WorstMoments, msec_at_most};

use crate::page::{Block, Column, Table, Tone};

/// The table, and the unavailable sources, if there are any. `of` is the server, if the page is about
/// several.
pub(crate) fn blocks(summary: &Summary<'_>, of: Option<&str>) -> Vec<Block> {
    let Some(found) = WorstMoments::from_run(summary.run) else { return Vec::new() };
    let WorstMoments { interval_s, usual_p99_ms, moments, totals, besides, unseen } = found;
    let of = of.map_or(String::new(), |name| format!(" of {name}"));
    let ms = |ms: f64| msec_at_most((ms * 1e6).round() as u64);
    let columns: [Column<'_, Moment>; 5] = [
        ("from (UTC)", &|moment| moment.at.clone()),
        ("what went on", &|moment| moment.causes.join("; ")),
        ("to", &|moment| moment.until.clone()),
        ("p99 (ms)", &|moment| ms(moment.p99_ms)),
        ("max (ms)", &|moment| ms(moment.max_ms)),
    ];
    let caption = format!(
        "Worst moments{of}: intervals of {interval_s} s whose p99 was far above the usual {} ms",
        ms(usual_p99_ms)
    );
    let table = Table { caption, ..Table::of(&columns, moments) };
    let mut blocks: Vec<Block> = table.filled().map(Block::Table).into_iter().collect();
    for (what, of_it) in [("In all", totals), ("Besides", besides), ("Not looked at", unseen)] {
        if !of_it.is_empty() {
            let text = format!("{what}{of}: {}.", of_it.join("; "));
            blocks.push(Block::Note(Tone::Plain, text));
        }
    }
    blocks
}
