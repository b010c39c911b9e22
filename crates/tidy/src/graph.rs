//! Dependencies between crates.

use std::collections::BTreeSet;

/// Name and dependencies of a crate, from its `Cargo.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Path of the crate from the root, such as `crates/wire`.
    pub path: String,
    /// The name of its package.
    pub package: String,
    /// The names on the left of `[dependencies]`, as the workspace has them.
    pub dependencies: BTreeSet<String>,
}

impl Manifest {
    /// Reads a `Cargo.toml`. Dependencies of tests and of the build are left out.
    pub fn new(path: &str, text: &str) -> Self {
        let mut section = "";
        let mut package = String::new();
        let mut dependencies = BTreeSet::new();
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                section = line;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            match section {
                "[package]" if key.trim() == "name" => {
                    package = value.trim().trim_matches('"').to_owned();
                }
                "[dependencies]" => {
                    let name = key.trim().split('.').next().unwrap_or_default();
                    dependencies.insert(name.to_owned());
                }
                _ => {}
            }
        }
        Self { path: path.to_owned(), package, dependencies }
    }

    /// The name by which other crates depend on it: the last part of its path.
    pub fn name(&self) -> String {
        self.path.rsplit('/').next().unwrap_or_default().to_owned()
    }
}

/// Dependencies, direct or not, of the crate `lower` that are among `upper`: sentences that name the way.
pub fn upward(crates: &[Manifest], lower: &str, upper: &[&str]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![lower.to_owned()];
    let mut faults = Vec::new();
    while let Some(name) = open.pop() {
        let Some(found) = crates.iter().find(|manifest| manifest.name() == name) else { continue };
        for dependency in &found.dependencies {
            if upper.contains(&dependency.as_str()) {
                faults.push(format!("{lower} depends on {dependency}, by {name}"));
            }
            if seen.insert(dependency.clone()) {
                open.push(dependency.clone());
            }
        }
    }
    faults
}

/// Crates that have no row in a page's tables: one that begins with their path or their folder's name.
pub fn undocumented(crates: &[Manifest], page: &str) -> Vec<String> {
    let has_row = |manifest: &&Manifest| {
        let short = manifest.path.rsplit('/').next().unwrap_or_default();
        let rows = [format!("| `{short}` |"), format!("| `{}` |", manifest.path)];
        page.lines().any(|line| rows.iter().any(|row| line.starts_with(row)))
    };
    crates.iter().filter(|manifest| !has_row(manifest)).map(|m| m.path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(path: &str, dependencies: &str) -> Manifest {
        let text = format!(
            "[package]\nname = \"x\"\n[dependencies]\n{dependencies}\n[dev-dependencies]\ncli = 1\n"
        );
        Manifest::new(path, &text)
    }

    #[test]
    fn a_way_up_is_found_over_others() {
        let crates = [
            manifest("crates/report", "measure.workspace = true"),
            manifest("crates/measure", "job = { workspace = true }"),
            manifest("crates/wire", ""),
        ];
        assert_eq!(
            upward(&crates, "report", &["job", "cli"]),
            ["report depends on job, by measure"]
        );
        assert_eq!(upward(&crates, "wire", &["job", "cli"]), [""; 0]);
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        let crates = [manifest("crates/wire", ""), manifest("peers", "")];
        assert_eq!(undocumented(&crates, "| `wire` | bytes |\n| `peer` |"), ["peers"]);
        assert_eq!(undocumented(&crates, "| `wire` | b |\n| `peers` | c |"), [""; 0]);
    }
}
