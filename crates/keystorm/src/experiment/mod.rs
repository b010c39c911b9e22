//! Parts that experiments share when they are carried out: files that are kept on the way, the progress bar, and
//! drawing in the terminal. `lab` decides what is run when, and what the results mean.

pub(crate) mod files;
pub(crate) mod frame;
pub(crate) mod noise;
pub(crate) mod progress;
pub(crate) mod results;
pub(crate) mod terminal;
