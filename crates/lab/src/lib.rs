//! Experiments: the choice of runs, one after another, and their joint results.
//!
//! [`grid`] turns a command line with lists into ordinary ones, [`search`] chooses the next rate, [`survey`]
//! plans measurements of a machine, [`terms`] compares on equal terms, [`footprint`] measures the memory of a
//! key, [`suite`] runs specs of redis-benchmarks-specification, [`impact`] prices operations for other users,
//! and [`answers`] compares two servers' answers. Results become documents ([`Sweep`], [`RateSearch`],
//! [`Survey`], [`Footprint`], [`Impact`]) and, with `page`, tables, charts and pages. Everything here is
//! pure: the binary carries out runs and touches files and terminals.

pub mod answers;
pub mod conclusion;
mod csv;
pub mod document;
pub mod figures;
pub mod footprint;
pub mod grid;
pub mod head_room;
pub mod impact;
pub mod rate_search;
mod runs;
pub mod search;
pub mod suite;
pub mod survey;
pub mod sweep;
pub mod terms;
pub mod values;
mod view;
pub mod words;

pub use answers::Answers;
pub use conclusion::{Conclusion, SearchOutcome};
pub use document::{Document, Findings};
pub use figures::Figures;
pub use footprint::Footprint;
pub use grid::{Axis, Grid, Point};
pub use impact::Impact;
pub use rate_search::{Phase, RateSearch};
pub use search::{Answer, Search};
pub use suite::Suite;
pub use survey::Survey;
pub use sweep::Sweep;
pub use words::{Arity, Line};
