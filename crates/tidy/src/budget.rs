//! Product lines of each area of the program, and their limits.
//!
//! A product line is neither blank nor a comment nor part of a test or of what only tests use. The table is printed by
//! `tests/tree/budget.rs` and stands in docs/architecture.md.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::source::{is_test, without_tests};

/// A part of the program with a limit on its product lines.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    /// Name of the area in the table.
    pub name: &'static str,
    /// Starts of the paths of its files, from the root. A file belongs to the area with the longest that fits.
    pub paths: &'static [&'static str],
    /// The most product lines that it may have. It may only be lowered.
    pub budget: usize,
}

/// Product lines of an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AreaCount {
    /// The area's name.
    pub name: &'static str,
    /// Number of product lines of the area.
    pub lines: usize,
    /// The most that it may have.
    pub budget: usize,
}

/// Lines of a file that are neither blank nor comments nor those of a `#[cfg(test)]` module.
pub fn code_lines(text: &str) -> usize {
    let code = without_tests(text).into_iter().filter(|line| {
        let words = line.trim_start();
        !words.is_empty() && !words.starts_with("//")
    });
    code.count()
}

/// Paths of the files, and of the folders below them, that a `#[cfg(test)]` module declaration leads to.
pub fn test_modules(sources: &[(String, String)]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, text) in sources {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for at in (0..lines.len()).filter(|at| lines[*at] == "#[cfg(test)]") {
            let attributes = lines[at + 1..].iter().take_while(|line| line.starts_with("#["));
            let attributes: Vec<&str> = attributes.copied().collect();
            let Some(declaration) = lines.get(at + 1 + attributes.len()) else { continue };
            let Some(name) = module_name(declaration) else { continue };
            let file = attributes.iter().find_map(|line| {
                line.strip_prefix("#[path = \"")?.strip_suffix("\"]").map(str::to_owned)
            });
            let (folder, own) = path.rsplit_once('/').unwrap_or(("", path));
            let is_root = matches!(own, "mod.rs" | "lib.rs" | "main.rs");
            found.extend(match file {
                Some(file) => vec![format!("{folder}/{file}")],
                None => {
                    let stem = own.trim_end_matches(".rs");
                    let base = if is_root { folder.to_owned() } else { format!("{folder}/{stem}") };
                    vec![format!("{base}/{name}.rs"), format!("{base}/{name}/")]
                }
            });
        }
    }
    found
}

/// `name` of `mod name;`, whatever its visibility.
fn module_name(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("mod ")?;
    let is_visibility = before.is_empty() || before.starts_with("pub");
    rest.strip_suffix(';').filter(|_| is_visibility)
}

/// Counts the product lines of each area, in the areas' order. `support` lists starts of paths of what is compiled
/// into the program for tests alone.
///
/// # Errors
/// Returns the files that belong to no area.
pub fn count(
    sources: &[(String, String)],
    areas: &[Area],
    support: &[&str],
) -> Result<Vec<AreaCount>, Vec<String>> {
    let tests = test_modules(sources);
    let is_support = |path: &str| support.iter().any(|start| path.starts_with(start));
    let of_tests = |path: &str| {
        tests.iter().any(|test| path == test || test.ends_with('/') && path.starts_with(test))
    };
    let zeros =
        areas.iter().map(|area| AreaCount { name: area.name, lines: 0, budget: area.budget });
    let mut counts: Vec<AreaCount> = zeros.collect();
    let mut strangers = Vec::new();
    for (path, text) in sources {
        if is_test(path) || path.contains("/examples/") || is_support(path) || of_tests(path) {
            continue;
        }
        match area_of(path, areas) {
            Some(at) => counts[at].lines += code_lines(text),
            None => strangers.push(path.clone()),
        }
    }
    if strangers.is_empty() { Ok(counts) } else { Err(strangers) }
}

/// The place among `areas` of the area that a file belongs to.
fn area_of(path: &str, areas: &[Area]) -> Option<usize> {
    let fits = areas.iter().enumerate().flat_map(|(at, area)| {
        let starts = area.paths.iter().filter(|start| path.starts_with(**start));
        starts.map(move |start| (start.len(), at))
    });
    fits.max().map(|(_, at)| at)
}

/// The table of areas in Markdown, with their sum. Counts are rounded up to hundreds, so that not each change of the
/// code is one of the page.
pub fn table(counts: &[AreaCount]) -> String {
    let mut text = String::from("| area | product lines | budget |\n|---|---|---|\n");
    let rounded = |lines: usize| grouped(lines.div_ceil(100) * 100);
    for AreaCount { name, lines, budget } in counts {
        let _ = writeln!(text, "| {name} | {} | {} |", rounded(*lines), rounded(*budget));
    }
    let lines: usize = counts.iter().map(|count| count.lines).sum();
    let budget: usize = counts.iter().map(|count| count.budget).sum();
    let _ = writeln!(text, "| **all** | **{}** | **{}** |", rounded(lines), rounded(budget));
    text
}

/// `118,574` of 118574.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn comments_blanks_and_tests_are_no_product() {
        let text = "//! Head.\n\nfn a() {\n    // why\n    b();\n}\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        assert_eq!(code_lines(text), 4, "three of `a`, and the attribute");
    }

    #[test]
    fn modules_of_tests_are_found_by_their_declaration() {
        let files = sources(&[
            ("crates/x/src/lib.rs", "#[cfg(test)]\nmod replayed;\nmod real;\n"),
            ("crates/x/src/plan.rs", "#[cfg(test)]\n#[path = \"cases.rs\"]\nmod tests;\n"),
        ]);
        let found: Vec<String> = test_modules(&files).into_iter().collect();
        let expected =
            ["crates/x/src/cases.rs", "crates/x/src/replayed.rs", "crates/x/src/replayed/"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_counts_for_the_area_that_names_it_most_closely() {
        let areas = [
            Area { name: "all", paths: &["crates/"], budget: 9 },
            Area { name: "wire", paths: &["crates/wire/"], budget: 1 },
        ];
        let files = sources(&[
            ("crates/wire/src/lib.rs", "a\nb\n"),
            ("crates/x/src/lib.rs", "a\n"),
            ("crates/x/src/fixture.rs", "a\n"),
            ("crates/x/src/support/a.rs", "a\n"),
        ]);
        let counts = count(&files, &areas, &["crates/x/src/support/"]).unwrap();
        assert_eq!(counts.iter().map(|area| area.lines).collect::<Vec<_>>(), [1, 2]);
        assert!(table(&counts).contains("| **all** | **100** | **100** |"), "{}", table(&counts));
        let strange = count(&sources(&[("other/a.rs", "a\n")]), &areas, &[]);
        assert_eq!(strange.unwrap_err(), ["other/a.rs"]);
        assert_eq!((grouped(999), grouped(1_234_567)), ("999".to_owned(), "1,234,567".to_owned()));
    }
}
