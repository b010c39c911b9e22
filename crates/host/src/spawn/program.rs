//! The executable of a spawned server.

use std::env;
use std::path::{Path, PathBuf};

use naming::SPAWN;
use rustix::fs::{Access, access};

use super::{SpawnError, SpawnKind};

/// Finds the program: a path if the name has a slash, otherwise the first on the PATH; without a name, the
/// first of its kind.
///
/// # Errors
/// Returns an error if it is missing or not executable.
pub(super) fn find(name: Option<&str>, kind: SpawnKind) -> Result<PathBuf, SpawnError> {
    find_on(name, kind, &env::var_os("PATH").unwrap_or_default())
}

fn find_on(
    name: Option<&str>,
    kind: SpawnKind,
    search: &std::ffi::OsStr,
) -> Result<PathBuf, SpawnError> {
    let on_path = |name: &str| {
        env::split_paths(search).map(|dir| dir.join(name)).find(|path| is_program(path))
    };
    match name {
        None => {
            let found = kind.programs().iter().find_map(|name| on_path(name));
            found.ok_or_else(|| {
                let programs = kind.programs().join(" or ");
                let advice =
                    format!("install one (`make setup` does), or name one with {SPAWN}=PATH");
                format!("{SPAWN}: no {programs} on the PATH; {advice}").into()
            })
        }
        Some(path) if path.contains('/') => {
            let found = is_program(Path::new(path)).then(|| path.into());
            found.ok_or_else(|| format!("{SPAWN}={path}: not an executable file").into())
        }
        Some(name) => on_path(name)
            .ok_or_else(|| format!("{SPAWN}={name}: not found on the PATH; give its path").into()),
    }
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn valkey_goes_first_and_only_programs_count() {
        let dir = tempfile::tempdir().unwrap();
        let search = dir.path().as_os_str();
        let found = |name| find_on(name, SpawnKind::Redis, search);
        let error = found(None).unwrap_err().to_string();
        assert!(
            error.starts_with("--spawn: no valkey-server or redis-server on the PATH;"),
            "{error}"
        );
        let make = |name: &str, mode| {
            let path = dir.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        let redis = make("redis-server", 0o755);
        let valkey = make("valkey-server", 0o644);
        assert_eq!(found(None).unwrap(), redis);
        let path = valkey.to_str().unwrap();
        let error = found(Some(path)).unwrap_err().to_string();
        assert!(error.contains(path), "{error}");
        make("valkey-server", 0o755);
        assert_eq!(found(None).unwrap(), valkey);
        assert_eq!(found(Some("redis-server")).unwrap(), redis);
        assert_eq!(found(Some(path)).unwrap(), valkey);
        let error = found(Some("keydb-server")).unwrap_err().to_string();
        assert!(error.contains("keydb-server"), "{error}");
    }
}
