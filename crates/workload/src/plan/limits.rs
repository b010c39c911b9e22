//! The bounds of a plan. A value beyond one is a usage error, never a crash later.

/// Maximum number of connections of one process. Beyond it a single machine runs out of file descriptors
/// (`fs.nr_open` is 1,048,576 on Linux).
pub const CONNECTIONS_MAX: u32 = 1_000_000;
/// Maximum number of sequences in flight on one connection.
pub const PIPELINE_MAX: u32 = 1_000_000;
/// Maximum number of worker threads, as in `valkey-benchmark`.
pub const WORKERS_MAX: u16 = 500;
/// Maximum number of requests of one test: the range of an `i64`, so that every figure stays exact.
pub const REQUESTS_MAX: u64 = i64::MAX as u64;
/// Longest run or warm-up: 366 days in nanoseconds.
pub const DURATION_NS_MAX: u64 = 366 * 86_400 * 1_000_000_000;
/// Maximum number of connections closed and reopened each second.
pub const RENEWALS_MAX: u32 = 1_000_000;
/// Maximum number of commands in one sequence, including repeats.
pub const SEQUENCE_MAX: usize = 65_536;
/// Maximum number of steps of an operation.
pub const STEPS_MAX: usize = 1_000;
/// Maximum number of bytes of one pipeline of one connection: every worker keeps one such image.
pub const BATCH_BYTES_MAX: u64 = 4 << 30;
/// Highest rate of an open loop, in requests per second.
pub const RATE_MAX: f64 = 1e9;
/// Maximum number of stages of a schedule.
pub const STAGES_MAX: usize = 1_000;
/// Maximum number of shares of one plan.
pub const SHARDS_MAX: u32 = 10_000;
/// Shortest timeout of a request: clocks and schedulers are no finer.
pub const TIMEOUT_NS_MIN: u64 = 1_000_000;
/// Longest timeout: an hour.
pub const TIMEOUT_NS_MAX: u64 = 3600 * 1_000_000_000;

/// Maximum number of servers that share out keys.
pub const SERVERS_MAX: usize = 1_000;
/// Maximum number of channels, or keys, that messages go through.
pub const PLACES_MAX: u32 = 1_000_000;
/// Maximum number of subscriptions of all receivers together.
pub const SUBSCRIPTIONS_MAX: u64 = 10_000_000;
/// Maximum number of consumer groups of a stream: the messages of each are remembered.
pub const GROUPS_MAX: u32 = 100;
/// Maximum number of pairs of a sender and a receiver: each takes 32 bytes.
pub const PAIRS_MAX: u64 = 1 << 25;
