//! A folder of saved runs as a history: a series for each test over time, the steps in it, and whether the newest
//! runs are like those before.
//!
//! The files are those that `--json` and `--keep` write, and nothing else: the [index](mod@folder) beside them saves
//! the time to parse them and may be thrown away. An [`Entry`] is one test of one file, a [`Series`] the entries of
//! one load on one server from one machine, a [`Judgement`] what the last of them show. The arithmetic is
//! `statistics`'s, the pictures are `page`'s, what a run's figures are is `report`'s.

mod canary;
mod document;
mod entry;
pub mod folder;
mod judgement;
mod runs;
mod series;
mod sure;
mod view;

pub use canary::beside_canary;
pub use document::{SCHEMA, document, judged};
pub use entry::{Entry, Figure, entries, uncounted};
pub use folder::{Fault, Folder, sort_by_time};
pub use judgement::{Extent, FigureJudgement, Finding, Judgement, Terms, gate, judge};
pub use series::{Grouping, Series, series};
pub use sure::{Change, RunShortage, changes};
pub use view::{judgement_page, judgement_table, page, sentences, table};
