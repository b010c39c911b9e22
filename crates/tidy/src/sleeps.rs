//! Fixed sleeps in tests: those that wait for seconds where they should wait for a state.

use crate::Fault;
use crate::source::{indent, tests_only};

/// Sleeps in the test code of a formatted file, except in a `loop` or `while` that looks at a state each time.
pub fn fixed_sleeps(path: &str, text: &str) -> Vec<Fault> {
    let lines = tests_only(path, text);
    let faults = lines.iter().enumerate().filter(|(at, line)| {
        (line.contains("thread::sleep(") || line.contains(" sleep(Duration"))
            && !line.trim_start().starts_with("//")
            && !is_in_a_look(&lines, *at)
    });
    faults.map(|(at, line)| Fault { line: at + 1, what: line.trim().to_owned() }).collect()
}

/// Returns whether a line is in the body of a `loop` or `while` of its function.
fn is_in_a_look(lines: &[&str], at: usize) -> bool {
    let mut outer = indent(lines[at]);
    for line in lines[..at].iter().rev().filter(|line| !line.trim().is_empty()) {
        if indent(line) >= outer {
            continue;
        }
        outer = indent(line);
        let words = line.trim_start();
        if words.starts_with("loop {")
            || words.starts_with("while ")
            || words.ends_with(" = loop {")
        {
            return true;
        }
        if words.contains("fn ") {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_refused_unless_it_is_between_two_looks() {
        let fixed = "fn t() {\n    go();\n    thread::sleep(Duration::from_secs(1));\n}";
        let faults = fixed_sleeps("crates/x/tests/t.rs", fixed);
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].line, 3);
        assert_eq!(fixed_sleeps("crates/x/src/t.rs", fixed), []);
        let module = format!("#[cfg(test)]\nmod tests {{\n{fixed}\n}}");
        assert_eq!(fixed_sleeps("crates/x/src/t.rs", &module).len(), 1);
        let look = "fn t() {\n    while !there() {\n        thread::sleep(SHORT);\n    }\n}";
        assert_eq!(fixed_sleeps("crates/x/tests/t.rs", look), []);
        let after =
            "fn t() {\n    while !there() {\n        go();\n    }\n    thread::sleep(LONG);\n}";
        assert_eq!(fixed_sleeps("crates/x/tests/t.rs", after).len(), 1);
    }
}
