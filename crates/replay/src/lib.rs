//! Recorded traffic as load: which commands of a record are sent, when, by which connection and in which words.
//!
//! A record is read twice: [`scan`] finds what a plan must know beforehand, and [`Traffic`] gives a run its commands.
//! Formats of records are `trace`'s, sending is `runner`'s, and which server may be written to is left to whoever
//! connects to it.

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
