//! Counts of refused idiom by crate, which may only fall. `idiom.tsv` beside this file has the most that each crate may
//! have; `TIDY_WRITE=1` lowers what has become less.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use tidy::Idiom;

use crate::{WRITE, root, sources};

/// File of the limits.
const LIMITS: &str = "crates/tidy/tests/tree/idiom.tsv";

/// The counts of each crate.
fn counts() -> BTreeMap<String, Idiom> {
    let mut found: BTreeMap<String, Idiom> = BTreeMap::new();
    for (path, text) in sources().iter().filter(|(path, _)| !tidy::is_test(path)) {
        let name: Vec<&str> = path.split('/').take(2).collect();
        found.entry(name.join("/")).or_default().add(Idiom::of_file(text));
    }
    found
}

/// The limits of each crate. A crate without a row may have nothing of it; a column that is not there yet has no limit.
fn limits(text: &str) -> BTreeMap<String, Idiom> {
    let rows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| cells.get(at).map_or(usize::MAX, |cell| cell.parse().unwrap());
        let limits = Idiom {
            comments: 0,
            openers: number(1),
            bool_matches: number(2),
            tuple_parameters: number(3),
            closures: number(4),
        };
        (cells[0].to_owned(), limits)
    });
    rows.collect()
}

#[test]
fn refused_idiom_becomes_less() {
    let path = root().join(LIMITS);
    let counts = counts();
    let limits = limits(&fs::read_to_string(&path).unwrap());
    let mut faults = Vec::new();
    let mut lowered =
        String::from("crate\topeners\tbool matches\ttuple parameters\tclosures used once\n");
    println!(
        "| crate | doc comments | refused openers | matches of a bool | tuples as parameters | closures used once |"
    );
    for (name, count) in &counts {
        let Idiom { comments, openers, bool_matches, tuple_parameters, closures } = count;
        println!(
            "| {name} | {comments} | {openers} | {bool_matches} | {tuple_parameters} | {closures} |"
        );
        let allowed = limits.get(name).copied().unwrap_or_default();
        faults.extend(count.above(&allowed).iter().map(|fault| format!("{name}: {fault}")));
        let pairs = [
            (openers, allowed.openers),
            (bool_matches, allowed.bool_matches),
            (tuple_parameters, allowed.tuple_parameters),
            (closures, allowed.closures),
        ];
        let cells = pairs.map(|(found, allowed)| found.min(&allowed).to_string());
        let _ = writeln!(lowered, "{name}\t{}", cells.join("\t"));
    }
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, lowered).unwrap();
    }
    crate::none("Comments and code are read once", &faults);
}
