//! Decoding of the servers' output into a file: a thread for each server decodes events, and one more writes
//! them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use traffic::{Event, Flags, Losses, Privacy, Protocol, ReadError, Reader, Sample, Writer};

use super::feed::Pieces;

/// Batches of events that may wait for the file.
const BATCHES_MAX: usize = 256;
/// Events of a batch.
const BATCH_EVENTS: usize = 1024;
/// Time that events wait for earlier ones of other servers.
const HOLD_NS: u64 = 500_000_000;
/// Interval at which a block is written, so that little is lost if the program is killed.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Bits of a client's number below those of its server.
const CLIENT_BITS: u32 = 48;

/// Amounts written so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) events: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// Settings for decoding the output of a server.
pub(super) struct DecoderSettings {
    pub(super) server: usize,
    pub(super) name: String,
    pub(super) format: &'static str,
    pub(super) protocol: Protocol,
    /// Lead of its clock over the local clock.
    pub(super) ahead_ns: i64,
    /// End of the recording by the server's clock.
    pub(super) end_ns: Arc<AtomicU64>,
    /// Clients that are not recorded.
    pub(super) own_clients: Vec<u64>,
    pub(super) sample: Option<Sample>,
    pub(super) privacy: Privacy,
}

impl DecoderSettings {
    /// Starts the thread, which ends with its input. It returns these settings, for the next recording, and
    /// the losses.
    pub(super) fn start(
        mut self,
        bytes: Pieces,
        to: SyncSender<Vec<Event>>,
    ) -> JoinHandle<(Self, Result<Losses, ReadError>)> {
        std::thread::spawn(move || {
            let losses = self.decode(bytes, &to);
            (self, losses)
        })
    }

    fn decode(&mut self, bytes: Pieces, to: &SyncSender<Vec<Event>>) -> Result<Losses, ReadError> {
        let mut reader = traffic::open_live(&self.name, self.format, Box::new(bytes))?;
        let (mut event, mut keys) = (Event::default(), Vec::new());
        let mut batch = Vec::new();
        loop {
            let is_end = match reader.next(&mut event) {
                Ok(true) if event.at_ns > self.end_ns.load(Ordering::Relaxed) => true,
                Ok(true) => {
                    if self.is_wanted(&event, &mut keys) {
                        let mut kept = Event::default();
                        self.privacy.apply(&event, &mut kept);
                        kept.at_ns = kept.at_ns.saturating_add_signed(-self.ahead_ns);
                        kept.client |= (self.server as u64) << CLIENT_BITS;
                        batch.push(kept);
                    }
                    false
                }
                Ok(false) => true,
                Err(ReadError::Io { cause, .. }) if cause.kind() == ErrorKind::WouldBlock => {
                    if !batch.is_empty() && to.send(std::mem::take(&mut batch)).is_err() {
                        break;
                    }
                    false
                }
                Err(error) => return Err(error),
            };
            let is_full = batch.len() >= BATCH_EVENTS || is_end && !batch.is_empty();
            if is_full && to.send(std::mem::take(&mut batch)).is_err() || is_end {
                break;
            }
        }
        Ok(reader.losses())
    }

    fn is_wanted(&self, event: &Event, keys: &mut Vec<usize>) -> bool {
        let is_own = match event.flags.has(Flags::SHARED_CLIENT) {
            // Clients of a unix socket share one address, so keystorm's own commands are known by their names.
            true => ["ping", "info", "client"].iter().any(|name| event.is(name)),
            false => self.own_clients.contains(&event.client),
        };
        !is_own && self.sample.is_none_or(|sample| sample.has(self.protocol, event, keys))
    }
}

/// Starts the thread that writes. It ends when all senders have.
pub(super) fn write(
    mut writer: Writer<BufWriter<File>>,
    servers: usize,
    progress: &Arc<Progress>,
) -> (SyncSender<Vec<Event>>, JoinHandle<Result<()>>) {
    let (to, from) = sync_channel(BATCHES_MAX);
    let progress = Arc::clone(progress);
    let thread = std::thread::spawn(move || {
        let mut order = Order { servers, ..Order::default() };
        write_all(&mut writer, &from, &mut order, &progress)?;
        order.flush(&mut writer)?;
        writer.flush()?;
        progress.bytes.store(writer.bytes(), Ordering::Relaxed);
        progress.events.store(writer.events(), Ordering::Relaxed);
        let file = writer.finish()?.into_inner().map_err(|error| anyhow!(error.into_error()))?;
        file.sync_all().context("saving it to the disk")
    });
    (to, thread)
}

fn write_all(
    writer: &mut Writer<BufWriter<File>>,
    from: &Receiver<Vec<Event>>,
    order: &mut Order,
    progress: &Progress,
) -> Result<()> {
    let mut flushed = Instant::now();
    while let Ok(batch) = from.recv() {
        for event in batch {
            order.add(event, writer)?;
        }
        if flushed.elapsed() >= FLUSH_EVERY {
            writer.flush()?;
            flushed = Instant::now();
        }
        progress.events.store(writer.events(), Ordering::Relaxed);
        progress.bytes.store(writer.bytes(), Ordering::Relaxed);
    }
    Ok(())
}

/// Events of several servers in the order of their times.
#[derive(Debug, Default)]
struct Order {
    servers: usize,
    /// Waiting events by time and number of arrival.
    waiting: BTreeMap<(u64, u64), Event>,
    newest_ns: u64,
    count: u64,
}

impl Order {
    fn add<W: std::io::Write>(&mut self, event: Event, writer: &mut Writer<W>) -> Result<()> {
        if self.servers < 2 {
            return Ok(writer.write(&event)?);
        }
        self.newest_ns = self.newest_ns.max(event.at_ns);
        self.count += 1;
        self.waiting.insert((event.at_ns, self.count), event);
        while let Some(first) = self.waiting.first_entry()
            && first.key().0.saturating_add(HOLD_NS) <= self.newest_ns
        {
            writer.write(&first.remove())?;
        }
        Ok(())
    }

    fn flush<W: std::io::Write>(&mut self, writer: &mut Writer<W>) -> Result<()> {
        while let Some((_, event)) = self.waiting.pop_first() {
            writer.write(&event)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_two_servers_are_written_by_time() {
        let source = traffic::Source::default();
        let mut writer = Writer::new(Vec::new(), &source).unwrap();
        let mut order = Order { servers: 2, ..Order::default() };
        let second = 1_000_000_000;
        for (client, at_ns) in
            [(1, second), (2, second / 2), (1, 3 * second), (2, 2 * second), (1, 2 * second)]
        {
            let mut event = Event::default();
            (event.at_ns, event.client) = (at_ns, client);
            event.push(b"PING");
            order.add(event, &mut writer).unwrap();
        }
        order.flush(&mut writer).unwrap();
        let file = std::io::Cursor::new(writer.finish().unwrap());
        let mut reader = traffic::open_input("x".as_ref(), Box::new(file), None).unwrap();
        let (mut event, mut seen) = (Event::default(), Vec::new());
        while reader.next(&mut event).unwrap() {
            seen.push((event.at_ns * 2 / second, event.client));
        }
        assert_eq!(seen, [(1, 2), (2, 1), (4, 2), (4, 1), (6, 1)]);
    }
}
