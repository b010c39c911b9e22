//! Price lists as tables, a chart and a page; two of them side by side.

use page::{Band, Block, Chart, Guide, Page, Section, Table, Tone, Verdict, sentence};

use super::incomplete;
use crate::Document;
use crate::theatre::{Line, OWN_QUESTION, Outcome, Price, PriceList};

/// Characters of a server's words that a table has room for.
const WHY_MAX: usize = 60;
/// Events of the server that a table has room for.
const EVENTS_MAX: usize = 2;

fn seconds(s: Option<f64>) -> String {
    s.map_or("–".to_owned(), |s| format!("{s:.2}"))
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

impl PriceList {
    /// A row for each act.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new([
            "act",
            "lasted (s)",
            "p99 before (ms)",
            "highest p99 (ms)",
            "back after (s)",
            "user-s above target",
            "failed",
            "memory (MB)",
            "what the server says",
        ]);
        for Line { name, outcome, .. } in &self.acts {
            table.row(match outcome {
                Outcome::Price(price) => cells(name, price),
                Outcome::NotSupported(why) => no_price(name, "not supported here", why),
                Outcome::LeftOut(why) => no_price(name, "left out", why),
            });
        }
        table
    }

    /// What it comes to, in a sentence.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let priced = || self.acts.iter().filter_map(|line| Some((line, line.price()?)));
        let dearest = priced().max_by(|(_, a), (_, b)| a.peak_p99_ms.total_cmp(&b.peak_p99_ms));
        let Some((line, price)) = dearest else {
            return Verdict::new("No act was played", "Nothing was measured.");
        };
        let back = match price.back_s {
            Some(s) => format!("latency was as before after {s:.2} s"),
            None => "latency was not as before when its rest was over".to_owned(),
        };
        let mut text = format!(
            "At {} requests/s its highest p99 was {:.3} ms, {:.3} ms before; {back}.",
            report::grouped(self.rate_per_s),
            price.peak_p99_ms,
            price.before_p99_ms
        );
        if price.events.first().is_some_and(|longest| longest.ends_with(OWN_QUESTION)) {
            text.push_str(
                " The longest command of that time was INFO, by which keystorm follows an act; it may have waited for \
                 the act, as users did.",
            );
        }
        let headline = format!("{} costs most on {}", line.name, self.server);
        let spent = match self.target_ns() {
            Some(_) => {
                let all: f64 = priced().filter_map(|(_, price)| price.user_seconds).sum();
                vec![("user-seconds above the target".to_owned(), format!("{all:.2}"))]
            }
            None => Vec::new(),
        };
        Verdict { tone: Tone::Plain, figures: spent, ..Verdict::new(headline, text) }
    }

    /// Latency over time, with the acts.
    fn chart(&self) -> Option<Chart> {
        let run = self.runs().first.as_deref()?;
        let mut chart =
            page::runs::latency_over_time("Response time over time, with the acts", run);
        for line in &self.acts {
            let Some(price) = line.price() else { continue };
            let lasted_s = price
                .lasted_s
                .unwrap_or(0.0)
                .max(run.measurement.timeline.interval_ns as f64 / 1e9);
            let note = match price.back_s {
                Some(back_s) => format!("{}: as before after {back_s:.2} s", line.name),
                None => format!("{}: not as before when its rest was over", line.name),
            };
            chart.bands.push(Band {
                from: price.from_s,
                to: price.from_s + lasted_s,
                name: "act".to_owned(),
                note,
            });
        }
        chart.guides.extend(self.target_ns().map(|ns| Guide::Y(ns, "target".to_owned())));
        Some(chart)
    }

    /// The page.
    #[must_use]
    pub fn page(&self, command_line: &str) -> Page {
        let mut lede = Vec::new();
        incomplete(&mut lede, self.complete());
        lede.push(self.verdict());
        let text = "Latencies are response times, counted from when a request was due; the load is an open loop. \
            Latency is as before when the 99th percentile of four intervals in a row is at most 10 % above that \
            of the rest before the act, or as high as in an interval of that rest. User-seconds are the time by \
            which requests took longer than the target, all together.";
        let mut blocks = vec![Block::Table(self.table()), Block::Text(text.to_owned())];
        blocks.extend(self.chart().map(Block::Chart));
        let mut about = Table::new(["act", "what it is", "what the server says"]);
        for line in &self.acts {
            let events = match &line.outcome {
                Outcome::Price(price) => price.events.join("; "),
                Outcome::NotSupported(why) => format!("not supported here: {why}"),
                Outcome::LeftOut(why) => format!("left out: {why}"),
            };
            about.row([line.name.clone(), sentence(&line.about), events]);
        }
        let sections = vec![
            Section::new("The price of each act", blocks),
            Section::new("What was done", [Block::Table(about)]),
        ];
        super::page("The price of operations", self.runs(), lede, sections, command_line)
    }

    /// This list beside another, a row for each act of both.
    #[must_use]
    pub fn compared_with(&self, other: &Self, names: [&str; 2]) -> Table {
        let [a, b] = names;
        let column = |what: &str, name: &str| format!("{what}, {name}");
        let mut table = Table::new([
            "act".to_owned(),
            column("highest p99 (ms)", a),
            column("highest p99 (ms)", b),
            "ratio".to_owned(),
            column("back after (s)", a),
            column("back after (s)", b),
            column("user-s above target", a),
            column("user-s above target", b),
            column("failed", a),
            column("failed", b),
        ]);
        let names = self.acts.iter().chain(&other.acts).map(|line| line.name.as_str());
        let mut seen: Vec<&str> = Vec::new();
        for name in names {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            let of = |list: &'_ Self| {
                list.acts.iter().find(|line| line.name == name).and_then(Line::price).cloned()
            };
            let prices = [of(self), of(other)];
            let cell = |figure: &dyn Fn(&Price) -> String| {
                prices.each_ref().map(|price| price.as_ref().map_or("–".to_owned(), figure))
            };
            let [p99_a, p99_b] = cell(&|price| format!("{:.3}", price.peak_p99_ms));
            let [back_a, back_b] = cell(&|price| seconds(price.back_s));
            let [user_a, user_b] = cell(&|price| seconds(price.user_seconds));
            let [failed_a, failed_b] = cell(&|price| report::grouped(price.failed as f64));
            let ratio = match &prices {
                [Some(a), Some(b)] if a.peak_p99_ms > 0.0 => {
                    format!("{:.2}", b.peak_p99_ms / a.peak_p99_ms)
                }
                _ => "–".to_owned(),
            };
            table.row([
                name.to_owned(),
                p99_a,
                p99_b,
                ratio,
                back_a,
                back_b,
                user_a,
                user_b,
                failed_a,
                failed_b,
            ]);
        }
        table
    }
}

