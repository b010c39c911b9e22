//! Parts of response times, as a table.

use super::words::words;
use crate::{SpanParts, Summary, grouped};

use crate::page::{Block, Table, Tone, Unit};

/// A row for the mean and some percentiles, or a note without stamps; `None` if stamps were not requested.
pub(super) fn block(summary: &Summary<'_>) -> Option<Block> {
    let spans = summary.spans.as_ref()?;
    if spans.missing.is_some() {
        return Some(Block::Note(Tone::Plain, crate::page::sentence(&spans.sentence())));
    }
    let whole = format!("of the {}", words(summary.run).response);
    let many = if spans.of_messages { "deliveries" } else { "responses" };
    let mut table = Table::new([
        &*whole,
        "whole",
        "due to sent",
        spans.until_in_kernel(),
        "until keystorm read it",
    ]);
    table.caption = format!(
        "Where the time went, by stamps of this kernel on {} {}. The parts of a percentile are those of {many} \
         that took about as long.",
        grouped(spans.stamped as f64),
        spans.stamped_noun()
    );
    for SpanParts { of, response_ns, due_to_sent_ns, until_in_kernel_ns, until_read_ns } in
        &spans.parts
    {
        let times = [response_ns, due_to_sent_ns, until_in_kernel_ns, until_read_ns];
        let times = times.map(|ns| Unit::Nanoseconds.show(*ns));
        table.row(std::iter::once((*of).to_owned()).chain(times).collect::<Vec<_>>());
    }
    Some(Block::Table(table))
}
