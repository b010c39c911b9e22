//! Prometheus's text format: families, and lines with labels.
//!
//! Pages choose the figures and names: [`openmetrics`](crate::openmetrics) has keystorm's, and imitated tools
//! have theirs. <https://prometheus.io/docs/specs/om/open_metrics_spec/>

use std::fmt::Display;

/// A page being written.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    /// Labels of every line, in text form.
    labels: String,
}

impl Exposition {
    /// Creates an empty page whose lines will all have these labels.
    pub fn new(labels: &[(&str, &str)]) -> Self {
        Self { text: String::new(), labels: written(labels) }
    }

    /// Begins a family. An empty `help` or `unit` is left out; `name` ends in the unit, if there is one.
    pub fn family(&mut self, name: &str, kind: &str, help: &str, unit: &str) {
        if !help.is_empty() {
            self.text += &format!("# HELP {name} {help}\n");
        }
        self.text += &format!("# TYPE {name} {kind}\n");
        if !unit.is_empty() {
            self.text += &format!("# UNIT {name} {unit}\n");
        }
    }

    /// Writes a line of the family. `name` is the family's, with the suffix required by its kind.
    pub fn line(&mut self, name: &str, labels: &[(&str, &str)], value: &dyn Display) {
        let own = written(labels);
        let comma = if self.labels.is_empty() || own.is_empty() { "" } else { "," };
        let all = format!("{}{comma}{own}", self.labels);
        if all.is_empty() {
            self.text += &format!("{name} {value}\n");
        } else {
            self.text += &format!("{name}{{{all}}} {value}\n");
        }
    }

    /// Writes a family of one line without labels of its own.
    pub fn one(&mut self, name: &str, kind: &str, help: &str, value: &dyn Display) {
        self.family(name, kind, help, "");
        self.line(name, &[], value);
    }

    /// The page.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Returns the page with OpenMetrics's end mark.
    pub fn into_open_metrics(self) -> String {
        self.text + "# EOF\n"
    }
}

/// A number in OpenMetrics's form: with a point, or with an exponent if it would be very long.
pub fn decimal(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        return format!("{number:e}");
    }
    let text = number.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

/// Labels, separated by commas.
fn written(labels: &[(&str, &str)]) -> String {
    let escaped =
        |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    labels.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_the_page_come_first_and_are_escaped() {
        let mut page = Exposition::new(&[("note", "a\"b\\c\nd")]);
        page.family("time_seconds", "gauge", "A time", "seconds");
        page.line("time_seconds", &[("le", "1")], &decimal(0.5));
        page.line("time_seconds", &[], &7);
        let note = r#"note="a\"b\\c\nd""#;
        let expected = format!(
            "# HELP time_seconds A time\n# TYPE time_seconds gauge\n# UNIT time_seconds seconds\n\
             time_seconds{{{note},le=\"1\"}} 0.5\ntime_seconds{{{note}}} 7\n# EOF\n"
        );
        assert_eq!(page.into_open_metrics(), expected);
    }

    #[test]
    fn numbers_have_a_point_or_an_exponent() {
        for (number, expected) in [
            (0.0, "0.0"),
            (100.0, "100.0"),
            (0.00001, "0.00001"),
            (1.25e-7, "1.25e-7"),
            (1e22, "1e22"),
        ] {
            assert_eq!(decimal(number), expected);
        }
    }
}
