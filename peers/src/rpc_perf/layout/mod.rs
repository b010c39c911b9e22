//! The output of `rpc-perf`: its windows, and its metrics under their names.
//!
//! Owns their layouts and figures. The front end chooses the span of a window and the destination of text.
//! Errors of the original that are not imitated are listed in docs/rpc-perf.md.

mod buckets;
mod figures;
mod line;
mod metrics;
mod window;

pub(crate) use figures::{Figures, Role, Roles};
pub(crate) use line::Line;
pub(crate) use metrics::{Metrics, Snapshot};
pub(crate) use window::{Window, stamped};
