//! The console: output for people and other programs while keystorm runs, and destinations of results. These
//! are standard streams, the terminal, the live line, the small HTTP server, and files.
//!
//! Owns the writing; the caller and the crate `report` own the content and the layouts.

pub mod bar;
pub mod closed;
pub mod diagnostics;
pub mod http;
pub mod live;
pub mod live_page;
pub mod metrics;
pub mod print;
pub mod report_file;
pub mod result_file;
mod so_far;
mod spikes;
pub mod wrap;
