//! Drawing surface of `plotters`: SVG whose colours are roles.
//!
//! The library's own SVG backend writes fixed colours and whole pixels. Here an element carries the class of
//! its role, and the library counts in tenths of a pixel.

use std::convert::Infallible;
use std::fmt::Write;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

use super::theme::Role;

/// Units of the library in a pixel.
pub(super) const FINE: i32 = 10;

/// An SVG being drawn.
pub(super) struct Surface<'a> {
    pub(super) out: &'a mut String,
    /// Size in pixels.
    pub(super) size: (u32, u32),
}

type DrawResult = Result<(), DrawingErrorKind<Infallible>>;

/// A length of the library in pixels, with as few digits as possible.
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
    let em = |c: char| match c {
        'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | 'I' => 0.32,
        ' ' | 'f' | 't' | 'r' | '/' | '-' | '(' | ')' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        'A'..='Z' => 0.7,
        c if c.is_ascii() => 0.63,
        'µ' | '×' | '−' | '–' => 0.64,
        _ => 1.0,
    };
    text.chars().map(em).sum::<f64>() * size
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

impl DrawingBackend for Surface<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let fine = FINE.unsigned_abs();
        (self.size.0 * fine, self.size.1 * fine)
    }

    fn ensure_prepared(&mut self) -> DrawResult {
        Ok(())
    }

    fn present(&mut self) -> DrawResult {
        Ok(())
    }

    /// Does nothing, as no drawing here uses pixels.
    fn draw_pixel(&mut self, _: BackendCoord, _: BackendColor) -> DrawResult {
        Ok(())
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> DrawResult {
        self.draw_path([from, to], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> DrawResult {
        if style.color().alpha == 0.0 {
            return Ok(());
        }
        let points: Vec<String> =
            path.into_iter().map(|(x, y)| format!("{},{}", px(x), px(y))).collect();
        let _ = writeln!(
            self.out,
            "<polyline {} fill=\"none\" stroke-width=\"{}\" stroke-linejoin=\"round\" points=\"{}\"/>",
            Role::from_rgb(style.color().rgb).stroke(),
            px(style.stroke_width().cast_signed()),
            points.join(" "),
        );
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &T,
        (x, y): BackendCoord,
    ) -> DrawResult {
        let size = style.size();
        let anchor = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        // From where the text is anchored down to its base line.
        let down = match style.anchor().v_pos {
            VPos::Top => 0.85,
            VPos::Center => 0.36,
            VPos::Bottom => -0.2,
        };
        let _ = writeln!(
            self.out,
            "<text {} x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            Role::from_rgb(style.color().rgb).fill(),
            px(x),
            px(y + (size * down) as i32),
            px(size as i32),
            xml(text),
        );
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        text: &str,
        style: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((text_width(text, style.size()) as u32, style.size() as u32))
    }
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
