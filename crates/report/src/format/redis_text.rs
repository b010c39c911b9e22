//! `redis`: the default report of `redis-benchmark` and `valkey-benchmark`.
//!
//! Owns the layout, which follows Redis 6 to 8 and Valkey byte for byte. The figures are finer: microseconds
//! instead of steps of eight, and nothing is cut off at three seconds. Content that those tools lack (errors,
//! an early end, service time, first byte) is in separate lines, and under their names only if there were
//! problems or it was requested.

use std::io::{self, Write};

use host::NodeFacts;
use measure::NodeTally;
use workload::{Endpoint, ReadFrom};

use crate::distribution::{self, LatencyStep};
use crate::document::Table;
use crate::metric::COLUMNS;
use crate::quantity::msec_at_most;
use crate::{
    Format, FormatOptions, LatencyFigures, Metric, Persona, Repeats, Summary, escape, topics,
};

/// See the file's head.
pub(super) struct RedisText(pub(super) FormatOptions);

impl Format for RedisText {
    fn each(&mut self, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
        super::write_head(summary, out)?;
        write_setup(summary, self.0.persona, out)?;
        write_rates(summary, out)?;
        write_distributions(summary, out)?;
        write_summary(summary, self.0.persona.own_layouts, out)
    }

    fn repeats(&mut self, repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
        super::repeats::write_table(repeats, out)
    }

    fn finish(&mut self, suite: bool, out: &mut dyn Write) -> io::Result<()> {
        super::end_suite(suite, out)
    }
}

/// Settings of the server and of the connections.
fn write_setup(summary: &Summary<'_>, persona: Persona, out: &mut dyn Write) -> io::Result<()> {
    let (concurrency, server) = (&summary.run.plan.load.concurrency, &summary.run.server);
    if !server.nodes.is_empty() && !summary.run.plan.target.names_replicas() {
        let read_from = summary.run.plan.target.cluster.unwrap_or_default().read_from;
        write_nodes(&server.nodes, persona, read_from, out)?;
    } else if let Some(config) = &server.config {
        writeln!(out, "  host configuration \"save\": {}", escape(&config.save))?;
        writeln!(out, "  host configuration \"appendonly\": {}", escape(&config.appendonly))?;
    }
    writeln!(out, "  multi-thread: {}", if concurrency.multi_thread { "yes" } else { "no" })?;
    if concurrency.multi_thread {
        writeln!(out, "  threads: {}", concurrency.workers)?;
    }
    if persona.own_layouts { write_placement(summary, out) } else { Ok(()) }
}

/// Writes the nodes of a cluster, in the tools' layout: the masters, or with `valkey-benchmark` those that
/// `--rfr` names.
fn write_nodes(
    nodes: &[NodeFacts],
    persona: Persona,
    read_from: ReadFrom,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (role, takes) = persona.nodes.listed(read_from);
    let roles = if role == "master" { "masters" } else { role };
    let shown: Vec<_> = nodes.iter().filter(|node| takes(node)).collect();
    writeln!(out, "  cluster mode: yes ({} {roles})", shown.len())?;
    for (number, node) in shown.iter().enumerate() {
        let Some(config) = &node.config else { continue };
        let named = |setting: &str| match setting {
            "" => "NONE".to_owned(),
            setting => escape(setting),
        };
        writeln!(out, "  node [{number}] configuration:")?;
        writeln!(out, "    save: {}", named(&config.save))?;
        writeln!(out, "    appendonly: {}", named(&config.appendonly))?;
    }
    Ok(())
}

/// Writes settings that redis-benchmark lacks, if one was given, or if an engine was not available.
pub(super) fn write_placement(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (plan, measurement) = (&summary.run.plan, &summary.run.measurement);
    if !plan.load.concurrency.cpus.is_empty() {
        writeln!(out, "  worker CPUs: {}", list(&plan.load.concurrency.cpus))?;
    }
    if let Endpoint::Spawned { cpus, .. } = &plan.target.endpoint
        && !cpus.is_empty()
    {
        writeln!(out, "  server CPUs: {}", list(cpus))?;
    }
    if let Some(note) = &measurement.engine_note {
        writeln!(out, "  engine: {}", escape(format!("{} ({note})", measurement.engine)))?;
    }
    super::write_tls(summary, out)
}

