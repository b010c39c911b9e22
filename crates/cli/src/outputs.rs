//! Files that a command line writes, held against each other and against those that it reads, and layouts of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::job::UsageError;

/// A file by the option that names it.
pub type OptionFile<'p> = (&'static str, Option<&'p Path>);

/// Refuses two outputs that are one file, of which the later would take the earlier's place, and an
/// output that is an input.
///
/// # Errors
/// Returns an error that names the two options of one file.
pub fn check_distinct(outputs: &[OptionFile<'_>], inputs: &[OptionFile<'_>]) -> Result<(), String> {
    let given = |named: &[OptionFile<'_>]| -> Vec<(&'static str, PathBuf)> {
        let found = named.iter().filter_map(|(option, path)| Some((*option, resolved((*path)?)?)));
        found.collect()
    };
    let (outputs, inputs) = (given(outputs), given(inputs));
    for (at, (option, path)) in outputs.iter().enumerate() {
        let shown = path.display();
        if let Some((other, _)) = outputs[..at].iter().find(|(_, other)| other == path) {
            return Err(format!("{other} and {option} name the same file, {shown}; use two files"));
        }
        if let Some((input, _)) = inputs.iter().find(|(_, input)| input == path) {
            return Err(format!(
                "{option}: {shown} is also the input of {input} and would be \
                overwritten"
            ));
        }
    }
    Ok(())
}

/// Refuses what [`check_distinct`] refuses, of a command that reads `files`.
///
/// # Errors
/// Returns the two options, or the option and the file, that name one file.
pub fn check_files_distinct(
    files: &[PathBuf],
    outputs: &[OptionFile<'_>],
) -> Result<(), UsageError> {
    let inputs: Vec<_> = files.iter().map(|file| ("FILE", Some(file.as_path()))).collect();
    check_distinct(outputs, &inputs).map_err(UsageError)
}

/// The name of a layout, as an option.
///
/// # Errors
/// Returns an error if there is no preset with that name.
pub fn format_name(text: &str) -> Result<&'static str, String> {
    let names: Vec<_> = report::formats().map(|(name, _)| *name).collect();
    let found = names.iter().find(|name| **name == text);
    found.copied().ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

/// A file by its one name, whatever links lead there; `None` for standard streams and devices, which
/// take any number of texts.
fn resolved(path: &Path) -> Option<PathBuf> {
    if path == Path::new("-") {
        return None;
    }
    if let Ok(real) = fs::canonicalize(path) {
        let plain = fs::metadata(&real).is_ok_and(|file| file.is_file() || file.is_dir());
        return plain.then_some(real);
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(match (fs::canonicalize(dir), path.file_name()) {
        (Ok(dir), Some(name)) => dir.join(name),
        _ => path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_of_one_file_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("old"), "").unwrap();
        std::os::unix::fs::symlink(path("old"), path("link")).unwrap();
        let check = |a: &str, b: &str, input: &str| {
            let (a, b, input) = (path(a), path(b), path(input));
            check_distinct(
                &[("--json", Some(&a)), ("--hdr", None), ("--html", Some(&b))],
                &[("FILE", Some(&input))],
            )
        };
        for (a, b) in [("new", "new"), ("new", "./new"), ("old", "link"), ("link", "link")] {
            let error = check(a, b, "other").unwrap_err();
            assert!(error.contains("--json and --html name the same file"), "{error}");
        }
        assert_eq!(check("new", "old", "other"), Ok(()));
        assert!(check("new", "link", "old").unwrap_err().starts_with("--html: "));
        let null = Path::new("/dev/null");
        assert_eq!(check_distinct(&[("--json", Some(null)), ("--html", Some(null))], &[]), Ok(()));
        let out = Path::new("-");
        assert_eq!(
            check_distinct(&[("--json", Some(out)), ("-o", Some(out))], &[("FILE", Some(out))]),
            Ok(())
        );
    }
}
