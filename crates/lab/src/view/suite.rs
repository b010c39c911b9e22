//! A suite as tables, charts and a page; two suites as one table.

use report::CountUnit;
use report::page::{
    Axis, Block, Chart, DataPoint, Page, Section, Series, Table, Tone, Unit, Verdict,
};

use super::{figure_cells, figure_names, incomplete, limited, warnings};
use crate::csv::Csv;
use crate::suite::{ComparedFigure, Difference, Entry, Suite, SuiteComparison};
use crate::{Document, Findings};

impl Suite {
    /// Groups in the order of their first specs.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for entry in &self.specs {
            if !groups.contains(&entry.group()) {
                groups.push(entry.group());
            }
        }
        groups
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
            let server = server.map_or("–".to_owned(), |us| format!("{us:.3}"));
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
        let lines = self.specs.iter().flat_map(|entry| {
            let lines = entry.remarks.iter().map(|remark| format!("{}: {remark}", entry.name));
            lines.collect::<Vec<String>>()
        });
        lines.collect()
    }

    /// Counts the specs that were measured, skipped and failed, in a sentence.
    pub fn count(&self) -> String {
        let measured = self.specs.iter().filter(|entry| !entry.figures.is_empty()).count();
        let skipped = self.specs.iter().filter(|entry| entry.skipped.is_some()).count();
        let failed = self.specs.iter().filter(|entry| entry.failure.is_some()).count();
        let specs = workload::quantity::counted(measured as u64, "spec");
        format!(
            "{specs} measured on {}, {skipped} not supported here, {failed} failed.",
            self.server
        )
    }

    /// Requests per second of a group's specs.
    fn chart(&self, group: &str) -> Option<Chart> {
        let measured = self.specs.iter().filter(|entry| entry.group() == group);
        let measured: Vec<&Entry> = measured.filter(|entry| !entry.figures.is_empty()).collect();
        let labels: Vec<&str> = measured.iter().map(|entry| entry.name.as_str()).collect();
        let rate = Axis::linear("throughput", Unit::PerSecond);
        let mut chart = Chart::bars(format!("Requests per second: {group}"), labels, rate);
        let points = measured.iter().enumerate().filter_map(|(at, entry)| {
            let (_, figures) = entry.median()?;
            Some(DataPoint::at(at as f64, figures.throughput_rps).noted(limited(figures)))
        });
        let points: Vec<DataPoint> = points.collect();
        chart.series.push(Series::from_points("", points));
        (!measured.is_empty()).then_some(chart)
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
        let plain =
            |lines: Vec<String>| lines.into_iter().map(|line| Block::Note(Tone::Plain, line));
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
        let mut lede = Vec::new();
        incomplete(&mut lede, self.complete());
        lede.push(Verdict::new(self.count(), ""));
        let mut sections = Vec::new();
        if let Some(compared) = &self.compared {
            lede.push(compared.verdict());
            sections.push(compared.section());
        }
        for group in self.groups() {
            let chart = self.chart(group).map(Block::Chart);
            let table = self.table(Some(group));
            let mut blocks: Vec<Block> = chart.into_iter().collect();
            if !table.rows.is_empty() {
                blocks.push(Block::Table(table));
            }
            let entries = self.specs.iter().filter(|entry| entry.group() == group);
            let told = entries.filter(|entry| !entry.description.is_empty());
            let descriptions: Vec<(String, String)> =
                told.map(|entry| (entry.name.clone(), entry.description.clone())).collect();
            blocks.push(Block::KeyValues(descriptions));
            sections.push(Section::new(group, blocks));
        }
        let left_out = self.left_out();
        if !left_out.is_empty() {
            let notes = left_out.into_iter().map(|line| Block::Note(Tone::Plain, line));
            sections.push(Section::new("Not measured", notes));
        }
        let remarks = self.remarks();
        if !remarks.is_empty() {
            let notes = remarks.into_iter().map(|line| Block::Note(Tone::Plain, line));
            sections.push(Section::new("Remarks", notes).folded());
        }
        let mut limits = Table::new(["spec", "limited by"]);
        for entry in &self.specs {
            let Some((_, figures)) = entry.median() else { continue };
            limits.row([entry.name.as_str(), &figures.verdict]);
        }
        sections.push(Section::new("What limited each spec", [Block::Table(limits)]).folded());
        super::page(
            &format!("A suite on {}", self.server),
            self.runs(),
            lede,
            sections,
            command_line,
        )
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
        let [a, b] = &self.names;
        let columns = [
            "spec",
            "compared by",
            a.as_str(),
            b.as_str(),
            "ratio",
            "95 % interval",
            "p99 ratio",
            "conclusion",
        ];
        let mut table = Table::new(columns);
        for row in &self.rows {
            let interval = row.interval.map_or("–".to_owned(), |interval| {
                if interval.high.is_finite() {
                    format!("{:.3} – {:.3}", interval.low, interval.high)
                } else {
                    format!("{:.3} or more", interval.low)
                }
            });
            let (by, [before, after]) = match row.by {
                ComparedFigure::Throughput => ("requests/s", row.values.map(report::grouped)),
                ComparedFigure::Median => {
                    ("p50 (ms)", row.values.map(|nanoseconds| format!("{:.3}", nanoseconds / 1e6)))
                }
                ComparedFigure::ServerCpu => {
                    ("server CPU µs/request", row.values.map(|us| format!("{us:.2}")))
                }
            };
            table.row([
                row.name.clone(),
                by.to_owned(),
                before,
                after,
                format!("{:.3}", row.ratio),
                interval,
                row.p99_ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
                conclusion(row).to_owned(),
            ]);
        }
        table
    }

    /// The answer in a sentence.
    pub fn verdict(&self) -> Verdict {
        let changed: Vec<&Difference> = self.rows.iter().filter(|row| row.differs).collect();
        let (slower, faster): (Vec<&Difference>, Vec<&Difference>) =
            changed.iter().partition(|row| row.is_slower());
        let headline = match changed.len() {
            0 if self.rows.iter().any(|row| row.interval.is_none()) => {
                "Undecided: a spec needs at least two rounds on each side".to_owned()
            }
            0 => format!(
                "None of {} was found to differ",
                workload::quantity::counted(self.rows.len() as u64, "spec")
            ),
            count => format!(
                "{count} of {} differ: {} slower, {} faster",
                workload::quantity::counted(self.rows.len() as u64, "spec"),
                slower.len(),
                faster.len()
            ),
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
            open if changed.is_empty() && self.rows.iter().any(|row| row.interval.is_none()) => {
                text = format!("{text} {open} of {} undecided.", self.rows.len());
                headline
            }
            open => format!("{headline}; {open} undecided, more --repeat decides"),
        };
        if !worst.is_empty() {
            text = format!("{}. {text}", worst.join(", "));
        }
        let tone = if self.regressed() { Tone::Bad } else { Tone::Plain };
        Verdict { tone, ..Verdict::new(headline, text) }
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
        blocks.extend(self.left_out.iter().map(|why| Block::Note(Tone::Plain, why.clone())));
        Section::new(format!("{} against {}", self.names[1], self.names[0]), blocks)
    }

    /// A separate page.
    pub fn page(&self, command_line: &str) -> Page {
        Page {
            title: format!("Suites: {} against {}", self.names[1], self.names[0]),
            lede: vec![self.verdict()],
            sections: vec![
                self.section(),
                Section::new("Run it again", [Block::Code(command_line.to_owned())]),
            ],
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
