//! Turns documents into one HTML page, charts into SVG, and tables into text for a terminal.
//!
//! Whoever has results to show says *what* is to be seen, as plain data: a [`Page`] of
//! [`Section`]s of [`Block`]s, a [`Chart`] of [`Series`]. How it looks, on a screen, on paper or
//! in the dark, is decided here and nowhere else. Files, terminals and clocks are the caller's.
//!
//! ```
//! use page::{Axis, Block, Chart, Page, Section, Series, Table, Unit, Verdict};
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
//! assert!(page::html(&page).starts_with("<!DOCTYPE html>"));
//! ```
//!
//! [`Chart`] has examples of a sweep and of a comparison; [`term`] has the same tables and charts for a
//! terminal, in a few lines.
//!
//! Text may be anybody's: it is escaped here, for HTML, SVG and terminals alike.

pub mod chart;
pub mod comparison;
mod definitions;
mod document;
mod html;
pub mod live;
pub mod runs;
pub mod term;

pub use chart::{Axis, Band, Chart, DataPoint, Guide, Kind, Scale, Series, Unit, svg};
pub use document::{Block, Page, Section, Table, Tone, Verdict, sentence};
pub use html::{html, pictures};
