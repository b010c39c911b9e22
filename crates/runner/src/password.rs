//! Passwords that are asked for before each login, since they change while load runs.

use workload::Secret;

/// Knows the password of now.
pub trait PasswordSource: Sync {
    /// The password, if it was asked for a moment ago. Otherwise has it asked for elsewhere: this never waits.
    fn password(&self) -> LoginPassword;
}

/// What is known of the password of now.
#[derive(Debug, Clone)]
pub enum LoginPassword {
    /// The password.
    Known(Secret),
    /// It is being asked for.
    Pending,
    /// The reason why it cannot be had.
    Failed(String),
}
