//! Who makes whom wait, as tables, charts and a page.

use page::{Axis, Block, Chart, DataPoint, Page, Section, Series, Table, Tone, Unit, Verdict};

use super::incomplete;
use crate::Blame;
use crate::Document;
use crate::blame::{Culprit, Figure, Outcome, Treatment};

/// Charts of a page: more kinds than this are in the table.
const CHARTS_MAX: usize = 6;

/// Milliseconds with the digits that matter.
fn ms(value: f64) -> String {
    match value.abs() {
        large if large >= 99.95 => format!("{value:.0}"),
        medium if medium >= 9.995 => format!("{value:.1}"),
        small if small >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A figure with its interval: `0.41 (0.35 to 0.47)`.
fn within(figure: Figure, written: fn(f64) -> String) -> String {
    format!("{} ({} to {})", written(figure.value), written(figure.low), written(figure.high))
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

fn microseconds(us: f64) -> String {
    if us.abs() < 99.95 { format!("{us:.1}") } else { format!("{us:.0}") }
}

impl Blame {
    /// Rows: who waits at which load; columns: for whom.
    #[must_use]
    pub fn table(&self) -> Table {
        let unit = report::grouped(self.effects.unit_per_s);
        let cause = |kind: &crate::blame::Kind| format!("for {unit}/s of {} (ms)", kind.name);
        let columns = ["load", "who waits", "p99 (ms)"].map(str::to_owned);
        let mut table = Table::new(columns.into_iter().chain(self.kinds.iter().map(cause)));
        table.caption = "What others add to the p99 of each kind".to_owned();
        for level in &self.effects.levels {
            for (at, wait) in level.waits.iter().enumerate() {
                if level.segments < level.void {
                    table.faint.push(table.rows.len());
                }
                let load = format!(
                    "{:.0} % ({}/s)",
                    level.load * 100.0,
                    report::grouped(level.rate_per_s)
                );
                let p99 = wait.p99_ms.map_or("–".to_owned(), ms);
                let cost = |(by, cost): (usize, &Option<crate::blame::effects::WaitCost>)| {
                    let mark = if self.effects.is_blamed(level.load, at, by) { " *" } else { "" };
                    let text = cost.as_ref().map(|cost| within(cost.p99_ms, ms) + mark);
                    text.unwrap_or_else(|| "–".to_owned())
                };
                let costs = wait.costs.iter().enumerate().map(cost);
                table.row([load, self.kinds[at].name.clone(), p99].into_iter().chain(costs));
            }
        }
        table
    }

    /// What each kind takes of the server.
    #[must_use]
    pub fn cost_table(&self) -> Table {
        let unit = report::grouped(self.effects.unit_per_s);
        let mut table = Table::new([
            "kind".to_owned(),
            "share of the mix (%)".to_owned(),
            format!("capacity that {unit}/s take (%)"),
            "server CPU of one (µs)".to_owned(),
        ]);
        table.caption = "What each kind takes of the server".to_owned();
        for (kind, cost) in self.kinds.iter().zip(&self.effects.costs) {
            let known = |figure: Option<Figure>, written: fn(f64) -> String| {
                figure.map_or("–".to_owned(), |figure| within(figure, written))
            };
            table.row([
                kind.name.clone(),
                percent(kind.share),
                known(cost.capacity, percent),
                known(cost.server_cpu_us, microseconds),
            ]);
        }
        table
    }

    /// What it comes to, and what to do.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.outcome() {
            Outcome::SingledOut => self.accusation(),
            Outcome::NoneSingledOut => {
                let text = format!(
                    "None costs another surely more p99 than the same number of other requests do: with {} \
                     comparisons that are to hold together 95 times in 100, every interval holds zero or less than \
                     a tenth of the p99. Either all cost alike, or the noise here hides the difference: more --blocks \
                     and a quieter machine narrow the intervals.",
                    self.effects.comparisons
                );
                let figures = self.capacity();
                Verdict { figures, ..Verdict::new("No kind can be singled out", text) }
            }
            Outcome::NotJudged => {
                let all = self.effects.segments + self.effects.void;
                let why = match self.effects.void_cause {
                    Some(cause) if self.effects.void > 0 => format!(
                        "{} in {} of {all} segments. Stop other programs, or run longer segments (--duration).",
                        page::sentence(cause.describe()).trim_end_matches('.'),
                        self.effects.void
                    ),
                    _ => format!(
                        "{all} segments are too few, or have too few replies of each kind for a p99: run longer ones \
                         (--duration) or more of them (--blocks)."
                    ),
                };
                Verdict { tone: Tone::Warning, ..Verdict::new("Cannot be judged here", why) }
            }
        }
    }

    fn capacity(&self) -> Vec<(String, String)> {
        let capacity = self.effects.capacity_per_s.iter();
        capacity
            .map(|figure| ("capacity".to_owned(), within(*figure, report::grouped) + " /s"))
            .collect()
    }

    fn accusation(&self) -> Verdict {
        let blamed = &self.effects.blamed;
        let names: Vec<&str> = blamed.iter().map(|of| self.kinds[of.kind].name.as_str()).collect();
        let (headline, them) = match &names[..] {
            [one] => (format!("{one} makes the others wait"), (*one).to_owned()),
            [others @ .., last] => {
                let all = format!("{} and {last}", others.join(", "));
                (format!("{all} make the others wait"), all)
            }
            [] => (String::new(), String::new()),
        };
        let each: Vec<String> = blamed.iter().filter_map(|of| self.charge(of)).collect();
        let advice = format!(
            "Move {them} to a server (or replica) of its own, or make it cheaper: shorter replies, fewer elements."
        );
        let text = format!("{} {advice}", each.join(" "));
        let figures = self.capacity();
        Verdict { tone: Tone::Warning, figures, ..Verdict::new(headline, text) }
    }

    /// `At 85 % of capacity, 1,000/s of hgetall cost get 0.40 ms of p99 (0.35 to 0.45) and 3.1 % of capacity; …`
    fn charge(&self, blamed: &Culprit) -> Option<String> {
        let (level, wait, cost) = self.effects.cost_of(blamed)?;
        let (kind, waits) = (&self.kinds[blamed.kind].name, &self.kinds[blamed.waits].name);
        let Figure { value, low, high } = cost.p99_ms;
        let capacity = self.effects.costs[blamed.kind].capacity;
        let capacity = capacity.map_or(String::new(), |figure| {
            let range = format!("{} to {}", percent(figure.low), percent(figure.high));
            format!(" and {} % of capacity ({range})", percent(figure.value))
        });
        let without = match (cost.p99_without_ms, wait.p99_ms) {
            (Some(without), Some(with)) => {
                format!(
                    "; without {kind}, the p99 of {waits} is {} ms instead of {}",
                    ms(without),
                    ms(with)
                )
            }
            _ => String::new(),
        };
        Some(format!(
            "At {:.0} % of capacity, {}/s of {kind} cost {waits} {} ms of p99 ({} to {}){capacity}{without}.",
            level.load * 100.0,
            report::grouped(self.effects.unit_per_s),
            ms(value),
            ms(low),
            ms(high)
        ))
    }

    /// How it was measured, in a sentence or two.
    #[must_use]
    pub fn how(&self) -> String {
        let capacity = self.effects.capacity_per_s.map_or("unknown".to_owned(), |figure| {
            let limit = self.effects.limited_by;
            let limit =
                limit.map_or(String::new(), |limit| format!(", limited by {}", limit.name()));
            format!("{}/s{limit}", within(figure, report::grouped))
        });
        format!(
            "Capacity of the whole mix: {capacity}. {} segments count, {} were disturbed. Intervals hold the true \
             value 95 times in 100 each; * marks who is surely worse than the rest.",
            self.effects.segments, self.effects.void
        )
    }

    /// The 99th percentile of each kind over the load, with all and without each other kind.
    fn charts(&self) -> Vec<Chart> {
        (0..self.kinds.len()).take(CHARTS_MAX).filter_map(|kind| self.chart(kind)).collect()
    }

    fn chart(&self, kind: usize) -> Option<Chart> {
        let title = format!("p99 of {} over the load", self.kinds[kind].name);
        let load = Axis::linear("load, in percent of capacity", Unit::Plain);
        let mut chart = Chart::lines(title, load, Axis::linear("p99", Unit::Nanoseconds));
        let points = |ms_at: &dyn Fn(&crate::blame::Wait) -> Option<f64>| -> Vec<DataPoint> {
            let levels = self.effects.levels.iter();
            levels
                .filter_map(|level| {
                    let ms = ms_at(level.waits.get(kind)?)?;
                    Some(DataPoint::at(level.load * 100.0, ms * 1e6))
                })
                .collect()
        };
        let whole = points(&|wait| wait.p99_ms);
        if whole.is_empty() {
            return None;
        }
        chart.series.push(Series::from_points("whole mix", whole));
        for (by, other) in self.kinds.iter().enumerate().filter(|(by, _)| *by != kind) {
            let without = points(&|wait| wait.costs.get(by)?.as_ref()?.p99_without_ms);
            chart
                .series
                .push(Series::from_points(format!("without {}", other.name), without).dashed());
        }
        Some(chart)
    }

    /// The page.
    #[must_use]
    pub fn page(&self, command_line: &str) -> Page {
        let mut lede = Vec::new();
        incomplete(&mut lede, self.complete());
        lede.push(self.verdict());
        let text = "Costs are differences of the 99th percentile of response times, counted from when a request was \
            due, in an open loop: by how much it is higher for so many requests per second of the kind at the head of \
            the column. They hold at their load only: waiting grows faster than load does.";
        let mut blocks = vec![Block::Table(self.table()), Block::Text(self.how())];
        blocks.push(Block::Text(text.to_owned()));
        blocks.extend(self.charts().into_iter().map(Block::Chart));
        let sections = vec![
            Section::new("Who waits for whom", blocks),
            Section::new("The cost of each kind", [Block::Table(self.cost_table())]),
            Section::new("Segments", [Block::Table(self.segment_table())]).folded(),
        ];
        super::page("Who makes the others wait", self.runs(), lede, sections, command_line)
    }

    fn segment_table(&self) -> Table {
        let columns = ["block", "load", "mix", "answered /s"].map(str::to_owned);
        let p99 = self.kinds.iter().map(|kind| format!("p99 of {} (ms)", kind.name));
        let last = std::iter::once("disturbed by".to_owned());
        let mut table = Table::new(columns.into_iter().chain(p99).chain(last));
        for (number, of) in self.segments.iter().enumerate() {
            if !of.is_valid() {
                table.faint.push(number);
            }
            let name = |kind: usize| self.kinds[kind].name.as_str();
            let mix = match of.segment.treatment {
                Treatment::Whole => "whole".to_owned(),
                Treatment::Thinned(kind) => format!("half of {}", name(kind)),
                Treatment::Without(kind) => format!("without {}", name(kind)),
            };
            let load = of.segment.level.and_then(|level| self.loads.get(level));
            let load =
                load.map_or("closed loop".to_owned(), |load| format!("{:.0} %", load * 100.0));
            let first = [(of.segment.block + 1).to_string(), load, mix];
            let p99 = of.p99_ms.iter().map(|p99| p99.map_or("–".to_owned(), ms));
            let void = of.void.map_or(String::new(), |cause| cause.describe().to_owned());
            let answered = report::grouped(of.answered_per_s);
            table.row(first.into_iter().chain([answered]).chain(p99).chain([void]));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_matter() {
        for (value, text) in
            [(0.0123, "0.012"), (1.234, "1.23"), (-12.34, "-12.3"), (1234.5, "1234")]
        {
            assert_eq!(ms(value), text);
        }
        let figure = Figure { value: 0.0312, low: 0.0288, high: 0.3 };
        assert_eq!(within(figure, percent), "3.1 (2.9 to 30)");
    }
}
