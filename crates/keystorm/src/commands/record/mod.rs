//! `keystorm record`: finds the servers, has them report their commands, and writes these to a file.

mod cost;
mod feed;
mod node;
mod options;
mod recording;

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use cli::console::bar::Bar;
use cli::console::diagnostics;
use cli::front::{Front, command, with_options};
use cli::job::{End, Intent};
use host::Questions;
use report::grouped;
use traffic::{Losses, Privacy, Protocol, Pseudonyms, Source, Stamps, Writer};

use self::cost::{Cost, NOT_MEASURED};
use self::node::Node;
use self::options::Options;
use self::recording::{DecoderSettings, Progress};
use crate::commands::run::say;
use crate::server::Server;
use crate::signals;

/// Interval at which the connection to the server and its output buffer are checked.
const ASK_EVERY: Duration = Duration::from_millis(10);
const CHECK_EVERY: Duration = Duration::from_millis(200);
/// Connections that are opened to each server.
const CONNECTIONS: u32 = 2;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["record"],
    command: command::<Options>,
    parse: |args| {
        with_options(args, |options: Options| {
            let options = options.checked()?;
            Ok(Intent::carry(move || record(&options)))
        })
    },
};

/// Records.
///
/// # Errors
/// Returns an error if a server cannot be reached or refuses, or the file cannot be written.
fn record(job: &Options) -> Result<End> {
    job.server.notes.iter().try_for_each(diagnostics::say)?;
    let interrupted = signals::interrupted()?;
    let server =
        Server::reach(&job.server.target, job.server.protocol, CONNECTIONS, Questions::All)?;
    let mut nodes = node::nodes(&server, job)?;
    let path = job.output.display();
    let file = OpenOptions::new().write(true).create_new(true).open(&job.output);
    let file = file.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => anyhow!("-o {path}: the file exists; choose another name"),
        _ => anyhow!("-o {path}: {error}"),
    })?;
    let mut recorder = Recorder::new(job, &server, file, &nodes, interrupted)?;
    let ended = recorder.run(&mut nodes);
    let figures = recorder.finish();
    let (losses, progress) = figures.with_context(|| format!("-o {path}"))?;
    let recorded = recorder.recorded;
    let events = progress.events.load(Ordering::Relaxed);
    if events == 0 && ended.is_err() {
        // Another attempt may have the name.
        let _ = std::fs::remove_file(&job.output);
    }
    let bytes = progress.bytes.load(Ordering::Relaxed);
    say(&summary(job, events, bytes, recorded))?;
    let has_ended = matches!(ended, Ok(EndReason::Done | EndReason::Interrupted));
    let cost = has_ended.then(|| Cost::measure(&mut nodes, &server, job).ok()).flatten();
    say(&format!("{}\n", cost.map_or(NOT_MEASURED.to_owned(), |cost| cost.sentence())))?;
    if losses.total() > 0 {
        diagnostics::say(format_args!("warning: {}", lost(&losses, events)))?;
    }
    match ended? {
        EndReason::Done => Ok(End::Complete),
        EndReason::Interrupted if job.duration.is_none() => Ok(End::Complete),
        EndReason::Interrupted => Ok(End::Interrupted),
        EndReason::Failed(why) => {
            diagnostics::say(format_args!("error: recording stopped: {why}"))?;
            Ok(End::Failed)
        }
    }
}

/// Says what was recorded, in a line.
fn summary(job: &Options, events: u64, bytes: u64, recorded: Duration) -> String {
    let each = match events {
        0 => String::new(),
        events => format!(", {:.1} bytes for each", bytes as f64 / events as f64),
    };
    format!(
        "Recorded {} commands in {:.1} s: {} of {}{each}.\n",
        grouped(events as f64),
        recorded.as_secs_f64(),
        report::page::Unit::Bytes.show(bytes as f64),
        report::escape(job.output.display().to_string()),
    )
}

/// Describes the parts missing in a record of this many events.
fn lost(losses: &Losses, events: u64) -> String {
    let dropped = match losses.dropped {
        0 => String::new(),
        dropped => {
            let share = dropped as f64 / (dropped as f64 + events as f64) * 100.0;
            let count = grouped(dropped as f64);
            format!("{count} ({share:.1} % of all) were dropped by the server, whose log was full")
        }
    };
    let other = match losses.total() - losses.dropped {
        0 => String::new(),
        other => format!("{} could not be read", grouped(other as f64)),
    };
    let parts: Vec<String> = [dropped, other].into_iter().filter(|part| !part.is_empty()).collect();
    format!("commands are missing from the record: {}", parts.join("; "))
}

