//! What the commands on saved runs are to do: `keystorm show` and `merge`.

use std::path::PathBuf;

use crate::{PageOptions, Spread};

/// Job of `keystorm show`.
#[derive(Debug)]
pub struct ShowJob {
    /// Files written by --json or `keystorm merge`; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// The layout by its name, such as `text` or `csv`; `None` prints nothing.
    pub format: Option<&'static str>,
    /// Number of steps of the latency distribution that the text has.
    pub distribution: Spread,
    /// The page and its charts. A page named `-` goes to standard output.
    pub pages: PageOptions,
}

/// Job of `keystorm merge`.
#[derive(Debug)]
pub struct MergeJob {
    /// Files written by --json.
    pub files: Vec<PathBuf>,
    /// Numbers of shares that are lost, from 1. The result is that of the others, and is marked as incomplete.
    pub missing: Vec<u32>,
    /// File in which the merged run is saved.
    pub output: Option<PathBuf>,
    /// The layout in which it is printed, by its name; `None` prints nothing.
    pub format: Option<&'static str>,
    /// A page and charts of the merged run.
    pub pages: PageOptions,
}
