//! Figures of a run: samples become tallies.
//!
//! A worker turns every reply into a [`Sample`] and adds it to a [`Tally`] that it alone owns. Tallies merge
//! without loss: merging those of threads, intervals or machines gives the tally of one observer of every
//! request. Latencies are nanoseconds throughout.
//!
//! [`statistics`] has what the figures of several runs say together.
//!
//! Knows no clock, protocol or plan; `report` derives figures and lays them out.

mod by_connection;
mod command_tally;
mod connect_stages;
mod connections;
mod deadline;
mod deliveries;
mod encoded;
mod errors;
mod histogram;
mod invalidations;
mod key_counts;
mod lane_record;
mod lateness;
mod measurement;
mod node;
mod not_reopened;
mod operation;
mod operation_log;
mod outage;
mod point;
mod polls;
mod sample;
mod separate_failures;
mod slices;
mod spans;
mod sparse;
pub mod statistics;
mod success_line;
mod tally;
mod tenure;
mod time_bound;
mod timeline;
mod total;
mod units;
mod waits;

pub use by_connection::{ByConnection, ConnectionSecond, ConnectionTrace};
pub use command_tally::CommandTally;
pub use connect_stages::ConnectStages;
pub use connections::{ConnectionTally, Negotiated, TlsTally};
pub use deadline::DeadlineTally;
pub use deliveries::{Deliveries, DeliveryCounts, KeptKeys};
pub use encoded::{CodecError, EncodedLatency, ExactFigures};
pub use errors::ErrorCounts;
pub use histogram::Latency;
pub use invalidations::Invalidations;
pub use key_counts::KeyCounts;
pub use lane_record::LaneRecord;
pub use lateness::Lateness;
pub use measurement::{
    Absence, CORRUPT, Ending, Failure, FailureSource, MISSING, Measurement, WorkerUse,
};
pub use node::{NodeTally, merge_nodes};
pub use not_reopened::NotReopened;
pub use operation::{OperationOutcome, OperationTally};
pub use operation_log::{Entries, LogEntry, LoggedOutcome, OperationLog, Stamps};
pub use outage::{Outage, UsualPauses};
pub use point::Point;
pub use polls::Polls;
pub use sample::{Outcome, Sample, TallyShape};
pub use separate_failures::{FailureLatency, SeparateFailures};
pub use slices::{Failures, SLICE_NS, Slices};
pub use spans::{SpanSums, Spans};
pub use success_line::SuccessLine;
pub use tally::Tally;
pub use tenure::Tenure;
pub use timeline::{Interval, Timeline};
pub use waits::{Backlog, Waits};
