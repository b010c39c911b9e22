//! What the commands on saved runs are to do: `keystorm show`, `merge` and `report`.

use std::path::PathBuf;

use crate::{PageOptions, Spread};

/// What `keystorm show` is to do.
#[derive(Debug)]
pub struct ShowJob {
    /// A file written by --json or `keystorm merge`; `-` for standard input
    pub file: PathBuf,
    /// Output format: text, quiet, csv, redis (as redis-benchmark), classic, json, timeline or samples
    pub format: &'static str,
    /// Latency distribution: `short`, or `full` for every step [default: short]
    pub distribution: Spread,
    /// Its page and charts.
    pub pages: PageOptions,
}

/// What `keystorm merge` is to do.
#[derive(Debug)]
pub struct MergeJob {
    /// Files written by --json
    pub files: Vec<PathBuf>,
    /// Numbers of lost shares, such as 2 or 2,5; the result is then of the others, and is marked
    /// incomplete
    pub missing: Vec<u32>,
    /// Save the merged run to this file; nothing is printed then unless --format is given
    pub output: Option<PathBuf>,
    /// Output format: text, quiet, csv, redis, classic, json, timeline or samples [default: text]
    pub format: Option<&'static str>,
    /// A page and charts of the merged run.
    pub pages: PageOptions,
}

/// What `keystorm report` is to do.
#[derive(Debug)]
pub struct ReportJob {
    /// Files written by --json or `keystorm merge`; `-` for standard input
    pub files: Vec<PathBuf>,
    /// The page and its charts. A page named `-` is for standard output.
    pub pages: PageOptions,
}
