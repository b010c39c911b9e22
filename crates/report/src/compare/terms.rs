//! Servers of different protocols on equal terms: which table a comparison belongs to, and whether its
//! ratio may be told.

use serde::Serialize;

use super::limits::mostly;
use super::{Glance, Limits, Subject};
use crate::LimitedBy;
use crate::summary::servers_hit_ratio;

/// One table of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Its name for programs: `core`, `machine`, `latency` or `mget`.
    pub kind: &'static str,
    /// Its heading.
    pub title: String,
    /// What to know to read it.
    pub text: String,
    /// Its A and B.
    #[serde(skip)]
    pub subjects: [Subject; 2],
}

/// What is equal, what is left out, and the tables so far.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// What both sides got alike, by name.
    pub equal: Vec<(String, String)>,
    /// What is not measured, and why, a sentence each.
    pub left_out: Vec<String>,
    /// The tables, in order.
    pub tables: Vec<Table>,
}

/// Hit ratios that differ by more, in hundredths, are those of different work.
pub const HITS_APART_MAX: f64 = 0.1;

/// The share of reads that found their key, in hundredths: by the servers' own counts, over all runs of
/// a side. `None` where nothing was read, or a server does not tell.
pub(super) fn hit_ratio(side: &[Glance]) -> Option<f64> {
    servers_hit_ratio(side.iter().map(|glance| &*glance.run))
}

/// Why no ratio of these runs may be told, in a sentence.
pub(super) fn refusal(
    hits: [Option<f64>; 2],
    limits: &[Limits; 2],
    runs: [usize; 2],
) -> Option<String> {
    if let [Some(a), Some(b)] = hits
        && (a - b).abs() > HITS_APART_MAX
    {
        return Some(format!(
            "no ratio: A found {a:.2} % of its keys and B {b:.2} %, and a miss is less work than \
             a hit"
        ));
    }
    let by_client = [0, 1].map(|side| mostly(&limits[side], runs[side]) == Some(LimitedBy::Client));
    let side = match by_client {
        [false, false] => return None,
        [true, true] => "both sides",
        [true, false] => "A",
        [false, true] => "B",
    };
    Some(format!(
        "no ratio: the client limited {side}, and the ratio would be the client's; give the \
         client more --threads or its own CPUs"
    ))
}
