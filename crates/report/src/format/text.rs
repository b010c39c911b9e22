//! `text`: keystorm's own report for people.
//!
//! Owns its order: the important part comes first and fits a screen (figures, operations, limit, warnings),
//! then the distribution of latencies, and several tests end in one table. [`redis_text`](super::redis_text)
//! has the imitated tools' report.

use std::io::{self, Write};

use measure::KeyCounts;
use workload::quantity::counted;
use workload::{Arrivals, Plan, Stop};

use super::closing::ClosingRows;
use super::redis_text;
use crate::distribution::{self, LatencyStep};
use crate::document::{Block, Table};
use crate::groups::by_key;
use crate::metric::{COLUMNS, OPEN_COLUMNS};
use crate::quantity::{fitted, msec_at_most};
use crate::summary::servers_hit_ratio;
use crate::{
    CommandFigures, CpuFigures, Format, FormatOptions, LatencyFigures, Metric, OperationFigures,
    Repeats, Summary, connections, escape, grouped, resting, topics,
};

/// See the file's head.
pub(super) struct Text {
    options: FormatOptions,
    closing: ClosingRows,
}

impl Text {
    pub(super) fn new(options: FormatOptions) -> Self {
        Self { options, closing: ClosingRows::default() }
    }
}

impl Format for Text {
    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        if !self.closing.is_empty() {
            writeln!(out)?;
        }
        write_setup(summary, out)?;
        write_figures(summary, out)?;
        if let Some(figures) = &summary.deliveries {
            figures.lines().iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        let cpu = CpuFigures::from_summary(summary);
        if !cpu.is_unknown() {
            writeln!(out, "  CPU: {cpu}")?;
        }
        let clients = summary.run.clients.as_ref().map_or_else(Vec::new, topics::clients);
        super::write_blocks(&clients, out)?;
        if let Some(text) = summary.hits_and_misses() {
            writeln!(out, "  {text}")?;
        }
        let theirs = servers_hit_ratio(std::iter::once(summary.run));
        if let Some((ours, theirs)) = summary.hit_ratio().zip(theirs) {
            writeln!(out, "  hit ratio: {ours:.2} %, {theirs:.2} % as counted by the server")?;
        }
        write_keys(summary, out)?;
        write_operations(summary, out)?;
        super::write_blocks(&topics::server_latency(summary), out)?;
        super::write_errors(summary, out)?;
        super::write_pairs(topics::counters(summary), out)?;
        redis_text::write_node_table(&summary.nodes, "ms", out)?;
        super::write_outages(summary, out)?;
        let news = self.closing.add(summary);
        if self.options.verdict {
            writeln!(out, "  {}", escape(summary.run.verdict.line()))?;
            for warning in news {
                writeln!(out, "  warning: {}", escape(warning))?;
            }
        }
        write_distributions(summary, self.options.full_distribution, out)?;
        super::moments::write(summary, out)
    }

    fn repeats(&mut self, repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
        self.closing.gather(repeats);
        super::repeats::write_table(repeats, out)
    }

    fn finish(&mut self, _suite: bool, out: &mut dyn Write) -> io::Result<()> {
        self.closing.write(self.options.verdict, out)
    }

    fn close(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.closing.write(self.options.verdict, out)
    }
}

/// Writes the share of existing keys, if requests ask for several; for each command, if several commands do.
fn write_keys(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let total = &summary.run.measurement.total;
    let all = total.keys();
    if all.asked == all.requests {
        return Ok(());
    }
    let describe = |KeyCounts { asked, found, .. }: &KeyCounts, what: &str| {
        let share = *found as f64 / *asked as f64 * 100.0;
        let per_s = *asked as f64 / summary.elapsed_s;
        format!("{found} of {asked} found ({share:.2} %), {per_s:.0} {what}/s requested")
    };
    let different = summary.run.plan.different_commands().commands;
    let asking = || different.iter().zip(&total.commands).filter(|(_, tally)| tally.keys.asked > 0);
    // Those of hashes are no keys.
    let mut kinds = asking().map(|(command, _)| command.several_asked().map_or("keys", |of| of.0));
    let first = kinds.next().unwrap_or("keys");
    let what = if kinds.all(|kind| kind == first) { first } else { "keys and fields" };
    writeln!(out, "  {what}: {}", describe(&all, what))?;
    // Rows that several options ask for are printed once.
    let by_name =
        by_key(asking().map(|(command, tally)| (command.name().to_lowercase(), tally.keys)));
    if by_name.len() < 2 {
        return Ok(());
    }
    by_name.iter().try_for_each(|(name, counts)| {
        let mut keys = KeyCounts::default();
        counts.iter().for_each(|more| keys.merge(more));
        writeln!(out, "    {}: {}", escape(name), describe(&keys, what))
    })
}

