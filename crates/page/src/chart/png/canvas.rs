//! Pixels, and painting on them: paths are filled or drawn with a pen, smoothly at their edges.

use zeno::{Cap, Command, Join, Mask, Stroke, Style, Transform};

use super::Fault;

/// Most pixels of a side.
const SIDE_MAX: f32 = 20_000.0;

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

/// How a line is drawn.
pub(super) struct Pen {
    pub(super) width: f32,
    /// Lengths of dashes and of the gaps after them; none for an unbroken line.
    pub(super) dashes: Vec<f32>,
    pub(super) cap: Cap,
    pub(super) join: Join,
}

/// White pixels to paint on.
#[derive(Default)]
pub(super) struct Canvas {
    width: u32,
    height: u32,
    scale: f32,
    /// Row by row.
    pixels: Vec<u8>,
}

impl Canvas {
    /// A canvas of so many units, of which each is `scale` pixels wide.
    pub(super) fn new((width, height): (f32, f32), scale: f32) -> Result<Self, Fault> {
        let sides = [width, height].map(|units| (units * scale).ceil());
        if sides.iter().any(|side| !(1.0..=SIDE_MAX).contains(side)) {
            return Err(format!("{width} by {height} is not a valid picture size").into());
        }
        let [width, height] = sides.map(|side| side as u32);
        let pixels = vec![255; width as usize * height as usize * 3];
        Ok(Self { width, height, scale, pixels })
    }

    /// Fills a path that is moved so far to the right.
    pub(super) fn fill(&mut self, path: &[Command], right: f32, colour: Colour) {
        self.paint(path, zeno::Fill::NonZero.into(), right, colour);
    }

    /// Draws along a path that is moved so far to the right.
    pub(super) fn stroke(&mut self, path: &[Command], right: f32, pen: &Pen, colour: Colour) {
        let mut stroke = Stroke::new(pen.width);
        stroke.cap(pen.cap).join(pen.join).dash(&pen.dashes, 0.0);
        self.paint(path, stroke.into(), right, colour);
    }

    fn paint(&mut self, path: &[Command], style: Style<'_>, right: f32, colour: Colour) {
        let scale = self.scale;
        let placed = Transform::translation(right, 0.0).then_scale(scale, scale);
        let (mask, at) = Mask::new(path).style(style).transform(Some(placed)).render();
        for (row, covered) in mask.chunks_exact(at.width.max(1) as usize).enumerate() {
            let y = i64::from(at.top) + row as i64;
            for (column, cover) in covered.iter().enumerate().filter(|(_, cover)| **cover > 0) {
                self.blend(i64::from(at.left) + column as i64, y, colour, *cover);
            }
        }
    }

    fn blend(&mut self, x: i64, y: i64, colour: Colour, cover: u8) {
        let Some(at) = self.at(x, y) else { return };
        for (old, new) in self.pixels[at..at + 3].iter_mut().zip(colour) {
            let cover = u32::from(cover);
            *old = ((u32::from(*old) * (255 - cover) + u32::from(new) * cover + 127) / 255) as u8;
        }
    }

    /// Where a pixel is; `None` beside the canvas.
    fn at(&self, x: i64, y: i64) -> Option<usize> {
        let inside =
            (0..i64::from(self.width)).contains(&x) && (0..i64::from(self.height)).contains(&y);
        inside.then(|| (y as usize * self.width as usize + x as usize) * 3)
    }

    #[cfg(test)]
    pub(super) fn pixel(&self, x: i64, y: i64) -> Option<Colour> {
        self.at(x, y).and_then(|at| self.pixels[at..at + 3].try_into().ok())
    }

    /// As a PNG file.
    pub(super) fn encoded(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(file)
    }
}
