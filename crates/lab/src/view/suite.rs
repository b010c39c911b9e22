//! A suite as tables, charts and a page; two suites as one table.

use measure::statistics::Interval;
use report::CountUnit;
use report::groups::unique;
use report::page::{
    Axis, Block, Chart, Column, DataPoint, Page, Section, Table, Tone, Unit, Verdict,
};
use workload::quantity::counted;

use super::{again, figure_cells, figure_names, incomplete, limited, or_dash, plain, warnings};
use crate::csv::Csv;
use crate::figures::Figures;
use crate::suite::{ComparedFigure, Difference, Entry, Suite, SuiteComparison};
use crate::{Document, Findings};

impl Suite {
    /// Groups in the order of their first specs.
    pub fn groups(&self) -> Vec<&str> {
        unique(self.specs.iter().map(Entry::group))
    }

    /// The table of measured specs; of one group, if one is named.
    pub fn table(&self, group: Option<&str>) -> Table {
        let mut columns = vec!["spec".to_owned()];
        let [rate, median, tail, cpu, limit] = figure_names(CountUnit::Request);
        columns.extend([rate, median, tail, "server CPU µs/request".to_owned(), cpu]);
        columns.extend(["bytes/key".to_owned(), limit]);
        let mut table = Table::new(columns);
        let entries = self.specs.iter().filter(|e| group.is_none_or(|group| e.group() == group));
        for entry in entries {
            let Some((round, figures)) = entry.median() else { continue };
            let [rps, p50, p99, client, limit] = figure_cells(figures.throughput_rps, figures);
            let server = entry.server_cpu_us.get(round).copied().flatten();
            let server = or_dash(server.map(|us| format!("{us:.3}")));
            let name = entry.name.clone();
            table.row([name, rps, p50, p99, server, client, bytes_per_key(entry), limit]);
        }
        table
    }

    /// Returns the omissions with their reasons, one line each.
    pub fn left_out(&self) -> Vec<String> {
        let lines = self.specs.iter().filter_map(|entry| {
            let failed = entry.failure.as_ref().map(|why| format!("failed: {why}"));
            let skipped = || Some(format!("not supported here: {}", entry.skipped.as_ref()?));
            Some(format!("{}: {}", entry.name, failed.or_else(skipped)?))
        });
        lines.collect()
    }

    /// Returns the remarks on the specs, one line each.
    pub fn remarks(&self) -> Vec<String> {
        let remarks =
            self.specs.iter().flat_map(|of| of.remarks.iter().map(move |text| (of, text)));
        remarks.map(|(entry, remark)| format!("{}: {remark}", entry.name)).collect()
    }

    /// Counts the specs that were measured, skipped and failed, in a sentence.
    pub fn count(&self) -> String {
        let measured = self.specs.iter().filter(|entry| !entry.figures.is_empty()).count();
        let skipped = self.specs.iter().filter(|entry| entry.skipped.is_some()).count();
        let failed = self.specs.iter().filter(|entry| entry.failure.is_some()).count();
        let specs = counted(measured as u64, "spec");
        format!(
            "{specs} measured on {}, {skipped} not supported here, {failed} failed.",
            self.server
        )
    }

    /// Requests per second of a group's specs.
    fn chart(&self, group: &str) -> Option<Chart> {
        let entries = self.specs.iter().filter(|entry| entry.group() == group);
        let measured = entries.filter_map(|entry| Some((entry.name.as_str(), entry.median()?.1)));
        let (labels, figures): (Vec<&str>, Vec<&Figures>) = measured.unzip();
        let points = figures.iter().enumerate().map(|(at, figures)| {
            DataPoint::at(at as f64, figures.throughput_rps).noted(limited(figures))
        });
        let rate = Axis::linear("throughput", Unit::PerSecond);
        let chart = Chart::bars(format!("Requests per second: {group}"), labels, rate);
        (!figures.is_empty()).then(|| chart.with("", points))
    }
}

impl Findings for Suite {
    fn is_empty(&self) -> bool {
        self.specs.iter().all(|entry| {
            entry.figures.is_empty() && entry.skipped.is_none() && entry.failure.is_none()
        })
    }

