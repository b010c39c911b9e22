//! A job: the plans to carry out, how often, by how many clients, and how that ends.

use std::time::SystemTime;

use fleet::{On, OnLoss};
use host::Questions;
use report::slo::Slo;
use workload::Plan;

use crate::Output;

/// Work of a command that puts load on a server.
pub struct Job {
    /// The tests, in order. They share one target.
    pub plans: Vec<Plan>,
    /// Objective that response times of each are held against, if any.
    pub slo: Option<Slo>,
    /// Plan that is carried out once, after all of them.
    pub last: Option<Plan>,
    /// Action on the plans.
    pub action: Action,
    /// Number of times that each is carried out, from 1.
    pub repeats: u32,
    /// Layout and destinations of results.
    pub output: Output,
    /// Warnings about the command line, for standard error.
    pub notes: Vec<String>,
    /// Remarks about it, for where remarks go.
    pub remarks: Vec<String>,
    /// Text that stands on standard output before anything is done.
    pub greeting: String,
    /// Time at which the one test begins, if that was agreed on.
    pub start_at: Option<SystemTime>,
    /// The clients that carry it out, if they are several.
    pub several: Option<ClientFleet>,
    /// Set if times are those of the server's clock.
    pub server_clock: bool,
    /// The rate of a probe beside the load, if one is wanted.
    pub probe: Option<f64>,
}

impl Job {
    /// Every plan of it, once.
    pub fn every_plan(&self) -> impl Iterator<Item = &Plan> {
        self.plans.iter().chain(&self.last)
    }

    /// Returns what the server is asked of itself: by a peer's name what that tool asks, unless something is wanted
    /// that the tool does not tell.
    pub fn questions(&self) -> Questions {
        match self.output.options.persona {
            _ if self.server_clock || self.probe.is_some() => Questions::All,
            _ if self.output.tells_of_servers() => Questions::All,
            persona => persona.questions,
        }
    }
}

/// Several clients that put on one load.
#[derive(Debug, Clone)]
pub struct ClientFleet {
    /// Place of the clients.
    pub on: On,
    /// Policy for the others when one is lost.
    pub on_loss: OnLoss,
}

/// Action on plans.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    /// Carry them out, once or for ever.
    Run {
        /// Set if all plans begin anew at the end, until Ctrl-C.
        repeat: bool,
    },
    /// Only hold the connections of the first plan.
    Idle,
}

/// End of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As planned.
    Complete,
    /// By Ctrl-C or the like; results are printed.
    Interrupted,
    /// The server, or what was to be verified, failed.
    Failed,
    /// Complete, with a gate that failed: a target that was missed, or a server that is worse than
    /// allowed.
    Regressed,
    /// Without a first reply. memtier_benchmark exits with 2 then, as for a wrong command line.
    Unanswered,
    /// Complete, and nothing can be concluded from it.
    Inconclusive,
}

/// The plans of a job as JSON.
///
/// # Errors
/// A plan holds what JSON cannot.
pub fn printed_plans<'p>(plans: impl IntoIterator<Item = &'p Plan>) -> serde_json::Result<String> {
    Ok(report::json::pretty(&plans.into_iter().collect::<Vec<_>>())? + "\n")
}
