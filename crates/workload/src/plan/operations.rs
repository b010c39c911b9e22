//! The operations of a mix, ready to pick from: the operation of a request number, and the commands of its
//! steps.

use std::ops::Range;
use std::sync::Arc;

use super::{Pick, Plan, StepCondition};
use crate::Dataset;
use crate::random::{self, Stream};

impl Plan {
    /// The mix, ready to pick from.
    pub fn operations(&self) -> Option<Operations> {
        let mix = self.mix.as_ref()?;
        let (mut steps, mut operations) = (Vec::new(), Vec::new());
        let mut first = 0;
        for operation in &mix.operations {
            operations.push(steps.len() as u32);
            for step in &operation.steps {
                steps.push((first..first + step.commands, step.when));
                first += step.commands;
            }
        }
        operations.push(steps.len() as u32);
        let weights = mix.operations.iter().map(|operation| u64::from(operation.weight));
        let (weights, of): (Vec<u64>, Vec<u32>) = match &mix.pick {
            Pick::Drawn | Pick::InOrder | Pick::Row => weights.zip(0..).unzip(),
            Pick::Spans(spans) => {
                spans.iter().map(|span| (u64::from(span.times), span.operation)).unzip()
            }
        };
        let mut bounds = weights;
        for at in 1..bounds.len() {
            bounds[at] += bounds[at - 1];
        }
        let total = bounds.last().copied().unwrap_or(1);
        let places = if total <= PLACES_MAX { 0..total } else { 0..0 };
        let places = places.map(|at| of[bounds.partition_point(|bound| *bound <= at)]).collect();
        let drawn = mix.pick == Pick::Drawn;
        let walk = (0..).zip(mix.spans()).find_map(|(number, (operation, span))| {
            let most = operation.walk()?.unwrap_or(u32::MAX);
            Some(ScanOperation { operation: number, command: span.end as u32 - 1, most })
        });
        Some(Operations {
            bounds,
            of,
            total,
            places,
            draws: drawn.then(|| Stream::from_seed(self.load.seed.wrapping_add(PICK_STREAM))),
            rows: self.data.dataset.clone().filter(|_| mix.pick == Pick::Row),
            seed: self.load.seed,
            round: self.connection_round(),
            operations,
            steps,
            walk,
        })
    }
}

/// An operation whose requests each continue where the last one on their connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanOperation {
    /// Number of the operation.
    pub operation: u32,
    /// Index of the command with a cursor.
    pub command: u32,
    /// Maximum number of consecutive repetitions.
    pub most: u32,
}

/// Properties of the replies to a step.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct StepReplies {
    /// Set if one of the replies was a miss.
    pub missed: bool,
    /// Set if a string is kept.
    pub strings: bool,
}

/// Random stream of the choice of operations, after those of the numbers in commands.
const PICK_STREAM: u64 = 11 << 56;

/// Maximum sum of weights for a table of all places in it, which is the fastest way to pick.
const PLACES_MAX: u64 = 4096;

/// The operations of a mix: the operation of a request number, and the commands of its steps.
#[derive(Debug, Clone)]
pub struct Operations {
    /// Cumulative weights of the operations, or of the spans.
    bounds: Vec<u64>,
    /// Operation of each bound.
    of: Vec<u32>,
    total: u64,
    /// Operation of each number below the total, unless that is too large.
    places: Vec<u32>,
    /// Stream that operations are drawn from.
    draws: Option<Stream>,
    /// Dataset whose rows decide, and their seed.
    rows: Option<Arc<Dataset>>,
    seed: u64,
    /// Count of numbers after which another connection's begin.
    round: u64,
    /// Index of the first step of each operation, and one past the last of all.
    operations: Vec<u32>,
    steps: Vec<(Range<u32>, StepCondition)>,
    walk: Option<ScanOperation>,
}

impl Operations {
    /// Returns the operation of request number `number`.
    #[inline]
    pub fn pick(&self, number: u64) -> u32 {
        if let Some(stream) = self.draws
            && let at = random::within(stream.draw(number), self.total)
            && let Some(operation) = self.places.get(at as usize)
        {
            return *operation;
        }
        self.search(number)
    }

    /// Returns the operation of a request number without a table of drawn ones.
    fn search(&self, number: u64) -> u32 {
        if let Some(rows) = &self.rows {
            return rows.operations()[rows.row(self.seed, number) as usize];
        }
        let at = match self.draws {
            Some(stream) => random::within(stream.draw(number), self.total),
            None => (number % self.round) % self.total,
        };
        match self.places.get(at as usize) {
            Some(operation) => *operation,
            None => self.of[self.bounds.partition_point(|bound| *bound <= at)],
        }
    }

    /// The commands of an operation's first step.
    #[inline]
    pub fn first_step(&self, operation: u32) -> Range<u32> {
        self.steps[self.operations[operation as usize] as usize].0.clone()
    }

    /// Returns whether an operation ends with its first step.
    #[inline]
    pub fn is_one_step(&self, operation: u32) -> bool {
        let operation = operation as usize;
        self.operations[operation + 1] == self.operations[operation] + 1
    }

    /// The commands of step number `step` of an operation, if it is sent for each string of a list.
    #[inline]
    pub fn each(&self, operation: u32, step: u16) -> Option<Range<u32>> {
        let at = self.operations[operation as usize] + u32::from(step);
        let (commands, when) = &self.steps[at as usize];
        (*when == StepCondition::ForEach).then(|| commands.clone())
    }

    /// Returns the scan of an operation, if it scans.
    #[inline]
    pub fn walk(&self, operation: u32) -> Option<ScanOperation> {
        self.walk.filter(|walk| walk.operation == operation)
    }

    /// The step after step number `step` of an operation, and its commands; `None` if the operation has
    /// ended.
    #[inline]
    pub fn next_step(
        &self,
        operation: u32,
        step: u16,
        StepReplies { missed, strings }: StepReplies,
    ) -> Option<(u16, Range<u32>)> {
        let [first, end] = [0, 1].map(|n| self.operations[operation as usize + n]);
        let later = first + u32::from(step) + 1..end;
        let mut sent = later.filter(|at| match self.steps[*at as usize].1 {
            StepCondition::Always => true,
            StepCondition::OnMiss => missed,
            StepCondition::ForEach => strings,
            StepCondition::OnCursor { .. } => false,
        });
        let at = sent.next()?;
        Some(((at - first) as u16, self.steps[at as usize].0.clone()))
    }
}
