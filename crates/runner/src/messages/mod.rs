//! What senders note of their messages for receivers, which run beside them.

mod ack_log;
mod acknowledgements;
mod sent_times;

pub(crate) use ack_log::AckLog;
pub(crate) use acknowledgements::{AckState, Acknowledgements};
pub(crate) use sent_times::{RING_MAX, SentTimes};
