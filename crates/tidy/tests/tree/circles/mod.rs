//! Files that import each other in circles: there are none.

mod imports;

use std::collections::BTreeMap;

use crate::sources;

#[test]
fn a_file_imports_downwards() {
    let sources = sources();
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in sources.iter().filter(|(path, _)| !tidy::is_test(path)) {
        if let Some((name, file)) = path.split_once("/src/") {
            crates.entry(name).or_default().push((file, text));
        }
    }
    let faults = crates.iter().flat_map(|(name, files)| {
        let circles = imports::circles(files).into_iter();
        circles.map(move |circle| format!("{name}: {}", circle.join(", ")))
    });
    crate::none("A file imports from those below it", &faults.collect::<Vec<_>>());
}
