//! A job: the plans to run, their repeats and clients, and ways to end.

use std::time::SystemTime;

use fleet::{On, OnLoss};
use host::Questions;
use report::slo::Slo;
use workload::Plan;

use crate::job::Output;

/// Work of a command that puts load on a server.
pub struct Job {
    /// The tests, in order. They share one target.
    pub plans: Vec<Plan>,
    /// Objective that response times of each plan are checked against, if any.
    pub slo: Option<Slo>,
    /// Plan that runs once, after all others.
    pub last: Option<Plan>,
    /// Action on the plans.
    pub action: Action,
    /// Number of runs of each plan, from 1.
    pub repeats: u32,
    /// Layout and destinations of results.
    pub output: Output,
    /// Warnings about the command line, for standard error.
    pub notes: Vec<String>,
    /// Remarks about the job, printed with other remarks.
    pub remarks: Vec<String>,
    /// Text that is printed on standard output before anything is done.
    pub greeting: String,
    /// Start time of the only test, if one was agreed on.
    pub start_at: Option<SystemTime>,
    /// The clients that run it, if there are several.
    pub several: Option<ClientFleet>,
    /// Set if times are read from the server's clock.
    pub server_clock: bool,
    /// The rate of a probe beside the load, if any.
    pub probe: Option<f64>,
}

impl Job {
    /// Returns the questions that the server is asked about itself. For a peer these are the peer's, unless
    /// more is wanted than the peer reports.
    pub fn questions(&self) -> Questions {
        match self.output.options.persona {
            _ if self.server_clock || self.probe.is_some() => Questions::All,
            _ if self.output.needs_server_facts() => Questions::All,
            persona => persona.questions,
        }
    }
}

/// Several clients that share one load.
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
    /// Runs the tests, once or forever.
    Run {
        /// Set if all plans start again at the end, until Ctrl-C.
        repeat: bool,
    },
    /// Only hold the connections of the first plan.
    Idle,
}
