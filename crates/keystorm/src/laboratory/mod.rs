//! Carrying out experiments: sweep, search and survey.
//!
//! Owns the way from a plan over the [`Rig`](crate::rig::Rig) into an experiment's results and from
//! there to a terminal and files. What is run when, and what it says, is `lab`'s business.

mod families;
mod files;
mod progress;
mod search;
mod survey;
mod sweep;
mod terminal;
mod written;

pub(crate) use search::search;
pub(crate) use survey::survey;
pub(crate) use sweep::sweep;
