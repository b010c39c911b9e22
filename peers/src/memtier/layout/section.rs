//! The figures of a run by rows, and the sections that reports have of one or of several runs.

use std::time::{SystemTime, UNIX_EPOCH};

use measure::{CommandTally, Ending, NodeTally, Tally};
use report::Summary;
use workload::{BudgetScope, CommandSpec, JoinSchedule, Plan, Stop};

use super::cpu::CpuUse;
use super::lookups::{merge, of_command};
use super::{Lookup, MemtierHistogram, Rows, Second, lookups};

/// The figures of one kind of request.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// Requests that were answered, errors included.
    pub(super) count: u64,
    pub(super) rates: Rates,
    pub(super) connection_errors: u64,
    /// Latencies of all together, in milliseconds.
    pub(super) accumulated_ms: f64,
    /// Number of requests whose latencies these are.
    pub(super) timed: u64,
    pub(super) cells: MemtierHistogram,
    /// Set if the row is of commands that look for something.
    pub(super) looks: bool,
}

/// Rates of a row, per second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rates {
    pub(super) ops: f64,
    pub(super) hits: f64,
    pub(super) misses: f64,
    pub(super) moved: f64,
    pub(super) asked: f64,
    pub(super) connection_errors: f64,
    /// Kilobytes.
    pub(super) received: f64,
    pub(super) sent: f64,
}

impl Rates {
    /// Both in one.
    fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        let Self { ops, hits, misses, moved, asked, connection_errors, received, sent } = self;
        Self {
            ops: of(ops, other.ops),
            hits: of(hits, other.hits),
            misses: of(misses, other.misses),
            moved: of(moved, other.moved),
            asked: of(asked, other.asked),
            connection_errors: of(connection_errors, other.connection_errors),
            received: of(received, other.received),
            sent: of(sent, other.sent),
        }
    }

    /// Kilobytes in both directions.
    pub(super) fn kilobytes(&self) -> f64 {
        self.received + self.sent
    }
}

impl Row {
    /// Mean latency in milliseconds; `None` of nothing.
    pub(super) fn average_ms(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.accumulated_ms / self.timed as f64)
    }

    /// Adds another, its rates as they are.
    fn add(&mut self, other: &Self) {
        let Self { count, rates, connection_errors, accumulated_ms, timed, cells, looks } = other;
        self.count += count;
        self.rates = self.rates.with(*rates, |a, b| a + b);
        self.connection_errors += connection_errors;
        self.accumulated_ms += accumulated_ms;
        self.timed += timed;
        self.cells.merge(cells);
        self.looks |= looks;
    }
}

/// The figures of one run.
#[derive(Debug, Clone)]
pub(crate) struct RunFigures {
    /// Names of the rows, in upper case.
    pub(crate) names: Vec<String>,
    pub(super) built_in: bool,
    pub(super) rows: Vec<Row>,
    pub(super) totals: Row,
    /// Lookups of commands of the user's own.
    pub(super) lookups: Vec<Lookup>,
    /// Threads.
    pub(crate) threads: u16,
    /// Connections of each thread.
    pub(crate) clients: u32,
    /// Planned length: its unit, and the requests of each connection or the seconds.
    pub(crate) length: (&'static str, u64),
    /// Schedule by which connections joined the load, if not all carried it from the start.
    pub(crate) joining: Option<JoinSchedule>,
    /// Set if the load went to a cluster.
    pub(crate) cluster: bool,
    /// The nodes that took part in the load.
    pub(crate) endpoints: Endpoints,
    /// Wall clock at its start.
    pub(crate) started_at: SystemTime,
    /// Length of the run.
    pub(crate) elapsed_s: f64,
    /// Set if its end was asked for.
    pub(crate) interrupted: bool,
    /// Second by second, where that was watched.
    pub(crate) over_time: Vec<Second>,
    pub(crate) cpu: CpuUse,
    /// The version and the cipher of the first TLS connection.
    pub(crate) tls: Option<(String, String)>,
}

/// Nodes of a cluster, masters and replicas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Endpoints {
    /// Number of masters, and of replicas.
    pub(crate) nodes: [u64; 2],
    /// Number of requests that masters answered, and replicas.
    pub(crate) requests: [u64; 2],
}

impl Endpoints {
    fn new(nodes: &[&NodeTally]) -> Self {
        let mut endpoints = Self::default();
        for node in nodes {
            let role = usize::from(!node.master);
            endpoints.nodes[role] += 1;
            endpoints.requests[role] += node.requests();
        }
        endpoints
    }

