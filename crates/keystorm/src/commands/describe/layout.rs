//! A description as a page, whose text is also shown in a terminal.

use report::grouped;
use report::page::{Axis, Block, Chart, Page, Section, Series, Table, Unit, Verdict};
use traffic::describe::{Description, Percentiles, Zipf};
use traffic::{Losses, Stamps};
use workload::quantity::{counted, noun};

/// The page.
pub(super) fn page(of: &Description, losses: &Losses) -> Page {
    let mut page = Page { title: "Recorded traffic".into(), ..Page::default() };
    page.byline = vec![format!("format {}", of.format)];
    page.byline.extend(of.servers.iter().map(|server| format!("recorded from {server}")));
    page.lede = vec![Verdict::new(headline(of), meaning(of))];
    let sections = [
        ("Traffic", traffic(of)),
        ("Commands", commands(of)),
        ("Keys by pattern", patterns(of)),
        ("Channels by pattern", channels(of)),
        ("Most frequent keys", keys(of)),
        ("Commands to look at", warnings(of)),
        ("Stalls", stalls(of)),
        ("Miss ratio of a cache", misses(of)),
        ("To keep in mind", notes(of, losses).into_iter().map(Block::Text).collect()),
    ];
    let sections = sections.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    page.sections.extend(sections.map(|(heading, blocks)| Section::new(heading, blocks)));
    page
}

