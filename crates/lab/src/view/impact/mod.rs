//! Price lists as tables, charts and a page; two of them side by side.

mod verdict;

use report::page::{
    Axis, Band, Block, Chart, Column, Guide, Page, Section, Series, Table, Unit, sentence,
};

use super::{incomplete, or_dash, warnings};
use crate::csv::Csv;
use crate::impact::{Cost, Figure, Impact, Judgement, MixRecord, Price, RequestKind};
use crate::{Document, Findings};

/// Maximum number of characters of a server's text in a table.
const WORDS_MAX: usize = 60;
/// Maximum number of charts of a page; the table has the other kinds.
const CHARTS_MAX: usize = 6;

/// A column of a price list: its title, its name for programs, and its cell.
type PriceColumn = (&'static str, &'static str, fn(&Price) -> Option<String>);

/// The columns. A table leaves out empty ones.
const COLUMNS: [PriceColumn; 17] = [
    ("operation", "operation", |price| Some(price.operation.clone())),
    ("outcome", "outcome", |price| Some(price.outcome.words().0.to_owned())),
    ("load (%)", "load_percent", |price| price.load.map(percent)),
    ("who waits", "waits", |price| Some(price.waits.clone()).filter(|waits| !waits.is_empty())),
    ("p99 without (ms)", "without_p99_ms", |price| price.without_ms.map(ms)),
    ("p99 with (ms)", "with_p99_ms", |price| price.with_ms.map(ms)),
    ("cost (ms)", "cost_ms", |price| price.cost_ms.map(|cost| ms(cost.value))),
    ("at least", "cost_low_ms", |price| price.cost_ms.map(|cost| ms(cost.low))),
    ("at most", "cost_high_ms", |price| price.cost_ms.map(|cost| ms(cost.high))),
    ("surely", "surely", |price| price.surely.then(|| "*".to_owned())),
    ("lasted (s)", "lasted_s", |price| price.lasted_s.map(seconds)),
    ("longest (ms)", "max_ms", |price| price.max_ms.map(ms)),
    ("back after (s)", "back_s", |price| price.back_s.map(seconds)),
    ("user-s above target", "user_seconds_above_target", |price| price.user_seconds.map(seconds)),
    ("failed", "failed", |price| price.failed.map(|count| count.to_string())),
    ("more memory (MB)", "memory_more_mb", |price| {
        price.memory_more().map(|bytes| format!("{:.1}", bytes as f64 / 1e6))
    }),
    ("what the server says", "events", |price| {
        let why = price.outcome.words().1.map(str::to_owned);
        why.or_else(|| Some(price.events.join("; "))).filter(|words| !words.is_empty())
    }),
];

fn seconds(s: f64) -> String {
    format!("{s:.2}")
}

