//! End to end: the built program against real servers.
//!
//! One crate, so that linking happens once. What a server has executed is asked of the server
//! (`INFO commandstats`), never read from what keystorm prints.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../engine/tests/conformance/certificates.rs"]
mod certificates;
mod listener;
mod mask;
mod program;
mod server;

mod calibrate;
mod cluster;
mod connections;
mod counts;
mod dataset;
mod doctor;
mod endings;
mod errors;
mod failures;
mod help;
mod limits;
mod login;
mod output;
mod pace;
mod parity;
mod placeholders;
mod plan;
mod protocol;
mod reach;
mod record;
mod refused;
mod saved;
mod sequence;
mod sink;
mod spawn;
mod suite;
mod terminal;
mod tls;
mod verdict;
