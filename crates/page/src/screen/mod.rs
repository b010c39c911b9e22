//! One screen about a run that lasts: how far it is, its figures and their course, its outages, and what limits it.
//!
//! Owns what is shown at which size, the most important first: a line more is a line more of the course, of outages or
//! of the verdict. No line is wider than the terminal, and there are never more than it has.

mod course;

use report::{LiveProgress, escape, grouped};

use crate::term::{bar, bold, painted};
use crate::{Tone, Verdict};

pub use course::{Course, Moment};
use course::{Curve, lasting};

/// What is known of the run.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    /// The test, how far it is, and the figures of the last second.
    pub progress: LiveProgress,
    /// Median, 99th percentile and maximum of the response times so far, in milliseconds.
    pub so_far_msec: [Option<f64>; 3],
    /// Rate and response times over time.
    pub course: Course,
    /// The outages so far, a line each, the latest last.
    pub outages: Vec<String>,
    /// Spikes and silences, a line each, the latest last.
    pub events: Vec<String>,
    /// What limits the run so far; `None` where that is not known.
    pub verdict: Option<Verdict>,
}

/// Columns of a figure, at least and at most, and of what stands before a row of them.
const FIGURE: (usize, usize) = (8, 14);
const ROW_NAME: usize = 8;
/// Rows of a curve at first and at most.
const CURVE_ROWS: (usize, usize) = (2, 5);
/// Lines of a list at first and at most.
const LIST_LINES: (usize, usize) = (3, 8);

/// The lines that are left.
struct Room(usize);

impl Room {
    /// As many of so many lines as there are.
    fn some(&mut self, wanted: usize) -> usize {
        let given = wanted.min(self.0);
        self.0 -= given;
        given
    }

    /// So many lines, or none.
    fn all(&mut self, wanted: usize) -> bool {
        let fits = wanted <= self.0;
        self.0 -= if fits { wanted } else { 0 };
        fits
    }
}

/// How many lines each part gets.
#[derive(Default)]
struct Layout {
    figures: bool,
    more: bool,
    gaps: bool,
    axis: bool,
    curve: usize,
    outages: Option<usize>,
    events: usize,
    verdict: Option<usize>,
    hint: bool,
}

impl Screen {
    /// The lines of a terminal of this size, without line ends.
    #[must_use]
    pub fn draw(&self, columns: usize, rows: usize, colour: bool) -> Vec<String> {
        let verdict = self.verdict_lines(columns);
        let layout = self.layout(rows, verdict.len());
        let mut lines = vec![bold(&self.title(columns), colour), self.bar(columns, colour)];
        lines.truncate(rows);
        let gap = |lines: &mut Vec<String>| lines.extend(layout.gaps.then(String::new));
        if layout.figures {
            gap(&mut lines);
            lines.extend(self.figures(columns));
            lines.extend(layout.more.then(|| self.more(columns)));
        }
        if layout.curve > 0 {
            gap(&mut lines);
            let of_rate = if self.progress.deliveries { "deliveries/s" } else { "requests/s" };
            for curve in [Curve::rate(&self.course, of_rate), Curve::p99(&self.course)] {
                lines.extend(curve.draw(columns, layout.curve, colour));
            }
            lines.extend(layout.axis.then(|| self.course.axis(columns)));
        }
        if let Some(shown) = layout.outages {
            gap(&mut lines);
            lines.push(self.outages_line());
            lines.extend(last(&self.outages, shown));
            lines.extend(last(&self.events, layout.events));
        }
        if let Some(shown) = layout.verdict {
            gap(&mut lines);
            let tone = self.verdict.as_ref().map_or(Tone::Plain, |verdict| verdict.tone);
            for (n, line) in verdict.iter().take(1 + shown).enumerate() {
                lines.push(if n == 0 { toned(line, tone, colour) } else { line.clone() });
            }
        }
        if layout.hint {
            lines.extend([String::new(), HINT.to_owned()]);
        }
        lines.into_iter().map(|line| cut(line, columns)).collect()
    }

    fn layout(&self, rows: usize, verdict: usize) -> Layout {
        let mut room = Room(rows.saturating_sub(2));
        let mut layout = Layout { figures: room.all(3), ..Layout::default() };
        layout.curve = usize::from(room.all(4));
        layout.verdict = (verdict > 0 && room.all(1)).then_some(0);
        layout.outages = room.all(1).then_some(0);
        layout.more = room.all(1);
        layout.axis = layout.curve > 0 && room.all(1);
        layout.gaps = room.all(4);
        let (few, many) = LIST_LINES;
        let (low, high) = CURVE_ROWS;
        let higher = |layout: &mut Layout, room: &mut Room, rows: usize| {
            while layout.curve > 0 && layout.curve < rows && room.all(2) {
                layout.curve += 1;
            }
        };
        let texts = verdict.saturating_sub(1);
        higher(&mut layout, &mut room, low);
        layout.outages = layout.outages.map(|_| room.some(self.outages.len().min(few)));
        layout.verdict = layout.verdict.map(|_| room.some(texts.min(few)));
        layout.events = room.some(self.events.len().min(few));
        layout.hint = room.all(2);
        higher(&mut layout, &mut room, high);
        let more = |shown: usize, all: usize, room: &mut Room| {
            shown + room.some(all.min(many).saturating_sub(shown))
        };
        layout.outages = layout.outages.map(|n| more(n, self.outages.len(), &mut room));
        layout.events = more(layout.events, self.events.len(), &mut room);
        layout.verdict = layout.verdict.map(|n| more(n, texts, &mut room));
        layout
    }

