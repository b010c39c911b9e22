//! Servers of different protocols on equal terms: which table a comparison belongs to, and whether it
//! may have a ratio.

use serde::Serialize;

use super::{RunDigest, Subject};
use crate::summary::servers_hit_ratio;

/// Table of a comparison that has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Name for programs: `core`, `machine`, `latency` or `mget`.
    pub kind: &'static str,
    /// Heading of the table.
    pub title: String,
    /// Hint for reading the table.
    pub text: String,
    /// Servers that are compared in it.
    #[serde(skip)]
    pub subjects: Vec<Subject>,
}

/// Equal terms of both sides, omissions, and the tables so far.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Terms that both sides got alike, by name.
    pub equal: Vec<(String, String)>,
    /// Omissions from the measurement, with reasons, a sentence each.
    pub left_out: Vec<String>,
    /// The tables, in order.
    pub tables: Vec<Table>,
}

/// Hit ratios that differ by more, in hundredths, are those of different work.
pub const HITS_APART_MAX: f64 = 0.1;

/// The share of reads that found their key, in hundredths: by the servers' own counts, over all runs of
/// a side. `None` where nothing was read, or a server does not tell.
pub(super) fn hit_ratio(side: &[RunDigest]) -> Option<f64> {
    servers_hit_ratio(side.iter().map(|glance| &*glance.run))
}
