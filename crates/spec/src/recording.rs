//! Options of what is recorded of each test, and of what an error does.

use serde::{Deserialize, Serialize};

use crate::values::{Count, OnErrorArg, TestName, YesNo};

/// Options of what is recorded of each test, and of what an error does.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RecordingOptions {
    /// Name of the test in results [default: its command, or its mix]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, conflicts_with = "idle")]
    pub name: Option<TestName>,
    /// Significant digits of latencies, 1 to 4 [default: 3]
    #[arg(long, value_name = "DIGITS", allow_hyphen_values = true)]
    pub precision: Option<Count<i64>>,
    /// Also report the latency to the first byte of a pipeline's replies, which redis-benchmark
    /// calls latency
    #[arg(long)]
    pub first_byte: bool,
    /// Report how long replies waited to be read, by the kernel's stamps [default: yes over TCP with --rps
    /// up to 50,000 per thread]
    #[arg(long, value_name = "Y/N", num_args = 0..=1, require_equals = true,
          default_missing_value = "yes", hide_possible_values = true)]
    pub kernel_stamps: Option<YesNo>,
    /// On an error reply, end the run (stop), or count it and continue (count) [default: stop; count if
    /// lost connections are reopened]
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    pub on_error: Option<OnErrorArg>,
}