/// Log entries that servers dropped without notifying the recorder.
fn dropped(nodes: &mut [Node]) -> u64 {
    nodes.iter_mut().map(Node::dropped).sum()
}

/// Reason why a recording ended.
enum EndReason {
    Done,
    Interrupted,
    /// Failed for this reason, before it was to end.
    Failed(String),
}

/// A running recording.
struct Recorder<'r> {
    job: &'r Options,
    server: &'r Server,
    interrupted: &'r AtomicBool,
    decoders: Vec<DecoderSettings>,
    events: Option<std::sync::mpsc::SyncSender<Vec<traffic::Event>>>,
    writer: Option<std::thread::JoinHandle<Result<()>>>,
    progress: Arc<Progress>,
    bar: Bar,
    losses: Losses,
    recorded: Duration,
}

impl<'r> Recorder<'r> {
    fn new(
        job: &'r Options,
        server: &'r Server,
        file: File,
        nodes: &[Node],
        interrupted: &'r AtomicBool,
    ) -> Result<Self> {
        let source = source(job, nodes);
        let writer = Writer::new(BufWriter::new(file), &source)?;
        let progress = Arc::new(Progress::default());
        let (events, thread) = recording::write(writer, nodes.len(), &progress);
        // One secret: a name has the same pseudonym on all nodes.
        let pseudonyms = job.anonymise.then(Pseudonyms::default);
        let seconds = job.duration.map_or(0.0, |time| time.as_secs_f64());
        let settings = nodes.iter().enumerate().map(|(server, node)| DecoderSettings {
            server,
            name: node.name.clone(),
            format: node.format(),
            protocol: source.protocol,
            ahead_ns: node.ahead_ns,
            end_ns: Arc::clone(&node.end_ns),
            own_clients: node.own_clients.clone(),
            sample: job.sample,
            privacy: Privacy::new(source.protocol, job.values, pseudonyms.clone()),
        });
        Ok(Self {
            job,
            server,
            interrupted,
            decoders: settings.collect(),
            events: Some(events),
            writer: Some(thread),
            progress,
            bar: Bar::new(seconds.ceil() as u64),
            losses: Losses::default(),
            recorded: Duration::ZERO,
        })
    }

    fn run(&mut self, nodes: &mut [Node]) -> Result<EndReason> {
        let begin = Instant::now();
        let end = self.job.duration.map(|duration| begin + duration);
        for turn in 0_u32.. {
            let stop_at = match self.job.cycle() {
                None => end,
                Some((on_for, every)) => {
                    let starts = begin + every * turn;
                    if self.wait_until(end.map_or(starts, |end| end.min(starts))) {
                        return Ok(EndReason::Interrupted);
                    }
                    Some(end.map_or(starts + on_for, |end| end.min(starts + on_for)))
                }
            };
            if end.is_some_and(|end| Instant::now() >= end) {
                break;
            }
            if let why @ (EndReason::Interrupted | EndReason::Failed(_)) =
                self.record_once(nodes, stop_at, begin)?
            {
                return Ok(why);
            }
            if self.job.cycle().is_none() {
                break;
            }
        }
        Ok(EndReason::Done)
    }

    /// Waits until a time; returns whether it was interrupted.
    fn wait_until(&self, at: Instant) -> bool {
        while Instant::now() < at {
            if self.interrupted.load(Ordering::Relaxed) {
                return true;
            }
            std::thread::sleep(ASK_EVERY.min(at.saturating_duration_since(Instant::now())));
        }
        false
    }

