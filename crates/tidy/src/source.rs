//! Lines of a file that are tests.

/// Returns whether a whole file is test code, by its path from the root.
pub fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["/tests/", "/benches/", "/runner/src/replay/"].iter().any(|folder| path.contains(folder))
        || name.ends_with("tests.rs")
        || name == "fixture.rs"
}

/// The lines of a formatted file with those of `#[cfg(test)] mod … { … }` emptied, so that numbers stay.
pub fn without_tests(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut inside = false;
    for at in 0..lines.len() {
        inside |= at > 0 && lines[at - 1] == "#[cfg(test)]" && lines[at].ends_with(" {");
        let ends = lines[at] == "}";
        if inside {
            lines[at] = "";
        }
        inside &= !ends;
    }
    lines
}

/// The lines of a formatted file that are test code, with the others emptied; all of a test file.
pub(crate) fn tests_only<'t>(path: &str, text: &'t str) -> Vec<&'t str> {
    if is_test(path) {
        return text.lines().collect();
    }
    let rest = without_tests(text);
    text.lines().zip(rest).map(|(line, kept)| if kept.is_empty() { line } else { "" }).collect()
}

/// Returns the indent of a line, in bytes.
pub(crate) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn a() {\n}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}";

    #[test]
    fn a_module_of_tests_is_distinguished_from_the_rest() {
        let expected = ["fn a() {", "}", "#[cfg(test)]", "", "", "", "fn c() {}"];
        assert_eq!(without_tests(FILE), expected);
        let tests = tests_only("crates/x/src/lib.rs", FILE);
        assert_eq!(tests, ["", "", "", "mod tests {", "    fn b() {}", "}", ""]);
        assert!(is_test("crates/x/tests/a.rs") && is_test("crates/x/src/plan/check_tests.rs"));
        assert!(!is_test("crates/x/src/plan.rs"));
    }
}