/// Milliseconds with the significant digits.
fn ms(value: f64) -> String {
    match value.abs() {
        large if large >= 99.95 => format!("{value:.0}"),
        medium if medium >= 9.995 => format!("{value:.1}"),
        small if small >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

/// A figure with its interval: `0.41 (0.35 to 0.47)`.
fn within(figure: Figure, written: fn(f64) -> String) -> String {
    format!("{} ({} to {})", written(figure.value), written(figure.low), written(figure.high))
}

/// A table of prices, with the columns that have content.
fn table<'p>(prices: impl Iterator<Item = &'p Price>) -> Table {
    let prices: Vec<&Price> = prices.collect();
    let filled = COLUMNS.iter().filter(|(title, _, cell)| match *title {
        "outcome" => prices.iter().any(|price| !price.is_measured()),
        _ => prices.iter().any(|price| cell(price).is_some()),
    });
    let columns: Vec<&PriceColumn> = filled.collect();
    let mut table = Table::new(columns.iter().map(|(title, ..)| *title));
    for price in prices {
        table.row(columns.iter().map(|(_, _, cell)| short(cell(price))));
    }
    table
}

/// A cell of a table, which has no room for a server's longest words.
fn short(cell: Option<String>) -> String {
    let Some(text) = cell else { return "–".to_owned() };
    let cut: String = text.chars().take(WORDS_MAX).collect();
    if cut.len() < text.len() { cut + "…" } else { cut }
}

impl Impact {
    /// The price list; for a mix, the cost of each kind at each load to the kind that waits longest for it.
    pub fn table(&self) -> Table {
        let mut table = table(self.prices.iter().filter(|price| {
            let rivals = self
                .prices
                .iter()
                .filter(|other| (&other.operation, other.load) == (&price.operation, price.load));
            let most = rivals.max_by(|a, b| saved(a).total_cmp(&saved(b)));
            self.mix.is_none() || most.is_some_and(|most| most.waits == price.waits)
        }));
        table.caption = self.mix.as_ref().map_or_else(String::new, |mix| {
            let unit = report::grouped(mix.effects.unit_per_s);
            format!("What {unit}/s of each kind cost whoever waits most for it")
        });
        table
    }

    /// Latency over time, with the acts; for a mix, the 99th percentile of each kind over the load.
    fn charts(&self) -> Vec<Chart> {
        match &self.mix {
            Some(mix) => {
                mix.kinds.iter().take(CHARTS_MAX).filter_map(|kind| self.chart_of(kind)).collect()
            }
            None => self.chart_of_acts().into_iter().collect(),
        }
    }

    fn chart_of_acts(&self) -> Option<Chart> {
        let run = self.runs().first.as_deref()?;
        let mut chart =
            report::page::runs::latency_over_time("Response time over time, with the acts", run);
        let interval_s = run.measurement.timeline.interval_ns as f64 / 1e9;
        for price in &self.prices {
            let Some(from) = price.from_s else { continue };
            let to = from + price.lasted_s.unwrap_or(0.0).max(interval_s);
            let note = format!("{}: {}", price.operation, came_back(price));
            chart.bands.push(Band { from, to, name: "act".to_owned(), note });
        }
        chart.guides.extend(self.target_ns().map(|ns| Guide::Y(ns, "target".to_owned())));
        Some(chart)
    }

    fn chart_of(&self, kind: &RequestKind) -> Option<Chart> {
        let title = format!("p99 of {} over the load", kind.name);
        let load = Axis::linear("load, in percent of capacity", Unit::Plain);
        let waits = || self.prices.iter().filter(|price| price.waits == kind.name);
        let points = |operation: &str, ms: fn(&Price) -> Option<f64>| -> Vec<(f64, f64)> {
            let of = waits().filter(|price| price.operation == operation);
            of.filter_map(|price| Some((price.load? * 100.0, ms(price)? * 1e6))).collect()
        };
        let whole = points(&waits().next()?.operation, |price| price.with_ms);
        let p99 = Axis::linear("p99", Unit::Nanoseconds);
        let mut chart = Chart::lines(title, load, p99).with("whole mix", whole);
        for other in &self.mix.as_ref()?.kinds {
            let points = points(&other.name, |price| price.without_ms);
            if !points.is_empty() {
                let name = format!("without {}", other.name);
                chart.series.push(Series::new(name, points).dashed());
            }
        }
        Some(chart)
    }

    /// This list beside another: for each price in either, a row for each list that has it.
    pub fn compared_with(&self, other: &Self, names: [&str; 2]) -> Table {
        let titles = COLUMNS.map(|(title, ..)| title);
        let mut rows = Table::new(
            ["operation", "list", "ratio of p99"].into_iter().chain(titles[1..].iter().copied()),
        );
        let in_one = |list: &Self, price: &Price| {
            list.prices.iter().find(|of| of.subject() == price.subject()).cloned()
        };
        let added = other.prices.iter().filter(|price| in_one(self, price).is_none());
        for price in self.prices.iter().chain(added) {
            let both = [in_one(self, price), in_one(other, price)];
            let [a, b] = both.each_ref().map(|of| of.as_ref()?.with_ms.filter(|p99| *p99 > 0.0));
            let ratio = a.zip(b).map(|(a, b)| format!("{:.2}", b / a));
            for (at, of) in both.iter().enumerate() {
                let Some(of) = of else { continue };
                let ratio = short(ratio.clone().filter(|_| at == 1));
                let first = [of.operation.clone(), names[at].to_owned(), ratio];
                let cells = COLUMNS[1..].iter().map(|(_, _, cell)| short(cell(of)));
                rows.row(first.into_iter().chain(cells));
            }
        }
        rows
    }
}

impl Findings for Impact {
    fn is_empty(&self) -> bool {
        self.prices.is_empty() && self.mix.as_ref().is_none_or(|mix| mix.segments.is_empty())
    }

    fn is_conclusive(&self) -> bool {
        self.mix.as_ref().is_none_or(|mix| mix.effects.judgement != Judgement::NotJudged)
    }

    fn set_complete(&mut self) {
        self.run.set_complete();
        self.complete = true;
    }

    /// A line for each price.
    fn to_csv(&self) -> String {
        let mut csv = Csv::new(&COLUMNS.map(|(_, name, _)| name));
        for price in &self.prices {
            csv.write(COLUMNS.map(|(_, _, cell)| report::escape(cell(price).unwrap_or_default())));
        }
        csv.text()
    }

    fn shown(&self, quiet: bool) -> Vec<Block> {
        let mut blocks = vec![Block::Table(self.table())];
        blocks.extend(self.mix.as_ref().map(|mix| Block::Table(mix.table())));
        if self.mix.is_some() || !quiet {
            blocks.insert(0, Block::Verdict(self.verdict()));
        }
        if !quiet {
            blocks.extend(self.mix.as_ref().map(|mix| Block::Text(mix.how())));
            blocks.extend(warnings(self.warnings()));
        }
        blocks
    }

    fn page(&self, command_line: &str) -> Page {
        let mut lede = incomplete(self.complete());
        lede.push(self.verdict());
        let text = if self.mix.is_some() { ABOUT_KINDS } else { ABOUT_ACTS };
        let mut blocks = vec![Block::Table(self.table()), Block::Text(text.to_owned())];
        blocks.extend(self.charts().into_iter().map(Block::Chart));
        let mut sections = vec![Section::new("What each operation costs", blocks)];
        match &self.mix {
            Some(mix) => {
                let takes = [Block::Table(mix.table()), Block::Text(mix.how())];
                let all = [Block::Table(table(self.prices.iter()))];
                sections.push(Section::new("What each kind costs the server", takes));
                sections.push(Section::new("Who waits for whom", all).folded());
            }
            None => {
                let columns: [Column<'_, &Price>; 3] = [
                    ("operation", &|price| price.operation.clone()),
                    ("what it is", &|price| sentence(&price.about)),
                    ("what the server says", &|price| match price.outcome.words() {
                        (outcome, Some(why)) => format!("{outcome}: {why}"),
                        (_, None) => price.events.join("; "),
                    }),
                ];
                let about = Table::of(&columns, &self.prices);
                sections.push(Section::new("What was done", [Block::Table(about)]));
            }
        }
        let title = "What operations cost those who wait";
        super::page(title, self.runs(), lede, sections, command_line)
    }
}

const ABOUT_ACTS: &str = "Latencies are response times, counted from when a request was due; the load is an open \
    loop. Latency is as before when the 99th percentile of four intervals in a row is at most 10 % above that of the \
    rest before the act, or as high as in an interval of that rest. User-seconds are the time by which requests took \
    longer than the target, all together.";
const ABOUT_KINDS: &str = "Costs are differences of the 99th percentile of response times, counted from when a \
    request was due, in an open loop: by how much it is higher for so many requests per second of the operation. They \
    hold at their load only: waiting grows faster than load does.";

/// Reduction of a percentile without the operation; below all others if unknown.
fn saved(price: &Price) -> f64 {
    price.saves_ms.unwrap_or(f64::NEG_INFINITY)
}

fn came_back(price: &Price) -> String {
    match price.back_s {
        Some(s) => format!("latency was as before after {} s", seconds(s)),
        None => "latency was not as before when its rest was over".to_owned(),
    }
}

impl MixRecord {
    /// Builds the table of the server's capacity and CPU that each kind takes.
    fn table(&self) -> Table {
        let unit = report::grouped(self.effects.unit_per_s);
        let known = |figure: Option<Figure>, written: fn(f64) -> String| {
            or_dash(figure.map(|figure| within(figure, written)))
        };
        let columns: [Column<'_, (&RequestKind, &Cost)>; 4] = [
            ("kind", &|(kind, _)| kind.name.clone()),
            ("share of the mix (%)", &|(kind, _)| percent(kind.share)),
            (&format!("capacity that {unit}/s take (%)"), &|(_, of)| known(of.capacity, percent)),
            ("server CPU of one (µs)", &|(_, of)| known(of.server_cpu_us, ms)),
        ];
        let table = Table::of(&columns, self.kinds.iter().zip(&self.effects.costs));
        Table { caption: "What each kind costs the server".to_owned(), ..table }
    }

    /// Describes how the mix was measured, in a sentence or two.
    fn how(&self) -> String {
        let capacity = self.effects.capacity_per_s.map_or("unknown".to_owned(), |figure| {
            let limit =
                self.effects.limited_by.map(|limit| format!(", limited by {}", limit.name()));
            let limit = limit.unwrap_or_default();
            format!("{}/s{limit}", within(figure, report::grouped))
        });
        format!(
            "Capacity of the whole mix: {capacity}. {} segments count, {} are void. Intervals hold the true \
             value 95 times in 100 each; * marks what surely costs more than the rest.",
            self.effects.segments, self.effects.void
        )
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

    #[test]
    fn a_table_has_the_columns_that_say_something_and_csv_all() {
        let mut list = Impact::new("redis".to_owned());
        let act = Price { operation: "keys".to_owned(), with_ms: Some(2.0), ..Price::default() };
        list.prices.push(act);
        assert_eq!(list.table().columns, ["operation", "p99 with (ms)"]);
        assert_eq!(list.to_csv().lines().next().unwrap().matches("\",\"").count(), 16);
        let mut other = list.clone();
        other.prices[0].with_ms = Some(3.0);
        let rows = list.compared_with(&other, ["a", "b"]).rows;
        assert_eq!((rows.len(), rows[1][1].as_str(), rows[1][2].as_str()), (2, "b", "1.50"));
    }
}
