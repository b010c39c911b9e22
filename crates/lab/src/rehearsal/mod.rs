//! A rehearsal: recorded traffic on two servers in turn, and what changes for each command.
//!
//! Owns which figures are compared, when a change is sure and large enough to count, and what all of it says together.
//! Carrying out the runs, and asking for answers, is left to the caller.

use report::compare::Subject;
use report::{Cause, RecordError, Run};
use serde::Serialize;
use workload::RecordedTraffic;

use crate::answers::Difference;
use crate::document::Document;
use crate::head_room::HeadRoom;
use crate::runs::Runs;

mod changes;

pub use changes::{Blocks, Change, CommandFigures, Figure, Judgement, changes};

/// The name of the document's layout.
const SCHEMA: &str = "keystorm.rehearsal/1";
/// By so much of all requests more may fail on B than on A.
const FAILURES_MAX: f64 = 0.001;

/// A rehearsal, as far as it has come. Written as the document `keystorm.rehearsal/1`.
#[derive(Debug, Serialize)]
pub struct Rehearsal {
    schema: &'static str,
    /// Whether all of it was carried out.
    pub complete: bool,
    /// What was sent.
    pub record: RecordedTraffic,
    /// Commands of the record that are sent.
    pub commands: u64,
    /// The two servers: A and B.
    pub sides: [Subject; 2],
    /// How the runs were taken, in a sentence.
    pub how: String,
    /// The share by which B may be worse: 0.1 for 10 %.
    pub allowed: f64,
    /// How often growing data is judged at most.
    #[serde(skip)]
    pub looks: u32,
    /// Blocks that count.
    pub blocks: usize,
    /// Those in which the client did not do what was asked.
    pub void: usize,
    /// Why, and how many each.
    pub(crate) void_by: Vec<(Cause, usize)>,
    /// What changes from A to B.
    pub changes: Vec<Change>,
    /// Requests of each side, and those of them that failed, in all blocks.
    pub failures: [Failures; 2],
    /// Answers that were compared, if they were.
    pub answers: Option<AnswerComparison>,
    /// How much more of the traffic each keeps a target with, if that was asked for.
    pub head_room: Option<HeadRoom>,
    /// The figures of each block.
    #[serde(skip)]
    figures: Blocks,
    run: Runs,
}

/// Requests, and those of them that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Failures {
    /// All of them.
    pub requests: u64,
    /// Error replies, and requests without a reply.
    pub failed: u64,
}

/// Answers of both servers to the same commands, in the same order.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AnswerComparison {
    /// Commands that both were asked.
    pub asked: u64,
    /// Those of which it is known what an equal answer is.
    pub compared: u64,
    /// Those whose answers differ.
    pub different: u64,
    /// What differs, by kind, the most frequent first.
    pub differences: Vec<Difference>,
}

/// What a rehearsal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Something is surely worse on B, or answers differ.
    Worse,
    /// Nothing is, as far as the runs can tell.
    Passed,
    /// Nothing surely is, and the runs do not exclude it.
    Undecided,
}

impl Failures {
    fn share(self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.failed as f64 / self.requests as f64 }
    }
}

impl Rehearsal {
    /// A rehearsal without results.
    #[must_use]
    pub fn new(
        (record, commands): (RecordedTraffic, u64),
        sides: [Subject; 2],
        how: String,
        allowed: f64,
    ) -> Self {
        Self {
            schema: SCHEMA,
            complete: false,
            record,
            commands,
            sides,
            how,
            allowed,
            looks: 1,
            blocks: 0,
            void: 0,
            void_by: Vec::new(),
            changes: Vec::new(),
            failures: [Failures::default(); 2],
            answers: None,
            head_room: None,
            figures: Blocks::new(),
            run: Runs::default(),
        }
    }