/// Writes the load, its target, and its time.
fn write_setup(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let requests = summary.requests;
    writeln!(out, "====== {} ======", summary.title)?;
    if let Some(shortfall) = summary.shortfall() {
        writeln!(out, "  INCOMPLETE: {shortfall}")?;
    }
    match summary.counts_operations() {
        true => write!(
            out,
            "  {} ({}) completed",
            counted(summary.counted(), "operation"),
            counted(requests, "request")
        )?,
        false if summary.deliveries.is_some() => {
            write!(out, "  {} received", counted(requests, "message"))?;
        }
        false => write!(out, "  {} completed", counted(requests, "request"))?,
    }
    writeln!(out, " in {:.2} seconds", summary.elapsed_s)?;
    if let Some(together) = &summary.together {
        writeln!(out, "  {together}")?;
    }
    write_concurrency(summary, out)?;
    write_server(summary, out)?;
    redis_text::write_placement(summary, out)
}

/// Writes the connections and their use.
fn write_concurrency(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let plan = &summary.run.plan;
    let concurrency = &plan.load.concurrency;
    if concurrency.per_request.is_some() {
        let most = u64::from(plan.own_connections());
        return writeln!(
            out,
            "  one connection per request, {} at once at most, {}",
            grouped(most as f64),
            counted(concurrency.workers.into(), "thread")
        );
    }
    let connections = counted(connections::count(plan, &summary.run.measurement), "connection");
    let threads = counted(concurrency.workers.into(), "thread");
    if let Some(recorded) = &plan.recorded {
        let clients = counted(recorded.clients, "client");
        let span_s = recorded.span_ns as f64 / 1e9;
        return writeln!(
            out,
            "  {clients} and {span_s:.2} s of {}, speed {}; {connections}, {threads}",
            crate::escape(&recorded.source),
            recorded.speed
        );
    }
    let kept = match (concurrency.keep_alive, concurrency.requests_each) {
        (true, _) => "pipeline of".to_owned(),
        (false, 0) => "one per pipeline of".to_owned(),
        (false, each) => format!("one per {}, pipeline of", counted(each.into(), "request")),
    };
    writeln!(
        out,
        "  {connections}, {kept} {}, values of {}, {threads}",
        concurrency.pipeline_depth,
        counted(summary.value_bytes(), "byte"),
    )
}

/// Writes product, version and the settings that cost most; for a cluster, of its masters together.
fn write_server(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let server = &summary.run.server;
    let name = server.name().map_or("unknown server".to_owned(), escape);
    let render = |config: &host::ServerConfig| {
        format!("save \"{}\", appendonly {}", escape(&config.save), escape(&config.appendonly))
    };
    if server.nodes.is_empty() {
        let settings = server.config.as_ref().map_or(String::new(), |c| format!(", {}", render(c)));
        let target = &summary.run.plan.target;
        let several = target.servers().map_or(String::new(), |servers| {
            let way = target.ring().map(|(_, hash)| format!("by {hash}"));
            let way = way.unwrap_or_else(|| "in turn".to_owned());
            format!(", {} servers {way}", servers.len())
        });
        return writeln!(out, "  {name}{several}{settings}");
    }
    let masters = server.nodes.iter().filter(|node| node.master);
    let settings =
        masters.map(|node| node.config.as_ref().map_or("settings unknown".to_owned(), render));
    let alike = by_key(settings.map(|settings| (settings, ())));
    let masters: usize = alike.iter().map(|(_, nodes)| nodes.len()).sum();
    if summary.run.plan.target.names_replicas() {
        let replicas = counted((server.nodes.len() - masters) as u64, "replica");
        let settings = alike.iter().map(|(settings, _)| format!(", {settings}"));
        let settings: String = settings.collect();
        return writeln!(out, "  {name}, primary with {replicas}{settings}");
    }
    writeln!(out, "  {name}, cluster of {}", counted(masters as u64, "master"))?;
    alike.iter().try_for_each(|(settings, of)| writeln!(out, "    {} with {settings}", of.len()))
}

