//! Two servers under recorded traffic, beside its figures: agreement of their answers, and the multiple of
//! the traffic that each can take.

use serde::Serialize;
use workload::RecordedTraffic;
use workload::quantity::counted;

use crate::grouped;

/// Largest factor between kept and missed speeds at the end of a complete search.
const WIDE: f64 = 1.1;

/// Recorded traffic that was sent to two servers.
#[derive(Debug, Clone, Serialize)]
pub struct ReplayedTraffic {
    /// The record.
    #[serde(flatten)]
    pub record: RecordedTraffic,
    /// Comparison of the answers, if there was one.
    pub answers: Option<AnswerComparison>,
    /// Speeds at which each server keeps a target, if that was requested.
    pub head_room: Option<HeadRoom>,
}

/// Answers of both servers to the same commands, in the same order.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AnswerComparison {
    /// Commands sent to both.
    pub asked: u64,
    /// Commands whose equal answers can be recognised.
    pub compared: u64,
    /// Commands whose answers differ.
    pub different: u64,
    /// Differences by kind, the most frequent first.
    pub differences: Vec<Difference>,
}

/// A kind of answer that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The command.
    pub command: String,
    /// The kinds of both answers: `a number`, `an error WRONGTYPE`.
    pub kinds: [String; 2],
    /// Number of commands that show it.
    pub count: u64,
    /// The shortest command that shows it, and both answers.
    pub example: [String; 3],
}

/// The highest tolerable speeds of both servers.
#[derive(Debug, Clone, Serialize)]
pub struct HeadRoom {
    /// The target in the user's text.
    pub target: String,
    /// The speeds of A and B.
    pub sides: [SpeedRange; 2],
}

/// Range of speeds in which a server begins to miss a target, as multiples of the recorded traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SpeedRange {
    /// The highest kept speed.
    pub kept: Option<f64>,
    /// The lowest missed speed above it.
    pub missed: Option<f64>,
    /// Set if the machine or the client was the limit, or time ran out, before a miss.
    pub is_open: bool,
    /// A higher speed that could not be judged, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<Unjudged>,
}

/// A speed that could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Unjudged {
    /// A multiple of the recorded traffic.
    pub speed: f64,
    /// The reason.
    pub reason: UnjudgedReason,
}

/// A reason why a speed cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnjudgedReason {
    /// The client could send no more.
    Client,
    /// Other programs or the hypervisor may have caused every miss.
    Machine,
    /// Trials disagree, or have too few requests.
    Trials,
    /// The time for the search was over.
    Budget,
}

impl Unjudged {
    /// Reason in words, for a parenthesis.
    fn describe(self) -> String {
        let speed = times(self.speed);
        match self.reason {
            UnjudgedReason::Client => format!("the client is the limit at {speed}"),
            UnjudgedReason::Machine => format!("this machine's own delays decide at {speed}"),
            UnjudgedReason::Trials => format!("the trials are inconclusive at {speed}"),
            UnjudgedReason::Budget => format!("--budget ended before {speed} was tried"),
        }
    }
}

impl SpeedRange {
    /// Describes it: `up to 2.3 times this traffic`.
    pub fn describe(&self) -> String {
        match (self.kept, self.missed) {
            (Some(kept), Some(missed)) if missed <= kept * WIDE => {
                format!("up to {} this traffic", times(kept))
            }
            (Some(kept), Some(missed)) => {
                let why =
                    self.unjudged.map_or_else(String::new, |of| format!(" ({})", of.describe()));
                let (kept, missed) = (times(kept), times(missed));
                format!("at least up to {kept} this traffic, but not at {missed}{why}")
            }
            (Some(kept), None) => {
                let why =
                    self.unjudged.map_or_else(String::new, |of| format!(" ({})", of.describe()));
                format!("at least up to {} this traffic{why}", times(kept))
            }
            (None, Some(missed)) => {
                format!("at none of the speeds tried, down to {}", times(missed))
            }
            (None, None) => "at a speed that could not be found on this machine".to_owned(),
        }
    }
}

impl HeadRoom {
    /// Returns whether B surely keeps the target only with less traffic, by more than allowed.
    pub fn is_less_on_b(&self, allowed: f64) -> bool {
        let [a, b] = &self.sides;
        a.kept.zip(b.missed).is_some_and(|(a, b)| b * (1.0 + allowed) < a)
    }
}

/// A factor in words.
fn times(factor: f64) -> String {
    match factor {
        factor if factor < 10.0 => format!("{factor:.2} times"),
        factor => format!("{factor:.0} times"),
    }
}

impl ReplayedTraffic {
    /// Faults of the second server regardless of its figures, each a part of a sentence.
    pub(super) fn faults(&self, names: &[String], allowed_percent: f64) -> Vec<String> {
        let [first, second, ..] = names else { return Vec::new() };
        let answers = self.answers.as_ref().filter(|answers| answers.different > 0);
        let answers = answers
            .map(|_| format!("{second} answers some of this traffic differently from {first}"));
        let room = self.head_room.as_ref();
        let room = room.filter(|room| room.is_less_on_b(allowed_percent / 100.0)).map(|room| {
            format!("{second} keeps {} only at a lower speed than {first}", room.target)
        });
        answers.into_iter().chain(room).collect()
    }

    /// Findings, a sentence each.
    pub fn notes(&self, names: &[String]) -> Vec<String> {
        let [first, second, ..] = names else { return Vec::new() };
        let answers = self.answers.as_ref().map(|answers| {
            let compared = counted(answers.compared, "compared answer");
            match answers.different {
                0 => format!("All {compared} are alike."),
                n => format!("{} of {compared} differ.", grouped(n as f64)),
            }
        });
        let room = self.head_room.as_ref().map(|room| {
            let [of_a, of_b] = room.sides.each_ref().map(SpeedRange::describe);
            format!("{second} keeps {} {of_b}; {first} {of_a}.", room.target)
        });
        answers.into_iter().chain(room).collect()
    }

    /// Kinds of differing answers.
    pub fn differences(&self) -> &[Difference] {
        self.answers.as_ref().map_or(&[], |answers| &answers.differences)
    }
}
