//! Turns runs into figures, and figures into text.
//!
//! A [`Run`] is a plan with its results. [`Summary`] derives every figure from it, once; a [`Format`] lays
//! figures out and computes none. Everything here is pure: text goes to the caller's writer, and no clock,
//! terminal or file is touched.
//!
//! `measure` defines the counts, and the binary chooses formats and destinations.

mod clients;
mod common_span;
pub mod compare;
pub mod conformance;
mod connections;
mod connects;
mod count_unit;
mod cpu;
mod csv;
mod deadline;
mod deliveries;
mod differ;
pub mod distribution;
pub mod document;
pub mod escape;
pub mod exposition;
mod failures;
mod figures;
pub mod fixture;
pub mod format;
pub mod groups;
mod hdr;
mod journal_entries;
pub mod json;
pub mod live;
mod lookups;
mod machine_timeline;
mod merge;
mod metric;
mod metric_figures;
mod moments;
pub mod openmetrics;
mod operations;
mod outages;
pub mod page;
mod persona;
mod probe;
mod quantity;
pub mod record;
mod repeats;
pub mod resting;
mod run;
mod schedule;
mod server_latency;
mod server_timeline;
pub mod slo;
mod spans;
mod summary;
mod text_groups;
pub mod topics;
mod value_size;
mod verdict;
mod verdict_lines;
mod waits;
mod wall_clock;

pub use clients::{CLIENT_COLUMNS, ClientRow, Clients, Clock, client_called};
pub use count_unit::CountUnit;
pub use cpu::CpuFigures;
pub use csv::write_row;
pub use deadline::DeadlineFigures;
pub use deliveries::DeliveryFigures;
pub use escape::escape;
pub use failures::Failures;
pub use figures::{LatencyFigures, TlsFigures};
pub use format::{
    Build, FORMATS, Format, FormatOptions, FormatRow, add_formats, by_name, formats,
    prints_verdicts,
};
pub use hdr::HdrLog;
pub use journal_entries::ServerEvent;
pub use live::{LiveProgress, LiveUnit, cleared, progress_line, progress_row};
pub use lookups::Lookups;
pub use machine_timeline::{MachinePoint, machine_between, machine_timeline};
pub use merge::{measured_together, merge};
pub use metric::{Direction, KEPT, Metric};
pub use metric_figures::Figures;
pub use moments::{Moment, WorstMoments};
pub use openmetrics::{Counters, OPENMETRICS_TYPE, TestState, openmetrics};
pub use operations::{CommandFigures, OperationFigures};
pub use persona::{KEYSTORM, LiveLine, NodeNames, Persona, REDIS_BENCHMARK, VALKEY_BENCHMARK};
pub use probe::Probe;
pub use quantity::{grouped, listed, msec, msec_at_most};
pub use record::{LoadedRecord, Record, RecordError};
pub use repeats::{RepeatCollector, Repeats};
pub use run::{Mark, Repeat, Run};
pub use schedule::{Fault, LateSpan, MISSED_NS, ScheduleFigures};
pub use server_latency::{CommandInServer, ServerLatencyFigures};
pub use server_timeline::{ServerPoint, server_timeline};
pub use spans::{SpanFigures, SpanParts};
pub use summary::Summary;
pub use text_groups::TextGroups;
pub use value_size::{other_value_size, value_size};
pub use verdict::{
    Cause, CauseShare, Causes, Disturbance, EvidenceFigure, Finding, Held, LimitedBy, SlowCommands,
    Verdict, WaitCause, Warning, WarningKind, WarningTopic, class, contradictions, gets_warning,
    noise_deviation, option_sent, unfound, warnings,
};
pub use verdict_lines::VerdictLines;
pub use wall_clock::{wall_clock, wall_clock_rfc3339, wall_clock_s};
