//! Common interface of the results of experiments: writing, showing, and warnings.

use report::page::{Block, Page};
use report::{RecordError, Run};
use serde::Serialize;

use crate::runs::Runs;

/// Results of an experiment whose runs are kept in full.
pub trait Document {
    /// Returns the runs of the experiment.
    #[doc(hidden)]
    fn runs(&self) -> &Runs;

    /// Loads every run in full, in the order of execution.
    ///
    /// # Errors
    /// Returns the contradiction in a document.
    fn load(&self) -> Result<Vec<Run>, RecordError> {
        self.runs().load()
    }

    /// Returns the warnings that a reader needs before believing the figures, without repetition; unescaped.
    fn warnings(&self) -> Vec<String> {
        self.runs().warnings()
    }
}

/// Findings of an experiment so far, which its frame keeps and shows.
pub trait Findings: Serialize + Sized {
    /// Returns whether nothing was measured yet.
    fn is_empty(&self) -> bool;

    /// Returns whether there is an answer; there is none if the machine was too busy.
    fn is_conclusive(&self) -> bool {
        true
    }

    /// Notes that nothing is left to do.
    fn set_complete(&mut self);

    /// The document.
    ///
    /// # Errors
    /// Returns an error if a figure cannot be written as JSON.
    fn to_json(&self) -> serde_json::Result<String> {
        report::json::document(self)
    }

    /// A table for programs.
    fn to_csv(&self) -> String;

    /// The page.
    fn page(&self, command_line: &str) -> Page;

    /// Blocks for a terminal; `quiet` leaves out all but tables and answers.
    fn shown(&self, quiet: bool) -> Vec<Block>;

    /// Lines about single results, for standard error.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}
