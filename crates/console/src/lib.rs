//! The console: everything that a person and other programs see while keystorm runs, and the places where results go.
//! These are standard streams, the terminal, the live line, the small HTTP server, and files.
//!
//! Owns how something is written; what it says is the caller's, and the layouts are crate `report`'s.

#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod bar;
pub mod closed;
pub mod diagnostics;
pub mod http;
pub mod live;
pub mod live_page;
pub mod metrics;
pub mod place;
pub mod print;
pub mod report_file;
mod so_far;
mod spikes;
pub mod wrap;
