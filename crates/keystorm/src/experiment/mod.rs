//! What sweep, search, survey and compare have in common when they are carried out: files that are kept on the way,
//! the bar, and what is drawn in the terminal. What is run when, and what it says, is `lab`'s business.

pub(crate) mod files;
pub(crate) mod frame;
pub(crate) mod noise;
pub(crate) mod progress;
pub(crate) mod results;
pub(crate) mod terminal;
