//! Jobs as data: front ends make them from command lines, and the code that runs them cannot tell which
//! tool's words they came from.
//!
//! Owns the work of a run, the answer of a front end, usage errors, and the traits by which an imitated tool takes
//! part in a run and prints in its own way. Front ends parse, `keystorm` runs.

mod end;
mod intent;
mod metrics_at;
mod monitor;
mod output;
mod pages;
mod run;
mod usage;

pub use end::End;
pub use intent::{FrontEnd, Intent};
pub use metrics_at::MetricsAt;
pub use monitor::{RunMonitor, ToolOutput};
pub use output::{DistributionDetail, Output, VerdictTo};
pub use pages::PageOptions;
pub use run::{Action, ClientFleet, Job};
pub use usage::{ToolMessage, UsageError};
