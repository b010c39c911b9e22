//! The data of specs that are files of a server's own (RDB): a server that is started reads them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use host::{Client, Transport};
use lab::suite::Preload;
use wire::resp::Value;

use crate::setting;

/// The file that a spec names by a path or URL: beside the spec, or in this directory.
pub(super) fn find(named: &str, spec: &Path, directory: Option<&Path>) -> Option<PathBuf> {
    let beside = spec.parent().unwrap_or(Path::new("."));
    let name = named.split(['?', '#']).next().and_then(|url| url.rsplit('/').next());
    let name = name.filter(|name| !name.is_empty() && *name != "..")?;
    let path = (!named.contains("://")).then(|| beside.join(named));
    let places = directory.into_iter().chain([beside]).map(|place| place.join(name));
    path.into_iter().chain(places).find(|file| file.is_file())
}

/// Refuses what cannot be loaded, in words for a person.
pub(super) fn check(preload: &Preload, is_own: bool) -> Result<(), String> {
    match (&preload.dataset, &preload.data_file) {
        (Some(named), None) => Err(format!(
            "its data are {named}, which keystorm does not fetch: put the file beside the spec, or name its \
             directory by --datasets"
        )),
        (_, Some(file)) if !is_own => Err(format!(
            "its data are {}, which only a server reads that is started: it requires --spawn",
            file.display()
        )),
        _ => Ok(()),
    }
}

/// Arguments of a server that takes such data.
pub(super) fn args(preload: &Preload) -> Vec<String> {
    let debug = ["--enable-debug-command", "local"].map(str::to_owned);
    if preload.data_file.is_some() { debug.to_vec() } else { Vec::new() }
}

/// Has a server read a file in place of what it holds. The server gets a link in its own directory, so that whatever it
/// saves leaves the file as it is.
pub(super) fn load(client: &mut Client<Transport>, file: &Path) -> Result<()> {
    let mut set = |name: &str| -> Result<String> {
        setting::value(client, name)?.with_context(|| format!("the server does not say its {name}"))
    };
    let place = Path::new(&set("dir")?).join(set("dbfilename")?);
    let file = fs::canonicalize(file).with_context(|| file.display().to_string())?;
    if fs::symlink_metadata(&place).is_ok() {
        fs::remove_file(&place).with_context(|| place.display().to_string())?;
    }
    std::os::unix::fs::symlink(&file, &place).with_context(|| place.display().to_string())?;
    match client.ask(&[b"DEBUG", b"RELOAD", b"NOSAVE"])? {
        Value::Error(text) => {
            let why = String::from_utf8_lossy(&text).into_owned();
            Err(anyhow!("{}: the server does not load it: {why}", file.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_its_url_or_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("other")).unwrap();
        for name in ["a.rdb", "other/b.rdb"] {
            fs::write(at(name), "").unwrap();
        }
        let other = at("other");
        let found = |named: &str| find(named, &at("spec.yml"), Some(&other));
        assert_eq!(found("https://host/deep/a.rdb?version=1"), Some(at("a.rdb")));
        assert_eq!(found("http://host/b.rdb"), Some(at("other/b.rdb")));
        assert_eq!(found("other/b.rdb"), Some(at("other/b.rdb")));
        assert_eq!(found("http://host/c.rdb"), None);
        assert_eq!((found("http://host/"), found("http://host/..")), (None, None));
    }
}
