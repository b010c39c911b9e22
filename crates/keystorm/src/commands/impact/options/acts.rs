//! Acts: those that come with keystorm, those of a file, and the loads that start some of them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use cli::experiment::load;
use cli::job::UsageError;
use cli::suggestions;
use lab::impact::act::ActsFile;
use lab::impact::{Act, Family};
use spec::LoadSpec;

use super::{NAME, StagedAct};
use crate::experiment::table_file;

/// Acts that come with keystorm.
pub(super) const ACTS: &str = include_str!("acts.toml");

/// The acts of a file, or those that come with keystorm.
pub(super) fn read(path: Option<&Path>) -> Result<Vec<Act>, UsageError> {
    match path {
        Some(path) => {
            let name = format!("--acts {}", path.display());
            checked(&name, table_file::read("--acts", path)?)
        }
        None => checked("the acts of keystorm", table_file::parse("acts", ACTS)?),
    }
}

fn checked(name: &str, ActsFile { act: acts }: ActsFile) -> Result<Vec<Act>, UsageError> {
    let fault = |why: String| UsageError(format!("{name}: {why}"));
    acts.iter().try_for_each(Act::check).map_err(fault)?;
    let mut names = BTreeSet::new();
    if let Some(act) = acts.iter().find(|act| !names.insert(act.name.as_str())) {
        return Err(fault(format!("two acts are called {}", act.name)));
    }
    if acts.is_empty() {
        return Err(fault("it has no [[act]]".to_owned()));
    }
    Ok(acts)
}

/// Chooses the acts that are named; without names all that are for such servers.
pub(super) fn chosen(
    all: Vec<Act>,
    named: &[String],
    family: Family,
) -> Result<Vec<Act>, UsageError> {
    let known: Vec<&str> = all.iter().map(|act| act.name.as_str()).collect();
    if let Some(wrong) = named.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(UsageError(suggestions::one_of("act", wrong, &known)));
    }
    let chosen = all.into_iter().filter(|act| match named {
        [] => act.server == family,
        named => named.contains(&act.name),
    });
    let chosen: Vec<Act> = chosen.collect();
    match chosen.iter().find(|act| act.server != family) {
        Some(act) => Err(UsageError(format!("act {}: it is for another kind of server", act.name))),
        None if chosen.is_empty() => {
            Err(UsageError("none of the acts is for this kind of server".to_owned()))
        }
        None => Ok(chosen),
    }
}

/// The act with the plan of its load, at the same server.
pub(super) fn staged(act: Act, beside: &LoadSpec) -> Result<StagedAct, UsageError> {
    let Some(words) = &act.load else { return Ok(StagedAct { act, load: None }) };
    let fault = |why: String| UsageError(format!("act {}: load: {why}", act.name));
    let words = shell_words::split(words).map_err(|error| fault(error.to_string()))?;
    let read = load(NAME, words.into_iter().map(OsString::from).collect());
    let job = read.and_then(|load| {
        load.job(|spec| {
            (spec.server, spec.tls) = (beside.server.clone(), beside.tls.clone());
            spec.load.engine = beside.load.engine;
        })
    });
    let job = job.map_err(|UsageError(why)| fault(why))?;
    let [plan] = &job.plans[..] else { return Err(fault("it must be a single test".to_owned())) };
    Ok(StagedAct { act, load: Some(plan.clone()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Vec<Act>, UsageError> {
        checked(name, table_file::parse(name, text)?)
    }

    #[test]
    fn the_acts_that_come_with_it_are_valid_and_of_both_kinds_of_server() {
        let all = parse("acts", ACTS).unwrap();
        let of = |family| chosen(all.clone(), &[], family).unwrap().len();
        assert_eq!((of(Family::Redis), of(Family::Memcached)), (16, 3));
        assert!(chosen(all, &["slabs".to_owned()], Family::Redis).is_err());
    }

    #[test]
    fn what_a_file_says_wrong_is_named() {
        for (text, part) in [
            ("", "no [[act]]"),
            ("[[atc]]", "line 1: unknown field `atc`"),
            ("[[act]]\nname = \"a\"", "act a: nothing starts it"),
            ("[[act]]\nname = \"a\"\nstrat = [\"PING\"]", "line 3: unknown field `strat`"),
            (
                "[[act]]\nname=\"a\"\nstart=[\"PING\"]\n[[act]]\nname=\"a\"\nstart=[\"PING\"]",
                "two acts",
            ),
        ] {
            let UsageError(why) = parse("f.toml", text).expect_err(text);
            assert!(why.contains(part) && why.starts_with("f.toml"), "{why}");
        }
    }
}
