//! Text and lengths as SVG has them: escaped, measured, and in tenths of a pixel.

use std::fmt::Display;

use super::theme::Role;

/// Size of labels in pixels.
pub(super) const LABEL: f64 = 12.0;

/// Units of a length in a pixel.
pub(super) const FINE: i32 = 10;

/// A point of a picture, in tenths of a pixel.
pub(super) type Point = (i32, i32);

/// A length in pixels, with as few digits as possible.
pub(super) fn px(fine: i32) -> String {
    let (whole, tenth) = (fine.abs() / FINE, fine.abs() % FINE);
    let sign = if fine < 0 { "-" } else { "" };
    if tenth == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{tenth}") }
}

/// Text escaped for XML, without characters that XML forbids.
pub(super) fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Width in pixels of a text of this size in a wide sans-serif font (DejaVu Sans); other fonts are narrower.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let widths = text.chars().map(|c| match c {
        'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | 'I' => 0.32,
        ' ' | 'f' | 't' | 'r' | '/' | '-' | '(' | ')' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        'A'..='Z' => 0.7,
        c if c.is_ascii() => 0.63,
        'µ' | '×' | '−' | '–' => 0.64,
        _ => 1.0,
    });
    widths.sum::<f64>() * size
}

/// Text cut to a width, with `…` at the end.
pub(super) fn shortened(text: &str, size: f64, width_max: f64) -> String {
    if text_width(text, size) <= width_max {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        if text_width(&short, size) + size * 1.6 > width_max {
            break;
        }
        short.push(c);
    }
    short.trim_end().to_owned() + "…"
}

/// A line along `path` in the colour of a role; `more` has further attributes, each after a space.
pub(super) fn stroked(role: Role, more: &str, path: &str) -> String {
    format!("<path {} fill=\"none\"{more} d=\"{path}\"/>\n", role.stroke())
}

/// The attributes of a rectangle: its upper left corner, width and height.
pub(super) fn rectangle(of: [i32; 4]) -> String {
    let [x, y, width, height] = of.map(px);
    format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
}

/// Attributes of a guide, and of the line of an interval.
pub(super) const GUIDE: &str = " stroke-width=\"1.5\" stroke-dasharray=\"5 4\"";
pub(super) const WHISKER: &str = " stroke-width=\"1.2\"";

/// A text in the size of labels, with its base line at `y` pixels, and its `anchor` at `x`.
pub(super) fn label(
    role: Role,
    x: impl Display,
    y: impl Display,
    anchor: &str,
    text: &str,
) -> String {
    format!(
        "<text {} x=\"{x}\" y=\"{y}\" font-size=\"{LABEL}\" text-anchor=\"{anchor}\">{}</text>\n",
        role.fill(),
        xml(text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_anybody_is_only_text() {
        assert_eq!(xml("<script>\"&\u{1b}\0"), "&lt;script&gt;&quot;&amp;\u{fffd}\u{fffd}");
        assert_eq!((px(123), px(-5), px(120)), ("12.3".into(), "-0.5".into(), "12".into()));
        let short = shortened("a very long name of a command", 10.0, 60.0);
        assert!(short.ends_with('…') && text_width(&short, 10.0) <= 62.0, "{short}");
    }
}