fn cells(name: &str, price: &Price) -> [String; 9] {
    let memory = match (price.memory_before, price.memory_more()) {
        (Some(before), Some(more)) => format!("{} +{}", megabytes(before), megabytes(more)),
        _ => "–".to_owned(),
    };
    let events = price.events.iter().take(EVENTS_MAX).cloned().collect::<Vec<_>>().join("; ");
    [
        name.to_owned(),
        price.lasted_s.map_or("no end".to_owned(), |s| format!("{s:.2}")),
        format!("{:.3}", price.before_p99_ms),
        format!("{:.3}", price.peak_p99_ms),
        price.back_s.map_or("not yet".to_owned(), |s| format!("{s:.2}")),
        seconds(price.user_seconds),
        report::grouped(price.failed as f64),
        memory,
        events,
    ]
}

fn no_price(name: &str, what: &str, why: &str) -> [String; 9] {
    let mut cells = [(); 9].map(|()| "–".to_owned());
    cells[0] = name.to_owned();
    let cut: String = why.chars().take(WHY_MAX).collect();
    cells[8] = format!("{what}: {cut}{}", if cut.len() < why.len() { "…" } else { "" });
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_by_the_question_that_follows_an_act_is_no_price_of_the_act_alone() {
        let list = |event: &str| {
            let price =
                Price { peak_p99_ms: 342.0, events: vec![event.to_owned()], ..Price::default() };
            let mut list = PriceList::new(1_000.0, None, "valkey 8.1.8".to_owned());
            let (name, about) = ("unlink".to_owned(), String::new());
            list.acts.push(Line { name, about, outcome: Outcome::Price(price) });
            list.verdict().text
        };
        let asked = list(&format!("SLOWLOG INFO 342.8 ms{OWN_QUESTION}"));
        assert!(asked.contains("INFO, by which keystorm follows an act"), "{asked}");
        assert!(!list("SLOWLOG UNLINK key 342.8 ms").contains("INFO"));
    }
}
