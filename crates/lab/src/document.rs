//! Capabilities of the results of every experiment: they are written as a document, are shown, and say what to doubt.

use page::{Block, Page};
use report::{RecordError, Run};
use serde::Serialize;

use crate::runs::Runs;

/// The results of an experiment whose runs are kept in full.
pub trait Document {
    /// Returns the runs of the experiment.
    #[doc(hidden)]
    fn runs(&self) -> &Runs;

    /// Every run in full, in the order in which they were carried out.
    ///
    /// # Errors
    /// What in a document contradicts itself.
    fn load(&self) -> Result<Vec<Run>, RecordError> {
        self.runs().load()
    }

    /// Returns what a reader must know before believing the figures, each once; unescaped.
    fn warnings(&self) -> Vec<String> {
        self.runs().warnings()
    }
}

/// Findings of an experiment so far: all that its frame keeps and shows.
pub trait Findings: Serialize + Sized {
    /// Returns whether nothing was measured yet, so that there is nothing to show.
    fn is_empty(&self) -> bool;

    /// Returns whether there is an answer; there is none where the machine was too busy to tell.
    fn is_conclusive(&self) -> bool {
        true
    }

    /// Notes that nothing is left to do.
    fn set_complete(&mut self);

    /// The document.
    ///
    /// # Errors
    /// A figure has no JSON.
    fn to_json(&self) -> serde_json::Result<String> {
        Ok(report::record::steady(&report::json::pretty(self)?) + "\n")
    }

    /// A table for programs.
    fn to_csv(&self) -> String;

    /// The page.
    fn page(&self, command_line: &str) -> Page;

    /// The parts that a terminal shows; `quiet` leaves out all but tables and answers.
    fn shown(&self, quiet: bool) -> Vec<Block>;

    /// Lines about single results, for standard error.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}
