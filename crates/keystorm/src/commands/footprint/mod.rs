//! Carrying out `keystorm footprint`: every item on every server, over several starts.

mod limits;
mod reader;
mod steps;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use console::diagnostics::{self, Diagnostics};
use job::{End, FootprintJob};
use lab::Footprint;
use lab::footprint::{FILLS, Item, KeyBytes, Row, Server, fills};
use workload::Target;

use self::reader::MemoryReader;
use crate::commands::run::tell_about;
use crate::experiment::files::Files;
use crate::experiment::progress::Progress;
use crate::experiment::results;
use crate::experiment::terminal::Terminal;
use crate::signals;
use crate::test_bed::TestBed;

/// Connections that it needs.
const CONNECTIONS: u32 = 4;

/// Measures, prints the tables, and writes the page.
///
/// # Errors
/// What kept it from being carried out, in words for a person; what was measured before is kept.
pub(crate) fn footprint(job: &FootprintJob) -> Result<End> {
    if let Some(memory) = &job.memory {
        return limits::run(job, memory);
    }
    let mut files = Files::new(&job.output)?;
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    let mut beds = Vec::new();
    for job in &job.servers {
        let Some(plan) = job.plans.first() else { continue };
        let target = &plan.target;
        let mut bed = TestBed::reach(target, plan.protocol, CONNECTIONS, None, &interrupted)?;
        bed.tells = false;
        tell_about(&bed.server, plan, &Diagnostics::Stderr, report::KEYSTORM)?;
        beds.push((target.clone(), bed));
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
    let mut progress = files.progress();
    let ended = measure_all(
        job,
        starts,
        &mut beds,
        &mut footprint,
        &mut progress,
        &mut files,
        &interrupted,
    );
    progress.clear();
    footprint.complete = matches!(ended, Ok(End::Complete));
    let shown = show(job, &footprint, &files);
    let end = ended?;
    shown?;
    Ok(end)
}

/// Names the servers: products and versions, and addresses where those are the same.
fn servers(beds: &[(Target, TestBed<'_>)]) -> Result<Vec<Server>> {
    let name = |bed: &TestBed<'_>| {
        let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "server".to_owned());
        format!("{} {}", known(&bed.server.facts.product), known(&bed.server.facts.version))
    };
    let names: Vec<String> = beds.iter().map(|(_, bed)| name(bed)).collect();
    let server = |(number, (target, bed)): (usize, &(Target, TestBed<'_>))| {
        let alike = names.iter().filter(|other| **other == names[number]).count() > 1;
        let name = if alike {
            format!("{} ({})", names[number], number + 1)
        } else {
            names[number].clone()
        };
        Ok(Server { name, allocator: MemoryReader::open(bed, target)?.allocator()? })
    };
    beds.iter().enumerate().map(server).collect()
}

/// Refuses a server that holds keys: they would be measured, too.
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

fn measure_all(
    job: &FootprintJob,
    starts: u32,
    beds: &mut [(Target, TestBed<'_>)],
    footprint: &mut Footprint,
    progress: &mut Progress,
    files: &mut Files,
    interrupted: &AtomicBool,
) -> Result<End> {
    let steps = u32::from(job.steps);
    let mut left =
        (job.items.len() * beds.len() * starts as usize + beds.len() * steps as usize) as f64;
    let mut used = vec![false; beds.len()];
    for item in &job.items {
        for (number, (target, bed)) in beds.iter_mut().enumerate() {
            let mut row = unmeasured(item, number, job.keys);
            for _ in 0..starts {
                if interrupted.load(Ordering::Relaxed) {
                    return Ok(End::Interrupted);
                }
                left -= 1.0;
                progress.begin(format!("storing {item}"), 1.0, left);
                if std::mem::replace(&mut used[number], true) {
                    bed.restart(target)?;
                }
                let measured = measure_once(item, target, bed, &mut row, interrupted)?;
                progress.end();
                match measured {
                    Some(bytes) => row.bytes_per_key.push(bytes),
                    None => break,
                }
            }
            if !row.bytes_per_key.is_empty() || row.failure.is_some() {
                footprint.rows.push(row);
            }
            files.keep(|| footprint.to_json(), || footprint.page(&job.command_line))?;
        }
    }
    for (number, (target, bed)) in beds.iter_mut().enumerate().filter(|_| job.steps) {
        if interrupted.load(Ordering::Relaxed) {
            return Ok(End::Interrupted);
        }
        left -= 1.0;
        progress.begin("looking for steps".to_owned(), 1.0, left);
        if !bed.server.protocol().is_memcache() {
            bed.restart(target)?;
            footprint.steps.extend(steps::find(&mut bed.server.client(target)?, number)?);
        }
        progress.end();
    }
    let interrupted = interrupted.load(Ordering::Relaxed);
    Ok(if interrupted { End::Interrupted } else { End::Complete })
}

fn unmeasured(item: &Item, server: usize, keys: Option<u64>) -> Row {
    Row {
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

/// Fills a server to three sizes and takes the slope; `None` if the row says why there is none, or after Ctrl-C.
fn measure_once(
    item: &Item,
    target: &Target,
    bed: &TestBed<'_>,
    row: &mut Row,
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
            readings.push(reader.settled(keys)?);
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

fn show(job: &FootprintJob, footprint: &Footprint, files: &Files) -> Result<()> {
    if footprint.rows.is_empty() && footprint.steps.is_empty() {
        return Ok(());
    }
    let text = |terminal: &Terminal| {
        terminal.table(&footprint.table())?;
        if !footprint.steps.is_empty() {
            terminal.line("")?;
            terminal.table(&footprint.steps_table())?;
        }
        if !job.output.quiet {
            terminal.line("")?;
            terminal.line(&footprint.method())?;
            terminal.warnings(&footprint.warnings)?;
        }
        Ok(())
    };
    let page = || footprint.page(&job.command_line);
    results::show(&job.output, files, || footprint.to_json(), || footprint.to_csv(), page, text)?;
    for line in footprint.left_out() {
        diagnostics::say(report::escape(line))?;
    }
    Ok(())
}