    /// Takes a block that does not count: what failed in it does. `causes` are those of all of them so far.
    pub fn add_void(&mut self, causes: &[Cause], sides: [&[&Run]; 2]) {
        (self.void, self.void_by) = (causes.len(), Cause::counts(causes));
        self.add_failures(sides);
    }

    fn add_failures(&mut self, sides: [&[&Run]; 2]) {
        for (of_side, runs) in self.failures.iter_mut().zip(sides) {
            for run in runs {
                let figures = crate::Figures::from_run(run);
                let gone = &run.measurement.total.connections;
                let unanswered = gone.lost + gone.unanswered + gone.timed_out;
                of_side.requests += figures.requests + unanswered;
                of_side.failed += figures.errors + unanswered;
            }
        }
    }

    /// Takes the runs of each side in a block.
    ///
    /// # Errors
    /// A count is too large to be written.
    pub fn add_block(&mut self, sides: [&[&Run]; 2]) -> Result<(), RecordError> {
        sides.into_iter().flatten().try_for_each(|run| self.run.put(run).map(drop))?;
        self.add_failures(sides);
        let figures = |runs: &[&Run]| runs.iter().map(|run| CommandFigures::of_run(run)).collect();
        self.figures.push(sides.map(figures));
        self.blocks = self.figures.len();
        self.changes = changes(&self.figures, self.allowed, self.looks);
        Ok(())
    }

    /// Notes that nothing is left to do.
    pub fn set_complete(&mut self) {
        self.run.set_complete();
        self.complete = true;
    }

    pub(crate) fn runs(&self) -> &Runs {
        &self.run
    }

    /// Changes that are judged so.
    pub fn judged(&self, judgement: Judgement) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.judgement == judgement)
    }

    /// Whether more requests failed on B than on A.
    #[must_use]
    pub fn fails_more(&self) -> bool {
        let [a, b] = self.failures.map(Failures::share);
        b > a + FAILURES_MAX
    }

    /// Commands whose answers differ.
    #[must_use]
    pub fn different_answers(&self) -> u64 {
        self.answers.as_ref().map_or(0, |answers| answers.different)
    }

    /// Whether B is slower, has less head room, or fails more; not whether it answers differently.
    pub(crate) fn is_worse(&self) -> bool {
        let less_room = self.head_room.as_ref().is_some_and(|room| room.is_less_on_b(self.allowed));
        self.judged(Judgement::Worse).next().is_some() || less_room || self.fails_more()
    }

    /// Whether the runs leave room for a figure to be worse than is allowed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.judged(Judgement::Undecided).next().is_some()
    }

    /// What all of it says together.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match () {
            () if self.is_worse() || self.different_answers() > 0 => Outcome::Worse,
            () if self.changes.is_empty() || self.is_open() => Outcome::Undecided,
            () => Outcome::Passed,
        }
    }
}

impl Document for Rehearsal {
    fn runs(&self) -> &Runs {
        &self.run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rehearsal() -> Rehearsal {
        let record = RecordedTraffic {
            source: "monitor.txt".to_owned(),
            clients: 1,
            span_ns: 1,
            speed: "1".to_owned(),
            stalls: Vec::new(),
        };
        let sides =
            ["old", "new"].map(|name| Subject { name: name.to_owned(), ..Subject::default() });
        Rehearsal::new((record, 1), sides, String::new(), 0.1)
    }

    #[test]
    fn other_answers_fail_a_rehearsal_and_are_not_called_worse() {
        let mut rehearsal = rehearsal();
        let answers = AnswerComparison { different: 1, ..AnswerComparison::default() };
        rehearsal.answers = Some(answers);
        assert_eq!(rehearsal.outcome(), Outcome::Worse);
        let headline = rehearsal.verdict().headline;
        assert_eq!(headline, "new answers some of this traffic differently than old");
        rehearsal.failures =
            [(100, 0), (100, 9)].map(|(requests, failed)| Failures { requests, failed });
        assert_eq!(rehearsal.verdict().headline, "new is worse than old for this traffic");
    }
}
