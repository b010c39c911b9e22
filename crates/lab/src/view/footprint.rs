//! Memory of keys, as tables, a chart and a page.

use measure::statistics::Mean;
use report::groups::{by_key, unique};
use report::page::{
    Axis as ChartAxis, Block, Chart, Column, DataPoint, Page, Section, Table, Unit, Verdict,
};

use super::{again, incomplete, or_dash, plain, warned, warnings};
use crate::Findings;
use crate::csv::Csv;
use crate::footprint::{Axis, Footprint, FootprintRow, KEY_BYTES, KeyBytes, MemoryStep};

/// Explanation of the method, for people.
const METHOD: &str = "Bytes per key: the slope through fills of three sizes, each twice the one before, so that \
    what a server needs without keys drops out. All keys have 16 bytes. used_memory is what the allocator handed out, \
    with its rounding; dataset is that without what the server counts as overhead; RSS is the process's memory.";
const METHOD_MEMCACHED: &str = "For memcached, used_memory is the chunk of the slab class that holds the item, and \
    dataset is the item with its header.";

/// A part of a bytes.
type Part = fn(&KeyBytes) -> Option<f64>;

/// The parts of a key's bytes, by their names for programs.
const PARTS: [(&str, Part); 4] = [
    ("used_memory", |bytes| Some(bytes.used)),
    ("dataset", |bytes| bytes.dataset),
    ("rss", |bytes| bytes.resident),
    ("allocator", |bytes| bytes.allocator),
];

impl Footprint {
    /// The table of `bytes_per_key`.
    pub fn table(&self) -> Table {
        let columns: [Column<'_, &FootprintRow>; 10] = [
            ("key", &|row| row.item.clone()),
            ("server", &|row| self.server(row.server).to_owned()),
            ("encoding", &|row| or_dash(row.encoding.clone())),
            ("stored", &|row| report::grouped(row.payload_bytes as f64)),
            ("used_memory", &|row| with_error(row.used())),
            ("per element", &|row| {
                let used = row.used().filter(|_| row.elements > 1);
                or_dash(used.map(|used| format!("{:.1}", used.mean / f64::from(row.elements))))
            }),
            ("dataset", &|row| with_error(row.mean(|bytes| bytes.dataset))),
            ("RSS", &|row| with_error(row.mean(|bytes| bytes.resident))),
            ("allocator", &|row| with_error(row.mean(|bytes| bytes.allocator))),
            ("MEMORY USAGE", &|row| {
                or_dash(row.memory_usage.map(|bytes| report::grouped(bytes as f64)))
            }),
        ];
        self.of_servers(Table::of(&columns, &self.rows))
    }

    /// A table without the column of servers if there is only one.
    fn of_servers(&self, table: Table) -> Table {
        if self.servers.len() > 1 { table } else { table.without("server") }
    }

    /// Returns the omissions, a line for each reason.
    pub fn left_out(&self) -> Vec<String> {
        let failed = self.rows.iter().filter_map(|row| {
            Some(((self.server(row.server), row.failure.as_ref()?), row.item.as_str()))
        });
        let lines = by_key(failed).into_iter().map(|((server, why), items)| {
            format!("{}: not measured in {server}: {why}", items.join(", "))
        });
        lines.collect()
    }

    fn server(&self, number: usize) -> &str {
        self.servers.get(number).map_or("", |server| server.name.as_str())
    }

    /// The table of steps.
    pub fn steps_table(&self) -> Table {
        let bytes = |step: &MemoryStep, at: usize| Some(report::grouped(step.bytes?[at] as f64));
        let columns: [Column<'_, &MemoryStep>; 8] = [
            ("what grows", &|step| step.growth.clone()),
            ("server", &|step| self.server(step.server).to_owned()),
            ("encoding", &|step| step.from.clone()),
            ("up to", &|step| {
                format!("{}{}", step.last, if step.axis == Axis::Bytes { " bytes" } else { "" })
            }),
            ("then", &|step| step.to.clone()),
            ("setting", &|step| {
                or_dash(step.setting.as_ref().map(|(name, value)| format!("{name} {value}")))
            }),
            ("bytes", &|step| or_dash(bytes(step, 0))),
            ("one more", &|step| or_dash(bytes(step, 1))),
        ];
        self.of_servers(Table::of(&columns, &self.steps))
    }

