//! One subscriber that does not read its messages, until it is cut off or load is over.

use engine::{Address, ConnectOptions};
use wire::resp::encode_command;
use wire::{Reply, ReplyVisitor};
use workload::Purpose;

use super::super::closing::FirstNumber;
use super::super::kind::{Kind, Received};
use super::super::pubsub::{self, Pubsub};
use super::super::reply_strings::ReplyStrings;
use super::connection::{Connection, State};
use crate::Fatal;

/// Event that a subscriber waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Opening of its connection.
    Connection,
    /// The number by which the server knows it.
    Identity,
    /// This many confirmations.
    Confirmations(u32),
    /// Messages.
    Messages,
}

/// A subscriber of all channels.
pub(super) struct SlowSubscriber<'r> {
    pub(super) connection: Connection,
    kind: &'r Pubsub<'r>,
    number: u32,
    run: u32,
    stage: Stage,
    seen: Strings,
    /// Number of the subscriber in CLIENT LIST, while it is connected.
    pub(super) id: Option<u64>,
    /// Probes that it has not had.
    pub(super) probes: u32,
    /// Measured messages that it has read.
    pub(super) received: u64,
}

/// Parts of a reply that are kept.
#[derive(Debug, Default)]
struct Strings {
    strings: ReplyStrings,
    number: FirstNumber,
}

impl ReplyVisitor for Strings {
    const PUSHES: bool = true;

    fn line(&mut self, text: &[u8]) {
        self.strings.line(text);
        self.number.line(text);
    }

    fn begin(&mut self, len: Option<u64>) {
        self.strings.begin(len);
    }

    fn bytes(&mut self, part: &[u8]) {
        self.strings.bytes(part);
    }
}

impl<'r> SlowSubscriber<'r> {
    /// Creates the subscriber with this number in the run.
    pub(super) fn new(
        connection: Connection,
        kind: &'r Pubsub<'r>,
        (number, run): (u32, u32),
    ) -> Self {
        Self {
            connection,
            kind,
            number,
            run,
            stage: Stage::Connection,
            seen: Strings::default(),
            id: None,
            probes: kind.delivery.places,
            received: 0,
        }
    }

    pub(super) fn open(&mut self, address: &Address, options: &ConnectOptions) {
        (self.stage, self.id) = (Stage::Connection, None);
        self.seen.strings.clear();
        self.connection.open(address, options);
    }

    pub(super) fn close(&mut self) {
        self.id = None;
        self.connection.close();
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connection.state != State::Closed
    }

    /// Returns whether its subscriptions are confirmed.
    pub(super) fn is_subscribed(&self) -> bool {
        self.stage == Stage::Messages && self.is_connected()
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.connection.now_ns()
    }

    /// Reads data that is there or comes until this time. Returns whether there was any.
    ///
    /// # Errors
    /// Returns an error if the server refuses a request.
    pub(super) fn read(&mut self, until_ns: u64) -> Result<bool, Fatal> {
        let Self { connection, stage, seen, id, probes, received, run, .. } = self;
        let came = connection.read(until_ns, seen, |reply, seen| {
            let number = std::mem::take(&mut seen.number).0;
            match (*stage, pubsub::meaning(reply, &seen.strings)) {
                (Stage::Identity, _) if reply != Reply::Push => {
                    (*id, *stage) = (number, Stage::Confirmations(0));
                }
                (Stage::Confirmations(left), Received::Confirmation) => {
                    *stage = match left.saturating_sub(1) {
                        0 => Stage::Messages,
                        left => Stage::Confirmations(left),
                    };
                }
                (_, Received::Messages(_)) => {
                    let messages = seen.strings.messages().iter().map(|had| had.message);
                    for message in messages.filter(|message| message.run == *run) {
                        match message.purpose {
                            Purpose::Probe => *probes = probes.saturating_sub(1),
                            Purpose::Measured => *received += 1,
                            Purpose::Warmup => {}
                        }
                    }
                }
                _ => {}
            }
            seen.strings.clear();
            Ok(())
        })?;
        self.go_on();
        Ok(came)
    }

    /// Sends the next request once the last is answered.
    fn go_on(&mut self) {
        let mut out = Vec::new();
        match self.stage {
            Stage::Connection if self.connection.state == State::Open => {
                encode_command(&[b"CLIENT", b"ID"], &mut out);
                self.stage = Stage::Identity;
            }
            Stage::Confirmations(0) => {
                let names = self.kind.consumer(self.number).ask(&mut out);
                self.stage = Stage::Confirmations(names);
            }
            _ => return,
        }
        self.connection.send(&out);
    }
}
