//! A load that an experiment runs several times, each time with changes.

use std::fmt;

use spec::LoadSpec;

use crate::{Job, UsageError};

type Change<'c> = &'c dyn Fn(&mut LoadSpec);

/// Makes the job of a load with a change.
type JobMaker = dyn Fn(Change<'_>) -> Result<Job, UsageError>;

/// A load that is parsed once.
pub struct VariedLoad(Box<JobMaker>);

impl VariedLoad {
    /// Returns a load of which `job` makes jobs with changes.
    pub fn new(job: impl Fn(Change<'_>) -> Result<Job, UsageError> + 'static) -> Self {
        Self(Box::new(job))
    }

    /// The job of the load with changes.
    ///
    /// # Errors
    /// Returns an error if the load makes no sense.
    pub fn job(&self, change: Change<'_>) -> Result<Job, UsageError> {
        (self.0)(change)
    }
}

impl fmt::Debug for VariedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VariedLoad")
    }
}
