//! Destination of verdicts: `--no-verdict` and the environment variable `KEYSTORM_VERDICT`.

use std::ffi::OsString;

use report::Persona;

use crate::VerdictTo;

/// Returns where a run's verdicts go. The option takes precedence over the environment.
pub(super) fn place(
    persona: Persona,
    no_verdict: bool,
    environment: Option<OsString>,
) -> VerdictTo {
    match environment.filter(|value| !value.is_empty()) {
        _ if no_verdict => VerdictTo::Nowhere,
        Some(value) if value == "off" => VerdictTo::Nowhere,
        Some(value) if value == "stderr" => VerdictTo::Stderr,
        Some(file) => VerdictTo::File(file.into()),
        // Scripts take any text on a peer's standard error for a failure.
        None if !persona.unasked => VerdictTo::Nowhere,
        None => VerdictTo::Report,
    }
}

#[cfg(test)]
mod tests {
    use report::{KEYSTORM, REDIS_BENCHMARK, VALKEY_BENCHMARK};

    use super::*;

    #[test]
    fn a_peer_gives_none_unless_asked() {
        let place = |persona, no, value: Option<&str>| place(persona, no, value.map(Into::into));
        assert_eq!(place(KEYSTORM, false, None), VerdictTo::Report);
        assert_eq!(place(REDIS_BENCHMARK, false, None), VerdictTo::Nowhere);
        assert_eq!(place(VALKEY_BENCHMARK, false, Some("stderr")), VerdictTo::Stderr);
        assert_eq!(place(KEYSTORM, false, Some("off")), VerdictTo::Nowhere);
        assert_eq!(place(REDIS_BENCHMARK, false, Some("v.log")), VerdictTo::File("v.log".into()));
        assert_eq!(place(KEYSTORM, false, Some("")), VerdictTo::Report);
        assert_eq!(place(KEYSTORM, true, Some("stderr")), VerdictTo::Nowhere);
    }
}
