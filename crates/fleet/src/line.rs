//! The protocol between a coordinator and a client: one JSON object a line.
//!
//! The client, `keystorm --hold`, reads standard input and writes standard output. The end of its input stops
//! its load at once, under any launcher. docs/fleet.md describes the protocol for people.

use measure::{Deliveries, Point, Tally};
use report::Record;
use runner::{Gauges, Progress, ReceivedPage};
use serde::{Deserialize, Serialize};
use workload::{Plan, unmasked};

/// The version of this contract.
pub const CONTRACT: u32 = 1;

/// Longest accepted line, more than a saved run needs.
pub const LINE_BYTES_MAX: usize = 1 << 30;

/// A message to a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToClient {
    /// Open the connections of this share and report when they are ready.
    Plan(Box<Plan>),
    /// Report the time, with this number.
    Clock(u64),
    /// Begin at this time of the client's own clock.
    Start {
        /// Nanoseconds on the clock of [`FromClient::Clock`].
        monotonic_ns: u64,
    },
    /// The senders of all clients are done, in a run with messages between clients.
    AllSent,
    /// The receivers of all clients have everything that was sent.
    AllReceived,
    /// The receivers of all clients are gone.
    AllClosed {
        /// Set if this client removes the keys of the run.
        removes: bool,
    },
    /// Stop, report the result so far, and wait for another plan.
    Stop(String),
}

/// A message from a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromClient {
    /// The first line: the client's introduction.
    Hello(Box<Hello>),
    /// A sign of life once a second: seconds since its start.
    Alive(u64),
    /// Every connection is ready.
    Ready {
        /// Number of connections.
        connections: u32,
    },
    /// The time.
    Clock {
        /// Number of the question.
        number: u64,
        /// Nanoseconds since its start.
        monotonic_ns: u64,
    },
    /// Start of load: the ordered time, or the arrival of the order if that was later.
    Begun {
        /// Nanoseconds on the same clock.
        monotonic_ns: u64,
    },
    /// The client's senders are done, and its receivers wait for messages of others.
    Sent,
    /// Progress with messages that any client may get.
    Messages(Progress),
    /// Numbers of those messages that the client received.
    Received(ReceivedNumbers),
    /// A report once a second while load runs: the changes since the last one.
    Tick(Box<Tick>),
    /// End of the share, with its result in the form of `--json`.
    Run(Box<Record>),
    /// The share could not be carried out, and why.
    Failed(String),
    /// The client is being stopped by this signal, which is not the coordinator's. The result so far follows,
    /// and then its end.
    Stopped(String),
}

/// The introduction of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`CONTRACT`].
    pub contract: u32,
    /// The version of keystorm.
    pub version: String,
    /// Process id.
    pub pid: u32,
    /// Name of its host.
    pub host: Option<String>,
    /// Identity of the machine and its boot, regardless of the host's name.
    pub machine: Option<String>,
    /// CPUs that it may run on, in the kernel's notation.
    pub cpus: Option<String>,
    /// CPU quota of its control group in CPUs, if it has one.
    pub quota: Option<f64>,
    /// Niceness of the process.
    pub nice: i32,
}

/// Messages, in a range of numbers, that a client received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedNumbers {
    /// Group of receivers, of which one gets each message.
    pub group: usize,
    /// Number of the range; all ranges have equally many numbers.
    pub page: usize,
    /// A bit for each, from the lowest number and the lowest bit on, in words of 64 bits as 16 hexadecimal digits.
    pub bits: String,
}

impl From<ReceivedPage<'_>> for ReceivedNumbers {
    fn from(ReceivedPage { group, page, bits }: ReceivedPage<'_>) -> Self {
        Self { group, page, bits: bits.iter().map(|word| format!("{word:016x}")).collect() }
    }
}

impl ReceivedNumbers {
    /// Returns the bits, a word for each 64 numbers; malformed words count as 0.
    pub fn words(&self) -> Vec<u64> {
        let words = self.bits.as_bytes().chunks(16).map(str::from_utf8);
        words.map(|word| u64::from_str_radix(word.unwrap_or_default(), 16).unwrap_or(0)).collect()
    }
}

/// A client's report on a second of load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tick {
    /// Number from 0, through the warm-up and the measured part.
    pub number: u32,
    /// Set if it belongs to the warm-up.
    pub warming_up: bool,
    /// Time from the start of the measured part, or of the warm-up while that lasts.
    pub elapsed_ns: u64,
    /// Length of the interval.
    pub span_ns: u64,
    /// Figures of the interval.
    pub tally: Tally,
    /// Intervals of the timeline that ended in this one.
    pub points: Vec<Point>,
    /// Deliveries of messages since the start, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<Box<Deliveries>>,
    /// State of each worker.
    pub workers: Vec<Gauges>,
    /// Name of the engine.
    pub engine: String,
}

impl ToClient {
    /// The message as a line with its end. A plan is written in full, for the client's pipe only.
    ///
    /// # Errors
    /// Returns an error if it has no JSON form.
    pub fn to_line(&self) -> serde_json::Result<String> {
        Ok(unmasked(|| serde_json::to_string(self))? + "\n")
    }
}

impl FromClient {
    /// The message as a line with its end.
    ///
    /// # Errors
    /// Returns an error if it has no JSON form.
    pub fn to_line(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_to_a_client_are_as_the_documents_have_them() {
        let line = |line: ToClient| line.to_line().unwrap();
        assert_eq!(line(ToClient::Clock(7)), "{\"clock\":7}\n");
        assert_eq!(line(ToClient::Start { monotonic_ns: 9 }), "{\"start\":{\"monotonic_ns\":9}}\n");
        assert_eq!(line(ToClient::AllSent), "\"all-sent\"\n");
        assert_eq!(line(ToClient::AllReceived), "\"all-received\"\n");
        let removes = ToClient::AllClosed { removes: true };
        assert_eq!(line(removes), "{\"all-closed\":{\"removes\":true}}\n");
        assert_eq!(line(ToClient::Stop("why".into())), "{\"stop\":\"why\"}\n");
    }

    #[test]
    fn lines_from_a_client_are_as_the_documents_have_them() {
        let sent = |sent: FromClient| sent.to_line().unwrap();
        assert_eq!(sent(FromClient::Alive(3)), "{\"alive\":3}\n");
        assert_eq!(sent(FromClient::Ready { connections: 5 }), "{\"ready\":{\"connections\":5}}\n");
        assert_eq!(sent(FromClient::Sent), "\"sent\"\n");
        let messages = Progress { expected: Some(7), received: 5, ..Progress::default() };
        assert_eq!(
            sent(FromClient::Messages(messages)),
            "{\"messages\":{\"probes\":0,\"probed\":0,\"expected\":7,\"received\":5,\"closed\":false}}\n"
        );
        let page = ReceivedNumbers::from(ReceivedPage { group: 0, page: 2, bits: &[5, u64::MAX] });
        assert_eq!(page.words(), [5, u64::MAX]);
        assert_eq!(
            sent(FromClient::Received(page)),
            "{\"received\":{\"group\":0,\"page\":2,\"bits\":\"0000000000000005ffffffffffffffff\"}}\n"
        );
        assert_eq!(sent(FromClient::Stopped("SIGTERM".into())), "{\"stopped\":\"SIGTERM\"}\n");
        let clock = sent(FromClient::Clock { number: 7, monotonic_ns: 8 });
        assert_eq!(clock, "{\"clock\":{\"number\":7,\"monotonic_ns\":8}}\n");
    }
}
