//! Carrying out a comparison on equal terms: table after table.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow};
use lab::survey::Machine;
use lab::terms::{Bout, Kind, Side, Table};
use report::compare::{self, Comparison, Pairing, Subject, Terms, TestComparison};
use report::{Metric, Run};
use workload::{Endpoint, ProtocolKind, Stop, Target};

use super::blocks::{self, BLOCK, Told};
use super::corner::Corner;
use super::sheet::Sheet;
use super::{blocks_told, unlike_error};
use crate::aside;
use crate::calibrate::place::siblings;
use crate::execute::End;
use crate::front::{CompareJob, TermsSides};
use crate::rig::{Rig, machine};

/// Compares, and prints each table as it comes.
///
/// # Errors
/// What kept it from being done, in words for a person; what was measured before it is kept.
pub(super) fn run(
    sides: &TermsSides,
    job: &CompareJob,
    interrupted: &AtomicBool,
    sheet: &mut Sheet<'_>,
) -> Result<(Comparison, End)> {
    let machine = Machine::of(machine(), siblings);
    let wish = &sides.wish;
    alike(&wish.sides)?;
    let (tables, left_out) = wish.tables(&machine).map_err(|why| anyhow!(why))?;
    let bouts = tables.iter().flat_map(|table| &table.bouts);
    same_load(bouts.clone())?;
    // Latencies are compared at two rates for each test of the first table.
    let after = match wish.kinds.contains(&Kind::Latency) {
        true => tables.first().map_or(0, |table| 2 * table.bouts.len()),
        false => 0,
    };
    announce(bouts, after, sides.blocks)?;
    let mut comparison = Comparison {
        subjects: wish.sides.each_ref().map(named),
        how: format!(
            "{} of A B B A for each test of each table; ratios are B / A",
            blocks_told(sides.blocks)
        ),
        complete: false,
        tests: Vec::new(),
        warnings: Vec::new(),
        threshold: job.fail_on_regression,
        terms: Some(Terms { equal: wish.equal(), left_out, tables: Vec::new() }),
    };
    let mut going = Going { sides, job, interrupted, sheet, headed: false };
    let mut end = End::Complete;
    let mut tables = std::collections::VecDeque::from(tables);
    while let Some(table) = tables.pop_front() {
        end = going.table(&table, &mut comparison)?;
        if end != End::Complete {
            break;
        }
        if table.kind == Kind::Core {
            let slower: Vec<(String, f64)> =
                comparison.tests.iter().filter_map(slower_of).collect();
            let latency = wish.latency(&machine, &slower).map_err(|why| anyhow!(why))?;
            let behind = tables.iter().position(|table| table.kind == Kind::MultiGet);
            if let Some(table) = latency {
                tables.insert(behind.unwrap_or(tables.len()), table);
            }
        }
    }
    comparison.complete = end == End::Complete;
    Ok((comparison, end))
}

/// A comparison under way.
struct Going<'g, 's> {
    sides: &'g TermsSides,
    job: &'g CompareJob,
    interrupted: &'g AtomicBool,
    sheet: &'g mut Sheet<'s>,
    /// Whether it was said who is compared.
    headed: bool,
}

impl Going<'_, '_> {
    fn table(&mut self, table: &Table, comparison: &mut Comparison) -> Result<End> {
        let corner = |side: usize| {
            let connections = table.bouts.iter().flat_map(|bout| &bout.sides[side]);
            // Each server gets the connections of its shares only, or of all of them.
            let connections: u32 =
                connections.map(|plan| plan.own_connections()).max().unwrap_or(1);
            let shares = table.bouts.first().map_or(1, |bout| bout.sides[side].len());
            let connections = connections.saturating_mul(shares as u32);
            let protocol = self.sides.wish.sides[side].protocol;
            Corner::reach(&table.servers[side], |target: &Target| {
                let reached = Rig::reach_for(target, protocol, connections, None, self.interrupted);
                let mut rig = reached.with_context(|| ["A", "B"][side])?;
                (rig.sample, rig.tells) = (self.job.output.sample, false);
                Ok(rig)
            })
        };
        let mut corners = [corner(0)?, corner(1)?];
        let mut told = compare::Table {
            kind: table.kind.name(),
            title: table.title.clone(),
            text: table.text.clone(),
            subjects: corners.each_ref().map(Corner::subject),
        };
        if !self.headed {
            comparison.subjects =
                told.subjects.clone().map(|subject| Subject { command_line: None, ..subject });
            self.sheet.head(comparison)?;
            self.headed = true;
        }
        let number = comparison.terms.as_ref().map_or(0, |terms| terms.tables.len());
        let live = self.job.output.live;
        let sheet = &mut *self.sheet;
        let mut tell = |what: Told<'_>| -> Result<()> {
            match what {
                Told::First(a, b) => {
                    for (subject, run) in told.subjects.iter_mut().zip([a, b]) {
                        subject.settings = settings(run);
                    }
                    let found = compare::beside(a, b).into_iter();
                    let found = found.chain([a, b].into_iter().filter_map(gets_apart));
                    let known = &comparison.warnings;
                    let new: Vec<String> = found.filter(|text| !known.contains(text)).collect();
                    sheet.table(&told)?;
                    sheet.warn(&new)?;
                    comparison.warnings.extend(new);
                    if let Some(terms) = &mut comparison.terms {
                        terms.tables.push(told.clone());
                    }
                    Ok(())
                }
                Told::Bout(at, [a, b]) => {
                    let bout = &table.bouts[at];
                    let Some(plan) = bout.sides[0].first() else { return Ok(()) };
                    let open = plan.pace.schedule().is_some();
                    let pairing = Pairing::Blocks;
                    let test =
                        TestComparison::of(&bout.name, pairing, plan.precision, &a, &b, open);
                    let test = test.on_equal_terms(number, &a, &b);
                    let name = comparison.name_of(&test);
                    sheet.test(&test, &name)?;
                    comparison.tests.push(test);
                    sheet.keep(comparison)
                }
            }
        };
        blocks::carry_out(&mut corners, &table.bouts, self.sides.blocks, live, &mut tell)
    }
}

