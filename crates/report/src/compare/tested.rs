//! A load on all servers: the figures of each beside those of the first.

use super::{Question, RatioRow, Side, TestComparison};
use crate::Metric;
use crate::groups::{by_key, unique};

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

impl ComparedTest {
    /// Makes the test of two servers without a choice between them.
    pub fn of_pair(pair: TestComparison) -> Self {
        Self { name: pair.name.clone(), pairs: vec![pair], question: None }
    }

    /// The servers in order.
    pub fn sides(&self) -> impl Iterator<Item = &Side> {
        let first = self.pairs.first().map(|pair| &pair.sides[0]);
        first.into_iter().chain(self.pairs.iter().map(|pair| &pair.sides[1]))
    }

    /// Figures of the whole test.
    pub fn figures(&self) -> Vec<FigureRow<'_>> {
        self.figures_of(|pair| &pair.rows)
    }

    /// Names and figures of its operations.
    pub fn operations(&self) -> Vec<(&str, Vec<FigureRow<'_>>)> {
        let operations = self.pairs.iter().flat_map(|pair| &pair.operations);
        let figures = |name: &str| {
            self.figures_of(|pair| {
                let operation = pair.operations.iter().find(|operation| operation.name == name);
                operation.map_or(&[][..], |operation| &operation.rows)
            })
        };
        let names = unique(operations.map(|operation| operation.name.as_str())).into_iter();
        names.map(|name| (name, figures(name))).collect()
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
    let warned = sides().flat_map(|side| {
        let warnings = side.counted().flat_map(|run| &run.warnings);
        warnings.map(move |warning| (warning.topic(), (side.name.as_str(), warning)))
    });
    let lines = by_key(warned).into_iter().map(|(_, found)| {
        let text = &found[0].1.text;
        let counts = by_key(found).into_iter().map(|(name, warned)| {
            let runs = sides().filter(|side| side.name == name).map(|side| side.runs);
            format!("{} of {} runs of {name}", warned.len(), runs.sum::<usize>())
        });
        format!("{text} ({})", counts.collect::<Vec<_>>().join(", "))
    });
    lines.collect()
}
