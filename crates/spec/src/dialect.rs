//! Differences in the meaning of command lines between the imitated tools.

/// Assumptions and tolerances of a tool; by default, those of keystorm itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The word before a warning.
    pub warning: &'static str,
    /// Set if a URI and another option about the same thing must agree; otherwise the last counts.
    pub uri_must_agree: bool,
    /// Set if a password in the environment is for the server.
    pub password_from_environment: bool,
    /// Set if a user without a password is an error; otherwise nobody logs in.
    pub user_needs_password: bool,
    /// Set if the certificate of a server must be for its host.
    pub verifies_host: bool,
    /// Set if runs that end by time reopen lost connections, by default.
    pub reconnects: bool,
    /// Set if the kernel stamps replies where that costs little, by default.
    pub kernel_stamps: bool,
    /// Set if values of drawn sizes differ from each other, by default.
    pub random_content: bool,
    /// Set if `;>` and `__reply__` mean something in commands outside of a mix.
    pub has_steps: bool,
    /// Set if slips are refused or mentioned: words that are no command, harmful commands, options in vain.
    pub minds_slips: bool,
    /// Set if a note says that closing connections uses up ports.
    pub mentions_keep_alive: bool,
    /// Set if the suite is redis-benchmark's, without the tests that valkey-benchmark has added.
    pub suite_of_redis: bool,
}

/// keystorm itself.
pub const KEYSTORM: Dialect = Dialect {
    warning: "warning",
    uri_must_agree: true,
    password_from_environment: true,
    user_needs_password: true,
    verifies_host: true,
    reconnects: true,
    kernel_stamps: true,
    random_content: true,
    has_steps: true,
    minds_slips: true,
    mentions_keep_alive: true,
    suite_of_redis: false,
};

/// valkey-benchmark; redis-benchmark differs in its suite only.
pub const VALKEY_BENCHMARK: Dialect = Dialect {
    warning: "WARNING",
    uri_must_agree: false,
    user_needs_password: false,
    verifies_host: false,
    reconnects: false,
    kernel_stamps: false,
    random_content: false,
    has_steps: false,
    minds_slips: false,
    ..KEYSTORM
};

/// Another tool, whose login is in its options and not in the environment.
pub const OTHER_TOOL: Dialect =
    Dialect { password_from_environment: false, mentions_keep_alive: false, ..VALKEY_BENCHMARK };

impl Default for Dialect {
    fn default() -> Self {
        KEYSTORM
    }
}
