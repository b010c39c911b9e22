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

/// The limits of each crate. A crate without a row may have nothing of it.
fn limits(text: &str) -> BTreeMap<String, Idiom> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| cells[at].parse().unwrap();
        let (openers, bool_matches, tuple_parameters) = (number(1), number(2), number(3));
        (cells[0].to_owned(), Idiom { comments: 0, openers, bool_matches, tuple_parameters })
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn refused_idiom_becomes_less() {
    let path = root().join(LIMITS);
    let counts = counts();
    let limits = limits(&fs::read_to_string(&path).unwrap());
    let mut faults = Vec::new();
    let mut lowered = String::from("crate\topeners\tbool matches\ttuple parameters\n");
    println!(
        "| crate | doc comments | refused openers | matches of a bool | tuples as parameters |"
    );
    for (name, count) in &counts {
        let Idiom { comments, openers, bool_matches, tuple_parameters } = count;
        println!("| {name} | {comments} | {openers} | {bool_matches} | {tuple_parameters} |");
        let allowed = limits.get(name).copied().unwrap_or_default();
        faults.extend(count.above(&allowed).iter().map(|fault| format!("{name}: {fault}")));
        let least = |found: &usize, allowed: usize| *found.min(&allowed);
        let cells = [
            least(openers, allowed.openers),
            least(bool_matches, allowed.bool_matches),
            least(tuple_parameters, allowed.tuple_parameters),
        ];
        let _ = writeln!(lowered, "{name}\t{}\t{}\t{}", cells[0], cells[1], cells[2]);
    }
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, lowered).unwrap();
    }
    crate::none("Comments and code are read once", &faults);
}