/// The settings of a server, or of the first of several.
fn settings(run: &Run) -> Vec<(String, String)> {
    let of = run.watched.servers.first().map_or(&[][..], |server| &server.settings);
    let mut told: Vec<(String, String)> =
        of.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect();
    // Redis tells them in an order that differs from start to start.
    told.sort();
    told
}

/// What pipelines of `get` measure on an older memcached.
fn gets_apart(run: &Run) -> Option<String> {
    let plan = &run.plan;
    let name = run.server.name().filter(|_| plan.protocol.is_memcache())?;
    let version = run.server.version.as_deref()?;
    let classic = plan.protocol == ProtocolKind::MemcacheText && plan.fleet.pipeline_depth > 1;
    (classic && host::memcache::answers_gets_apart(version)).then(|| {
        format!(
            "{name} writes the reply to each get of a pipeline with a system call of its own; 1.6.35 and \
             newer do not, nor is mg concerned (--protocol memcache-meta)"
        )
    })
}

/// What the slower side of a test reached.
fn slower_of(test: &TestComparison) -> Option<(String, f64)> {
    let [a, b] = test.row(Metric::Throughput)?.means;
    Some((test.name.clone(), a.min(b)))
}

/// Before a server has said what it is.
fn named(side: &Side) -> Subject {
    Subject::of(&host::ServerFacts::default(), side.target.endpoint.to_string(), None)
}

/// Says how long it will take.
fn announce<'b>(bouts: impl Iterator<Item = &'b Bout>, after: usize, blocks: u32) -> Result<()> {
    let mut bouts: Vec<&Bout> = bouts.collect();
    let later: Vec<&Bout> = bouts.iter().take(after / 2).flat_map(|bout| [*bout; 2]).collect();
    bouts.extend(later);
    let seconds = |bout: &&Bout| {
        let plan = bout.sides[0].first()?;
        match plan.stop {
            Stop::AfterNs(ns) => Some((ns + plan.warmup_ns) as f64 / 1e9),
            Stop::Requests(_) => None,
        }
    };
    let all: Option<f64> = bouts.iter().map(seconds).sum();
    if let Some(all) = all.map(|s| s * f64::from(blocks) * BLOCK.len() as f64)
        && all >= 60.0
    {
        aside::say(format_args!("NOTE: this takes about {:.0} minutes", (all / 60.0).ceil()))?;
    }
    Ok(())
}

/// Whether both are reached in the same way.
fn alike(sides: &[Side; 2]) -> Result<()> {
    let is_unix = |side: &Side| {
        matches!(side.target.endpoint, Endpoint::Unix(_) | Endpoint::Spawned { unix: true, .. })
    };
    let way = |side: &Side| if is_unix(side) { "a unix socket" } else { "TCP" };
    let [a, b] = sides.each_ref().map(way);
    if a != b {
        return Err(unlike_error(&[format!("the way to A is {a} and to B {b}")]));
    }
    Ok(())
}

/// The loads of both sides differ in their words, and in how a get is divided.
fn same_load<'b>(bouts: impl Iterator<Item = &'b Bout>) -> Result<()> {
    for bout in bouts {
        let [a, b] = &bout.sides;
        for (a, b) in a.iter().zip(b) {
            let found = compare::unlike_beside_words(["A", "B"], a, b)?;
            if !found.is_empty() {
                return Err(unlike_error(&found));
            }
        }
    }
    Ok(())
}
