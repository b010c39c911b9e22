//! TOML files of rows that experiments read: acts of `impact`, settings of `durability`.

use std::path::Path;

use cli::job::UsageError;
use serde::de::DeserializeOwned;

/// Size in bytes of the largest file that is read.
const FILE_MAX: u64 = 1 << 20;

/// Reads the file that an option names.
///
/// # Errors
/// Returns the option with its file and what is wrong, with the line where it is known.
pub(crate) fn read<T: DeserializeOwned>(option: &str, path: &Path) -> Result<T, UsageError> {
    let name = format!("{option} {}", path.display());
    let fault = |error: std::io::Error| UsageError(format!("{name}: {error}"));
    if std::fs::metadata(path).map_err(fault)?.len() > FILE_MAX {
        return Err(UsageError(format!("{name}: such a file has at most 1 MiB")));
    }
    parse(&name, &std::fs::read_to_string(path).map_err(fault)?)
}

/// Reads the text of a file called `name`.
///
/// # Errors
/// Returns the name, the line and what is wrong there.
pub(crate) fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, UsageError> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        UsageError(format!("{name}: line {line}: {}", error.message()))
    })
}
