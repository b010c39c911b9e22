//! Files of a crate that import each other in a circle: no one of them can be read first.

use std::collections::{BTreeMap, BTreeSet};

use tidy::without_tests;

/// Longest chain of names that stand for others.
const REEXPORTS_MAX: usize = 8;

/// A module by its names below the crate; empty for the crate itself.
type Module = Vec<String>;

/// A path that a file names.
#[derive(Debug)]
struct Path {
    names: Vec<String>,
    /// Set if others may use the last name as one of this module.
    exported: bool,
}

/// Returns the circles of a crate's files, each as the paths of its files, from the path from `src/` and the text of
/// each file. A module that only passes on the names of those below it does not depend on them.
pub(crate) fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let modules: BTreeMap<Module, &str> =
        files.iter().map(|(path, _)| (module(path), *path)).collect();
    let paths: BTreeMap<Module, Vec<Path>> =
        files.iter().map(|(path, text)| (module(path), paths(text))).collect();
    let direct: BTreeMap<&Module, BTreeSet<Module>> =
        modules.keys().map(|from| (from, imported(from, &paths))).collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        modules.keys().map(|from| (from, reached(from, &direct))).collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (from, to) in &reached {
        let back = to.iter().filter(|other| reached[*other].contains(*from));
        let circle: Vec<String> = back.map(|other| modules[*other].to_owned()).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

/// The module that a file is, by its path from `src/`.
fn module(path: &str) -> Module {
    let names = path.trim_end_matches(".rs").split('/').map(str::to_owned);
    let mut names: Module = names.collect();
    if names.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        names.pop();
    }
    names
}

/// The modules that a module names.
fn imported(from: &Module, paths: &BTreeMap<Module, Vec<Path>>) -> BTreeSet<Module> {
    let owners = paths[from].iter().filter_map(|path| {
        let owner = owner(from, path, paths, 0)?;
        (owner != *from && !(path.exported && owner.starts_with(from))).then_some(owner)
    });
    owners.collect()
}

/// The modules that a module depends on, directly or by others.
fn reached<'m>(
    from: &'m Module,
    direct: &'m BTreeMap<&Module, BTreeSet<Module>>,
) -> BTreeSet<&'m Module> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        open.extend(direct[module].iter().filter(|to| seen.insert(*to)));
    }
    seen
}

/// The module that has what a path names; `None` outside the crate.
fn owner(
    from: &Module,
    path: &Path,
    paths: &BTreeMap<Module, Vec<Path>>,
    reexports: usize,
) -> Option<Module> {
    let absolute = absolute(from, &path.names, paths)?;
    let len = (0..=absolute.len()).rev().find(|len| paths.contains_key(&absolute[..*len]))?;
    let (module, rest) = (absolute[..len].to_vec(), &absolute[len..]);
    let name = rest.first();
    let passed_on = paths[&module].iter().find(|other| other.names.last() == name);
    match passed_on {
        Some(other) if name.is_some() && reexports < REEXPORTS_MAX && other.names != path.names => {
            owner(&module, other, paths, reexports + 1).or(Some(module))
        }
        _ => Some(module),
    }
}

/// A path from the crate's root; `None` if it begins with another crate.
fn absolute(
    from: &Module,
    names: &[String],
    paths: &BTreeMap<Module, Vec<Path>>,
) -> Option<Module> {
    let ups = names.iter().take_while(|name| *name == "super").count();
    let (first, below) = names.split_first()?;
    let start = match first.as_str() {
        "crate" => return Some(below.to_vec()),
        "self" => return Some([from, below].concat()),
        "super" => &from[..from.len().checked_sub(ups)?],
        _ => from,
    };
    let path = [start, &names[ups..]].concat();
    (ups > 0 || paths.contains_key(&path[..from.len() + 1])).then_some(path)
}

/// The paths that a formatted file names, tests left out.
fn paths(text: &str) -> Vec<Path> {
    let code = without_tests(text);
    let code: Vec<&str> = code.iter().map(|line| line.split("//").next().unwrap_or("")).collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for statement in code.split_inclusive(';') {
        let start = statement.rfind("\nuse ").or_else(|| statement.rfind("\npub"));
        let line = start.map_or(statement, |at| &statement[at + 1..]);
        let exported = line.starts_with("pub");
        let tree = line.split_once("use ").filter(|(before, _)| !before.contains(['\n', '=']));
        match tree.filter(|_| exported || line.starts_with("use ")) {
            Some((_, tree)) => {
                let tree: String =
                    tree.trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ");
                let names = branches(&tree).into_iter();
                found.extend(names.map(|names| Path { names, exported }));
            }
            None => found.extend(mentions(statement)),
        }
    }
    found
}

/// The paths of a tree of imports: `a::{b, c::d}` has two.
fn branches(tree: &str) -> Vec<Vec<String>> {
    let Some((before, inside)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        let names = path.split("::").filter(|name| !["", "*"].contains(name));
        return vec![names.map(str::to_owned).collect()];
    };
    let inside = inside.strip_suffix('}').unwrap_or(inside);
    let mut depth = 0;
    let parts = inside.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(|part| branches(&format!("{}{part}", before.trim()))).collect()
}

/// The paths in code that begin with `crate` or `super`.
fn mentions(code: &str) -> impl Iterator<Item = Path> {
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let paths = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    paths.map(|path| {
        let names = path.split("::").filter(|name| !name.is_empty()).map(str::to_owned);
        Path { names: names.collect(), exported: false }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\n\npub use a::{A, self};\npub use c::d::D;\n"),
            ("a.rs", "use crate::b::{\n    B,\n    other::C,\n};\n\npub struct A;\n"),
            ("b.rs", "use std::fmt;\n\nuse crate::c::C;\n\npub struct B(crate::A);\n"),
            ("c/mod.rs", "mod d;\npub(crate) use d::D;\npub struct C;\n"),
            (
                "c/d.rs",
                "use super::C;\n// crate::a::A\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            ),
        ];
        assert_eq!(circles(&files), [["a.rs", "b.rs"]]);
        let mut up = files;
        up[3].1 = "mod d;\nuse d::D;\npub struct C(D);\n";
        assert_eq!(circles(&up), [vec!["a.rs", "b.rs"], vec!["c/mod.rs", "c/d.rs"]]);
        assert!(circles(&files[3..]).is_empty(), "{:?}", circles(&files[3..]));
    }
}
