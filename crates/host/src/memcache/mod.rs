//! memcached, asked before and after load: does it let us in, what is it, what did it count?
//!
//! The counterpart of [`crate::probe()`]: the same errors, another language.

mod client;
mod probe;

pub(crate) use client::Dialect;
pub use client::MemcacheClient;
pub(crate) use probe::is_there;
pub use probe::{log_in, probe};
