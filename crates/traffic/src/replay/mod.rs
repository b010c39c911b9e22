//! Recorded traffic as load: selects the commands of a record, and decides their times, connections and
//! words.
//!
//! A record is read twice: [`scan`] finds the facts that a plan needs beforehand, and [`Traffic`] gives a run
//! its commands. Sending is in `runner`, and the caller that connects decides which server may be
//! written to.

mod clients;
mod conversation;
mod encode;
mod expiry;
mod prefill;
mod role;
mod scan;
mod selection;
mod speed;
mod traffic;
mod transactions;
mod translation;
mod walk;

pub use clients::Clients;
pub use conversation::{Conversation, Question};
pub use prefill::{Prefill, PrefillPlan};
pub use role::{Reason, stands_alone};
pub use scan::{Scan, scan};
pub use selection::{Glob, Selection};
pub use speed::Speed;
pub use traffic::Traffic;
pub use walk::Replay;
