//! One specification of a load: all that can be asked of it, in groups of options.
//!
//! One statement of a field, here or in the file of its group, makes the option of a command line (clap), the key of a
//! document (serde), and the words and lines that print it ([`write`]). [`LoadSpec::plans`] is what it means.

#![allow(
    clippy::doc_markdown,
    reason = "doc comments of options are their help, which is no Markdown"
)]

mod address;
mod asked;
mod base;
pub mod captured;
mod commands;
mod connecting;
mod data;
mod dataset;
pub mod delivery;
pub mod dialect;
pub mod document;
mod error;
pub mod escape;
mod first_word;
pub mod harmful;
mod ineffective;
mod keys;
mod load;
mod memcache;
mod misspelled;
mod payload;
mod peer;
mod per_request;
mod plans;
mod pool;
mod rank;
mod reads;
pub mod receivers;
mod recording;
mod replay;
mod replicas;
mod retrying;
#[cfg(test)]
mod round_trip_tests;
mod schedule;
mod server;
mod target;
pub mod text;
mod title;
mod tls;
mod typed_load;
mod uri;
pub mod values;
pub mod write;

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use self::delivery::DeliveryOptions;
pub use address::{Address, host_and_port};
pub use asked::{suite_test, unexpressed, unexpressed_beside_a_file};
pub use connecting::ConnectionOptions;
pub use data::{DataOptions, KeyOptions, KeyRange, Size};
pub use dataset::dump;
pub use dialect::Dialect;
pub use error::SpecError;
pub use keys::{drawn, space};
pub use load::LoadOptions;
pub use peer::Peer;
pub use per_request::{Close, OpenFor, PerRequest};
pub use plans::single;
pub use pool::Server;
pub use rank::ShardArg;
pub use recording::RecordingOptions;
pub use replicas::{FallbackArg, ReplicaOptions, RfrArg, Shares};
pub use retrying::{Jitter, RetryOptions, Times};
pub use schedule::{Rate, StartAt};
pub use server::{OptionsAfterUri, Program, ServerArgs, ServerOptions, TlsArgs, Uri};
pub use target::{protocol, target};
pub use tls::tls;
pub use typed_load::{LoadOperation, TypedLoad, operation_names};

/// A requested load. Open choices are decided when its plans are made.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct LoadSpec {
    /// The server, and connections to it.
    #[command(flatten, next_help_heading = "Server")]
    #[serde(flatten)]
    pub server: ServerOptions,
    /// TLS.
    #[command(flatten, next_help_heading = "TLS")]
    #[serde(flatten)]
    pub tls: TlsArgs,
    /// Load: how much is sent, how fast, and by what.
    #[command(flatten, next_help_heading = "Load")]
    #[serde(flatten)]
    pub load: LoadOptions,
    /// Data that is sent.
    #[command(flatten, next_help_heading = "Commands, keys and values")]
    #[serde(flatten)]
    pub data: DataOptions,
    /// Recording of results.
    #[command(flatten, next_help_heading = "Results")]
    #[serde(flatten)]
    pub recording: RecordingOptions,
    /// Send commands that stop, empty, change or hold up a server, such as FLUSHALL, KEYS or BLPOP; without
    /// it they are refused, unless the server is spawned
    #[arg(long, help_heading = "Commands, keys and values")]
    pub yes: bool,
    /// A command to send instead of the suite. Separate several with `;`; a number before a command
    /// repeats it. What follows `;>` is sent once the replies to what precedes it are in; what
    /// follows `;?`, only if one of them was a miss. Placeholders in arguments: __rand_int__, a
    /// random key number; __key__, one key number for the whole sequence; __rand_1st__ to
    /// __rand_9th__, nine more; __data__, a value of -d bytes; __field:name__, a field of the
    /// --dataset row
    #[arg(
        trailing_var_arg = true,
        value_name = "COMMAND ARGS",
        hide_possible_values = true,
        help_heading = "Commands, keys and values"
    )]
    #[serde(with = "text::words")]
    pub command: Vec<OsString>,
    /// Receivers of what it sends.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryOptions>,
    /// Load that a workload file or another tool sends instead of a command.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<TypedLoad>,
    /// Another tool, by whose words it is sent.
    #[arg(skip)]
    #[serde(skip)]
    pub peer: Option<Peer>,
    /// By which tool's assumptions it is meant.
    #[arg(skip)]
    #[serde(skip)]
    pub dialect: Dialect,
}
