//! JSON for people, in the layout of `serde_json`.
//!
//! One writer serialises everything, and its output is then indented or parsed: each further writer would
//! compile the code of plans and records again.

use serde::Serialize;
use serde_json::Value;

/// JSON in lines, indented by two.
///
/// # Errors
/// Returns an error if the document has no JSON form.
pub fn pretty(document: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string(document).map(|text| indented(&text))
}

/// Text of a document for a file, without what controls a terminal, with a line end.
///
/// # Errors
/// Returns an error if the document has no JSON form.
pub fn document(document: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    Ok(steady(&pretty(document)?) + "\n")
}

/// Returns the JSON with terminal control characters escaped; such occur only within strings.
fn steady(json: &str) -> String {
    let mut steady = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && crate::escape::is_unsafe(c) {
            steady.push_str(&format!("\\u{:04x}", c as u32));
        } else {
            steady.push(c);
        }
    }
    steady
}

/// Returns the data of a document as a value.
///
/// # Errors
/// Returns an error if the document has no JSON form.
pub fn value(document: &(impl Serialize + ?Sized)) -> serde_json::Result<Value> {
    serde_json::from_slice(serde_json::to_string(document)?.as_bytes())
}

/// Compact JSON in lines.
fn indented(compact: &str) -> String {
    let mut lines = String::with_capacity(compact.len() * 2);
    let mut depth = 0;
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = compact.chars().peekable();
    while let Some(c) = rest.next() {
        if in_string {
            lines.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        if matches!(c, '}' | ']') {
            depth -= 1;
            new_line(&mut lines, depth);
        }
        lines.push(c);
        match c {
            '"' => in_string = true,
            '{' | '[' => match rest.next_if(|next| matches!(next, '}' | ']')) {
                Some(empty) => lines.push(empty),
                None => {
                    depth += 1;
                    new_line(&mut lines, depth);
                }
            },
            ',' => new_line(&mut lines, depth),
            ':' => lines.push(' '),
            _ => {}
        }
    }
    lines
}

fn new_line(lines: &mut String, depth: usize) {
    lines.push('\n');
    lines.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_laid_out_as_by_the_library() {
        for document in [
            json!(null),
            json!([]),
            json!({"a": {}, "b": [], "c": [[], {}, [1, -2.5e300]], "d": {"e": {"f": true}}}),
            json!({"quoted \" \\": "[{,:}]\\\"", "\u{1}é": "ends in a backslash \\"}),
        ] {
            let expected = serde_json::to_string_pretty(&document).unwrap();
            assert_eq!(pretty(&document).unwrap(), expected);
            assert_eq!(value(&document).unwrap(), document);
        }
    }
}
