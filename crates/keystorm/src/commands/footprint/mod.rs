//! `keystorm footprint`: measures every item on every server, over several starts.

mod limits;
mod options;
mod reader;
mod steps;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use cli::experiment::{LOAD_OPTIONS, REFUSED, with_those_of_a_run, with_words};
use cli::front::{Front, command};
use cli::job::{End, Intent};
use lab::footprint::{FILLS, FootprintRow, Item, KeyBytes, Server, fills};
use lab::{Findings, Footprint};
use workload::Target;

use self::options::Options;
use self::reader::MemoryReader;
use crate::experiment::frame::{Experiment, Frame, Step, reach};
use crate::test_bed::TestBed;

/// Number of connections needed.
const CONNECTIONS: u32 = 4;
/// Estimated seconds for an item or for the search for steps.
const STEP_S: f64 = 1.0;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["footprint"],
    command: || with_those_of_a_run(command::<Options>(), &LOAD_OPTIONS),
    parse: |args| {
        with_words(args, &REFUSED, |options, words, load, shown| {
            let options = options::read(options, words, load, shown)?;
            let carry_out = if options.limits.is_empty() { footprint } else { limits::carry_out };
            Ok(Intent::carry(move || carry_out(&options)))
        })
    },
};

/// Measures, prints the tables, and writes the page.
///
/// # Errors
/// Returns an error if something cannot be measured or written; earlier results are kept.
fn footprint(job: &Options) -> Result<End> {
    let notes = job.servers.iter().flat_map(|job| &job.notes);
    let frame = Frame::open(notes, &job.output)?;
    let mut beds = Vec::new();
    for job in &job.servers {
        let Some(plan) = job.plans.first() else { continue };
        beds.push((plan.target.clone(), reach(job, plan, CONNECTIONS, frame.interrupted)?));
    }
    let starts = if beds.iter().all(|(_, bed)| bed.server.is_own()) { job.starts } else { 1 };
    let mut footprint = Footprint::new(servers(&beds)?, starts);
    for (target, bed) in &beds {
        check_empty(target, bed)?;
        if !bed.server.is_own() {
            let address = &bed.server.address;
            footprint.warnings.push(format!(
                "{address} was not restarted: RSS includes memory that was free before, and errors do not \
                 cover how starts differ"
            ));
        }
    }
    let servers = 0..beds.len();
    let items = job
        .items
        .iter()
        .flat_map(|item| servers.clone().map(move |server| MeasuredPart::Item(item, server)));
    let steps = servers.clone().filter(|_| !job.no_steps).map(MeasuredPart::Steps);
    let left = items.chain(steps).collect();
    let used = vec![false; beds.len()];
    frame.carry_out(&mut FootprintRun { keys: job.keys, starts, beds, used, footprint, left })
}