    fn add(&mut self, other: Self) {
        for role in [0, 1] {
            self.requests[role] += other.requests[role];
        }
    }
}

impl RunFigures {
    /// Returns the figures of a run.
    pub(crate) fn new(summary: &Summary<'_>, rows: &Rows) -> Self {
        let (run, elapsed_s) = (summary.run, summary.elapsed_s);
        let (plan, total) = (&run.plan, &run.measurement.total);
        let concurrency = &plan.load.concurrency;
        let mut figures = Self {
            names: rows.names.clone(),
            built_in: rows.built_in,
            rows: vec![Row::default(); rows.names.len()],
            totals: Row::default(),
            lookups: if rows.lookups && !rows.built_in { lookups(plan, total) } else { Vec::new() },
            threads: concurrency.workers,
            clients: concurrency.connections / u32::from(concurrency.workers),
            length: length(plan),
            joining: concurrency.joining,
            cluster: plan.target.cluster.is_some(),
            endpoints: Endpoints::new(&summary.nodes),
            started_at: run.measurement.started_at,
            elapsed_s,
            interrupted: run.measurement.ending == Ending::Interrupted,
            over_time: Vec::new(),
            cpu: CpuUse { workers: run.measurement.workers.clone(), seconds: Vec::new() },
            tls: negotiated(total),
        };
        let commands = plan.different_commands().commands;
        for ((command, tally), row) in commands.iter().zip(&total.commands).zip(&rows.of) {
            let one = figures.of_command(command, tally, rows, *row);
            figures.rows[*row].add(&one);
            figures.totals.add(&one);
        }
        figures.share_bytes(total, rows);
        figures.share_lookups(total);
        let sum = |count: fn(&&NodeTally) -> u64| summary.nodes.iter().map(count).sum::<u64>();
        let (moved, asked) = (sum(|node| node.moved), sum(|node| node.asked));
        let lost = total.connections.dropped;
        let [moved, asked, lost_per_s] = [moved, asked, lost].map(|count| figures.rate(count));
        figures.totals.connection_errors = lost;
        let rates = &mut figures.totals.rates;
        (rates.moved, rates.asked, rates.connection_errors) = (moved, asked, lost_per_s);
        figures
    }

    /// A count per second.
    fn rate(&self, count: u64) -> f64 {
        if self.elapsed_s > 0.0 { count as f64 / self.elapsed_s } else { 0.0 }
    }

    /// Bytes in kilobytes per second.
    fn kilobytes(&self, bytes: u64) -> f64 {
        self.rate(bytes) / 1024.0
    }

    /// The figures of one command, whose row is `row`.
    fn of_command(
        &self,
        command: &CommandSpec,
        tally: &CommandTally,
        rows: &Rows,
        row: usize,
    ) -> Row {
        let latency = &tally.service;
        let count = tally.ok + tally.miss + tally.errors;
        let found = if rows.built_in {
            (rows.names[row] == "GET").then_some([tally.ok, tally.miss])
        } else {
            of_command(command, tally).filter(|_| rows.lookups)
        };
        let [hits, misses] = found.unwrap_or_default().map(|count| self.rate(count));
        Row {
            count,
            rates: Rates {
                ops: self.rate(count),
                hits,
                misses,
                received: self.kilobytes(tally.bytes_in),
                sent: self.kilobytes(tally.bytes_out),
                ..Rates::default()
            },
            accumulated_ms: latency.mean_ns().unwrap_or_default() * latency.count() as f64 / 1e6,
            timed: latency.count(),
            cells: MemtierHistogram::from_latency(latency),
            connection_errors: 0,
            looks: found.is_some(),
        }
    }

    /// Gives the only kind of request the bytes of all, unless bytes were counted by command.
    fn share_bytes(&mut self, total: &Tally, rows: &Rows) {
        if let [tally] = &total.commands[..]
            && tally.bytes_out == 0
        {
            let bytes = [total.connections.bytes_in, total.connections.bytes_out];
            let [received, sent] = bytes.map(|bytes| self.kilobytes(bytes));
            for row in [&mut self.rows[rows.of[0]], &mut self.totals] {
                (row.rates.received, row.rates.sent) = (received, sent);
            }
        }
    }

