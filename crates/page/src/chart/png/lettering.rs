//! Text as outlines of one font, a letter after another.

use ttf_parser::{Face, GlyphId, OutlineBuilder};
use zeno::{Command, PathBuilder};

use super::Fault;

/// Draws text in one font as outlines.
pub(super) struct Lettering<'f> {
    face: Face<'f>,
}

impl Lettering<'static> {
    /// Of the font that comes with the program.
    pub(super) fn new() -> Result<Self, Fault> {
        Ok(Self { face: Face::parse(epaint_default_fonts::UBUNTU_LIGHT, 0)? })
    }
}

impl Lettering<'_> {
    /// How wide a text of this size is.
    pub(super) fn width(&self, text: &str, size: f32) -> f32 {
        text.chars().map(|c| self.advance(self.glyph(c), size)).sum()
    }

    /// The outlines of a text of this size whose base line begins there.
    pub(super) fn outline(&self, text: &str, size: f32, (mut x, y): (f32, f32)) -> Vec<Command> {
        let mut outline = Outline { path: Vec::new(), scale: self.scale(size), at: (x, y) };
        for c in text.chars() {
            let glyph = self.glyph(c);
            outline.at.0 = x;
            self.face.outline_glyph(glyph, &mut outline);
            x += self.advance(glyph, size);
        }
        outline.path
    }

    /// That of a character; of one that the font has not, the sign of that.
    fn glyph(&self, c: char) -> GlyphId {
        self.face.glyph_index(c).unwrap_or_default()
    }

    fn advance(&self, glyph: GlyphId, size: f32) -> f32 {
        f32::from(self.face.glyph_hor_advance(glyph).unwrap_or_default()) * self.scale(size)
    }

    fn scale(&self, size: f32) -> f32 {
        size / f32::from(self.face.units_per_em())
    }
}

/// Outlines in the units and with the direction of a picture.
struct Outline {
    path: Vec<Command>,
    scale: f32,
    at: (f32, f32),
}

impl Outline {
    /// Fonts count upwards.
    fn place(&self, x: f32, y: f32) -> [f32; 2] {
        [self.at.0 + x * self.scale, self.at.1 - y * self.scale]
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let to = self.place(x, y);
        self.path.move_to(to);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let to = self.place(x, y);
        self.path.line_to(to);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (control, to) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(control, to);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (first, second, to) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.curve_to(first, second, to);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_wide_as_their_letters_and_lie_on_their_base_line() {
        let lettering = Lettering::new().unwrap();
        let [a, ab] = ["a", "ab"].map(|text| lettering.width(text, 12.0));
        assert!(0.0 < a && a < ab && ab < 24.0, "{a} {ab}");
        assert_eq!(lettering.width("ab", 24.0), 2.0 * ab);
        let points =
            lettering.outline("H", 10.0, (5.0, 20.0)).into_iter().filter_map(|to| match to {
                Command::MoveTo(to) | Command::LineTo(to) => Some(to),
                _ => None,
            });
        for point in points {
            assert!((10.0..=20.01).contains(&point.y) && point.x >= 5.0, "{point:?}");
        }
        // Everything that charts themselves say has a letter.
        for c in "0123456789 kMGµsn%/×−–…·<>".chars() {
            assert_ne!(lettering.glyph(c), GlyphId(0), "{c}");
        }
    }
}
