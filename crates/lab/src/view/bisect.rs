//! The search for a commit as a table and a page.

use report::page::{Block, Column, Page, Section, Table, Verdict};

use super::incomplete;
use crate::Findings;
use crate::bisect::{Bisect, mean, percent};
use crate::csv::Csv;
use crate::runs::Runs;

impl Bisect {
    /// The commits that were measured or cannot be, in their order.
    fn looked_at(&self) -> impl Iterator<Item = usize> {
        (1..=self.last())
            .filter(|at| !self.values(*at).is_empty() || self.why_skipped(*at).is_some())
    }

    fn table(&self) -> Table {
        let change = |member: usize| {
            let values = self.values(member);
            if values.is_empty() { "–".to_owned() } else { percent(mean(values)) }
        };
        let columns: [Column<'_, usize>; 5] = [
            ("commit", &|member| self.commit(*member).short().to_owned()),
            ("subject", &|member| self.commit(*member).subject.clone()),
            ("change", &|member| change(*member)),
            ("blocks", &|member| self.values(*member).len().to_string()),
            ("skipped because", &|member| {
                let why = self.why_skipped(*member).and_then(|text| text.lines().next());
                why.unwrap_or_default().to_owned()
            }),
        ];
        Table::of(&columns, self.looked_at())
    }

    fn verdict(&self) -> Option<Verdict> {
        self.answer().map(|(headline, text)| Verdict::new(headline, text))
    }
}

impl Findings for Bisect {
    fn is_empty(&self) -> bool {
        self.looked_at().next().is_none()
    }

    fn is_conclusive(&self) -> bool {
        self.is_found()
    }

    fn set_complete(&mut self) {}

    fn to_csv(&self) -> String {
        let mut table = Csv::new(&["commit", "subject", "change", "blocks", "skipped_because"]);
        for member in self.looked_at() {
            let (commit, values) = (self.commit(member), self.values(member));
            let change = if values.is_empty() { None } else { Some(mean(values).exp_m1()) };
            table.write([
                commit.hash.clone(),
                report::escape(&commit.subject),
                change.map_or(String::new(), |change| format!("{change:.6}")),
                values.len().to_string(),
                report::escape(self.why_skipped(member).unwrap_or_default()),
            ]);
        }
        table.text()
    }

    fn shown(&self, _quiet: bool) -> Vec<Block> {
        let verdict = self.verdict().map(Block::Verdict);
        std::iter::once(Block::Table(self.table())).chain(verdict).collect()
    }

    fn page(&self, command_line: &str) -> Page {
        let mut lede = incomplete(self.has_ended);
        lede.extend(self.verdict());
        let how = if self.is_counted() {
            "counted in blocks of a start of each of the two for each of two lengths"
        } else {
            "in blocks of four runs: good, candidate, candidate, good, each on a start of its server"
        };
        let text = format!("Commits after {}, each beside it, {how}.", self.commit(0).describe());
        let blocks = [Block::Text(text), Block::Table(self.table())];
        let sections = vec![Section::new("Commits", blocks)];
        super::page("The commit of a change", &Runs::default(), lede, sections, command_line)
    }
}
