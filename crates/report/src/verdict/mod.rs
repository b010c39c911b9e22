//! The limit of a run and what spoiled it, as data.
//!
//! Owns the words for it. The evidence is gathered by `host` and `measure`; which figures count is
//! in [`evidence`] and [`threads`], how they are weighed in [`rules`], how it reads in [`wording`]. What
//! spoils a measurement is in [`warnings`], and whether a run says anything of the server at all in
//! [`disturbance`], what noise can have done to it in [`noise`]; whether it is of one state in [`drift`]. What no
//! two lines of a report may say at once is in [`contradictions`].

mod advice;
mod causes;
mod contradictions;
mod disturbance;
mod drift;
mod evidence;
mod held;
mod judged;
mod likely;
mod memcache;
mod misses;
mod new_connections;
mod no_receiver;
mod noise;
mod noise_sources;
mod not_reopened;
mod responses;
mod rules;
mod stalls;
mod threads;
mod wait_causes;
mod warnings;
mod wording;

pub(crate) use causes::{by_command, pauses};
pub(crate) use noise::Noise;
pub(crate) use responses::{SpanResponses, response_spans};
pub(crate) use stalls::{Stall, places, stalls};
pub(crate) use warnings::HOUSEKEEPING;

use serde::{Deserialize, Serialize};

use crate::escape;

pub use contradictions::contradictions;
pub use disturbance::{Cause, Disturbance};
pub use held::{Held, noise_deviation};
pub use memcache::gets_warning;
pub use misses::unfound;
pub use rules::{Finding, LimitedBy};
pub use wait_causes::{CauseShare, Causes, SlowCommands, WaitCause};
pub use warnings::{option_sent, warnings};

/// Figure that a verdict is based on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceFigure {
    /// Name, such as `server_main_thread_busy`; stable, for programs.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Unit: `share` (0 to 1), `per_second`, `seconds`, `bytes_per_second`, `count`.
    pub unit: String,
}

/// Limit of a run, with the reason and advice. Code decides by `limited_by` and `finding`; the words are for
/// people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The limit.
    pub limited_by: LimitedBy,
    /// The reason; `None` for clients with different limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// Line for a person: the limit, its evidence, and one sentence of advice.
    pub text: String,
    /// The evidence in words, without the limit before it and the advice after it.
    pub statement: String,
    /// Advice; empty if there is nothing to do.
    pub advice: String,
    /// The figures behind it.
    pub evidence: Vec<EvidenceFigure>,
    /// Causes that made requests wait, if any did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<Causes>,
}

impl Verdict {
    /// The verdict on a run about which nothing is known.
    pub fn unknown(why: &str) -> Self {
        Self::new(LimitedBy::Unknown, None, why.to_owned(), String::new(), vec![])
    }

    /// Returns the limit in a word or two, for tables: a server that kept up with its schedule was no limit.
    pub fn class(&self) -> &'static str {
        class(self.limited_by, self.finding)
    }

    /// The line of a report.
    pub fn line(&self) -> String {
        match self.finding {
            Some(Finding::ScheduleKept) => self.text.clone(),
            _ => format!("limited by: {}", self.text),
        }
    }

    /// The evidence and the advice, without the limit.
    pub fn reason(&self) -> String {
        match self.advice.as_str() {
            "" => self.statement.clone(),
            advice => format!("{}; {advice}", self.statement),
        }
    }

    /// Creates a verdict with a line composed of its parts.
    pub(crate) fn new(
        limited_by: LimitedBy,
        finding: Option<Finding>,
        statement: String,
        advice: String,
        evidence: Vec<EvidenceFigure>,
    ) -> Self {
        let (text, causes) = (String::new(), None);
        let mut verdict = Self { limited_by, finding, text, statement, advice, evidence, causes };
        verdict.text = format!("{}: {}", verdict.class(), verdict.reason());
        verdict
    }
}

