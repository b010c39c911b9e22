//! Conversion between commands and bytes, without I/O.
//!
//! A [`Protocol`] turns a command into a [`Template`] once; a [`Batch`] holds as many copies of the templates
//! as a pipeline is deep and only patches their numbers for each send. In the other direction, a [`Decode`]
//! frames replies: it finds where each ends and what kind it is, and builds nothing.
//!
//! Knows no socket, clock or histogram. A new protocol is one folder here and one arm in the runner's
//! `concrete`.

mod argument;
mod batch;
mod checked;
pub mod cluster;
mod decimal;
mod expected;
mod keys;
mod kind;
pub mod memcache;
mod message_place;
mod numbers;
mod payload;
#[cfg(test)]
mod pieces;
mod protocol;
pub mod quoted;
mod reply_patterns;
mod request_inputs;
pub mod resp;
mod spelled;
mod template;
mod varying;

pub use batch::{Batch, Slots};
pub use checked::StringRole;
pub use expected::ExpectedValue;
pub use keys::Keys;
pub use kind::{check, encoded_len};
pub use payload::ValueAt;
pub use protocol::{
    Decode, Frame, Protocol, ProtocolError, Reply, ReplyVisitor, Silence, Split, repeats,
};
pub use request_inputs::{EarlierReplies, KeyNumber, RequestInputs};
pub use spelled::spelled;
pub use template::{Hole, Insert, LengthForm, NumberAt, Template};
