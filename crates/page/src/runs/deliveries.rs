//! Messages and their deliveries on a page: the duration of each part of their way, and exact counts.

use measure::{Backlog, Deliveries, DeliveryCounts, Waits};
use report::{DeliveryFigures, Run, Summary, WaitFigures, grouped, topics};

use crate::{Axis, Block, Chart, Series, Table, Tone, Unit, sentence};

/// The way of the messages as a table, and a note of problems; empty for a run without receivers.
pub(super) fn blocks(summary: &Summary<'_>) -> Vec<Block> {
    let Some(figures) = &summary.deliveries else { return Vec::new() };
    let mut blocks = Vec::new();
    if figures.deliveries.is_faulty() {
        let text = format!("Deliveries: {}.", figures.received());
        blocks.push(Block::Note(Tone::Warning, text));
    }
    blocks.push(Block::Table(topics::way(summary, figures)));
    blocks
}

/// The messages in flight over time; `None` for a run without queues.
pub(super) fn backlog(run: &Run) -> Option<Chart> {
    /// Most points; a screen cannot show more.
    const POINTS_MAX: usize = 240;
    let waits = run.measurement.deliveries.as_ref()?.waits.as_ref()?;
    let (most, _) = waits.backlogs()?;
    let mut chart = Chart::lines(
        "Backlog over time",
        Axis::linear("time", Unit::Seconds),
        Axis::linear("messages sent and not received", Unit::Count),
    );
    let groups = waits.backlog.chunks(waits.backlog.len().div_ceil(POINTS_MAX));
    let greatest = groups.filter_map(|group| group.iter().max_by_key(|at| at.messages));
    let points = greatest.map(|at| (at.at_ns as f64 / 1e9, at.messages as f64));
    chart.series.push(Series::new("backlog", points));
    chart.note = format!(
        "At most {} at {}.",
        workload::quantity::counted(most.messages, "message"),
        Unit::Seconds.show(most.at_ns as f64 / 1e9)
    );
    Some(chart)
}

/// Makes tables of the counts and of the distribution over receivers; empty for a run without receivers.
pub(super) fn counts(summary: &Summary<'_>) -> Vec<Block> {
    let Some(figures) = &summary.deliveries else { return Vec::new() };
    let mut blocks = vec![Block::Table(count_table(figures))];
    blocks.extend(figures.waits.as_ref().map(|waits| Block::Table(wait_table(waits, figures))));
    let replicas = figures.replicas.iter().map(|replicas| replicas.line());
    let lines = replicas
        .chain(figures.clocks())
        .chain(figures.fairness())
        .chain(figures.cache_lines())
        .chain(figures.slow());
    blocks.extend(lines.map(|text| Block::Text(sentence(&text))));
    blocks
}

