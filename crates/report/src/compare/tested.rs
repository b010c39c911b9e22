//! A load on all servers: the figures of each beside those of the first.

use std::sync::Arc;

use super::{Limits, Question, RatioRow, TestComparison};
use crate::{Failures, Metric, Run, Warning};

/// Comparison of one test on all servers.
#[derive(Debug, Clone)]
pub struct ComparedTest {
    /// Name of the test, with its rate if there are several.
    pub name: String,
    /// Comparison of each other server with the first.
    pub pairs: Vec<TestComparison>,
    /// Costs of each server and the state of its target; `None` if the comparison is not for choosing a
    /// server.
    pub question: Option<Question>,
}

/// Figure of a test, or of one of its operations, on all servers.
#[derive(Debug, Clone)]
pub struct FigureRow<'t> {
    /// The figure.
    pub metric: Metric,
    /// Mean and values of the first server.
    pub first: (f64, &'t [f64]),
    /// Comparison of each other server with the first; `None` if it lacks the figure.
    pub others: Vec<Option<(&'t TestComparison, &'t RatioRow)>>,
}

impl<'t> FigureRow<'t> {
    /// The mean and the values of each server, the first included.
    pub fn values(&self) -> impl Iterator<Item = Option<(f64, &'t [f64])>> {
        std::iter::once(Some(self.first)).chain(
            self.others
                .iter()
                .map(|other| other.map(|(_, row)| (row.means[1], row.values[1].as_slice()))),
        )
    }
}

/// A server in a test.
#[derive(Debug, Clone, Copy)]
pub struct TestSide<'t> {
    /// Comparison that this is a side of.
    pub pair: &'t TestComparison,
    at: usize,
}

impl<'t> TestSide<'t> {
    /// Name of the server.
    pub fn name(self) -> &'t str {
        &self.pair.setup.names[self.at]
    }

    /// Number of its runs.
    pub fn runs(self) -> usize {
        self.pair.runs[self.at]
    }

    /// Limits of the runs.
    pub fn limits(self) -> &'t Limits {
        &self.pair.limits[self.at]
    }

    /// Requests of the server, including those of void blocks.
    pub fn failures(self) -> Failures {
        self.pair.failures[self.at]
    }

    /// Share of the time for which others held up client or server.
    pub fn held(self) -> f64 {
        self.pair.held[self.at]
    }

    /// Share of its reads that hit, in percent, if compared.
    pub fn hit_ratio(self) -> Option<f64> {
        self.pair.hit_ratios[self.at]
    }

    /// Counting runs of the server.
    pub fn counted(self) -> &'t [Arc<Run>] {
        &self.pair.counted[self.at]
    }

    /// The server's run with median throughput.
    pub fn middle(self) -> Option<&'t Run> {
        self.pair.middle[self.at].as_deref()
    }
}

impl ComparedTest {
    /// Makes the test of two servers without a choice between them.
    pub fn of_pair(pair: TestComparison) -> Self {
        Self { name: pair.name.clone(), pairs: vec![pair], question: None }
    }

    /// The servers in order.
    pub fn sides(&self) -> impl Iterator<Item = TestSide<'_>> {
        let first = self.pairs.first().map(|pair| TestSide { pair, at: 0 });
        first.into_iter().chain(self.pairs.iter().map(|pair| TestSide { pair, at: 1 }))
    }

    /// Figures of the whole test.
    pub fn figures(&self) -> Vec<FigureRow<'_>> {
        self.figures_of(|pair| &pair.rows)
    }

    /// Names and figures of its operations.
    pub fn operations(&self) -> Vec<(&str, Vec<FigureRow<'_>>)> {
        let mut names: Vec<&str> = Vec::new();
        for operation in self.pairs.iter().flat_map(|pair| &pair.operations) {
            if !names.contains(&operation.name.as_str()) {
                names.push(&operation.name);
            }
        }
        let figures = |name: &&'_ str| {
            self.figures_of(|pair| {
                let operation = pair.operations.iter().find(|operation| operation.name == **name);
                operation.map_or(&[][..], |operation| &operation.rows)
            })
        };
        names.iter().map(|name| (*name, figures(name))).collect()
    }

    fn figures_of<'t>(
        &'t self,
        rows: impl Fn(&'t TestComparison) -> &'t [RatioRow],
    ) -> Vec<FigureRow<'t>> {
        let figures = super::COMPARED.into_iter().filter_map(|metric| {
            let row = |pair| rows(pair).iter().find(|row| row.metric == metric);
            let others: Vec<_> =
                self.pairs.iter().map(|pair| row(pair).map(|row| (pair, row))).collect();
            let (_, known) = others.iter().find_map(|other| *other)?;
            Some(FigureRow { metric, first: (known.means[0], &known.values[0]), others })
        });
        figures.collect()
    }

    /// Returns the finding in a sentence without a full stop: the servers that keep the target, or the
    /// others' differences from the first.
    pub fn headline(&self, target: Option<&str>) -> String {
        match &self.question {
            Some(question) => question.answer(target),
            None => {
                let all: Vec<String> = self.pairs.iter().map(TestComparison::headline).collect();
                all.join("; ")
            }
        }
    }

    /// Number of the test's table, if there are several.
    pub fn table(&self) -> Option<usize> {
        self.pairs.first()?.table
    }
}

/// Describes the warnings of the runs of these tests, each with its share of the runs of every server.
/// Figures in the text are from the first run.
pub fn spoiled(tests: &[ComparedTest]) -> Vec<String> {
    let sides = || tests.iter().flat_map(ComparedTest::sides);
    let mut found: Vec<(&Warning, Vec<(&str, usize)>)> = Vec::new();
    for (side, run) in sides().flat_map(|side| side.counted().iter().map(move |run| (side, run))) {
        for warning in &run.warnings {
            let at = found.iter().position(|(known, _)| known.topic() == warning.topic());
            let at = at.unwrap_or_else(|| {
                found.push((warning, Vec::new()));
                found.len() - 1
            });
            let counts = &mut found[at].1;
            match counts.iter_mut().find(|(name, _)| *name == side.name()) {
                Some((_, count)) => *count += 1,
                None => counts.push((side.name(), 1)),
            }
        }
    }
    let lines = found.iter().map(|(warning, counts)| {
        let counts = counts.iter().map(|(name, count)| {
            let runs = sides().filter(|side| side.name() == *name).map(TestSide::runs);
            format!("{count} of {} runs of {name}", runs.sum::<usize>())
        });
        let counts: Vec<String> = counts.collect();
        format!("{} ({})", warning.text, counts.join(", "))
    });
    lines.collect()
}