fn list(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Writes the block that `valkey-benchmark` prints of a rate. A run shorter than one interval has a target
/// and no distribution.
fn write_rates(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(target_rps) = summary.target_rps() else {
        return Ok(());
    };
    writeln!(out, "\nRPS Summary:\n  target RPS: {target_rps:.2}")?;
    let Some(rates) = summary.rates else {
        return Ok(());
    };
    writeln!(out, "  RPS distribution (reqs/sec):")?;
    write_columns(&rates.map(|rate| format!("{rate:.3}")), out)
}

fn write_distributions(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let latency = &summary.response_times;
    writeln!(out, "\nLatency by percentile distribution:")?;
    distribution::by_percentile(latency).iter().try_for_each(|s| write_step(s, out))?;
    writeln!(out, "\nCumulative distribution of latencies:")?;
    distribution::by_bound(latency).iter().try_for_each(|s| write_step(s, out))
}

fn write_step(step: &LatencyStep, out: &mut dyn Write) -> io::Result<()> {
    let LatencyStep { percent, at_most_ns, cumulative } = *step;
    let bound = msec_at_most(at_most_ns);
    writeln!(out, "{percent:.3}% <= {bound} milliseconds (cumulative count {cumulative})")
}

fn write_summary(summary: &Summary<'_>, own: bool, out: &mut dyn Write) -> io::Result<()> {
    let rps = summary.throughput_rps;
    writeln!(out, "\nSummary:\n  throughput summary: {rps:.2} requests per second")?;
    write_latency("latency summary", &summary.response, out)?;
    if let Some(text) = summary.hits_and_misses().filter(|_| own) {
        writeln!(out, "  {text}")?;
    }
    if summary.target_rps().is_some() && own {
        write_latency("service time summary", &summary.service, out)?;
    }
    if let Some(schedule) = summary.schedule.as_ref().filter(|_| own) {
        writeln!(out, "  schedule: {schedule}")?;
    }
    if let Some(first_byte) = &summary.first_byte {
        write_latency("latency to first byte summary", first_byte, out)?;
    }
    if let Some(handshake) = super::handshake(summary).filter(|_| own) {
        write_latency("TLS handshake summary", handshake, out)?;
    }
    super::write_errors(summary, out)?;
    if own {
        super::write_pairs(topics::counters(summary), out)?;
        write_node_table(&summary.nodes, "msec", out)?;
        super::write_outages(summary, out)?;
    }
    Ok(())
}

fn write_latency(what: &str, figures: &LatencyFigures, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {what} (msec):")?;
    write_columns(&figures.cells(COLUMNS), out)
}

/// Writes the table of nodes.
pub(super) fn write_node_table(
    nodes: &[&NodeTally],
    unit: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(Table { caption, columns, rows, .. }) = topics::nodes(nodes) else { return Ok(()) };
    writeln!(out, "  node summary (latency in {unit}):")?;
    let width = rows.iter().map(|row| row[0].len()).max().unwrap_or(0).max(4);
    for row in std::iter::once(&columns).chain(&rows) {
        let cells: Vec<String> = row[1..].iter().map(|cell| format!("{cell:>9}")).collect();
        writeln!(out, "    {:<width$} {}", row[0], cells.join(" "))?;
    }
    if caption.is_empty() { Ok(()) } else { writeln!(out, "    {caption}") }
}

/// Six columns of nine characters below their names.
fn write_columns(values: &[String; 6], out: &mut dyn Write) -> io::Result<()> {
    let row = |cells: [&str; 6]| cells.map(|cell| format!("{cell:>9}")).join(" ");
    writeln!(out, "    {}", row(COLUMNS.map(Metric::bare_label)))?;
    writeln!(out, "    {}", row(values.each_ref().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn text(run: &crate::Run) -> String {
        let mut out = Vec::new();
        RedisText(FormatOptions::default()).each(&Summary::from_run(run), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn tables_end_in_all_requests() {
        let text = text(&fixture::complete());
        let ends = text.lines().filter(|l| l.starts_with("100.000% <= ")).count();
        assert_eq!(ends, 2);
        assert_eq!(text.matches("(cumulative count 2000)\n\n").count(), 2);
    }

    #[test]
    fn the_greatest_latency_reads_the_same_in_table_and_summary() {
        let text = text(&fixture::complete());
        let max = text.lines().last().unwrap().split_whitespace().last().unwrap();
        assert!(text.contains(&format!("100.000% <= {max} milliseconds")), "{text}");
    }

    #[test]
    fn hours_take_as_many_lines_as_milliseconds() {
        let lines = text(&fixture::four_hours()).lines().count();
        assert!(lines < 60, "{lines} lines");
    }

    #[test]
    fn without_the_servers_settings_their_lines_are_left_out() {
        let mut run = fixture::complete();
        run.server.config = None;
        assert!(!text(&run).contains("host configuration"));
    }

    #[test]
    fn the_servers_settings_cannot_write_lines() {
        let mut run = fixture::complete();
        run.server.config.as_mut().unwrap().save = "900 1\n\x1b[2J".into();
        assert!(text(&run).contains("\"save\": 900 1\\n\\x1b[2J\n"));
    }
}