/// Returns the word for tables for a limit with this reason.
pub fn class(limited_by: LimitedBy, finding: Option<Finding>) -> &'static str {
    match finding {
        Some(Finding::ScheduleKept) => "not saturated",
        _ => limited_by.name(),
    }
}

/// Topic of a warning: warnings on one topic differ only in their figures.
pub type WarningTopic = (WarningKind, String);

/// A kind of thing that spoils a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The server saved its data set.
    Saved,
    /// The server rewrote its append-only file.
    Rewrote,
    /// A client got a copy of every command.
    Monitored,
    /// Other clients used the server.
    OtherClients,
    /// The server removed keys to stay below its memory limit.
    Evicted,
    /// Memory of the server was swapped out.
    Swapped,
    /// The server turned clients away.
    Rejected,
    /// A setting of the server was changed.
    SettingChanged,
    /// The hypervisor gave CPU time of this machine to others.
    Stolen,
    /// Most replies of a command were empty.
    Misses,
    /// Returned values have another size than the plan's.
    ValueSize,
    /// An option follows the command, and the server refused it.
    OptionSent,
    /// Some channels have no subscriber.
    NoReceiver,
    /// Keys of the run could not be removed from the server.
    KeysKept,
    /// The server handles fewer requests of a connection at a time than a pipeline has.
    PipelineCut,
    /// The server writes each reply of a pipeline separately.
    RepliesApart,
    /// Lost connections to a server could not be opened again.
    NotReopened,
    /// New connections found the server's queue full.
    Backlog,
    /// Many local ports are still waiting after their connections were closed.
    LocalPorts,
    /// Client and server must share a CPU.
    SharedCpu,
    /// The two halves of the run differ.
    Drift,
    /// The hit ratio of reads was still changing at the end.
    HitRatio,
    /// A check of `keystorm doctor`, named by `about`, found this machine badly suited for generating load.
    Machine,
    /// The probe beside the load failed.
    ProbeFailed,
    /// The server's clock could not be used.
    ServerClock,
    /// A client has less of its machine than others, or shares it.
    ClientHampered,
    /// A client was silent for a while.
    ClientSilent,
    /// A client began later than the first.
    ClientLate,
    /// Fewer clients than planned generated the load, from the start or after a loss.
    ClientsFewer,
}

/// Warning about something that spoiled a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Kind, for programs.
    pub kind: WarningKind,
    /// Subject, if a run may have several warnings of this kind: a command, a setting, a check, a client.
    /// Warnings with equal kind and subject differ in their figures only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Line for a person, safe for a terminal.
    pub text: String,
}

impl Warning {
    /// Creates a warning of which a run has at most one; the text is escaped here.
    pub fn new(kind: WarningKind, text: impl AsRef<[u8]>) -> Self {
        Self::about(kind, "", text)
    }

    /// Creates a warning about one of several subjects; the text is escaped here.
    pub fn about(kind: WarningKind, about: impl Into<String>, text: impl AsRef<[u8]>) -> Self {
        Self { kind, about: about.into(), text: escape(text) }
    }

    /// Returns the topic of the warning.
    pub fn topic(&self) -> WarningTopic {
        (self.kind, self.about.clone())
    }

    /// Returns the warning with the name of the client that saw it.
    pub fn of_client(self, called: &str) -> Self {
        let Self { kind, about, text } = self;
        let about = [called, &about].join(" ").trim_end().to_owned();
        Self { kind, about, text: escape(format!("{called}: {text}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_back() {
        let (statement, advice) = ("busy".to_owned(), "wait".to_owned());
        let finding = Some(Finding::Server);
        let verdict = Verdict::new(LimitedBy::Server, finding, statement, advice, vec![]);
        assert_eq!(verdict.text, "server: busy; wait");
        let text = serde_json::to_string(&verdict).unwrap();
        assert!(text.contains(r#""finding":"server""#), "{text}");
        assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    }
}
