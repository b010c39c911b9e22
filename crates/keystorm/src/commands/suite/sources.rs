//! Sources of specs: keystorm's own, files, and directories with everything below them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::options::Options;
use anyhow::{Context, Result, anyhow, bail};
use lab::suite::{BYTES_MAX, Spec, built_in, documents};
use serde_json::Value;

/// Maximum number of levels of nested directories.
const DEPTH_MAX: usize = 6;
/// Maximum number of files of specs that are read.
const FILES_MAX: usize = 10_000;
/// The file with the names of a cross-section's specs.
const CORE: &str = "core-specs.json";
/// The priority of keystorm's own specs that form a cross-section.
const CORE_PRIORITY: u32 = 1;

/// The specs to run.
pub(super) struct Sources {
    pub(super) specs: Vec<Spec>,
    /// Remarks on the specs, one line each.
    pub(super) remarks: Vec<String>,
    /// Set if the specs are keystorm's own.
    pub(super) is_own: bool,
}

/// Reads and selects the specs.
///
/// # Errors
/// Returns an error if a file cannot be read, or no spec is left.
pub(super) fn read(job: &Options) -> Result<Sources> {
    let mut remarks = Vec::new();
    let is_own = job.paths.is_empty();
    let mut specs =
        if is_own { built_in().map_err(|why| anyhow!(why))? } else { of_paths(job, &mut remarks)? };
    let all = specs.len();
    specs.retain(|spec| job.choice.takes(spec));
    let wanted = job.core().unwrap_or(!is_own && job.choice.is_all());
    if wanted && is_own {
        specs.retain(|spec| spec.priority == Some(CORE_PRIORITY));
    } else if wanted {
        match job.paths.iter().find_map(|path| core(path)) {
            Some(names) => {
                specs.retain(|spec| names.contains(&spec.name) || names.contains(&spec.file));
                let (chosen, how) = (specs.len(), "--all runs the others, too");
                remarks.push(format!("{chosen} of {all} specs, those of its {CORE}; {how}"));
            }
            None if job.core() == Some(true) => {
                bail!("--core: there is no {CORE} in or beside the directory")
            }
            None => {}
        }
    }
    if specs.is_empty() {
        bail!(
            "none of {} is chosen; see keystorm suite --list",
            workload::quantity::counted(all as u64, "spec")
        );
    }
    Ok(Sources { specs, remarks, is_own })
}

fn of_paths(job: &Options, remarks: &mut Vec<String>) -> Result<Vec<Spec>> {
    let mut specs: Vec<Spec> = Vec::new();
    for path in &job.paths {
        let is_directory = path.is_dir();
        let mut files = Vec::new();
        if is_directory {
            walk(path, 0, &mut files)?
        } else {
            files.push(path.clone())
        }
        for file in files {
            let stem = file
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            let text = text(&file)?;
            // Directories of specs have other files, too.
            if is_directory && !text.contains("clientconfig") {
                continue;
            }
            for document in documents(&text) {
                match Spec::parse(document, &stem) {
                    Ok(spec) if specs.iter().any(|other| other.name == spec.name) => {
                        remarks
                            .push(format!("{}: a second spec of that name is left out", spec.name));
                    }
                    Ok(spec) => specs.push(spec),
                    Err(why) if is_directory => {
                        remarks.push(format!("{}: not read: {why}", file.display()))
                    }
                    Err(why) => bail!("{}: {why}", file.display()),
                }
            }
        }
    }
    specs.sort_by(|a, b| {
        let group = |spec: &Spec| spec.groups.first().cloned().unwrap_or_default();
        group(a).cmp(&group(b)).then(a.name.cmp(&b.name))
    });
    Ok(specs)
}

/// Collects the files of specs in a directory and below, in order of name.
fn walk(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let fault = || directory.display().to_string();
    let mut entries: Vec<PathBuf> = fs::read_dir(directory)
        .with_context(fault)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()
        .with_context(fault)?;
    entries.sort();
    for path in entries {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        // Not through links, which may lead round in circles.
        if path.is_dir() && !path.is_symlink() && !hidden && depth < DEPTH_MAX {
            walk(&path, depth + 1, files)?;
        } else if path.extension().is_some_and(|end| end == "yml" || end == "yaml") {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            bail!("{}: over {FILES_MAX} files of specs", directory.display());
        }
    }
    Ok(())
}

fn text(path: &Path) -> Result<String> {
    let fault = || path.display().to_string();
    let mut bytes = Vec::new();
    let file = fs::File::open(path).with_context(fault)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).with_context(fault)?;
    if bytes.len() as u64 > BYTES_MAX {
        bail!("{}: over 16 MiB, too large for a spec", path.display());
    }
    String::from_utf8(bytes).map_err(|_| anyhow!("{}: is not UTF-8 text", path.display()))
}

/// The names in the cross-section of a directory, from a file in it or above it.
fn core(path: &Path) -> Option<Vec<String>> {
    let inside = ["", "__common__", "redis_benchmarks_specification/__common__", "../__common__"];
    let file =
        inside.iter().map(|place| path.join(place).join(CORE)).find(|file| file.is_file())?;
    let document: Value = serde_json::from_slice(text(&file).ok()?.as_bytes()).ok()?;
    let mut names = Vec::new();
    strings(&document, &mut names);
    Some(names)
}

/// Every text in a document, without the ending of a file's name.
fn strings(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let name = text.rsplit('/').next().unwrap_or(text);
            names.push(name.trim_end_matches(".yml").to_owned());
        }
        Value::Array(members) => members.iter().for_each(|member| strings(member, names)),
        Value::Object(pairs) => pairs.values().for_each(|member| strings(member, names)),
        _ => {}
    }
}