    /// Returns the explanations for the table.
    pub fn method(&self) -> String {
        let starts = match self.starts {
            1 => "one start of the server".to_owned(),
            starts => format!("{starts} starts of each server, with the 95 % interval of the mean"),
        };
        let mut text = format!("{METHOD} Over {starts}.");
        if self.servers.iter().any(|server| server.name.starts_with("memcached")) {
            text = format!("{text} {METHOD_MEMCACHED}");
        }
        text
    }

    /// Draws each key's memory as a multiple of its content, by server.
    fn chart(&self) -> Option<Chart> {
        let measured = self.rows.iter().filter(|row| row.used().is_some());
        let labels = unique(measured.map(|row| row.item.as_str()));
        let unit = ChartAxis::linear("memory for each byte stored", Unit::Ratio);
        let mut chart = Chart::bars("Memory for each byte stored", labels.clone(), unit);
        for (number, server) in self.servers.iter().enumerate() {
            let rows = self.rows.iter().filter(|row| row.server == number);
            let points = rows.filter_map(|row| {
                let at = labels.iter().position(|label| *label == row.item)?;
                let times = row.used()?.mean / row.payload_bytes as f64;
                let encoding = row.encoding.clone().unwrap_or_default();
                Some(DataPoint::at(at as f64, times).noted(encoding))
            });
            chart = chart.with(server.name.clone(), points);
        }
        (!labels.is_empty()).then_some(chart)
    }

    /// The answer in a sentence, for the first string, or for the first item.
    pub fn verdict(&self) -> Option<Verdict> {
        let measured = || self.rows.iter().filter(|row| row.used().is_some());
        let row = measured().find(|row| row.item == "string:100").or_else(|| measured().next())?;
        let others = measured().filter(|other| other.item == row.item);
        let each = others.map(|row| {
            let used = row.used().map_or(0.0, |used| used.mean);
            format!("{used:.0} bytes in {}", self.server(row.server))
        });
        let each: Vec<String> = each.collect();
        let text = format!(
            "A key of {KEY_BYTES} bytes with {} stores {} bytes and takes {}.",
            row.item,
            report::grouped(row.payload_bytes as f64),
            each.join(", ")
        );
        Some(Verdict::new(format!("{} takes {}", row.item, each[0]), text))
    }
}

impl Findings for Footprint {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.steps.is_empty()
    }

    fn set_complete(&mut self) {
        self.complete = true;
    }

    /// A row for each figure of each item.
    fn to_csv(&self) -> String {
        let mut table = Csv::new(&[
            "item",
            "server",
            "encoding",
            "elements",
            "payload_bytes",
            "figure",
            "bytes_per_key",
            "low",
            "high",
            "starts",
        ]);
        for row in &self.rows {
            let usage = row.memory_usage.and_then(|bytes| Mean::from_values(&[bytes as f64]));
            let figures = PARTS.map(|(name, part)| (name, row.mean(part)));
            for (name, mean) in figures.into_iter().chain([("memory_usage", usage)]) {
                let Some(Mean { mean, interval, count }) = mean else { continue };
                let end = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.2}"));
                table.write([
                    report::escape(&row.item),
                    report::escape(self.server(row.server)),
                    report::escape(row.encoding.clone().unwrap_or_default()),
                    row.elements.to_string(),
                    row.payload_bytes.to_string(),
                    name.to_owned(),
                    format!("{mean:.2}"),
                    end(interval.map(|interval| interval.low)),
                    end(interval.map(|interval| interval.high)),
                    count.to_string(),
                ]);
            }
        }
        table.text()
    }

    fn shown(&self, quiet: bool) -> Vec<Block> {
        let mut blocks = vec![Block::Table(self.table())];
        if !self.steps.is_empty() {
            blocks.push(Block::Table(self.steps_table()));
        }
        if !quiet {
            blocks.push(Block::Text(self.method()));
            blocks.extend(warnings(self.warnings.clone()));
        }
        blocks
    }

    /// Lines about omissions, one for each reason.
    fn remarks(&self) -> Vec<String> {
        self.left_out()
    }

    fn page(&self, command_line: &str) -> Page {
        let names: Vec<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        let mut lede = incomplete(self.complete);
        lede.extend(self.verdict().into_iter().chain(warned(&self.warnings)));
        let mut blocks: Vec<Block> = self.chart().map(Block::Chart).into_iter().collect();
        blocks.extend([Block::Text(self.method()), Block::Table(self.table())]);
        blocks.extend(plain(self.left_out()));
        let mut sections = vec![Section::new("Bytes per key", blocks)];
        if !self.steps.is_empty() {
            let text = "A key grows until the server stores it in another encoding. Bytes are the MEMORY USAGE of \
                a key of that length, and of one with one more.";
            sections.push(Section::new(
                "Where encodings change",
                [Block::Text(text.to_owned()), Block::Table(self.steps_table())],
            ));
        }
        let facts = self.servers.iter().map(|of| (of.name.clone(), or_dash(of.allocator.clone())));
        sections.push(Section::new("Servers and their allocators", [Block::pairs(facts)]));
        sections.push(again(command_line));
        Page {
            title: format!("What a key costs in {}", names.join(", ")),
            versions: names.into_iter().map(str::to_owned).collect(),
            lede,
            sections,
            ..Page::default()
        }
    }
}