    /// Sets the hits and misses of GETs of several keys: they are counted by key, and only in all.
    fn share_lookups(&mut self, total: &Tally) {
        let keys = total.keys();
        if self.built_in && keys.asked > 0 {
            let counts = [keys.found, keys.asked.saturating_sub(keys.found)];
            let [hits, misses] = counts.map(|count| self.rate(count));
            let read = self.names.iter().position(|name| name == "GET");
            let read = read.map(|at| &mut self.rows[at]);
            for row in read.into_iter().chain([&mut self.totals]) {
                (row.rates.hits, row.rates.misses) = (hits, misses);
            }
        }
    }

    /// Connections of a thread and of all that carried load in each second, where they joined it step by step.
    pub(super) fn active(&self) -> Vec<(u32, u32)> {
        let Some(joining) = self.joining else { return Vec::new() };
        let seconds = 0..self.elapsed_s.ceil() as u64;
        let seconds = seconds.map(|second: u64| {
            let steps = second.saturating_mul(1_000_000_000) / joining.every_ns.max(1);
            let each = joining.after(steps).min(self.clients);
            (each, each * u32::from(self.threads))
        });
        seconds.collect()
    }
}

/// Length of a run: its unit, and the requests of each connection or the seconds.
fn length(plan: &Plan) -> (&'static str, u64) {
    let connections = u64::from(plan.load.concurrency.connections);
    match (plan.load.stop, plan.load.share) {
        (Stop::Requests(each), BudgetScope::PerConnection) => {
            (REQUESTS, each * plan.requests_in_number())
        }
        (Stop::Requests(all), BudgetScope::OneBudget) => (REQUESTS, all / connections),
        (Stop::AfterNs(ns), _) => ("Seconds", ns / 1_000_000_000),
    }
}

const REQUESTS: &str = "Requests per client";

fn negotiated(total: &measure::Tally) -> Option<(String, String)> {
    let first = total.connections.tls.negotiated.first()?;
    Some((first.version.to_string(), first.cipher.to_string()))
}

/// A part of a report.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// Heading of its table, and key in JSON.
    pub(crate) title: String,
    /// Figures of a run; of several runs, counts and latencies together, and rates on average.
    pub(super) figures: RunFigures,
}

impl Section {
    /// Returns the section of one run.
    pub(crate) fn of_run(title: &str, run: &RunFigures) -> Self {
        Self { title: title.to_owned(), figures: run.clone() }
    }

    /// Returns the section of several runs, which have no time in common.
    fn of_all(title: String, runs: &[RunFigures]) -> Option<Self> {
        let (first, others) = runs.split_first()?;
        let mut all = RunFigures {
            started_at: UNIX_EPOCH,
            elapsed_s: 0.0,
            interrupted: false,
            over_time: Vec::new(),
            cpu: CpuUse::default(),
            ..first.clone()
        };
        for run in others {
            all.rows.iter_mut().zip(&run.rows).for_each(|(sum, row)| sum.add(row));
            all.totals.add(&run.totals);
            all.endpoints.add(run.endpoints);
            run.lookups.iter().for_each(|lookup| merge(&mut all.lookups, lookup));
        }
        for row in all.rows.iter_mut().chain([&mut all.totals]) {
            row.rates = row.rates.with(Rates::default(), |rate, _| rate / runs.len() as f64);
        }
        Some(Self { title, figures: all })
    }
}

/// The sections of these runs: one, or the best, the worst and all of several.
pub(crate) fn sections(runs: &[RunFigures], every_run: bool) -> Vec<Section> {
    if let [run] = runs {
        return vec![Section::of_run("ALL STATS", run)];
    }
    let whole = |run: &&RunFigures| run.totals.rates.ops as u64;
    // Of equals the first.
    let best = runs.iter().rev().max_by_key(whole);
    let worst = runs.iter().min_by_key(whole);
    let mut sections = Vec::new();
    if every_run {
        let each = (1..).zip(runs);
        sections.extend(each.map(|(n, run)| Section::of_run(&format!("RUN #{n} RESULTS"), run)));
    }
    sections.extend(best.map(|run| Section::of_run("BEST RUN RESULTS", run)));
    sections.extend(worst.map(|run| Section::of_run("WORST RUN RESULTS", run)));
    let title = format!("AGGREGATED AVERAGE RESULTS ({} runs)", runs.len());
    sections.extend(Section::of_all(title, runs));
    sections
}
