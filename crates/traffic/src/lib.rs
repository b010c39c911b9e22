//! Recorded traffic: one [`Event`] for every command, whatever wrote the record.
//!
//! Owns the formats, how a file's format is found by its content, and what is left of a damaged one. In
//! [`replay`] a record becomes load. No network and no terminal here: callers send and print.
//!
//! ```no_run
//! # fn main() -> Result<(), traffic::ReadError> {
//! let mut reader = traffic::open(&["monitor.txt".into()], None)?;
//! let mut event = traffic::Event::default();
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
mod intervals;
mod manifest;
mod merge;
mod open;
mod packed;
mod privacy;
mod pseudonym;
mod reader;
pub mod replay;
mod sample;
mod source;
mod spread_reader;
mod stalls;
mod writer;

pub use decode::{Decode, Decoded, Fault, Loss, Losses};
pub use event::{Argument, Event, Flags, Outcome};
pub use format::{FORMATS, Format, Head, client_number};
pub use merge::merge;
pub use open::{open, open_input, open_live};
pub use privacy::Privacy;
pub use pseudonym::Pseudonyms;
pub use reader::{ReadError, Reader, Stream};
pub use sample::{Sample, SampleUnit};
pub use source::{Clock, Protocol, Source, Stamps};
pub use stalls::{Gap, Stalls};
pub use writer::Writer;
