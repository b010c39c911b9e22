//! Several clients that carry out one plan together.
//!
//! Owns the contract between a coordinator and its clients, lines of JSON on standard input and
//! output ([`line`]); the common start and the clocks that it rests on ([`clock`]); what becomes of a
//! run whose client is lost; and the way from the clients' results to one. A launcher only places
//! clients, carries lines and tells of death ([`launcher`]), so all of this is the same under each.
//!
//! How a client carries out its share is the business of `runner`; what the figures mean, of
//! `report`.

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

/// Reason why clients cannot be used, in words for a person: nothing has been started.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LaunchError(pub String);

/// Reason why a run came to nothing, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct FleetError(pub String);
