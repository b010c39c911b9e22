//! Commands, carried out: a file or folder for each, named as the command; `run` has no name of its own, and
//! `client` is what a coordinator starts.

pub(crate) mod bisect;
pub(crate) mod client;
pub(crate) mod compare;
pub(crate) mod describe;
pub(crate) mod doctor;
pub(crate) mod footprint;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod impact;
pub(crate) mod merge;
pub(crate) mod pages;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod sink;
pub(crate) mod suite;
pub(crate) mod survey;
pub(crate) mod sweep;

/// An error in a command line that a command composed itself: the run has failed, and the user made no mistake.
fn usage_error(job::UsageError(text): job::UsageError) -> anyhow::Error {
    anyhow::anyhow!(text)
}
