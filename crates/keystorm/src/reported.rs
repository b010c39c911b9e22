//! Saved runs as a page, and its charts as pictures.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use page::Page;
use page::runs::Source;
use report::Loaded;

use crate::execute::{End, say};
use crate::front::ReportJob;
use crate::keep::Place;
use crate::saved;

/// Makes the page.
///
/// # Errors
/// What is wrong with a saved run, or why a file cannot be written.
pub(crate) fn report(job: &ReportJob) -> Result<End> {
    let place = job.output.as_deref().filter(|path| *path != Path::new("-"));
    let place = place.map(|path| Place::new("-o", path)).transpose()?;
    let loaded = job.files.iter().map(|file| Ok((file, saved::read(file)?)));
    let loaded: Vec<(&PathBuf, Loaded)> = loaded.collect::<Result<_>>()?;
    let page = page::runs::page(&sources(&loaded));
    let mut written: Vec<String> = Vec::new();
    match (&place, &job.output) {
        (Some(place), Some(path)) => {
            place.write(page.html().as_bytes())?;
            written.push(path.display().to_string());
        }
        (None, Some(_)) => return say(&page.html()),
        _ => {}
    }
    if let Some(dir) = &job.svg {
        written
            .extend(pictures(&page, dir, "--svg", "svg", |chart| Ok(chart.svg()?.into_bytes()))?);
    }
    if let Some(dir) = &job.png {
        written.extend(pictures(&page, dir, "--png", "png", |chart| Ok(chart.png()?))?);
    }
    if std::io::stdout().is_terminal() {
        let lines: Vec<String> =
            written.iter().map(|path| format!("Wrote {}\n", report::escape(path))).collect();
        say(&lines.concat())?;
    }
    Ok(End::Complete)
}

/// Each file goes by its name without directory and ending where that tells it from the others, and
/// in full elsewhere. The only one needs none.
fn sources<'l>(loaded: &'l [(&PathBuf, Loaded)]) -> Vec<Source<'l>> {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let shared =
        |path: &Path| loaded.iter().filter(|(other, _)| stem(other) == stem(path)).count() > 1;
    let name = |path: &Path| match stem(path) {
        _ if loaded.len() == 1 => String::new(),
        _ if path == Path::new("-") => "standard input".to_owned(),
        Some(stem) if !shared(path) => stem,
        _ => path.display().to_string(),
    };
    let source = |(path, loaded): &'l (&PathBuf, Loaded)| {
        let Loaded { runs, complete, .. } = loaded;
        Source { name: name(path), runs, complete: *complete }
    };
    loaded.iter().map(source).collect()
}

/// Writes every chart of the page and gives the names of the files.
fn pictures(
    page: &Page,
    dir: &Path,
    option: &'static str,
    extension: &str,
    drawn: impl Fn(&page::Chart) -> Result<Vec<u8>>,
) -> Result<Vec<String>> {
    let fault = || format!("{option} {}: cannot be made", dir.display());
    fs::create_dir_all(dir).with_context(fault)?;
    let mut written = Vec::new();
    for (name, chart) in page.charts() {
        let path = dir.join(format!("{name}.{extension}"));
        Place::new(option, &path)?.write(&drawn(chart)?)?;
        written.push(path.display().to_string());
    }
    Ok(written)
}
