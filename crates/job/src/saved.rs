//! Jobs of the commands on saved runs: `keystorm show` and `merge`.

use std::path::PathBuf;

use crate::{PageOptions, Spread};

/// Job of `keystorm show`.
#[derive(Debug)]
pub struct ShowJob {
    /// Files written by --json or `keystorm merge`; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// The name of the layout, such as `text` or `csv`; `None` prints nothing.
    pub format: Option<&'static str>,
    /// Number of steps of the latency distribution in the text.
    pub distribution: Spread,
    /// The page and its charts. A page named `-` goes to standard output.
    pub pages: PageOptions,
}

/// Job of `keystorm merge`.
#[derive(Debug)]
pub struct MergeJob {
    /// Files written by --json.
    pub files: Vec<PathBuf>,
    /// Numbers of lost shares, from 1. The result is that of the others, and is marked as incomplete.
    pub missing: Vec<u32>,
    /// File in which the merged run is saved.
    pub output: Option<PathBuf>,
    /// The name of the layout in which it is printed; `None` prints nothing.
    pub format: Option<&'static str>,
    /// A page and charts of the merged run.
    pub pages: PageOptions,
}
