//! Passwords that are asked for before each login, since they change while load runs.

use workload::Secret;

/// Time between looks for a password that was asked for.
pub(crate) const LOOK_EVERY_NS: u64 = 5_000_000;

/// Knows the password of now.
pub trait PasswordSource: Sync {
    /// The password, if it was asked for a moment ago. Otherwise has it asked for elsewhere: this never waits.
    fn password(&self) -> LoginPassword;
}

/// State of the question for the current password.
#[derive(Debug, Clone)]
pub enum LoginPassword {
    /// The password.
    Known(Secret),
    /// Asked for, not known yet.
    Pending,
    /// The reason why it cannot be had.
    Failed(String),
}
