//! `keystorm describe`: reads records and describes their traffic as text, JSON, a page or a workload.

mod layout;
mod options;
mod spelling;
mod words;
mod workload_file;

use std::io::IsTerminal;
use std::sync::atomic::Ordering;

use anyhow::{Result, anyhow};
use cli::console::result_file::ResultFile;
use cli::console::{bar, diagnostics};
use cli::front::{Front, command, with_options};
use cli::job::{End, Intent};
use report::page::{Block, Page, term};
use traffic::describe::{Describer, Description};
use traffic::{Event, ReadError};

use self::options::Options;
use crate::commands::pages::Pages;
use crate::commands::run::say;
use crate::signals;

/// Number of events between two checks for Ctrl-C.
const EVENTS_BETWEEN_LOOKS: u64 = 10_000;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["describe"],
    command: command::<Options>,
    parse: |args| {
        with_options(args, |options: Options| {
            let options = options.checked()?;
            Ok(Intent::carry(move || describe(&options)))
        })
    },
};

/// Describes records.
///
/// # Errors
/// A file cannot be read, or a result not written. What could be read before a file turned out to be damaged is
/// described.
fn describe(job: &Options) -> Result<End> {
    let interrupted = signals::interrupted()?;
    let pages = Pages::open(&job.pages)?;
    let workload =
        job.workload.as_deref().map(|path| ResultFile::new("--workload", path)).transpose()?;
    let mut reader = traffic::open(&job.files, job.format.as_deref()).map_err(in_words)?;
    let source = reader.source().clone();
    let mut describer = Describer::new(&source);
    let mut event = Event::default();
    let (mut events, mut end) = (0_u64, End::Complete);
    loop {
        match reader.next(&mut event) {
            Ok(true) => describer.add(&event),
            Ok(false) => break,
            Err(error) if events > 0 => {
                diagnostics::say(format_args!("warning: {}", in_words(error)))?;
                end = End::Failed;
                break;
            }
            Err(error) => return Err(in_words(error)),
        }
        events += 1;
        if events % EVENTS_BETWEEN_LOOKS == 0 && interrupted.load(Ordering::Relaxed) {
            end = End::Interrupted;
            break;
        }
    }
    let description = describer.finish(&source, &reader.losses());
    if description.events == 0 {
        let first = job.files.first().map(|file| file.display().to_string()).unwrap_or_default();
        return Err(anyhow!("{first}: no command in it could be read"));
    }
    if let Some(place) = workload {
        let file = workload_file::file(&description)?;
        place.write(file.text.as_bytes())?;
        if let Some(left_out) = file.left_out {
            let path = job.workload.as_deref().unwrap_or(std::path::Path::new(""));
            let path = report::escape(path.display().to_string());
            diagnostics::say(format_args!("note: {path} leaves out {left_out}"))?;
        }
    }
    let page = layout::page(&description, &reader.losses());
    if job.json {
        say(&json(&description)?)?;
    } else {
        let is_colourful = term::colour_wanted(
            std::io::stdout().is_terminal() && !bar::is_shown(),
            std::env::var_os("NO_COLOR").as_deref(),
            std::env::var_os("TERM").as_deref(),
        );
        say(&text(&page, is_colourful))?;
    }
    pages.write(&page)?;
    Ok(end)
}

/// An error of reading, for a person.
fn in_words(error: ReadError) -> anyhow::Error {
    anyhow!(report::escape(error.to_string()))
}

/// The page as text for a terminal.
fn text(page: &Page, is_colourful: bool) -> String {
    let mut text = String::new();
    for verdict in &page.lede {
        text += &format!("{}\n{}\n", term::bold(&verdict.headline, is_colourful), verdict.text);
    }
    for section in &page.sections {
        let blocks: String =
            section.blocks.iter().map(|block| shown(block, is_colourful)).collect();
        if !blocks.is_empty() {
            text += &format!("\n{}\n{blocks}", term::bold(&section.heading, is_colourful));
        }
    }
    text
}

fn shown(block: &Block, is_colourful: bool) -> String {
    match block {
        Block::Text(text) | Block::Note(_, text) => format!("{}\n", report::escape(text)),
        Block::Table(table) => term::table(table, is_colourful),
        Block::KeyValues(pairs) => {
            let rows: Vec<Vec<String>> =
                pairs.iter().map(|(name, value)| vec![name.clone(), value.clone()]).collect();
            term::prose(&rows, 100)
        }
        // Charts are for pages.
        _ => String::new(),
    }
}

fn json(description: &Description) -> Result<String> {
    let mut json = serde_json::to_value(description)?;
    if let Some(fields) = json.as_object_mut() {
        fields.insert("schema".into(), "keystorm.describe/1".into());
        fields.insert("keystorm".into(), env!("CARGO_PKG_VERSION").into());
    }
    Ok(report::json::pretty(&json)? + "\n")
}
