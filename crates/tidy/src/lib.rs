//! Rules of the source tree, each a function from text to the lines that break it.
//!
//! Owns what is checked; `tests/tree/main.rs` reads the repository, has it checked, and lists the exceptions. What
//! rustfmt and Clippy check is left to them.

mod budget;
mod comments;
mod graph;
mod idiom;
mod lengths;
mod sleeps;
mod source;

pub use budget::{Area, AreaCount, code_lines, count, table, test_modules};
pub use comments::{DIALECT, EMPTY_REFERENCES, long_lines, phrases};
pub use graph::{Manifest, undocumented, upward};
pub use idiom::Idiom;
pub use lengths::functions;
pub use sleeps::fixed_sleeps;
pub use source::{is_test, without_tests};

/// Line that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// From 1.
    pub line: usize,
    /// Fault of the line, in a few words.
    pub what: String,
}
