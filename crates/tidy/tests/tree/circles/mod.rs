//! Files that import each other in circles, by crate. They may only become fewer.

mod imports;

use std::collections::BTreeMap;

use crate::sources;

/// Files of each crate that are in a circle.
const TIED: &[(&str, usize)] = &[("crates/runner", 26)];

#[test]
fn a_file_imports_downwards() {
    let sources = sources();
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in sources.iter().filter(|(path, _)| !tidy::is_test(path)) {
        if let Some((name, file)) = path.split_once("/src/") {
            crates.entry(name).or_default().push((file, text));
        }
    }
    let mut faults = Vec::new();
    println!("| crate | circles of files | files in them |");
    for (name, files) in &crates {
        let circles = imports::circles(files);
        let tied: usize = circles.iter().map(Vec::len).sum();
        if tied > 0 {
            println!("| {name} | {} | {tied} |", circles.len());
        }
        let allowed = TIED.iter().find(|(known, _)| known == name).map_or(0, |(_, tied)| *tied);
        if tied < allowed {
            faults.push(format!("{name} has {tied} files in circles: lower its row"));
        }
        if tied > allowed {
            let lines: Vec<String> = circles.iter().map(|circle| circle.join(", ")).collect();
            let lines = lines.join("\n    ");
            faults
                .push(format!("{name}: {tied} files in circles, {allowed} at most:\n    {lines}"));
        }
    }
    crate::none("A file imports from those below it", &faults);
}
