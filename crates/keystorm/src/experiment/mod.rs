//! Common parts of running experiments: files that are read and saved, the progress bar, and drawing in the
//! terminal. `lab` decides which runs are made, and what the results mean.

pub(crate) mod files;
pub(crate) mod frame;
pub(crate) mod noise;
pub(crate) mod progress;
pub(crate) mod table_file;
pub(crate) mod terminal;