/// Returns whether all requests of a plan are due at once.
fn is_one_burst(plan: &Plan) -> bool {
    let arrivals = plan.load.pace.schedule().map(|schedule| schedule.arrivals);
    match (arrivals, plan.load.stop) {
        (Some(Arrivals::Bursts(size)), Stop::Requests(requests)) => requests <= u64::from(size),
        _ => false,
    }
}

fn write_throughput(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    // A single burst has no rate.
    let rate = summary.target_rps().filter(|_| !is_one_burst(&summary.run.plan));
    let asked = rate.map_or(String::new(), |rate| format!(" of {rate:.2} requested"));
    let noun = summary.counted_noun();
    match &summary.deliveries {
        None => write!(out, "\n  throughput: {:.2} {noun}/s{asked}", summary.counted_rps())?,
        Some(figures) => write!(
            out,
            "\n  throughput: {:.2} {noun}/s received, {:.2}{asked} sent",
            summary.counted_rps(),
            figures.sent_rps
        )?,
    }
    if summary.counts_operations() {
        writeln!(out, ", {:.2} requests/s", summary.throughput_rps)
    } else {
        writeln!(out)
    }
}

fn write_figures(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_throughput(summary, out)?;
    let is_open = summary.target_rps().is_some();
    let metrics = if is_open { &OPEN_COLUMNS[..] } else { &COLUMNS };
    // Columns of several tests are below each other.
    let names = metrics.iter().map(|metric| format!("{:>6}", metric.bare_label()));
    let mut table = Table::new(std::iter::once(" ".repeat(18)).chain(names));
    let mut latency = |label: &str, figures: &LatencyFigures| {
        let cells = if is_open {
            figures.marked_cells("-", OPEN_COLUMNS).to_vec()
        } else {
            figures.marked_cells("-", COLUMNS).to_vec()
        };
        table.row(std::iter::once(label.to_owned()).chain(cells));
    };
    if let Some(probe) = &summary.run.probe {
        latency("probe (ms)", &LatencyFigures::from_latency(&probe.response));
    }
    match (summary.target_rps(), &summary.deliveries) {
        (_, Some(figures)) => {
            let unit = |at: usize| if at == 0 { " (ms)" } else { "" };
            for (at, part) in figures.way(summary).iter().enumerate() {
                latency(&format!("{}{}", part.name, unit(at)), &part.figures);
            }
        }
        (None, None) => latency("latency (ms)", &summary.response),
        (Some(_), None) => {
            latency("response time (ms)", &summary.response);
            latency("service time (ms)", &summary.service);
        }
    }
    for (stage, figures) in &summary.connects {
        latency(&format!("  {stage}"), figures);
    }
    if let Some(first_byte) = &summary.first_byte {
        latency("first byte (ms)", first_byte);
    }
    if let Some(handshake) = super::handshake(summary) {
        latency("TLS handshake (ms)", handshake);
    }
    if let Some(rates) = summary.rates {
        let [mean, min, p50, p95, p99, max] = rates.map(|rate| format!("{rate:.0}"));
        let label = format!("rate ({}/s)", summary.counted_noun());
        // Of so few intervals there is no p99.9.
        table.row([label, mean, min, p50, p95, p99, "-".to_owned(), max]);
    }
    super::write_blocks(&[Block::Table(table)], out)?;
    write_note(metrics, summary.response.count, out)?;
    if let Some(probe) = &summary.run.probe {
        writeln!(out, "  probe: {}", probe.describe())?;
        if let Some(spans) = &probe.spans {
            writeln!(out, "  probe: {}", escape(spans))?;
        }
    }
    let deadline = summary.deadline.map(|of| of.sentence(summary.counted_noun()));
    let mut lines = summary.schedule.iter().flat_map(|schedule| schedule.lines()).chain(deadline);
    lines.try_for_each(|line| writeln!(out, "  {line}"))?;
    if let Some(spans) = &summary.spans {
        writeln!(out, "  {}", spans.sentence())?;
    }
    match summary.target() {
        Some(target) => writeln!(out, "  target {}", target.sentence()),
        None => Ok(()),
    }
}

