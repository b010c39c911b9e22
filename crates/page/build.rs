//! Packs the outlines of the font that PNG charts are lettered in: a tenth of the font's file, and the program need
//! not read fonts. `src/chart/png/lettering.rs` reads what is written here.
//!
//! Packed is, deflated: units of the em; how wide the letters are and what they consist of, one after another,
//! the first being the sign for a character that the font lacks; then which character is which letter. All numbers
//! are variable-length, coordinates twice what they are and relative to the point before.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let to = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    let face = Face::parse(epaint_default_fonts::UBUNTU_LIGHT, 0)?;
    let mut packed = DeflateEncoder::new(File::create(to.join("letters"))?, Compression::best());
    packed.write_all(&letters(&face)?)?;
    packed.finish()?;
    Ok(())
}

fn letters(face: &Face<'_>) -> Result<Vec<u8>, Box<dyn Error>> {
    let glyphs = characters(face);
    let mut numbers = BTreeMap::from([(GlyphId(0), 0)]);
    let mut order = vec![GlyphId(0)];
    for glyph in glyphs.values() {
        numbers.entry(*glyph).or_insert_with(|| {
            order.push(*glyph);
            order.len() as u32 - 1
        });
    }
    let mut bytes = Vec::new();
    number(&mut bytes, face.units_per_em().into());
    number(&mut bytes, order.len() as u32);
    for glyph in order {
        let mut outline = Outline::default();
        face.outline_glyph(glyph, &mut outline);
        if outline.inexact {
            return Err("a coordinate of the font is not a half".into());
        }
        number(&mut bytes, face.glyph_hor_advance(glyph).unwrap_or_default().into());
        number(&mut bytes, outline.bytes.len() as u32);
        bytes.extend(outline.bytes);
    }
    let mut before = 0;
    number(&mut bytes, glyphs.len() as u32);
    for (character, glyph) in glyphs {
        number(&mut bytes, character - before);
        number(&mut bytes, numbers[&glyph]);
        before = character;
    }
    Ok(bytes)
}

/// The letter of each character that the font has.
fn characters(face: &Face<'_>) -> BTreeMap<u32, GlyphId> {
    let tables = face.tables().cmap.iter().flat_map(|cmap| cmap.subtables);
    let mut all = BTreeMap::new();
    for table in tables.filter(ttf_parser::cmap::Subtable::is_unicode) {
        table.codepoints(|code| {
            let glyph = char::from_u32(code).and_then(|c| face.glyph_index(c));
            all.extend(glyph.map(|glyph| (code, glyph)));
        });
    }
    all
}

/// Seven bits a byte, the low ones first; the highest bit says that more follow.
fn number(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// An outline as it is packed: a byte for each command, and its points.
#[derive(Default)]
struct Outline {
    bytes: Vec<u8>,
    at: [i32; 2],
    inexact: bool,
}

impl Outline {
    fn command(&mut self, name: u8, points: &[[f32; 2]]) {
        self.bytes.push(name);
        for point in points {
            for (at, to) in self.at.iter_mut().zip(point) {
                let twice = (to * 2.0) as i32;
                self.inexact |= twice as f32 != to * 2.0;
                let by = twice - *at;
                number(&mut self.bytes, ((by << 1) ^ (by >> 31)) as u32);
                *at = twice;
            }
        }
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.command(b'M', &[[x, y]]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.command(b'L', &[[x, y]]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.command(b'Q', &[[x1, y1], [x, y]]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.command(b'C', &[[x1, y1], [x2, y2], [x, y]]);
    }

    fn close(&mut self) {
        self.command(b'Z', &[]);
    }
}
