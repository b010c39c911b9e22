//! Knowledge of a cluster client, without I/O: slots, their owners, and the destination of a command.
//!
//! Owns the hash slot of a key, the `{tag}` literal, the parsing of topologies, and redirect errors.
//! `workload` knows which argument of a command is its key, `host` asks a server, and `runner` sends.
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