/// A mean, with half its interval if that is large enough for a digit.
fn with_error(mean: Option<Mean>) -> String {
    let Some(Mean { mean, interval, .. }) = mean else { return "–".to_owned() };
    let half = interval.map(|interval| (interval.high - interval.low) / 2.0);
    let value = match mean.abs() {
        // No sign before zero.
        size if size < 0.05 => "0.0".to_owned(),
        size if size < 1000.0 => format!("{mean:.1}"),
        _ => report::grouped(mean),
    };
    match half.filter(|half| *half >= 0.05) {
        Some(half) => format!("{value} ±{half:.1}"),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::{MemoryStep, Server};

    fn footprint() -> Footprint {
        let server = |name: &str| Server { name: name.into(), allocator: None };
        let mut footprint = Footprint::new(vec![server("redis 7"), server("memcached 1.6")], 3);
        let bytes = |used| KeyBytes { used, dataset: Some(116.0), resident: None, allocator: None };
        let row = |server, used: [f64; 3]| FootprintRow {
            item: "string:100".into(),
            server,
            keys: [1024, 2048, 4096],
            elements: 1,
            payload_bytes: 116,
            encoding: (server == 0).then(|| "raw".into()),
            bytes_per_key: used.map(bytes).into(),
            memory_usage: (server == 0).then_some(168),
            failure: None,
        };
        footprint.rows = vec![row(0, [176.0, 177.0, 178.0]), row(1, [192.0; 3])];
        footprint.steps.push(MemoryStep {
            server: 0,
            growth: "hash, elements of 8 bytes".into(),
            axis: Axis::Elements,
            from: "listpack".into(),
            to: "hashtable".into(),
            last: 128,
            setting: Some(("hash-max-listpack-entries".into(), "128".into())),
            bytes: Some([2000, 9000]),
        });
        footprint
    }

    #[test]
    fn tables_have_every_server_and_its_error() {
        let footprint = footprint();
        let table = footprint.table();
        assert_eq!(table.rows[0][4], "177.0 ±2.5");
        assert_eq!(table.rows[1][1..5], ["memcached 1.6", "–", "116", "192.0"]);
        let step = &footprint.steps_table().rows[0];
        assert!(step.contains(&"hash-max-listpack-entries 128".to_owned()), "{step:?}");
        let verdict = footprint.verdict().unwrap();
        assert!(
            verdict.text.contains("177 bytes in redis 7, 192 bytes in memcached"),
            "{verdict:?}"
        );
        let html = report::page::html(&footprint.page("again"));
        assert!(html.contains("hashtable") && html.contains("Incomplete"));
    }

    #[test]
    fn what_was_not_weighed_is_named_once_for_each_reason() {
        let mut footprint = footprint();
        for item in ["hash:1x1", "set:1x2"] {
            let failure = Some("memcached has strings only".to_owned());
            let row =
                FootprintRow { bytes_per_key: Vec::new(), failure, ..footprint.rows[1].clone() };
            footprint.rows.push(FootprintRow { item: item.into(), ..row });
        }
        let line = "hash:1x1, set:1x2: not measured in memcached 1.6: memcached has strings only";
        assert_eq!(footprint.left_out(), [line]);
        assert!(report::page::html(&footprint.page("again")).contains(line));
        assert_eq!(footprint.table().rows[2][4], "–");
    }

    #[test]
    fn csv_has_a_line_for_each_figure() {
        let text = footprint().to_csv();
        assert_eq!(text.lines().count(), 1 + 3 + 2, "{text}");
        assert!(text.contains("\"used_memory\",\"177.00\",\"174.5"), "{text}");
    }
}
