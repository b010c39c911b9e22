//! End of a job, from which the exit code follows.

/// End of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Ended as planned.
    Complete,
    /// Ended by Ctrl-C or the like; results are printed.
    Interrupted,
    /// Failed: an error of the server, or of a verification.
    Failed,
    /// Complete, but a gate failed: a target was missed, or a server is worse than allowed.
    Regressed,
    /// Ended without a first reply. memtier_benchmark then exits with 2, as for a wrong command line.
    Unanswered,
    /// Complete, but inconclusive.
    Inconclusive,
}
