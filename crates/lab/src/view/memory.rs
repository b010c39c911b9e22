//! A workload at several limits of memory, as a table, charts and a page.

use naming::RATE;
use report::CountUnit;
use report::page::{Axis, Block, Chart, DataPoint, Page, Section, Table, Tone, Unit, Verdict};

use super::{figure_cells, figure_names, incomplete, limited, or_dash, warnings};
use crate::csv::Csv;
use crate::footprint::{MemoryCurve, MemoryPoint, Steadiness};
use crate::{Document, Findings};

/// Explanation, in a sentence, of how the steadiness of a hit ratio is judged.
const JUDGED: &str = "Before each measurement, the load runs as fast as it goes, in rounds each twice as long as the one \
    before, until the hit ratio has settled: two rounds differ by less than 0.2 % of all lookups, or by no more than \
    chance.";

impl MemoryCurve {
    /// The table, with a row for each limit.
    pub fn table(&self) -> Table {
        let columns = ["maxmemory", "hit ratio", "misses/s", "evicted keys"].map(str::to_owned);
        let mut table = Table::new(columns.into_iter().chain(figure_names(CountUnit::Request)));
        for point in &self.points {
            let hits = or_dash(point.hit_ratio.map(|ratio| format!("{:.2} %", ratio * 100.0)));
            let moves = point.settled.is_some_and(|settled| !settled.still);
            let hits = if moves { hits + " (moving)" } else { hits };
            let evicted = or_dash(point.evicted_keys.map(|n| report::grouped(n as f64)));
            let cells = [point.limit.clone(), hits, report::grouped(point.misses_per_s), evicted];
            let figures = figure_cells(point.figures.throughput_rps, &point.figures);
            table.row(cells.into_iter().chain(figures));
        }
        table
    }

    /// Hit ratio, misses and latency by the limit: together, then misses and latency in their own units.
    pub fn charts(&self) -> Vec<Chart> {
        let misses = |point: &MemoryPoint| Some(point.misses_per_s);
        let tail = |point: &MemoryPoint| Some(point.figures.p99_ns as f64);
        let most = |value: &dyn Fn(&MemoryPoint) -> Option<f64>| {
            self.points.iter().filter_map(value).fold(0.0, f64::max)
        };
        let (most_misses, slowest) = (most(&misses), most(&tail));
        let share = |value: Option<f64>, most: f64| Some(value.filter(|_| most > 0.0)? / most);
        let chart = |title: &str, label: &str, unit: Unit| {
            let x = Axis::log("maxmemory", Unit::Bytes);
            Chart::lines(format!("{title} by maxmemory"), x, Axis::linear(label, unit))
        };
        let missed = format!("misses, 100 % = {}", Unit::PerSecond.show(most_misses));
        let late = format!("p99, 100 % = {}", Unit::Nanoseconds.show(slowest));
        let together = chart("Hit ratio, misses and latency", "share", Unit::Share)
            .noted("Misses and latency as shares of their largest")
            .with("hit ratio", self.by_limit(&|point| point.hit_ratio))
            .with(missed, self.by_limit(&|point| share(misses(point), most_misses)))
            .with(late, self.by_limit(&|point| share(tail(point), slowest)));
        let rate = chart("Misses per second", "misses", Unit::PerSecond);
        let p99 = chart("99th percentile", "p99", Unit::Nanoseconds);
        vec![together, rate.with("", self.by_limit(&misses)), p99.with("", self.by_limit(&tail))]
    }

    /// A figure of each limit, with all others as its note.
    fn by_limit(&self, value: &dyn Fn(&MemoryPoint) -> Option<f64>) -> Vec<DataPoint> {
        let points = self.points.iter().filter(|point| point.limit_bytes > 0);
        let points = points.filter_map(|point| {
            let hits = point
                .hit_ratio
                .map_or(String::new(), |ratio| format!("{} hits, ", Unit::Share.show(ratio)));
            let rate = Unit::PerSecond.show(point.misses_per_s);
            let tail = Unit::Nanoseconds.show(point.figures.p99_ns as f64);
            let note = format!("{hits}{rate} misses, p99 {tail}; {}", limited(&point.figures));
            Some(DataPoint::at(point.limit_bytes as f64, value(point)?).noted(note))
        });
        points.collect()
    }

