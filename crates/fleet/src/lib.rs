//! Several clients that carry out one plan together.
//!
//! Owns the protocol between a coordinator and its clients, lines of JSON on standard input and output
//! ([`line`]); the common start and the clocks that it depends on ([`clock`]); the handling of lost clients;
//! and the merging of results. A launcher only places clients, carries lines and reports losses
//! ([`launcher`]), so everything else is the same for each.
//!
//! `runner` carries out a client's share, and `report` interprets the figures.

pub mod clock;
mod fleet;
mod gathered;
pub mod launcher;
pub mod line;
mod on;
mod partial;
mod roster;
mod round;
mod seconds;
mod wrong_clock;

pub use fleet::{Fleet, OnLoss};
pub use gathered::FleetResult;
pub use on::On;

use thiserror::Error;

/// Reason why clients cannot be used, in words for a person; nothing has been started.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LaunchError(pub String);

/// Reason why a run failed, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct FleetError(pub String);
