//! A rehearsal as tables, a chart and a page.

use page::{
    Axis, Block, Chart, DataPoint, Guide, Page, Section, Series, Table, Tone, Unit, Verdict,
};
use report::compare::describe_void;
use report::grouped;
use workload::quantity::counted;

use super::incomplete;
use crate::csv::Csv;
use crate::rehearsal::{AnswerComparison, Change, Figure, Judgement, Outcome, Rehearsal};

/// Changes that a sentence names.
const NAMED_MAX: usize = 3;
/// Commands that a chart has room for.
const CHARTED_MAX: usize = 20;

impl Rehearsal {
    fn names(&self) -> [&str; 2] {
        self.sides.each_ref().map(|side| side.name.as_str())
    }

    /// What all of it says, in a few words and then in sentences.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let [a, b] = self.names();
        let (headline, tone) = match self.outcome() {
            Outcome::Worse if !self.is_worse() => {
                (format!("{b} answers some of this traffic differently than {a}"), Tone::Bad)
            }
            Outcome::Worse => (format!("{b} is worse than {a} for this traffic"), Tone::Bad),
            Outcome::Passed => {
                (format!("{b} was not found to be worse than {a} for this traffic"), Tone::Good)
            }
            Outcome::Undecided => {
                (format!("The runs do not say whether {b} is worse than {a}"), Tone::Warning)
            }
        };
        Verdict { tone, ..Verdict::new(headline, self.reasons().join(" ")) }
    }

    /// The sentences that the verdict rests on.
    fn reasons(&self) -> Vec<String> {
        let [a, b] = self.names();
        let mut text = Vec::new();
        if self.fails_more() {
            let [of_a, of_b] = self.failures.map(|side| {
                format!(
                    "{} of {} requests",
                    grouped(side.failed as f64),
                    grouped(side.requests as f64)
                )
            });
            text.push(format!("More requests failed on {b}: {of_b}, and {of_a} on {a}."));
        }
        text.extend(self.named(Judgement::Worse, "Slower"));
        text.extend(self.named(Judgement::Better, "Faster"));
        let open = self.judged(Judgement::Undecided).count();
        if open > 0 {
            text.push(format!(
                "The runs do not exclude {} more of {open} of {}; more blocks (--repeat) do, or chrt -f 10 in front \
                 of the command.",
                percent(self.allowed),
                counted(self.changes.len() as u64, "figure")
            ));
        }
        if let Some(answers) = &self.answers {
            text.push(match answers.different {
                0 => format!("All {} that were compared are alike.", of_answers(answers.compared)),
                n => format!(
                    "{} of {} that were compared differ.",
                    grouped(n as f64),
                    of_answers(answers.compared)
                ),
            });
        }
        if let Some(room) = &self.head_room {
            let [of_a, of_b] = room.sides.each_ref().map(|side| side.describe());
            let target = &room.target;
            text.push(format!("{b} keeps {target} {of_b}; {a} {of_a}."));
        }
        text.extend(self.describe_void());
        text
    }

    /// Blocks that do not count, and what to do where none is left.
    fn describe_void(&self) -> Option<String> {
        if self.void == 0 || self.blocks > 0 {
            return describe_void(&self.void_by).map(|text| format!("{text}."));
        }
        let causes: Vec<&str> = self.void_by.iter().map(|(cause, _)| cause.describe()).collect();
        Some(format!(
            "No block counts, as the client did not do what was asked: {}; give it CPUs of its own, or more --threads.",
            causes.join("; ")
        ))
    }

    fn named(&self, judgement: Judgement, word: &str) -> Option<String> {
        let found: Vec<String> = self.judged(judgement).map(describe).collect();
        let more = match found.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let named: Vec<&str> = found.iter().take(NAMED_MAX).map(String::as_str).collect();
        (!found.is_empty()).then(|| format!("{word}: {}{more}.", named.join("; ")))
    }

    /// Every change, as a table.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new([
            "command",
            "a run",
            "figure",
            "A (ms)",
            "B (ms)",
            "change",
            "95 % interval",
            "",
        ]);
        let mut last = None;
        for change in &self.changes {
            let is_first = last.replace(&change.command) != Some(&change.command);
            let (name, count) = match is_first {
                true => (change.command.clone(), grouped(change.count as f64)),
                false => (String::new(), String::new()),
            };
            table.row([
                name,
                count,
                change.figure.name().to_owned(),
                msec(change.a_ns),
                msec(change.b_ns),
                signed(change.ratio),
                change.interval.map_or("–".to_owned(), interval),
                word(change.judgement).to_owned(),
            ]);
        }
        table
    }

    /// Answers that differ, as a table.
    #[must_use]
    pub fn answer_table(&self) -> Option<Table> {
        let AnswerComparison { differences, .. } = self.answers.as_ref()?;
        let mut table =
            Table::new(["times", "command", "A answers", "B answers", "for example", "A", "B"]);
        for difference in differences {
            let [of_a, of_b] = difference.kinds.clone();
            let [command, a, b] = difference.example.clone();
            let count = grouped(difference.count as f64);
            table.row([count, difference.command.clone(), of_a, of_b, command, a, b]);
        }
        (!table.rows.is_empty()).then_some(table)
    }

    /// Every change, for programs.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let columns =
            ["command", "count", "figure", "a_ms", "b_ms", "ratio", "low", "high", "judgement"];
        let mut table = Csv::of(&columns);
        for change in &self.changes {
            let number = |number: f64| format!("{number:.4}");
            let ends = change.interval.map_or([String::new(), String::new()], |i| i.map(number));
            let [low, high] = ends;
            table.write([
                report::escape(&change.command),
                change.count.to_string(),
                change.figure.name().to_owned(),
                format!("{:.6}", change.a_ns / 1e6),
                format!("{:.6}", change.b_ns / 1e6),
                number(change.ratio),
                low,
                high,
                word(change.judgement).to_owned(),
            ]);
        }
        table.text()
    }

    /// The change of a figure, by command.
    fn chart(&self, figure: Figure) -> Option<Chart> {
        let of: Vec<&Change> =
            self.changes.iter().filter(|c| c.figure == figure).take(CHARTED_MAX).collect();
        if of.is_empty() {
            return None;
        }
        let names = of.iter().map(|change| change.command.clone());
        let title = format!("{} of B / A", figure.name());
        let mut chart = Chart::bars(title, names, Axis::linear("ratio", Unit::Plain));
        let points = of.iter().enumerate().map(|(at, change)| {
            let point = DataPoint::at(at as f64, change.ratio).noted(word(change.judgement));
            match change.interval {
                Some([low, high]) => point.within(low, high),
                None => point.hollow(),
            }
        });
        chart.series.push(Series::from_points("B / A", points.collect::<Vec<_>>()));
        chart.guides.push(Guide::Y(1.0, "no difference".to_owned()));
        Some(chart)
    }

    /// The page; `again` is the command line that rehearses anew.
    #[must_use]
    pub fn page(&self, command_line: &str) -> Page {
        let [a, b] = self.names();
        let mut lede = Vec::new();
        incomplete(&mut lede, self.complete);
        lede.push(self.verdict());
        let text = "Response times count from when a command was due. A change counts if it is surely larger \
            than allowed, one time in twenty at most by chance over all figures together.";
        let mut commands = vec![Block::Text(text.to_owned())];
        let figures = [Figure::P50, Figure::P99, Figure::Cpu];
        commands.extend(figures.iter().filter_map(|figure| self.chart(*figure)).map(Block::Chart));
        commands.push(Block::Table(self.table()));
        let mut sections = vec![Section::new("By command", commands)];
        sections.extend(self.answer_section());
        if let Some(room) = &self.head_room {
            let mut table = Table::new(["server", &format!("keeps {}", room.target)]);
            for (name, side) in [a, b].iter().zip(&room.sides) {
                table.row([(*name).to_owned(), side.describe()]);
            }
            sections.push(Section::new("Head room", [Block::Table(table)]));
        }
        let mut servers = Vec::new();
        for (letter, side) in ["A", "B"].iter().zip(&self.sides) {
            let started =
                side.command_line.iter().map(|line| ("started as".to_owned(), line.clone()));
            servers.push(Block::Heading(format!("{letter}: {}", side.name)));
            servers.push(Block::KeyValues(
                [
                    ("server".to_owned(), side.server.clone()),
                    ("address".to_owned(), side.address.clone()),
                ]
                .into_iter()
                .chain(started)
                .collect(),
            ));
        }
        sections.push(Section::new("The servers", servers).folded());
        let title = format!("{} on {a} and {b}", self.record.source);
        let mut page = super::page(&title, self.runs(), lede, sections, command_line);
        page.byline.insert(0, self.how.clone());
        page
    }

    fn answer_section(&self) -> Option<Section> {
        let answers = self.answers.as_ref()?;
        let text = format!(
            "Both servers were asked {} in the record's order, one after another. What may differ on equal \
             servers is set aside: the order of sets and maps, cursors, random choices, clocks, the wording of \
             errors.",
            counted(answers.asked, "command")
        );
        let mut blocks = vec![Block::Text(text)];
        blocks.push(match self.answer_table() {
            Some(table) => Block::Table(table),
            None => Block::Note(Tone::Good, "No answer differs.".to_owned()),
        });
        Some(Section::new("Answers that differ", blocks))
    }
}