    /// Verdict on the benefit of more memory, in a sentence.
    pub fn verdict(&self) -> Option<Verdict> {
        let rows = self.points.iter().map(|point| {
            let at = report::grouped(point.rate_per_s.unwrap_or(point.figures.throughput_rps));
            let Some(ratio) = point.hit_ratio else {
                return format!("with {} {at} requests/s", point.limit);
            };
            let (missed, misses) = ((1.0 - ratio) * 100.0, report::grouped(point.misses_per_s));
            format!(
                "at {} {missed:.1} % miss, {misses}/s to the database behind at {at} requests/s",
                point.limit
            )
        });
        let text = rows.collect::<Vec<_>>().join("; ");
        let least = self.points.iter().min_by_key(|point| point.limit_bytes)?;
        let most = self.points.iter().max_by_key(|point| point.limit_bytes)?;
        let fastest = self.points.iter().all(|point| point.rate_per_s.is_none());
        let how = format!(", as fast as it goes; {RATE} sets your rate");
        let text = text + if fastest { &how } else { "" };
        let headline = match least.hit_ratio.zip(most.hit_ratio) {
            Some((a, b)) => {
                let [a, b] = [a, b].map(|ratio| ratio * 100.0);
                format!("{a:.1} % hits with {}, {b:.1} % with {}", least.limit, most.limit)
            }
            None => "No hit ratio: this load looks up no keys".to_owned(),
        };
        Some(Verdict::new(headline, report::page::sentence(&text)))
    }

    /// Hit ratios that were not steady when measured, a sentence each.
    pub fn moving(&self) -> Vec<String> {
        let reasons = self.points.iter().filter_map(|point| {
            let Steadiness { still, last: [before, after], requests } = point.settled?;
            let (before, after) = (before * 100.0, after * 100.0);
            let requests = report::grouped(requests as f64);
            (!still).then(|| {
                format!(
                    "{}: the hit ratio still changes after {requests} requests: {before:.2} %, then \
                     {after:.2} %; it has not settled",
                    point.limit
                )
            })
        });
        reasons.collect()
    }
}

impl Findings for MemoryCurve {
    fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    fn set_complete(&mut self) {
        self.run.set_complete();
        self.complete = self.points.iter().all(|point| point.figures.complete());
    }

    /// A row for each limit.
    fn to_csv(&self) -> String {
        let columns = [
            "maxmemory",
            "maxmemory_bytes",
            "hit_ratio",
            "stands_still",
            "misses_per_s",
            "evicted_keys",
        ];
        let mut table = Csv::for_runs(columns);
        for point in &self.points {
            let cells = [
                point.limit.clone(),
                point.limit_bytes.to_string(),
                point.hit_ratio.map_or(String::new(), |ratio| format!("{ratio:.6}")),
                point.settled.map_or(String::new(), |settled| settled.still.to_string()),
                format!("{:.2}", point.misses_per_s),
                point.evicted_keys.map_or(String::new(), |evicted| evicted.to_string()),
            ];
            table.row(cells, &point.figures);
        }
        table.text()
    }

    fn shown(&self, quiet: bool) -> Vec<Block> {
        let mut blocks = vec![Block::Table(self.table())];
        if !quiet {
            blocks.extend(self.charts().into_iter().take(1).map(Block::Chart));
            blocks.extend(self.verdict().map(Block::Verdict));
            blocks.extend(warnings(self.moving()));
            blocks.extend(warnings(self.warnings()));
        }
        blocks
    }

    fn page(&self, command_line: &str) -> Page {
        let mut lede = incomplete(self.complete);
        lede.extend(self.verdict());
        let moving = self.moving();
        if !moving.is_empty() {
            let text = report::page::sentence(&moving.join(". "));
            let headline = "Not every hit ratio has settled";
            lede.push(Verdict::new(headline, text).toned(Tone::Warning));
        }
        let text = format!(
            "The same workload on a fresh start of {} with each limit, evicting by {}. Misses are what a database \
             behind the cache would be asked. {JUDGED}",
            self.server, self.policy
        );
        let charts = self.charts().into_iter().map(Block::Chart);
        let blocks = charts.chain([Block::Text(text), Block::Table(self.table())]);
        let sections = vec![Section::new("By maxmemory", blocks)];
        let title = format!("How much memory {} needs", self.server);
        super::page(&title, self.runs(), lede, sections, command_line)
    }
}
