//! Passwords that every login asks for anew, because they change while load runs.

use workload::Secret;

/// Time between checks for a requested password.
pub(crate) const LOOK_EVERY_NS: u64 = 5_000_000;

/// A source of the current password.
pub trait PasswordSource: Sync {
    /// Returns the password if it is fresh, and otherwise requests it in the background. Never waits.
    fn password(&self) -> LoginPassword;
}

/// State of the question for the current password.
#[derive(Debug, Clone)]
pub enum LoginPassword {
    /// The password.
    Known(Secret),
    /// Requested and not known yet.
    Pending,
    /// Not available, for this reason.
    Failed(String),
}