    fn set_complete(&mut self) {
        self.run.set_complete();
        self.complete = self.specs.iter().all(|entry| entry.failure.is_none());
    }

    /// CSV with a row for each spec and round.
    fn to_csv(&self) -> String {
        let mut table =
            Csv::for_runs(["spec", "group", "round", "server_cpu_us_per_request", "bytes_per_key"]);
        for entry in &self.specs {
            for (round, figures) in entry.figures.iter().enumerate() {
                let server = entry.server_cpu_us.get(round).copied().flatten();
                let cells = [
                    entry.name.clone(),
                    entry.group().to_owned(),
                    (round + 1).to_string(),
                    server.map_or(String::new(), |us| format!("{us:.3}")),
                    entry.bytes_per_key.get(round).map_or(String::new(), |b| format!("{b:.1}")),
                ];
                table.row(cells, figures);
            }
        }
        table.text()
    }

    fn shown(&self, quiet: bool) -> Vec<Block> {
        let mut blocks: Vec<Block> =
            self.compared.iter().flat_map(SuiteComparison::shown).collect();
        blocks.push(Block::Table(self.table(None)));
        if !quiet {
            blocks.push(Block::Text(self.count()));
            blocks.extend(plain(self.left_out()).chain(plain(self.remarks())));
            blocks.extend(warnings(self.warnings()));
        }
        blocks
    }

    /// The page, with changes against an earlier suite on top.
    fn page(&self, command_line: &str) -> Page {
        let mut lede = incomplete(self.complete());
        lede.push(Verdict::new(self.count(), ""));
        let mut sections = Vec::new();
        if let Some(compared) = &self.compared {
            lede.push(compared.verdict());
            sections.push(compared.section());
        }
        for group in self.groups() {
            let chart = self.chart(group).map(Block::Chart);
            let table = self.table(Some(group)).filled().map(Block::Table);
            let entries = self.specs.iter().filter(|entry| entry.group() == group);
            let told = entries.filter(|entry| !entry.description.is_empty());
            let descriptions = told.map(|entry| (entry.name.clone(), entry.description.clone()));
            let blocks = chart.into_iter().chain(table).chain([Block::pairs(descriptions)]);
            sections.push(Section::new(group, blocks));
        }
        let left_out = self.left_out();
        if !left_out.is_empty() {
            sections.push(Section::new("Not measured", plain(left_out)));
        }
        let remarks = self.remarks();
        if !remarks.is_empty() {
            sections.push(Section::new("Remarks", plain(remarks)).folded());
        }
        let mut limits = Table::new(["spec", "limited by"]);
        for entry in &self.specs {
            let Some((_, figures)) = entry.median() else { continue };
            limits.row([entry.name.as_str(), &figures.verdict]);
        }
        sections.push(Section::new("What limited each spec", [Block::Table(limits)]).folded());
        let title = format!("A suite on {}", self.server);
        super::page(&title, self.runs(), lede, sections, command_line)
    }
}

/// Bytes for each key, the mean of the rounds.
fn bytes_per_key(entry: &Entry) -> String {
    let count = entry.bytes_per_key.len() as f64;
    let mean = entry.bytes_per_key.iter().sum::<f64>() / count;
    if count > 0.0 { report::grouped(mean) } else { "–".to_owned() }
}

impl SuiteComparison {
    /// The table, with differences on top.
    pub fn table(&self) -> Table {
        let interval = |row: &Difference| match row.interval? {
            Interval { low, high } if high.is_finite() => Some(format!("{low:.3} – {high:.3}")),
            Interval { low, .. } => Some(format!("{low:.3} or more")),
        };
        let value = |row: &Difference, side: usize| match (row.by, row.values[side]) {
            (ComparedFigure::Throughput, rps) => report::grouped(rps),
            (ComparedFigure::Median, ns) => format!("{:.3}", ns / 1e6),
            (ComparedFigure::ServerCpu, us) => format!("{us:.2}"),
        };
        let by = |row: &Difference| match row.by {
            ComparedFigure::Throughput => "requests/s",
            ComparedFigure::Median => "p50 (ms)",
            ComparedFigure::ServerCpu => "server CPU µs/request",
        };
        let columns: [Column<'_, &Difference>; 8] = [
            ("spec", &|row| row.name.clone()),
            ("compared by", &|row| by(row).to_owned()),
            (&self.names[0], &|row| value(row, 0)),
            (&self.names[1], &|row| value(row, 1)),
            ("ratio", &|row| format!("{:.3}", row.ratio)),
            ("95 % interval", &|row| or_dash(interval(row))),
            ("p99 ratio", &|row| or_dash(row.p99_ratio.map(|ratio| format!("{ratio:.2}")))),
            ("conclusion", &|row| conclusion(row).to_owned()),
        ];
        Table::of(&columns, &self.rows)
    }

