//! Facts of this machine and of a server, and servers started for a run.
//!
//! Owns what is asked once, over a plain blocking connection, before and after load runs. The
//! load itself, and what its figures mean, are left to `runner` and `report`.

mod facts;

pub use facts::{ServerConfig, ServerFacts};