/// So many answers.
fn of_answers(count: u64) -> String {
    counted(count, "answer")
}

/// A change in a sentence.
fn describe(change: &Change) -> String {
    let range = change.interval.map_or(String::new(), |range| format!(", {}", interval(range)));
    format!(
        "{} {} {} → {} ms ({}{range})",
        change.command,
        change.figure.name(),
        msec(change.a_ns),
        msec(change.b_ns),
        signed(change.ratio)
    )
}

fn word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Worse => "worse",
        Judgement::Better => "better",
        Judgement::Alike => "alike",
        Judgement::Slight => "too little to matter",
        Judgement::NotWorse => "not worse",
        Judgement::Undecided => "undecided",
    }
}

/// Milliseconds, with enough digits for the CPU time of a command.
fn msec(ns: f64) -> String {
    match ns < 10_000.0 {
        true => format!("{:.4}", ns / 1e6),
        false => format!("{:.3}", ns / 1e6),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A ratio as a change in per cent.
fn signed(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let sign = if percent < 0.0 { "−" } else { "+" };
    match percent.abs() {
        size if size < 100.0 => format!("{sign}{size:.1} %"),
        size if size < 1e6 => format!("{sign}{size:.0} %"),
        _ => "over +1000000 %".to_owned(),
    }
}

fn interval([low, high]: [f64; 2]) -> String {
    format!("{} to {}", signed(low), signed(high))
}
