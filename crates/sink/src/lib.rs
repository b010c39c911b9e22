//! A server that does as little as a server can.
//!
//! It frames requests and answers each by its name with a canned reply of the right type and
//! size; it stores nothing. What is measured against it is the client.
//!
//! [`Listener`] is where it listens, [`ReplyProtocol`] how it frames and answers ([`Replies`] in RESP,
//! [`MemcacheReplies`] in memcached's lines), [`Sink`] the turn of its one
//! thread on any engine, and [`EngineChoice`] the engines there are. Threads, CPUs and words for a
//! person are left to the caller.

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
