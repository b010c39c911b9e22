//! The connections of a plan: how many, on how many threads, and how each is used.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use super::limits;
use super::{Joining, Spacing};

/// How many threads and connections carry the load, and how each connection is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concurrency {
    /// Worker threads, 1 to [`limits::WORKERS_MAX`]. Each owns its connections.
    pub workers: u16,
    /// Whether the user asked for threads. One worker on request and one worker by default run
    /// the same way, but the classic report tells them apart.
    pub multi_thread: bool,
    /// Connections of all workers together, 1 to [`limits::CONNECTIONS_MAX`].
    pub connections: u32,
    /// Sequences that one connection may have in flight, 1 to [`limits::PIPELINE_MAX`].
    pub pipeline_depth: u32,
    /// When a connection may send again.
    pub window: Window,
    /// Whether a connection is used again. If not, it is closed after `requests_each`.
    pub keep_alive: bool,
    /// Sequences, or operations of a mix, after which a connection that is not kept is closed; 0 for one
    /// pipeline.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests_each: u32,
    /// Connections that are closed and opened again each second, in turn and without losing a request, of all
    /// workers together; 0 to [`limits::RENEWALS_MAX`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub renewed_per_s: u32,
    /// The CPUs that workers are pinned to, one each in turn; none for wherever the kernel likes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<usize>,
    /// How connections join the load; none if all carry it from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joining: Option<Joining>,
    /// How far apart connections are opened; none for as soon as can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
}

impl Default for Concurrency {
    /// One thread and 50 connections, each with one sequence in flight, as in `redis-benchmark`.
    fn default() -> Self {
        Self {
            workers: 1,
            multi_thread: false,
            connections: 50,
            pipeline_depth: 1,
            window: Window::default(),
            keep_alive: true,
            requests_each: 0,
            renewed_per_s: 0,
            cpus: Vec::new(),
            joining: None,
            spacing: None,
        }
    }
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// When a connection that has requests in flight may send more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// Stop and wait: the next pipeline leaves when every reply of the last one is in, as in
    /// `redis-benchmark`.
    #[default]
    Batch,
    /// Rolling: a reply makes room for the next request at once.
    Rolling,
}
