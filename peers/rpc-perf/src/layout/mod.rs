//! The output of `rpc-perf`: its windows, and its metrics under their names.
//!
//! Owns their layouts and the figures under them. Which span of a run is a window, and where text goes, is
//! the front end's business. What is right here and wrong there is in docs/rpc-perf.md.

mod buckets;
mod figures;
mod metrics;
mod packed;
mod window;

pub(crate) use figures::{Figures, Role, Roles};
pub(crate) use metrics::{Metrics, Snapshot};
pub(crate) use window::{Window, stamped};
