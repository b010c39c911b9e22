//! The load: its requests and their timing.
//!
//! A [`Plan`] is the whole description of one test: server, connections, commands, keys, pace, and end. Front
//! ends build it, the runner carries it out, reports quote it. Everything here is plain data or arithmetic on
//! it: no sockets, no clocks, no threads, and all randomness follows from a seed.
//!
//! `wire` encodes commands, and `engine` moves the bytes.

pub mod argument;
mod bytes;
mod cache_tracking;
pub mod cache_words;
mod command;
pub mod command_line;
pub mod dataset;
pub mod delivery;
pub mod derived;
mod due_requests;
pub mod escape;
pub mod hashes;
pub mod key_event;
pub mod keys;
pub mod lifetime;
pub mod memcache_suite;
mod named;
pub mod pace;
pub mod parameters;
pub mod plan;
pub mod quantity;
pub mod random;
pub mod redis_commands;
pub mod secret;
pub mod shard;
pub mod sizes;
pub mod stream;
pub mod streams;
pub mod suite;
pub mod target;
pub mod typed_login;
mod unmasked;
pub mod value_key;
pub mod values;
pub mod verify;

pub use argument::{Arg, Piece, Slot};
pub use cache_tracking::{CacheTracking, TrackingMode};
pub use cache_words::CacheCommand;
pub use command::CommandSpec;
pub use dataset::{Dataset, RowBy};
pub use delivery::{
    Delivery, DeliveryKind, DeliveryNames, Exchange, ListPop, ListPush, Message, MessageNumbers,
    NAME_PREFIX, NodeReceiver, Purpose, Queue, ReplicaWait, SortedSetPop, StreamAck, Subscription,
    TAG, message,
};
pub use derived::DerivedText;
pub use due_requests::{DueRequest, DueRequests, RequestSource};
pub use key_event::KeyEvent;
pub use keys::{
    DrawnBy, Inserts, KeyDist, KeyDraw, KeyGroups, KeyNumbering, KeySpace, OneGroup, Source,
};
pub use lifetime::Lifetime;
pub use named::Named;
pub use pace::{Arrivals, Curve, Lane, Pace, Pacer, Schedule, Stage};
pub use plan::{
    Backoff, BudgetScope, CaptureRule, Concurrency, ConnectionPerRequest, Data, DistinctCommands,
    EngineKind, Fill, JoinSchedule, Load, LogSubject, Mix, MixStep, Numbering, OnError, Operation,
    Operations, PeerOptions, Pick, Plan, PlanError, PlanParts, ProtocolKind, ReconnectLimits,
    RecordedStall, RecordedTraffic, Recording, Recovery, Retry, ScanOperation, Spacing, Span,
    StepCondition, StepReplies, Stop, Transactions, ValueSpec, Window, limits,
};
pub use secret::{Secret, SecretBytes};
pub use shard::Shard;
pub use sizes::{SizeBy, Sizes};
pub use stream::{Budget, RequestStream, SequenceBatch};
pub use target::{
    ClusterOptions, Credentials, Endpoint, NodeShares, ReadFrom, ReplicaFallback, RingHash, Target,
    TlsFiles, TlsOptions, Verify,
};
pub use unmasked::unmasked;
pub use values::{Content, Values};

/// Returns whether a value is the default, which documents leave out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
