//! Turns [documents](crate::document) into one HTML page, and their charts into SVG.
//!
//! How a document looks on a screen, on paper or in the dark is decided here and nowhere else. Files and
//! clocks are the caller's.
//!
//! ```
//! use report::page::{Axis, Block, Chart, Page, Section, Series, Table, Unit, Verdict};
//!
//! let mut sweep = Chart::lines(
//!     "Requests per second by connections",
//!     Axis::log("connections", Unit::Count),
//!     Axis::linear("requests per second", Unit::PerSecond),
//! );
//! sweep.series.push(Series::new("pipeline 1", [(1.0, 21_000.0), (10.0, 98_000.0)]));
//! let mut table = Table::new(["connections", "requests/s"]);
//! table.row(["1", "21,000"]);
//! let page = Page {
//!     title: "A sweep".into(),
//!     lede: vec![Verdict::new("Limited by the server", "Its main thread was busy 99 % of the time.")],
//!     sections: vec![Section::new("Throughput", [Block::Chart(sweep), Block::Table(table)])],
//!     ..Page::default()
//! };
//! assert!(report::page::html(&page).starts_with("<!DOCTYPE html>"));
//! ```
//!
//! Text may be anybody's: it is escaped here, for HTML and SVG alike.

mod chart;
pub mod comparison;
mod definitions;
mod html;
pub mod live;
pub mod runs;

pub use crate::document::{
    Axis, Band, Block, Chart, ChartKind, Column, DataPoint, Guide, Page, Scale, Section, Series,
    Table, Tone, Unit, Verdict, sentence, term,
};
pub use chart::svg;
pub use html::{html, pictures};