    /// The answer in a sentence.
    pub fn verdict(&self) -> Verdict {
        let changed: Vec<&Difference> = self.rows.iter().filter(|row| row.differs).collect();
        let slower = changed.iter().filter(|row| row.is_slower()).count();
        let specs = counted(self.rows.len() as u64, "spec");
        let is_single = self.rows.iter().any(|row| row.interval.is_none());
        let headline = match changed.len() {
            0 if is_single => "Undecided: a spec needs at least two rounds on each side".to_owned(),
            0 => format!("None of {specs} was found to differ"),
            count => {
                format!("{count} of {specs} differ: {slower} slower, {} faster", count - slower)
            }
        };
        let worst = changed.iter().take(3).map(|row| {
            if row.fails_more() {
                format!("{} fails {:.1} % of its requests", row.name, row.failed[1] * 100.0)
            } else {
                format!("{} ×{:.3}", row.name, row.ratio)
            }
        });
        let worst: Vec<String> = worst.collect();
        let by_cpu = self.rows.iter().any(|row| row.by == ComparedFigure::ServerCpu);
        let figure = if by_cpu {
            "Server CPU per request"
        } else {
            "Throughput, or p50 where both kept a rate that was set,"
        };
        let mut text = format!(
            "{figure} of {} over that of {}, with what another hour of the machine changes, and what others took of \
             one of them; the chance of calling any spec different wrongly is 5 % in all (Holm).",
            self.names[1], self.names[0]
        );
        let open = self.open().count();
        let headline = match open {
            0 => headline,
            open if changed.is_empty() && is_single => {
                text = format!("{text} {open} of {} undecided.", self.rows.len());
                headline
            }
            open => format!("{headline}; {open} undecided, more --repeat decides"),
        };
        if !worst.is_empty() {
            text = format!("{}. {text}", worst.join(", "));
        }
        let tone = if self.regressed() { Tone::Bad } else { Tone::Plain };
        Verdict::new(headline, text).toned(tone)
    }

    /// Blocks for a terminal.
    pub fn shown(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Verdict(self.verdict())];
        blocks.extend(self.section().blocks);
        blocks
    }

    /// Returns the comparison's part of a page.
    pub fn section(&self) -> Section {
        let mut blocks = vec![Block::Table(self.table())];
        blocks.extend(plain(self.left_out.clone()));
        Section::new(format!("{} against {}", self.names[1], self.names[0]), blocks)
    }

    /// A separate page.
    pub fn page(&self, command_line: &str) -> Page {
        Page {
            title: format!("Suites: {} against {}", self.names[1], self.names[0]),
            lede: vec![self.verdict()],
            sections: vec![self.section(), again(command_line)],
            ..Page::default()
        }
    }
}

/// Returns the conclusion for a spec.
fn conclusion(row: &Difference) -> &'static str {
    match row {
        Difference { worse: true, .. } => "worse than allowed",
        Difference { differs: true, by: ComparedFigure::ServerCpu, .. } if !row.fails_more() => {
            if row.is_slower() {
                "costs more"
            } else {
                "costs less"
            }
        }
        Difference { differs: true, .. } if row.is_slower() => "slower",
        Difference { differs: true, .. } => "faster",
        Difference { interval: None, .. } => "one round: undecided",
        Difference { is_open: true, .. } => "undecided",
        Difference { .. } => "alike",
    }
}
