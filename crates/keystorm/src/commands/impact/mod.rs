//! `keystorm impact`: runs [`acts`] beside a load, or the kinds of a [`mix`]; also compares two saved price
//! lists.
//!
//! [`stage`] is the server as acts see it, [`player`] plays them one after another, [`migration`] moves
//! slots.

mod acts;
mod migration;
mod mix;
mod options;
mod player;
mod stage;

use std::fs;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use cli::experiment::{with_load, with_those_of_a_run};
use cli::front::{Front, command};
use cli::job::{End, Job};
use cli::run::ParsedArgs;
use lab::Impact;
use lab::impact::SCHEMA;
use naming::REQUESTS;

use self::options::{Options, intent};
use crate::experiment::terminal::Terminal;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["impact"],
    command: || with_those_of_a_run(command::<Options>(), &[REQUESTS]),
    parse: |args| with_load(args, |options, load, shown| intent(options, load, shown, impact)),
};

/// Measures the cost of operations, and prints the price list.
///
/// # Errors
/// Returns an error if something cannot be measured or written; earlier results are printed.
fn impact(options: &Options, load: &ParsedArgs, job: &Job) -> Result<End> {
    if options.is_mix() {
        mix::carry_out(options, load, job)
    } else {
        acts::carry_out(options, job)
    }
}

/// Compares two saved price lists; returns `None` if neither file is one.
///
/// # Errors
/// Returns an error if only one is a price list, or one cannot be read.
pub(crate) fn compared(paths: [&Path; 2]) -> Result<Option<End>> {
    let [a, b] = match paths.map(is_list) {
        [false, false] => return Ok(None),
        [true, true] => paths.map(read),
        [is_first, _] => {
            let other = paths[usize::from(is_first)].display();
            bail!("{other}: not a price list of impact; compare two price lists")
        }
    };
    let names = paths.map(|path| path.display().to_string());
    let names = names.each_ref().map(String::as_str);
    Terminal::of_stdout().table(&a?.compared_with(&b?, names))?;
    Ok(Some(End::Complete))
}

fn read(path: &Path) -> Result<Impact> {
    let name = path.display();
    let bytes = fs::read(path).with_context(|| format!("{name}"))?;
    Impact::from_json(&bytes).map_err(|why| anyhow!("{name}: {why}"))
}

/// Returns whether a file begins like a price list.
fn is_list(path: &Path) -> bool {
    let mut head = [0; 200];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut head));
    read.is_ok_and(|n| String::from_utf8_lossy(&head[..n]).contains(SCHEMA))
}
