//! A job: the plans to carry out, how often, by how many clients, and how that ends.

use std::time::SystemTime;

use fleet::{On, OnLoss};
use host::Questions;
use report::slo::Slo;
use workload::Plan;

use crate::Output;

/// What is to be done.
pub struct Job {
    /// The tests, in order. They share one target.
    pub plans: Vec<Plan>,
    /// What response times of each are held against, if anything.
    pub slo: Option<Slo>,
    /// One that is carried out once, after all of them.
    pub last: Option<Plan>,
    /// What to do with them.
    pub action: Action,
    /// How often each is carried out, from 1.
    pub repeats: u32,
    /// How results are laid out.
    pub output: Output,
    /// Warnings about the command line, for standard error.
    pub notes: Vec<String>,
    /// Remarks about it, for where remarks go.
    pub remarks: Vec<String>,
    /// What stands on standard output before anything is done.
    pub greeting: String,
    /// When the one test begins, if that was agreed on.
    pub start_at: Option<SystemTime>,
    /// The clients that carry it out, if they are several.
    pub several: Option<ClientFleet>,
    /// Whether times are those of the server's clock.
    pub server_clock: bool,
    /// The rate of a probe beside the load, if one is wanted.
    pub probe: Option<f64>,
}

impl Job {
    /// Every plan of it, once.
    pub fn every_plan(&self) -> impl Iterator<Item = &Plan> {
        self.plans.iter().chain(&self.last)
    }

    /// What the server is asked of itself: by a peer's name what that tool asks, unless something is
    /// wanted that the tool does not tell.
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
    /// Where they are.
    pub on: On,
    /// What becomes of the others when one is lost.
    pub on_loss: OnLoss,
}

/// What to do with plans.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    /// Carry them out, once or for ever.
    Run {
        /// Whether all of them begin anew at the end, until Ctrl-C.
        repeat: bool,
    },
    /// Only hold the connections of the first.
    Idle,
}

/// How a job ended.
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
    /// It never came to a first reply. memtier_benchmark exits with 2 then, as for a wrong command line.
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