    /// Records without a break, until a time or forever.
    fn record_once(
        &mut self,
        nodes: &mut [Node],
        until: Option<Instant>,
        begin: Instant,
    ) -> Result<EndReason> {
        let stop = Arc::new(AtomicBool::new(false));
        let Some(events) = self.events.clone() else { bail!("the recording is over") };
        let (mut readers, mut decoders) = (Vec::new(), Vec::new());
        let started = Instant::now();
        let dropped = dropped(nodes);
        let mut failure = None;
        for (node, mut decoding) in nodes.iter_mut().zip(std::mem::take(&mut self.decoders)) {
            match node.feed(self.server, self.job, &stop) {
                Ok(feed) => {
                    decoding.own_clients.clone_from(&node.own_clients);
                    readers.push((node.name.clone(), feed.reader));
                    decoders.push(decoding.start(feed.bytes, events.clone()));
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        drop(events);
        let watched = match failure {
            Some(error) => Err(error),
            None => self.watch(nodes, until, begin, &mut readers),
        };
        self.recorded += started.elapsed();
        nodes.iter_mut().for_each(Node::end);
        stop.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|(_, reader)| drop(reader.join()));
        for decoder in decoders {
            let (decoding, losses) =
                decoder.join().map_err(|_| anyhow!("a thread of the recording failed"))?;
            self.losses.merge(&losses?);
            self.decoders.push(decoding);
        }
        let dropped = self::dropped(nodes).saturating_sub(dropped);
        self.losses.dropped = self.losses.dropped.saturating_add(dropped);
        watched
    }

    /// Checks the servers while they are recorded.
    fn watch(
        &mut self,
        nodes: &mut [Node],
        until: Option<Instant>,
        begin: Instant,
        readers: &mut Vec<(String, std::thread::JoinHandle<Option<String>>)>,
    ) -> Result<EndReason> {
        let mut checked = Instant::now();
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Ok(EndReason::Interrupted);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(EndReason::Done);
            }
            if let Some(at) = readers.iter().position(|(_, reader)| reader.is_finished()) {
                let (name, reader) = readers.swap_remove(at);
                let why = reader.join().ok().flatten().unwrap_or_else(|| "it ended".into());
                return Ok(EndReason::Failed(format!("{name}: {why}")));
            }
            if self.writer.as_ref().is_none_or(|writer| writer.is_finished()) {
                return Ok(EndReason::Failed("the file cannot be written".into()));
            }
            for node in &mut *nodes {
                if let Err(error) = node.round_trip() {
                    return Ok(EndReason::Failed(format!("{error:#}")));
                }
            }
            if checked.elapsed() >= CHECK_EVERY {
                checked = Instant::now();
                if let Some(why) = self.check_buffers(nodes, begin) {
                    return Ok(why);
                }
            }
            let rest = until.map_or(ASK_EVERY, |at| at.saturating_duration_since(Instant::now()));
            std::thread::sleep(ASK_EVERY.min(rest));
        }
    }

    /// Ends the recording if too much waits in a server's output buffer; draws the bar.
    fn check_buffers(&self, nodes: &mut [Node], begin: Instant) -> Option<EndReason> {
        let mut most = 0;
        for node in nodes {
            let behind = node.behind_bytes().unwrap_or_default();
            if behind > self.job.max_behind {
                return Some(EndReason::Failed(format!(
                    "{}: {} waited in the server's output buffer, more than --max-behind",
                    node.name,
                    report::page::Unit::Bytes.show(behind as f64)
                )));
            }
            most = most.max(behind);
        }
        let show = |bytes: u64| report::page::Unit::Bytes.show(bytes as f64);
        let words = format!(
            "{} commands, {} written, {} waiting in the server",
            grouped(self.progress.events.load(Ordering::Relaxed) as f64),
            show(self.progress.bytes.load(Ordering::Relaxed)),
            show(most)
        );
        self.bar.show(begin.elapsed().as_secs(), words);
        None
    }

    /// Ends the file.
    fn finish(&mut self) -> Result<(Losses, Arc<Progress>)> {
        self.events = None;
        self.bar.clear();
        if let Some(writer) = self.writer.take() {
            writer.join().map_err(|_| anyhow!("the thread that writes failed"))??;
        }
        Ok((self.losses, Arc::clone(&self.progress)))
    }
}

/// Returns the source for the head of the file.
fn source(job: &Options, nodes: &[Node]) -> Source {
    let mut notes = Vec::new();
    if let Some((on_for, every)) = job.cycle() {
        let seconds = |time: Duration| time.as_secs_f64();
        notes.push(format!("recorded for {} s of every {} s", seconds(on_for), seconds(every)));
    }
    if job.anonymise {
        notes.push("names are pseudonyms".into());
    }
    if job.server.protocol.is_memcache() {
        let deletions = if nodes.iter().any(|node| node.lacks_deletions) {
            ", and so do those of delete, which this version does not log"
        } else {
            ""
        };
        notes.push(format!("lookups of touch and incr look like reads{deletions}"));
    }
    if nodes.iter().any(|node| node.own_clients.contains(&u64::MAX)) {
        let left_out =
            "PING, INFO and CLIENT on the unix socket are left out: keystorm's own look alike";
        notes.push(left_out.into());
    }
    Source {
        format: "keystorm",
        protocol: if job.server.protocol.is_memcache() {
            Protocol::Memcache
        } else {
            Protocol::Resp
        },
        stamps: Stamps::Completion,
        servers: nodes.iter().map(|node| node.name.clone()).collect(),
        sampled: job.sample.map(|sample| sample.share),
        notes,
        ..Source::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_told_with_their_share() {
        let losses = Losses { dropped: 1500, unreadable: 2, ..Losses::default() };
        assert_eq!(
            lost(&losses, 4500),
            "commands are missing from the record: 1,500 (25.0 % of all) were dropped by the server, whose log was \
             full; 2 could not be read"
        );
    }
}
