//! Running of a comparison on equal terms, table after table.

use std::sync::atomic::AtomicBool;

use anyhow::{Result, anyhow};
use cli::compare::{CompareJob, TermsSides};
use cli::console::diagnostics;
use cli::job::{End, UsageError};
use lab::survey::Machine;
use lab::terms::{PairedLoad, Side, Table, TermKind};
use report::compare::{
    self, ComparedTest, Comparison, Pairing, Setup, Subject, Terms, TestComparison,
};
use report::{Metric, Run};
use workload::{Stop, Target};

use super::blocks::{BlockResult, BlockSchedule, Blocks, Load, Taken, schedule};
use super::test_beds::TestBeds;
use super::writer::Writer;
use super::{check_same_load, describe_blocks, untested};
use crate::machine::machine;
use crate::test_bed::TestBed;

/// Compares, and prints each table when it is complete.
///
/// # Errors
/// Returns the reason for a failure in words for a person; earlier results are kept.
pub(super) fn run(
    sides: &TermsSides,
    job: &CompareJob,
    interrupted: &AtomicBool,
    writer: &mut Writer<'_>,
) -> Result<(Comparison, End)> {
    let machine = Machine::new(machine(), host::affinity::siblings);
    let terms = &sides.terms;
    let (tables, left_out) = terms.tables(&machine).map_err(|why| anyhow!(why))?;
    if tables.is_empty() {
        return Err(nothing_to_compare(&left_out).into());
    }
    for PairedLoad { sides: [a, b], .. } in tables.iter().flat_map(|table| &table.paired_loads) {
        // They may differ in the words of the protocols, and in how a get of several keys is divided.
        a.iter().zip(b).try_for_each(|(a, b)| check_same_load(job, true, &[a, b]))?;
    }
    let has_latency = terms.kinds.contains(&TermKind::Latency);
    announce(&tables, has_latency, sides.blocks)?;
    let subjects = terms.sides.iter().map(named).collect();
    let how = format!("{} of each table", describe_blocks(sides.blocks));
    let equal = Terms { equal: terms.equal(), left_out, tables: Vec::new() };
    let mut comparison = Comparison { terms: Some(equal), ..untested(job, subjects, how) };
    let mut going = ComparisonRun { sides, job, interrupted, writer, headed: false };
    let mut end = End::Complete;
    let mut tables = std::collections::VecDeque::from(tables);
    while let Some(table) = tables.pop_front() {
        let mut after_s: f64 = tables.iter().map(|table| planned_s(table, sides.blocks)).sum();
        if table.kind == TermKind::Core && has_latency {
            after_s += 2.0 * planned_s(&table, sides.blocks);
        }
        end = going.table(&table, after_s, &mut comparison)?;
        if end != End::Complete {
            break;
        }
        if table.kind == TermKind::Core {
            let slower: Vec<(String, f64)> =
                comparison.tests.iter().filter_map(slower_of).collect();
            let latency = terms.latency(&machine, &slower).map_err(|why| anyhow!(why))?;
            let behind = tables.iter().position(|table| table.kind == TermKind::MultiGet);
            if let Some(table) = latency {
                tables.insert(behind.unwrap_or(tables.len()), table);
            }
        }
    }
    comparison.complete = end == End::Complete;
    Ok((comparison, end))
}

/// The error if none of the chosen tables can be made: a gate must not pass without a comparison.
fn nothing_to_compare(left_out: &[String]) -> UsageError {
    UsageError(match left_out {
        [] => "--tables: none of these tables has a test; mget is of commands that read several \
               keys, such as mget or a memcached get of several keys"
            .to_owned(),
        why => format!("--tables: nothing is left to compare. {}", why.join(" ")),
    })
}

/// A comparison under way.
struct ComparisonRun<'g, 's> {
    sides: &'g TermsSides,
    job: &'g CompareJob,
    interrupted: &'g AtomicBool,
    writer: &'g mut Writer<'s>,
    /// Set if the names of the sides have been printed.
    headed: bool,
}