/// A table with these rows; nothing without any.
fn table<const N: usize>(
    columns: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Vec<Block> {
    let mut table = Table::new(columns);
    for row in rows {
        table.row(row);
    }
    let is_empty = table.rows.is_empty();
    (!is_empty).then_some(Block::Table(table)).into_iter().collect()
}

fn headline(of: &Description) -> String {
    let mut text = format!("{} commands", grouped(of.events as f64));
    if let Some(clients) = of.clients {
        text += &format!(" of {} {}", grouped(clients as f64), noun(clients, "client"));
    }
    if of.seconds > 0.0 && of.mean_per_s.is_some() {
        text += &format!(" in {}", Unit::Seconds.show(of.seconds));
    }
    text
}

/// Describes the most important facts in a sentence or two.
fn meaning(of: &Description) -> String {
    let most = of.commands.iter().take(3);
    let most: Vec<String> = most.map(|c| format!("{:.1} % {}", c.share * 100.0, c.name)).collect();
    let mut text = most.join(", ");
    match of.zipf.filter(|zipf| zipf.fits) {
        Some(zipf) if zipf.exponent > 0.0 => {
            text += &format!("; keys follow Zipf's law with exponent {:.2}", zipf.exponent);
        }
        Some(_) => text += "; keys are equally likely, as far as the record tells",
        None if are_even_by_pattern(of) => {
            text += "; keys of each pattern are equally likely, as far as the record tells";
        }
        None => {}
    }
    report::escape(report::page::sentence(&text))
}

/// Returns whether the keys of each pattern are equally likely, as far as patterns show it.
fn are_even_by_pattern(of: &Description) -> bool {
    let mut laws = of.patterns.iter().filter_map(|pattern| pattern.zipf).peekable();
    laws.peek().is_some() && laws.all(|law| law.fits && law.exponent == 0.0)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Describes the distribution of keys.
fn law(of: Zipf) -> String {
    let (most, keys) = (of.error * 1.96, grouped(of.keys as f64));
    if of.exponent == 0.0 {
        return format!("0 to {most:.3}: {keys} keys may all be equally likely");
    }
    format!(
        "{:.3} ± {most:.3}, of {keys} keys; those that come often differ from the law by {} beyond chance",
        of.exponent,
        percent(of.deviation)
    )
}

fn zipf(of: &Description) -> String {
    match of.zipf {
        None => "not known: too few keys came more than once".into(),
        Some(zipf) if zipf.fits => law(zipf),
        Some(_) if of.patterns.len() > 1 => "no single law fits all keys: see each pattern".into(),
        Some(_) => "keys do not follow Zipf's law".into(),
    }
}

fn traffic(of: &Description) -> Vec<Block> {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    if let Some(mean) = of.mean_per_s {
        let peak = of.peak_per_s as f64;
        row("rate", format!("{}/s in the mean", grouped(mean)));
        if of.seconds >= 2.0 {
            row("busiest second", format!("{}, {:.1} times the mean", grouped(peak), peak / mean));
        }
    }
    if let Some(clients) = of.clients {
        let shared =
            if of.clients_shared { " or more: those of a unix socket count as one" } else { "" };
        row("clients", format!("{}{shared}", grouped(clients as f64)));
    }
    if of.connections_on_used_addresses > 0 {
        let count = grouped(of.connections_on_used_addresses as f64);
        row(
            "more connections",
            format!("{count} on ports that were used again, each counted with the first"),
        );
    }
    if let Some(share) = of.busiest_client_share {
        row("busiest client", format!("{} of the commands", percent(share)));
    }
    if let Some(share) = of.pipelined_share {
        row("in pipelines", format!("about {} of the commands", percent(share)));
    }
    if of.key_accesses > 0 {
        row("distinct keys", format!("about {}", grouped(of.distinct_keys as f64)));
        row("Zipf exponent", zipf(of));
        row("hit ratio", of.hit_ratio.map_or("not in this record".into(), percent));
    }
    if let Some(share) = of.keys_used_once {
        row("keys used once", format!("about {}", percent(share)));
    }
    if of.multi_key > 0 {
        let share = percent(of.multi_key as f64 / of.events as f64);
        row("several keys", format!("{share} of the commands"));
        if !of.memcache {
            let share = percent(of.cross_slot as f64 / of.events as f64);
            row("not on a cluster", format!("{share} of the commands have keys of several slots"));
        }
    }
    if of.transactions > 0 {
        row("transactions", grouped(of.transactions as f64));
    }
    if of.scripts > 0 {
        let effects = grouped(of.script_effects as f64);
        row(
            "scripts",
            format!("{} calls, which sent {effects} commands", grouped(of.scripts as f64)),
        );
    }
    let mut blocks = vec![Block::KeyValues(rows)];
    if of.rate.len() > 1 {
        let mut chart = Chart::lines(
            "Commands per second over time",
            Axis::linear("time", Unit::Seconds),
            Axis::linear("commands per second", Unit::PerSecond),
        );
        chart.series.push(Series::new("commands", of.rate.iter().copied()));
        blocks.push(Block::Chart(chart));
    }
    blocks
}

fn commands(of: &Description) -> Vec<Block> {
    let columns =
        ["command", "count", "share", "arguments", "keys", "value p50 (bytes)", "p99", "max"];
    let rows = of.commands.iter().map(|command| {
        let arguments = command.arguments;
        let [p50, p99, max] = sizes(command.value_bytes);
        [
            command.name.clone(),
            grouped(command.count as f64),
            percent(command.share),
            if arguments.max == arguments.p50 {
                arguments.p50.to_string()
            } else {
                format!("{:.1} (max {})", arguments.mean, arguments.max)
            },
            format!("{:.1}", command.keys),
            p50,
            p99,
            max,
        ]
    });
    table(columns, rows)
}

fn sizes(of: Option<Percentiles>) -> [String; 3] {
    of.map_or_else(Default::default, |of| [of.p50, of.p99, of.max].map(|n| grouped(n as f64)))
}

fn patterns(of: &Description) -> Vec<Block> {
    let columns = [
        "pattern",
        "share",
        "reads",
        "writes",
        "other",
        "keys",
        "Zipf exponent",
        "hit ratio",
        "key p50 (bytes)",
        "value p50",
        "p99",
        "max",
        "TTL",
    ];
    let rows = of.patterns.iter().map(|pattern| {
        let [p50, p99, max] = sizes(pattern.value_bytes);
        let ttls: Vec<String> =
            pattern.ttls.iter().take(3).map(|(ttl_s, _)| format!("{ttl_s} s")).collect();
        [
            pattern.name.clone(),
            percent(pattern.share),
            grouped(pattern.reads as f64),
            grouped(pattern.writes as f64),
            grouped(pattern.others as f64),
            grouped(pattern.distinct_keys as f64),
            match pattern.zipf {
                Some(zipf) if !zipf.fits => "none fits".to_owned(),
                Some(zipf) if zipf.exponent == 0.0 => "0: even".to_owned(),
                Some(zipf) => format!("{:.2} ± {:.2}", zipf.exponent, zipf.error * 1.96),
                None => String::new(),
            },
            pattern.hit_ratio.map(percent).unwrap_or_default(),
            pattern.key_bytes.p50.to_string(),
            p50,
            p99,
            max,
            ttls.join(", "),
        ]
    });
    table(columns, rows)
}

fn channels(of: &Description) -> Vec<Block> {
    let columns = ["pattern", "messages", "channels", "message p50 (bytes)", "p99", "max"];
    let rows = of.channels.iter().map(|channel| {
        let [p50, p99, max] = sizes(channel.value_bytes);
        let messages = grouped(channel.others as f64);
        let distinct = grouped(channel.distinct_keys as f64);
        [channel.name.clone(), messages, distinct, p50, p99, max]
    });
    table(columns, rows)
}

/// A smaller share of the accesses makes no key hot.
const HOT_SHARE: f64 = 0.0005;

fn keys(of: &Description) -> Vec<Block> {
    let hot = of.top_keys.iter().filter(|key| key.share >= HOT_SHARE);
    let rows = hot.map(|key| {
        let error = match key.error {
            0 => String::new(),
            error => format!(" (at most {} less)", grouped(error as f64)),
        };
        let count = grouped(key.count as f64) + &error;
        [key.name.clone(), count, percent(key.share)]
    });
    table(["key", "count", "share"], rows)
}

fn warnings(of: &Description) -> Vec<Block> {
    let rows = of.warnings.iter().map(|warning| {
        let count = grouped(warning.count as f64);
        [warning.what.clone(), count, percent(warning.share), warning.example.clone()]
    });
    table(["a command that", "count", "share", "the first"], rows)
}

fn stalls(of: &Description) -> Vec<Block> {
    if of.stalls.is_empty() {
        return Vec::new();
    }
    let rows = of.stalls.iter().map(|gap| {
        let at_s = format!("{:.3}", gap.at_ns as f64 / 1e9);
        [at_s, format!("{:.1}", gap.length_ns as f64 / 1e6)]
    });
    let why = match of.stamps {
        Stamps::Completion => {
            "No command of any client ended then: the server stalled, or no client sent anything."
        }
        _ => "No command of any client arrived then.",
    };
    let lengths = table(["after (s)", "nothing for (ms)"], rows);
    [vec![Block::Text(why.into())], lengths].concat()
}

/// Miss ratios in the table.
const RATIOS: [f64; 8] = [0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005];

fn misses(of: &Description) -> Vec<Block> {
    let [_, .., last] = &of.miss_ratio_curve[..] else { return Vec::new() };
    let (unit, what) = if of.curve_in_bytes {
        (Unit::Bytes, "memory")
    } else {
        (Unit::Count, "keys that it holds")
    };
    let mut chart = Chart::lines(
        "Miss ratio by size of a cache",
        Axis::linear(what, unit),
        Axis::linear("reads that miss", Unit::Share),
    );
    let points = of.miss_ratio_curve.iter().map(|point| (point.size as f64, point.miss_ratio));
    chart.series.push(Series::new("least recently used leaves", points));
    let rows = RATIOS.into_iter().filter_map(|ratio| {
        let mut points = of.miss_ratio_curve.iter();
        let point = points.find(|point| point.miss_ratio <= ratio)?;
        Some([percent(ratio), unit.show(point.size as f64)])
    });
    let text = format!(
        "An LRU cache that holds everything would miss {} of these reads: the first of each key.",
        percent(last.miss_ratio)
    );
    let mut blocks = vec![Block::Text(text), Block::Chart(chart)];
    blocks.extend(table(["reads that miss", what], rows));
    blocks
}

fn notes(of: &Description, losses: &Losses) -> Vec<String> {
    let mut notes: Vec<String> = of.notes.iter().map(|note| report::page::sentence(note)).collect();
    if of.stamps == Stamps::Completion && !of.memcache {
        notes.push(
            "MONITOR shows neither administrators' commands (CONFIG, BGSAVE), nor refused ones, nor replies."
                .into(),
        );
    }
    match of.stamps {
        Stamps::Completion => notes.push(
            "Times are when commands ended at the server: after a stall they come in a burst that no client sent."
                .into(),
        ),
        Stamps::Second => {
            notes.push("The record has whole seconds: commands are spread evenly over each.".into());
        }
        _ => {}
    }
    let Losses { unreadable, too_long, cut, damaged, dropped, undated, misdated, first } = *losses;
    let parts = [
        (unreadable, "could not be read"),
        (too_long, "were too long"),
        (cut, "were cut"),
        (damaged, "were in damaged blocks"),
        (dropped, "were dropped by the recorded server"),
        (undated, "come before its first time and are left out"),
        (misdated, "have a damaged time and were given that of the command before"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(count as f64)))
        .collect();
    if !parts.is_empty() {
        let first = first.map_or(String::new(), |first| format!("; the first is number {first}"));
        notes.push(format!("Of its lines or records, {}{first}.", parts.join(", ")));
    }
    if of.clock_steps_back > 0 {
        let times = counted(of.clock_steps_back, "time");
        notes.push(format!(
            "The clock of the record went back {times}; the order is that of the file."
        ));
    }
    notes
}
