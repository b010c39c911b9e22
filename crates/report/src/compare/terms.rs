//! Comparison of servers of different protocols on equal terms: the table of a comparison, and whether it may
//! have a ratio.

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
    /// Servers compared in it.
    #[serde(skip)]
    pub subjects: Vec<Subject>,
}

/// Equal terms of both sides, omissions, and the tables so far.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Terms common to both sides, by name.
    pub equal: Vec<(String, String)>,
    /// Omissions from the measurement, with reasons, a sentence each.
    pub left_out: Vec<String>,
    /// The tables, in order.
    pub tables: Vec<Table>,
}

/// Difference of hit ratios, in percent, above which the sides did different work.
pub const HIT_RATIO_DIFFERENCE_MAX: f64 = 0.1;

/// Share of reads that hit, in percent, by the servers' own counts over all runs of a side. `None` if nothing
/// was read, or a server does not report it.
pub(super) fn hit_ratio(side: &[RunDigest]) -> Option<f64> {
    servers_hit_ratio(side.iter().map(|glance| &*glance.run))
}
