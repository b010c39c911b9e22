//! This crate against real servers.

mod probe;
mod servers;
mod spawn;
mod watch;
