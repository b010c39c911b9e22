//! What to send and when.
//!
//! A [`Plan`] is the whole description of one test: where to connect, with how many
//! connections, which commands, over which keys, at which pace, until when. Front ends build it,
//! the runner carries it out, reports quote it. Everything here is plain data or arithmetic on
//! it: no sockets, no clocks, no threads, and no randomness but what follows from a seed.
//!
//! What bytes a command becomes is `wire`'s business; how they travel, `engine`'s.

mod bytes;
pub mod command;
pub mod command_line;
pub mod dataset;
mod in_full;
pub mod keys;
pub mod lifetime;
pub mod memcache_suite;
pub mod pace;
pub mod parameters;
pub mod plan;
pub mod quantity;
pub mod random;
pub mod secret;
pub mod shard;
pub mod sizes;
pub mod stream;
pub mod suite;
pub mod target;
pub mod values;
pub mod verify;

pub use command::{Arg, CommandSpec, Piece, Slot};
pub use dataset::Dataset;
pub use in_full::in_full;
pub use keys::{DrawnBy, KeyDist, KeyDraw, KeySpace, Numbered};
pub use lifetime::Lifetime;
pub use pace::{Arrivals, Curve, Lane, Pace, Pacer, Schedule, Stage};
pub use plan::{
    Different, EngineKind, Fill, Fleet, Joining, Mix, Numbering, OnError, Operation, Operations,
    Pick, Plan, PlanError, PlanParts, ProtocolKind, Share, Span, Step, Stop, ValueSpec, When,
    Window, limits,
};
pub use secret::{Secret, SecretBytes};
pub use shard::Shard;
pub use sizes::{SizeBy, Sizes};
pub use stream::{Budget, RequestStream, Turn};
pub use target::{ClusterOptions, Credentials, Endpoint, ReadFrom, Target, TlsOptions, Verify};
pub use values::{Content, Values};