/// Words with which charts of a run name its measurements.
pub(super) struct ChartWords {
    /// Name of the line of replies.
    pub(super) answered: &'static str,
    /// The axis of response times.
    pub(super) response: &'static str,
    /// The axis of response times and service times.
    pub(super) latency: &'static str,
    /// The lines of these two.
    pub(super) lines: [&'static str; 2],
    /// Noun of the counted deliveries.
    pub(super) counted: &'static str,
    /// Noun of the replies in cells of heat maps.
    pub(super) replies: &'static str,
}

/// Returns the words of a run, which are about deliveries if it has receivers.
pub(super) fn words(run: &Run) -> ChartWords {
    if run.plan.delivery.is_some() {
        return ChartWords {
            answered: "received",
            response: "delivery time",
            latency: "delivery time",
            lines: ["due to received", "sent to received"],
            counted: "deliveries",
            replies: "deliveries",
        };
    }
    ChartWords {
        answered: "answered",
        response: "response time",
        latency: "latency",
        lines: ["response time", "service time"],
        counted: if run.plan.counts_operations() { "operations" } else { "requests" },
        replies: "replies",
    }
}

/// The top figures: received messages, and the number sent for them.
pub(super) fn key_figures(figures: &DeliveryFigures<'_>) -> Vec<(String, String)> {
    let Deliveries { counts, expected, .. } = figures.deliveries;
    let DeliveryCounts { received, doubled, out_of_order, .. } = *counts;
    let mut shown = vec![
        ("messages sent per second".to_owned(), grouped(figures.sent_rps)),
        (
            "deliveries received".to_owned(),
            format!("{} of {}", grouped(received as f64), grouped(*expected as f64)),
        ),
        ("lost".to_owned(), grouped(figures.deliveries.lost() as f64)),
    ];
    for (name, count) in [("doubled", doubled), ("out of order", out_of_order)] {
        if count > 0 {
            shown.push((name.to_owned(), grouped(count as f64)));
        }
    }
    shown
}

/// Makes the table of waiting receivers, and of the backlog before them.
fn wait_table(figures: &WaitFigures<'_>, of: &DeliveryFigures<'_>) -> Table {
    let Waits { wake_up, timeout_late, unblocked, unsettled, left, pending, .. } = figures.waits;
    let mut table = Table::new(["waits", "number", "share of messages received"]);
    let received = of.deliveries.counts.received;
    let share = match received {
        0 => "–".to_owned(),
        _ => Unit::Share.show(wake_up.count() as f64 / received as f64),
    };
    let met = grouped(wake_up.count() as f64);
    table.row(["messages that met a receiver that waited".to_owned(), met, share]);
    let (most, last) = figures.waits.backlogs().unzip();
    let messages = |backlog: Backlog| backlog.messages;
    for (name, count) in [
        (
            "messages that did not: they lay in the key",
            Some(received.saturating_sub(wake_up.count())),
        ),
        ("waits that timed out", Some(timeout_late.count())),
        ("waits ended by the server", Some(*unblocked)),
        ("acknowledgements in vain", Some(*unsettled)),
        ("greatest backlog", most.map(messages)),
        ("backlog when the last message was sent", last.map(messages)),
        ("left in the keys", *left),
        ("never acknowledged", *pending),
    ] {
        let Some(count) = count else { continue };
        table.row([name.to_owned(), grouped(count as f64), String::new()]);
    }
    table
}

/// Makes the table of exact counts.
fn count_table(figures: &DeliveryFigures<'_>) -> Table {
    let Deliveries { expected, counts, sending, receivers, by_receiver, .. } = figures.deliveries;
    let DeliveryCounts { received, doubled, out_of_order, foreign, corrupt, cut_off } = *counts;
    let mut table = Table::new(["messages and deliveries", "number", "share"]);
    let share = |count: u64, of: u64| match of {
        0 => "–".to_owned(),
        _ => Unit::Share.show(count as f64 / of as f64),
    };
    let mut row = |name: &str, count: u64, share: String| {
        table.row([name.to_owned(), grouped(count as f64), share]);
    };
    let none = String::new;
    let acknowledged = figures.deliveries.acknowledged();
    let refused = figures.deliveries.refused();
    let unknown = figures.deliveries.unacknowledged();
    let sent = acknowledged.saturating_add(refused).saturating_add(unknown);
    if let Some(lateness) = &sending.lateness {
        row("messages due", lateness.due.max(sent), none());
    }
    row("messages sent", sent, none());
    row("messages acknowledged", acknowledged, share(acknowledged, sent));
    row("messages refused", refused, share(refused, sent));
    row("messages without a reply", unknown, share(unknown, sent));
    row("deliveries expected", *expected, none());
    row("deliveries received", received, share(received, *expected));
    row("lost", figures.deliveries.lost(), share(figures.deliveries.lost(), *expected));
    if let Some(caches) = &figures.deliveries.invalidations {
        row("covered by later reads", caches.covered, share(caches.covered, *expected));
        row("invalidations before the acknowledgement", caches.before_acknowledged, none());
        row("invalidations without a write", caches.unprompted, none());
        row("invalidations of all keys", caches.flushes, none());
        row("removed before they were read", caches.removed, share(caches.removed, *expected));
    }
    row("doubled", doubled, share(doubled, *expected));
    row("out of order", out_of_order, share(out_of_order, *expected));
    row("corrupt", corrupt, none());
    row(&format!("from {}", figures.others), foreign, none());
    row("receivers", u64::from(*receivers), none());
    row("connections of receivers cut off", cut_off, none());
    if let Some((least, most)) = by_receiver {
        row("fewest of one receiver", *least, share(*least, *most));
        row("most of one receiver", *most, none());
    }
    table
}
