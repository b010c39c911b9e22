//! A folder of saved runs as a history: a series for each test over time, its steps, and a judgement of the
//! newest runs.
//!
//! The only files are those that `--json` and `--keep` write. The [index](mod@folder) beside them saves
//! parsing and may be deleted. An [`Entry`] is one test of one file; a [`Series`] holds the entries of one
//! load on one server from one machine; a [`Judgement`] describes the newest of them. Arithmetic is in
//! [`measure::statistics`], pictures are in `report::page`, and figures of a run are in `report`.

mod canary;
mod document;
mod documents;
mod entry;
pub mod folder;
mod judgement;
mod runs;
mod series;
mod view;

pub use canary::beside_canary;
pub use document::{SCHEMA, document, judged};
pub use entry::{Entry, Figure, entries, uncounted};
pub use folder::{Fault, Folder, sort_by_time};
pub use judgement::{FigureJudgement, Judgement, gate, judge};
pub use runs::{Extent, Finding, Terms};
pub use series::{Grouping, Series, series};
pub use view::{judgement_page, judgement_table, page, sentences, table};