impl<'g> ComparisonRun<'g, '_> {
    /// The servers of one side, reached or started.
    fn beds(&self, table: &Table, side: usize) -> Result<TestBeds<'g>> {
        let connections = table.paired_loads.iter().flat_map(|paired| &paired.sides[side]);
        // Each server gets the connections of its shares only, or of all of them.
        let connections: u32 = connections.map(|plan| plan.own_connections()).max().unwrap_or(1);
        let shares = table.paired_loads.first().map_or(1, |paired| paired.sides[side].len());
        let connections = connections.saturating_mul(shares as u32);
        let protocol = self.sides.terms.sides[side].protocol;
        TestBeds::reach(&table.servers[side], |target: &Target| {
            let reached = TestBed::reach(target, protocol, connections, None, self.interrupted);
            let mut bed = reached.map_err(|error| super::naming(error, &self.job.word(side)))?;
            bed.settings.sample = self.job.output.sample;
            bed.settings.fills_quietly = true;
            Ok(bed)
        })
    }

    /// The table as displayed, without tests. Before the first table, prints the compared servers.
    fn begin(
        &mut self,
        table: &Table,
        both: &[TestBeds<'_>; 2],
        comparison: &mut Comparison,
    ) -> Result<compare::Table> {
        let mut shown_table = compare::Table {
            kind: table.kind.name(),
            title: table.title.clone(),
            text: table.text.clone(),
            subjects: both.iter().map(TestBeds::subject).collect(),
        };
        if !self.headed {
            comparison.subjects.clone_from(&shown_table.subjects);
            comparison.subjects.iter_mut().for_each(|subject| subject.command_line = None);
            compare::name(&mut comparison.subjects, &self.job.names);
            let names = comparison.names();
            comparison.how += &format!("; ratios are {} / {}", names[1], names[0]);
            self.writer.head(comparison)?;
            self.headed = true;
        }
        for (subject, name) in shown_table.subjects.iter_mut().zip(comparison.names()) {
            subject.name = name;
        }
        Ok(shown_table)
    }

    /// Runs a table, after which `after_s` more seconds are planned.
    fn table(&mut self, table: &Table, after_s: f64, comparison: &mut Comparison) -> Result<End> {
        let mut both = [self.beds(table, 0)?, self.beds(table, 1)?];
        let mut shown_table = self.begin(table, &both, comparison)?;
        let names = comparison.names();
        let both_names = [0, 1].map(|side| names[side].clone());
        let number = comparison.terms.as_ref().map_or(0, |terms| terms.tables.len());
        let errors_allowed = self.job.errors_allowed;
        let headlines = table.paired_loads.len();
        let compared = |at: usize, taken: &Taken| {
            let [a, b] = &*taken.runs else { return None };
            let paired = &table.paired_loads[at];
            let plan = paired.sides[0].first()?;
            let setup = Setup::new(plan, both_names.clone(), Pairing::Blocks, errors_allowed)
                .among(headlines, 1);
            let test = TestComparison::new(&paired.name, &setup, a, b)
                .with_void(&taken.void, taken.void_runs_of(0, 1));
            Some(ComparedTest::of_pair(test.on_equal_terms(number, a, b)))
        };
        let writer = &mut *self.writer;
        let progress = writer.files.page_progress();
        let mut tell = |what: BlockResult<'_>| -> Result<()> {
            match what {
                BlockResult::First(runs) => {
                    let [a, b] = runs else { return Ok(()) };
                    for (subject, run) in shown_table.subjects.iter_mut().zip([a, b]) {
                        subject.settings = settings(run);
                    }
                    let found = compare::beside(&both_names, a, b).into_iter();
                    let apart = |run: &Run| report::gets_warning(&run.plan, &run.watched);
                    let found = found.chain([a, b].into_iter().filter_map(apart));
                    let known = &comparison.warnings;
                    let new: Vec<String> = found.filter(|text| !known.contains(text)).collect();
                    writer.table(&shown_table)?;
                    writer.warn(&new)?;
                    comparison.warnings.extend(new);
                    if let Some(terms) = &mut comparison.terms {
                        terms.tables.push(shown_table.clone());
                    }
                    Ok(())
                }
                BlockResult::Block(taken) => {
                    let begun = taken.iter().enumerate().filter(|(_, taken)| !taken.is_empty());
                    let tests = begun.filter_map(|(at, taken)| compared(at, taken));
                    writer.show(comparison, || tests.collect());
                    Ok(())
                }
                BlockResult::Load(at, taken) => {
                    let Some(test) = compared(at, &taken) else { return Ok(()) };
                    let name = comparison.name_of(&test);
                    writer.test(&test, &name, None)?;
                    comparison.tests.push(test);
                    writer.keep(comparison)
                }
            }
        };
        let loads: Vec<Load> = table.paired_loads.iter().map(load_of).collect();
        let schedule = BlockSchedule { looks: 1, ..schedule(self.job, self.sides.blocks) };
        let blocks = Blocks::new(&mut both, &names, &loads, schedule, progress);
        blocks.before(after_s).carry_out(&mut |_| false, &mut tell)
    }
}

fn load_of(paired: &PairedLoad) -> Load {
    Load { name: paired.name.clone(), sides: paired.sides.to_vec() }
}

/// Planned seconds of a table.
fn planned_s(table: &Table, blocks: u32) -> f64 {
    let block_s: f64 = table.paired_loads.iter().map(|paired| load_of(paired).block_s()).sum();
    block_s * f64::from(blocks)
}

/// The settings of a server, or of the first of several.
fn settings(run: &Run) -> Vec<(String, String)> {
    let of = run.watched.servers.first().map_or(&[][..], |server| &server.settings);
    let mut pairs: Vec<(String, String)> =
        of.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect();
    // Redis lists them in an order that differs from start to start.
    pairs.sort();
    pairs
}

/// Returns the name of a test, and the throughput of its slower side.
fn slower_of(test: &ComparedTest) -> Option<(String, f64)> {
    let [a, b] = test.pairs.first()?.row(Metric::Throughput)?.means;
    Some((test.name.clone(), a.min(b)))
}

/// The subject of a side by its address, before the server has been asked for its version.
fn named(side: &Side) -> Subject {
    Subject::new(&host::ServerFacts::default(), side.target.endpoint.to_string(), None)
}

/// Prints how long it will take, if that is over a minute.
fn announce(tables: &[Table], has_latency: bool, blocks: u32) -> Result<()> {
    let mut plans =
        tables.iter().flat_map(|table| &table.paired_loads).flat_map(|paired| &paired.sides[0]);
    if plans.any(|plan| matches!(plan.load.stop, Stop::Requests(_))) {
        return Ok(());
    }
    // Latencies are compared at two rates for each test of the first table.
    let latency = tables.first().filter(|_| has_latency);
    let latency_s = latency.map_or(0.0, |table| 2.0 * planned_s(table, blocks));
    let all_s = tables.iter().map(|table| planned_s(table, blocks)).sum::<f64>() + latency_s;
    if all_s >= 60.0 {
        diagnostics::say(format_args!(
            "note: this takes about {:.0} minutes",
            (all_s / 60.0).ceil()
        ))?;
    }
    Ok(())
}