/// Names the servers by product and version, and by address where those are the same.
fn servers(beds: &[(Target, TestBed<'_>)]) -> Result<Vec<Server>> {
    let names: Vec<String> = beds.iter().map(|(_, bed)| bed.server.facts.version_name()).collect();
    let servers = beds.iter().enumerate().map(|(number, (target, bed))| {
        let alike = names.iter().filter(|other| **other == names[number]).count() > 1;
        let mut name = names[number].clone();
        if alike {
            name += &format!(" ({})", number + 1);
        }
        Ok(Server { name, allocator: MemoryReader::open(bed, target)?.allocator()? })
    });
    servers.collect()
}

/// Refuses a server that holds keys, since these would be measured, too.
fn check_empty(target: &Target, bed: &TestBed<'_>) -> Result<()> {
    let keys = MemoryReader::open(bed, target)?.keys()?;
    if keys > 0 {
        bail!(
            "{} already holds {}, and footprint needs an empty server; use --spawn, or name \
             another server",
            bed.server.address,
            workload::quantity::counted(keys, "key")
        );
    }
    Ok(())
}

/// The next measurement.
enum MeasuredPart<'j> {
    /// Cost of an item on a server.
    Item(&'j Item, usize),
    /// Lengths at which a server changes its encodings.
    Steps(usize),
}

/// A running footprint measurement, one part per step.
struct FootprintRun<'j> {
    keys: Option<u64>,
    starts: u32,
    beds: Vec<(Target, TestBed<'static>)>,
    /// Set for each server that has stored something since its start.
    used: Vec<bool>,
    footprint: Footprint,
    left: VecDeque<MeasuredPart<'j>>,
}

impl Experiment for FootprintRun<'_> {
    fn planned_s(&self) -> f64 {
        let seconds = self.left.iter().map(|part| match part {
            MeasuredPart::Item(..) => STEP_S * f64::from(self.starts),
            MeasuredPart::Steps(_) => STEP_S,
        });
        seconds.sum()
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        match self.left.pop_front() {
            Some(MeasuredPart::Item(item, server)) => self.item(item, server, frame)?,
            Some(MeasuredPart::Steps(server)) => self.steps(server, frame)?,
            None => {
                let has_none = self.footprint.rows.iter().all(|row| row.bytes_per_key.is_empty());
                return Ok(Step::Last(if has_none { End::Failed } else { End::Complete }));
            }
        }
        Ok(Step::Next)
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.footprint
    }
}

impl FootprintRun<'_> {
    /// Measures an item on every start of a server, and adds its row.
    fn item(&mut self, item: &Item, server: usize, frame: &mut Frame<'_>) -> Result<()> {
        let mut row = unmeasured(item, server, self.keys);
        for left in (0..self.starts).rev() {
            if frame.is_interrupted() {
                break;
            }
            let after_s = self.planned_s() + STEP_S * f64::from(left);
            frame.progress.begin(format!("storing {item}"), STEP_S, after_s);
            let (target, bed) = &mut self.beds[server];
            if std::mem::replace(&mut self.used[server], true) {
                bed.restart(target)?;
            }
            let measured = measure_once(item, target, bed, &mut row, frame.interrupted)?;
            frame.progress.end();
            match measured {
                Some(bytes) => row.bytes_per_key.push(bytes),
                None => break,
            }
        }
        if !row.bytes_per_key.is_empty() || row.failure.is_some() {
            self.footprint.rows.push(row);
        }
        Ok(())
    }

    /// Searches for the lengths at which a server changes its encodings.
    fn steps(&mut self, server: usize, frame: &mut Frame<'_>) -> Result<()> {
        frame.progress.begin("looking for steps".to_owned(), STEP_S, self.planned_s());
        let (target, bed) = &mut self.beds[server];
        if !bed.server.protocol().is_memcache() {
            bed.restart(target)?;
            self.footprint.steps.extend(steps::find(&mut bed.server.client(target)?, server)?);
        }
        frame.progress.end();
        Ok(())
    }
}

fn unmeasured(item: &Item, server: usize, keys: Option<u64>) -> FootprintRow {
    FootprintRow {
        item: item.to_string(),
        server,
        keys: fills(item, keys),
        elements: item.elements,
        payload_bytes: item.payload_bytes(),
        encoding: None,
        bytes_per_key: Vec::new(),
        memory_usage: None,
        failure: None,
    }
}

/// Fills a server to three sizes and computes the slope; `None` if the row states why there is none, or after
/// Ctrl-C.
fn measure_once(
    item: &Item,
    target: &Target,
    bed: &TestBed<'_>,
    row: &mut FootprintRow,
    interrupted: &AtomicBool,
) -> Result<Option<KeyBytes>> {
    let mut reader = MemoryReader::open(bed, target)?;
    if !reader.stores(item) {
        row.failure = Some("memcached has strings only".to_owned());
        return Ok(None);
    }
    let (mut readings, mut stored) = (Vec::new(), 0);
    let filled = (|| -> Result<bool> {
        for (keys, times) in row.keys.into_iter().zip(FILLS) {
            if !reader.fill(item, stored..keys, interrupted)? {
                return Ok(false);
            }
            stored = keys;
            readings.push(reader.steady_reading(keys)?);
            if times == FILLS[0] {
                (row.encoding, row.memory_usage) = reader.describe()?;
            }
        }
        Ok(true)
    })();
    let removed = if bed.server.is_own() { Ok(()) } else { reader.remove(row.keys[2]) };
    match filled {
        Ok(true) => removed?,
        Ok(false) => return removed.map(|()| None),
        Err(error) => {
            removed?;
            row.failure = Some(format!("{error:#}"));
            return Ok(None);
        }
    }
    Ok(KeyBytes::from_readings(&readings))
}
