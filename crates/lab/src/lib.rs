//! Experiments: the choice of runs, one after another, and their joint results.
//!
//! [`search`] decides which rate is tried next, [`survey`] says what is measured on a machine, [`terms`] what is
//! compared on equal terms, [`footprint`] what a key costs in memory, [`suite`] what specs of
//! redis-benchmarks-specification ask for, [`impact`] what operations
//! cost those who wait, [`answers`] whether two servers answer alike, [`bisect`] which commit changed a figure,
//! [`profile`] what work a server does for each request. What was measured becomes documents ([`Sweep`],
//! [`RateSearch`], [`Survey`], [`Footprint`], [`Impact`], [`Bisect`]) and, with `page`, tables, charts and pages.
//! No run is carried out here and no terminal touched; only [`history`] reads files.

pub mod answers;
pub mod bisect;
mod conclusion;
mod csv;
pub mod document;
pub mod durability;
pub mod figures;
pub mod footprint;
pub mod head_room;
pub mod history;
pub mod impact;
pub mod origin;
pub mod profile;
pub mod rate_search;
mod runs;
pub mod search;
pub mod suite;
pub mod survey;
pub mod sweep;
pub mod terms;
mod view;

pub use answers::AnswerTotals;
pub use bisect::Bisect;
pub use document::{Document, Findings};
pub use durability::Durability;
pub use figures::Figures;
pub use footprint::Footprint;
pub use impact::Impact;
pub use profile::Profile;
pub use rate_search::{Conclusion, Phase, RateSearch, SearchOutcome};
pub use search::{RateOutcome, Search};
pub use suite::Suite;
pub use survey::Survey;
pub use sweep::{Axis, Sweep};
