//! Parts of response times, as a table.

use super::words::words;
use crate::{SpanParts, Summary, grouped};

use crate::page::{Block, Column, Table, Tone, Unit};

/// A row for the mean and some percentiles, or a note without stamps; `None` if stamps were not requested.
pub(super) fn block(summary: &Summary<'_>) -> Option<Block> {
    let spans = summary.spans.as_ref()?;
    if spans.missing.is_some() {
        return Some(Block::Note(Tone::Plain, crate::page::sentence(&spans.sentence())));
    }
    let whole = format!("of the {}", words(summary.run).response);
    let many = if spans.of_messages { "deliveries" } else { "responses" };
    let time = |ns: f64| Unit::Nanoseconds.show(ns);
    let columns: [Column<'_, &SpanParts>; 5] = [
        (&whole, &|parts| parts.of.to_owned()),
        ("whole", &|parts| time(parts.response_ns)),
        ("due to sent", &|parts| time(parts.due_to_sent_ns)),
        (spans.until_in_kernel(), &|parts| time(parts.until_in_kernel_ns)),
        ("until keystorm read it", &|parts| time(parts.until_read_ns)),
    ];
    let caption = format!(
        "Where the time went, by stamps of this kernel on {} {}. The parts of a percentile are those of {many} \
         that took about as long.",
        grouped(spans.stamped as f64),
        spans.stamped_noun()
    );
    Some(Block::Table(Table { caption, ..Table::of(&columns, &spans.parts) }))
}
