//! What `keystorm bisect` is to do.

use std::path::PathBuf;

use report::Metric;

use crate::Job;

/// Job of `keystorm bisect`.
pub struct BisectJob {
    /// A commit before the change, as git reads it.
    pub good: String,
    /// A commit after the change.
    pub bad: String,
    /// The repository.
    pub repository: PathBuf,
    /// The server within a built tree; `None` for the first of those that Redis and Valkey build.
    pub server: Option<PathBuf>,
    /// The folder of builds and results, by which a search resumes.
    pub state: PathBuf,
    /// The program that builds a tree, and its arguments, in the top folder of the tree.
    pub build: Vec<String>,
    /// The figure that changed.
    pub metric: Metric,
    /// Probability that the answer is to have.
    pub sure: f64,
    /// The load: one test, on a server that is started.
    pub load: Job,
    /// The command line, without secrets.
    pub command_line: String,
}
