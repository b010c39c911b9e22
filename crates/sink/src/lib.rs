//! A server that does as little as a server can.
//!
//! It frames requests and answers each by its name with a canned reply of the right type and size; it stores
//! nothing, so that a measurement against it shows the client.
//!
//! A [`Listener`] accepts connections, a [`ReplyProtocol`] frames and answers ([`Replies`] in RESP,
//! [`MemcacheReplies`] in memcached's lines), a [`Sink`] is the loop of its one thread on any engine, and
//! [`EngineChoice`] lists the engines. The caller handles threads, CPUs and words for a person.

mod choice;
mod listener;
mod memcache;
mod replies;
mod serve;
mod speaks;

pub use choice::EngineChoice;
pub use listener::Listener;
pub use memcache::MemcacheReplies;
pub use replies::{BULK_MAX, Replies};
pub use serve::{Sink, SinkTotals};
pub use speaks::ReplyProtocol;
