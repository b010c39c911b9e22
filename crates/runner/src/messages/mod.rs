//! Notes of senders on their messages, for receivers that run beside them.

mod ack_log;
mod acknowledgements;
mod sent_times;

pub(crate) use ack_log::AckLog;
pub(crate) use acknowledgements::{AckState, Acknowledgements};
pub(crate) use sent_times::{RING_MAX, SentTimes};
