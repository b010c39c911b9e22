//! Text as outlines of one font, a letter after another.
//!
//! The font's outlines are packed by `build.rs`, which says how.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::DeflateDecoder;
use zeno::{Command, PathBuilder};

use super::Fault;

/// The outlines of the font that comes with the program.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/letters"));

/// Draws text in one font as outlines.
pub(super) struct Lettering {
    units_per_em: f32,
    /// The first stands for every character that the font lacks.
    letters: Vec<Letter>,
    /// Places in `letters`.
    by_character: HashMap<u32, usize>,
}

/// One letter in the units of its font.
struct Letter {
    advance: f32,
    /// As it is packed.
    outline: Vec<u8>,
}

impl Lettering {
    /// Of the font that comes with the program.
    pub(super) fn new() -> Result<Self, Fault> {
        let mut bytes = Vec::new();
        DeflateDecoder::new(PACKED).read_to_end(&mut bytes)?;
        let mut packed = PackedGlyphs(&bytes);
        let units_per_em = packed.number() as f32;
        let letters = (0..packed.number())
            .map(|_| {
                let advance = packed.number() as f32;
                let length = packed.number() as usize;
                Letter { advance, outline: packed.bytes(length).to_vec() }
            })
            .collect();
        let mut character = 0;
        let by_character = (0..packed.number())
            .map(|_| {
                character += packed.number();
                (character, packed.number() as usize)
            })
            .collect();
        Ok(Self { units_per_em, letters, by_character })
    }

    /// How wide a text of this size is.
    pub(super) fn width(&self, text: &str, size: f32) -> f32 {
        text.chars().map(|c| self.letter(c).advance * self.scale(size)).sum()
    }

    /// The outlines of a text of this size whose base line begins there.
    pub(super) fn outline(&self, text: &str, size: f32, (mut x, y): (f32, f32)) -> Vec<Command> {
        let scale = self.scale(size);
        let mut path = Vec::new();
        for c in text.chars() {
            let letter = self.letter(c);
            // Fonts count upwards.
            draw(&letter.outline, &mut path, |[to_x, to_y]| [x + to_x * scale, y - to_y * scale]);
            x += letter.advance * scale;
        }
        path
    }

    fn letter(&self, c: char) -> &Letter {
        &self.letters[self.by_character.get(&u32::from(c)).copied().unwrap_or_default()]
    }

    fn scale(&self, size: f32) -> f32 {
        size / self.units_per_em
    }
}

/// Adds a letter to a path; `place` leads from the font's points to those of the picture.
fn draw(outline: &[u8], path: &mut Vec<Command>, place: impl Fn([f32; 2]) -> [f32; 2]) {
    let mut packed = PackedGlyphs(outline);
    let mut at = [0, 0];
    while let [command, rest @ ..] = packed.0 {
        packed = PackedGlyphs(rest);
        let mut point = || place(packed.point(&mut at));
        match command {
            b'M' => drop(path.move_to(point())),
            b'L' => drop(path.line_to(point())),
            b'Q' => drop(path.quad_to(point(), point())),
            b'C' => drop(path.curve_to(point(), point(), point())),
            _ => drop(path.close()),
        }
    }
}

/// What `build.rs` has packed, from where it is being read.
struct PackedGlyphs<'p>(&'p [u8]);

impl<'p> PackedGlyphs<'p> {
    fn bytes(&mut self, count: usize) -> &'p [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn number(&mut self) -> u32 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = self.bytes(1)[0];
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    /// The next point, in units of the font. `at` is the one before, doubled.
    fn point(&mut self, at: &mut [i32; 2]) -> [f32; 2] {
        at.each_mut().map(|at| {
            let by = self.number();
            *at += (by >> 1) as i32 ^ -((by & 1) as i32);
            *at as f32 / 2.0
        })
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
            assert!(lettering.by_character.contains_key(&u32::from(c)), "{c}");
        }
    }
}
