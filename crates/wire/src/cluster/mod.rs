//! The knowledge of a cluster client, without I/O: slots, who owns them, and where a command goes.
//!
//! Owns the hash slot of a key, the `{tag}` literal, the replies that describe a topology, the
//! errors that redirect. Which argument of a command is its key, `workload` knows. Asking a server is left to
//! `host`, sending to `runner`.
//! <https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/>

mod keyed;
mod redirect;
mod slot;
mod topology;

pub(crate) use keyed::KeyHash;
pub use redirect::Redirect;
pub(crate) use slot::slot_of_request;
pub use slot::{SLOTS, hashed, slot_of, tag_of};
pub use topology::{Node, Role, Topology};
pub use workload::redis_commands::{KeyPlace, Routing, is_session_command, known};