    fn title(&self, columns: usize) -> String {
        let of = &self.progress;
        let warming = if of.warming_up { "Warming up " } else { "" };
        let title = format!("{warming}{}", escape(&of.title));
        let test = match of.test_count {
            0 | 1 => String::new(),
            count => format!("test {} of {count}", of.test_index),
        };
        let room = columns.saturating_sub(test.chars().count() + 2);
        let title: String = title.chars().take(room).collect();
        let gap = columns.saturating_sub(title.chars().count() + test.chars().count());
        format!("{title}{}{test}", " ".repeat(gap)).trim_end().to_owned()
    }

    /// How far the run is.
    fn bar(&self, columns: usize, colour: bool) -> String {
        let of = &self.progress;
        let known = |value: Option<f64>| value.filter(|value| value.is_finite());
        let elapsed = lasting(of.elapsed_s);
        let Some(share) = known(of.share_done).map(|share| share.clamp(0.0, 1.0)) else {
            return format!("for {elapsed}");
        };
        let mut words = format!("{:.0} %, {elapsed}", (share * 100.0).floor());
        if let Some(left) = known(of.time_left_s) {
            words += &format!(", {} left", lasting(left));
        }
        let length = columns.saturating_sub(words.chars().count() + 2).min(60);
        let bar = bar(share, length);
        let gap = " ".repeat(length.saturating_sub(bar.chars().count()) + 2);
        format!("{}{gap}{words}", painted(&bar, "34", colour))
    }

    /// A table of the last second and of the run so far.
    fn figures(&self, columns: usize) -> [String; 3] {
        let of = &self.progress;
        let (least, most) = FIGURE;
        let width = (columns.saturating_sub(ROW_NAME) / 4).clamp(least, most);
        let row = |name: &str, figures: [String; 4]| {
            let figures = figures.map(|figure| format!("{figure:>width$}")).concat();
            format!("{name:<ROW_NAME$}{figures}").trim_end().to_owned()
        };
        let rate = match (width > 12, of.deliveries) {
            (false, _) => "per s",
            (true, false) => "requests/s",
            (true, true) => "deliveries/s",
        };
        let head = [rate, "p50 ms", "p99 ms", "max ms"].map(str::to_owned);
        let rate = |value: Option<f64>| value.filter(|v| v.is_finite()).map_or("-".into(), grouped);
        let now = [of.interval_p50_msec, of.interval_p99_msec, of.interval_max_msec].map(msec);
        let all = self.so_far_msec.map(msec);
        let with = |rate: String, [p50, p99, max]: [String; 3]| [rate, p50, p99, max];
        [
            row("", head),
            row("now", with(rate(of.interval_rps), now)),
            row("so far", with(rate(of.overall_rps), all)),
        ]
    }

    /// What was asked for, and what went wrong.
    fn more(&self, columns: usize) -> String {
        let of = &self.progress;
        let wanted = of.wanted_rps.filter(|rate| rate.is_finite());
        let wanted = wanted.map(|rate| format!("{}/s wanted", grouped(rate)));
        let behind = of.behind.map(|count| format!("{} behind", grouped(count as f64)));
        let errors = format!("{} errors", grouped(of.errors as f64));
        let all: Vec<String> = [wanted, behind, Some(errors)].into_iter().flatten().collect();
        // A narrow terminal has room for what went wrong.
        let text = all.join(", ");
        let from = usize::from(ROW_NAME + text.chars().count() > columns && all.len() > 1);
        format!("{:<ROW_NAME$}{}", "", all[from..].join(", "))
    }

    fn outages_line(&self) -> String {
        match self.outages.len() {
            0 => "No outage so far".to_owned(),
            1 => "1 outage so far".to_owned(),
            n => format!("{n} outages so far, the latest"),
        }
    }

    /// The headline, and what follows it, in lines of so many columns.
    fn verdict_lines(&self, columns: usize) -> Vec<String> {
        let Some(verdict) = &self.verdict else { return Vec::new() };
        let text = verdict.text.split(' ').fold(Vec::<String>::new(), |mut lines, word| {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(format!("  {word}")),
            }
            lines
        });
        let text = text.into_iter().filter(|line| !line.trim().is_empty());
        std::iter::once(format!("So far: {}", verdict.headline)).chain(text).collect()
    }
}

const HINT: &str = "Ctrl-C ends the run and prints its results";

/// The last of these, a little to the right.
fn last(lines: &[String], shown: usize) -> impl Iterator<Item = String> + '_ {
    let from = lines.len() - shown.min(lines.len());
    lines[from..].iter().map(|line| format!("  {line}"))
}

fn msec(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        None => "-".to_owned(),
        Some(ms) if ms >= 999.9995 => grouped(ms),
        Some(ms) => format!("{ms:.3}"),
    }
}

fn toned(line: &str, tone: Tone, colour: bool) -> String {
    match tone {
        Tone::Plain => bold(line, colour),
        Tone::Good => painted(line, "1;32", colour),
        Tone::Warning => painted(line, "1;33", colour),
        Tone::Bad => painted(line, "1;31", colour),
    }
}

/// The line within so many columns; colours take none.
fn cut(line: String, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line;
    }
    let (mut shown, mut is_colour, mut text) = (0, false, String::new());
    for character in line.chars() {
        is_colour |= character == '\x1b';
        if is_colour || shown < columns {
            text.push(character);
        }
        shown += usize::from(!is_colour);
        is_colour &= character != 'm';
    }
    text
}

#[cfg(test)]
mod tests;