/// Writes the meaning of the marks at these figures of `count` replies, if one has a mark.
fn write_note(metrics: &[Metric], count: u64, out: &mut dyn Write) -> io::Result<()> {
    let quantiles: Vec<f64> = metrics.iter().filter_map(|metric| metric.quantile()).collect();
    match resting::note(&quantiles, count) {
        Some(note) => writeln!(out, "  {note}"),
        None => Ok(()),
    }
}

/// Writes the operations of a mix with the commands of those that have several, or the different commands of
/// a sequence, if that adds to the figures above.
fn write_operations(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    const WIDTH: usize = 24;
    let run = summary.run;
    let mut operations = topics::operations(summary);
    let mut commands = match &summary.operations[..] {
        [] => CommandFigures::of_plan(&run.plan, &run.measurement.total),
        operations => operations.iter().flat_map(OperationFigures::named_commands).collect(),
    };
    if operations.rows.is_empty() && commands.len() < 2 {
        return Ok(());
    }
    for name in operations.rows.iter_mut().map(|row| &mut row[0]) {
        *name = fitted(name, WIDTH);
    }
    commands.iter_mut().for_each(|command| command.name = fitted(&command.name, WIDTH));
    let [p50, p99, max] = [Metric::P50, Metric::P99, Metric::Max].map(Metric::label);
    let of_operations = ["operation", "share", "per second", "misses", p50, p99, max];
    let of_commands = ["command", "hits", "misses", Metric::Mean.label(), p50, p99, max];
    let tables = [operations.only(&of_operations), topics::commands(&commands).only(&of_commands)];
    let tables = tables.into_iter().filter(|table| !table.rows.is_empty()).map(Block::Table);
    super::write_blocks(&tables.collect::<Vec<_>>(), out)?;
    for operation in summary.operations.iter().filter(|operation| operation.tally.failed > 0) {
        let OperationFigures { name, count, .. } = operation;
        let errors = operation.tally.failed;
        writeln!(out, "  {name}: {errors} of {count} with an error")?;
    }
    let operations = summary.operations.iter().map(|operation| operation.response.count);
    let counts = operations.chain(commands.iter().map(|command| command.response.count));
    match counts.filter(|count| *count > 0).min() {
        // Where the whole has marks, they are explained above.
        Some(least) if !resting::is_thin(0.99, summary.response.count) => {
            write_note(&COLUMNS, least, out)
        }
        _ => Ok(()),
    }
}

fn write_distributions(summary: &Summary<'_>, full: bool, out: &mut dyn Write) -> io::Result<()> {
    let latency = &summary.response_times;
    let [by_percentile, by_bound] = if full {
        [distribution::by_percentile(latency), distribution::by_bound(latency)]
    } else {
        [distribution::few_percentiles(latency), distribution::few_bounds(latency)]
    };
    let level = |percent: f64| {
        let text = format!("{percent:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let thin = |percent: f64| resting::is_thin(percent / 100.0, latency.count());
    write_steps("Latency by percentile", &by_percentile, level, thin, out)?;
    let share = |percent| format!("{percent:.3}");
    write_steps("Replies within a latency", &by_bound, share, |_| false, out)
}

fn write_steps(
    heading: &str,
    steps: &[LatencyStep],
    share: impl Fn(f64) -> String,
    thin: impl Fn(f64) -> bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{heading}:")?;
    for LatencyStep { percent, at_most_ns, cumulative } in steps {
        let mark = if thin(*percent) { " *" } else { "" };
        let (share, bound) = (share(*percent), msec_at_most(*at_most_ns));
        writeln!(out, "{share:>11} % <= {bound:>12} ms {cumulative:>13}{mark}")?;
    }
    if steps.iter().any(|step| thin(step.percent)) {
        writeln!(out, "  * fewer than {} replies are slower", resting::BEYOND_MIN)
    } else {
        Ok(())
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
