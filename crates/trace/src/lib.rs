//! Recorded traffic: one [`Event`] for every command, whatever wrote the record.
//!
//! Owns the formats, how a file's format is found by its content, and what is left of a damaged one. It knows
//! no plan, no network and no terminal: the use of events is left to callers.
//!
//! ```no_run
//! # fn main() -> Result<(), trace::ReadError> {
//! let mut reader = trace::open(&["monitor.txt".into()], &trace::OpenOptions::default())?;
//! let mut event = trace::Event::default();
//! while reader.next(&mut event)? {
//!     println!("{} {:?}", event.at_ns, event.name());
//! }
//! # Ok(()) }
//! ```

mod blocks;
mod chain;
pub mod commands;
pub mod conformance;
mod dated;
mod decode;
pub mod describe;
mod event;
mod facts;
mod format;
mod manifest;
mod merge;
mod open;
mod packed;
mod privacy;
mod pseudonym;
mod quoted;
mod reader;
mod sample;
mod source;
mod spread_reader;
mod stalls;
mod writer;

pub use decode::{Decode, Decoded, Fault, Loss, Losses};
pub use event::{Argument, Event, Flags, Outcome};
pub use format::{FORMATS, Format, Head, client_number};
pub use merge::merge;
pub use open::{OpenOptions, open, open_input, open_live};
pub use privacy::Privacy;
pub use pseudonym::Pseudonyms;
pub use quoted::{next_word, words};
pub use reader::{ReadError, Reader, Stream};
pub use sample::{Sample, SampleUnit};
pub use source::{Clock, Protocol, Source, Stamps};
pub use stalls::{Gap, Stalls};
pub use writer::Writer;
