//! A chart as pixels, drawn from its SVG with a font that comes with the program.
//!
//! Owns the reading of that SVG: [`draw`] and what it calls write few elements, and no others are
//! known here. [`canvas`] paints, [`lettering`] turns text into outlines.

mod canvas;
mod lettering;

use std::collections::HashMap;
use std::fmt::Display;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zeno::{Cap, Command, Join, PathData};

use self::canvas::{Canvas, Colour, Pen};
use self::lettering::Lettering;
use super::{Chart, ChartError, draw};

/// Pixels for a unit of the SVG, so that it is sharp on paper and dense screens.
const PIXELS: f32 = 2.0;

pub(super) fn png(chart: &Chart) -> Result<Vec<u8>, ChartError> {
    let svg = draw::picture(chart, "")?;
    let drawn = drawn(&svg).map_err(|why| chart.failed(why))?;
    drawn.encoded().map_err(|why| chart.failed(why))
}

/// Why an SVG is not drawn.
type Fault = Box<dyn std::error::Error + Send + Sync>;

fn drawn(svg: &str) -> Result<Canvas, Fault> {
    let mut reader = Reader::from_str(svg);
    let lettering = Lettering::new()?;
    let mut canvas = Canvas::default();
    // How far each open group moves what is in it to the right, with all around it.
    let mut moved = vec![0.0];
    let mut text: Option<(Element, String)> = None;
    let mut depth = 0usize;
    loop {
        match reader.read_event()? {
            Event::Start(start) => match start.name().as_ref() {
                "svg" => canvas = Canvas::new(Element::from_start(&start)?.size()?, PIXELS)?,
                // Tooltips.
                "title" => depth += 1,
                "g" => {
                    moved.push(moved.last().unwrap_or(&0.0) + Element::from_start(&start)?.moved()?)
                }
                "text" => text = Some((Element::from_start(&start)?, String::new())),
                _ => shape(
                    &Element::from_start(&start)?,
                    *moved.last().unwrap_or(&0.0),
                    &mut canvas,
                )?,
            },
            Event::Empty(start) => {
                shape(&Element::from_start(&start)?, *moved.last().unwrap_or(&0.0), &mut canvas)?;
            }
            Event::Text(part) if depth == 0 => {
                if let Some((_, whole)) = &mut text {
                    whole.push_str(&part);
                }
            }
            Event::GeneralRef(part) if depth == 0 => {
                if let Some((_, whole)) = &mut text {
                    whole.push(character(&part)?);
                }
            }
            Event::End(end) => match end.name().as_ref() {
                "title" => depth = depth.saturating_sub(1),
                "g" => drop(moved.pop()),
                "text" => {
                    if let Some((element, whole)) = text.take() {
                        let right = *moved.last().unwrap_or(&0.0);
                        write(&element, &whole, right, &lettering, &mut canvas)?;
                    }
                }
                _ => {}
            },
            Event::Eof => return Ok(canvas),
            _ => {}
        }
    }
}

/// The character that a reference of [`xml`](super::surface::xml) stands for.
fn character(name: &str) -> Result<char, Fault> {
    match name {
        "amp" => Ok('&'),
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "quot" => Ok('"'),
        other => Err(format!("&{other}; is not known").into()),
    }
}

/// An element with its attributes.
struct Element {
    name: String,
    attributes: HashMap<String, String>,
}

impl Element {
    fn from_start(start: &BytesStart<'_>) -> Result<Self, Fault> {
        let name = start.name().as_ref().to_owned();
        let mut attributes = HashMap::new();
        for attribute in start.attributes() {
            let attribute = attribute?;
            attributes.insert(attribute.key.as_ref().to_owned(), attribute.value.into_owned());
        }
        Ok(Self { name, attributes })
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.attributes.get(key).map(String::as_str)
    }

    /// A length; `otherwise` where there is none.
    fn length(&self, key: &str, otherwise: f32) -> Result<f32, Fault> {
        self.text(key).map_or(Ok(otherwise), |text| self.number(key, text))
    }

    /// A length that must be there.
    fn needed(&self, key: &str) -> Result<f32, Fault> {
        let text = self.text(key).ok_or_else(|| self.fault(key, "is missing"))?;
        self.number(key, text)
    }

    fn number(&self, key: &str, text: &str) -> Result<f32, Fault> {
        text.parse().map_err(|_| self.fault(key, format!("is {text:?}")))
    }

    fn fault(&self, key: &str, what: impl Display) -> Fault {
        format!("{key} of <{}> {what}", self.name).into()
    }

    fn size(&self) -> Result<(f32, f32), Fault> {
        Ok((self.needed("width")?, self.needed("height")?))
    }

    /// How far a group moves what is in it to the right.
    fn moved(&self) -> Result<f32, Fault> {
        let Some(text) = self.text("transform") else { return Ok(0.0) };
        let inner = text.strip_prefix("translate(").and_then(|text| text.strip_suffix(" 0)"));
        inner.map_or_else(|| Err(self.fault("transform", text)), |x| self.number("transform", x))
    }

    /// The colour of a kind of paint; of a fill that is not mentioned black.
    fn paint(&self, key: &str) -> Result<Option<Colour>, Fault> {
        match self.text(key) {
            None if key == "fill" => Ok(Some([0; 3])),
            None | Some("none") => Ok(None),
            Some(text) => {
                let hex = text.strip_prefix('#').filter(|hex| hex.len() == 6);
                let number = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok());
                let [_, r, g, b] =
                    number.ok_or_else(|| self.fault(key, format!("is {text:?}")))?.to_be_bytes();
                Ok(Some([r, g, b]))
            }
        }
    }

    /// Whether it shows only when it is pointed at.
    fn is_unseen(&self) -> bool {
        self.text("class").is_some_and(|class| class.split(' ').any(|name| name == "q"))
    }

    /// Its outline, as the `d` of a path.
    fn path(&self) -> Result<String, Fault> {
        match self.name.as_str() {
            "path" => Ok(self.text("d").ok_or_else(|| self.fault("d", "is missing"))?.to_owned()),
            "polyline" => {
                let points =
                    self.text("points").ok_or_else(|| self.fault("points", "are missing"))?;
                Ok(format!("M{}", points.replace(' ', "L")))
            }
            "line" => {
                let [x1, y1] = [self.needed("x1")?, self.needed("y1")?];
                Ok(format!("M{x1} {y1}L{} {}", self.needed("x2")?, self.needed("y2")?))
            }
            "circle" => {
                let [x, y, r] = [self.needed("cx")?, self.needed("cy")?, self.needed("r")?];
                let (left, right) = (x - r, x + r);
                Ok(format!("M{left} {y}A{r} {r} 0 0 1 {right} {y}A{r} {r} 0 0 1 {left} {y}Z"))
            }
            "rect" => {
                let [x, y] = [self.length("x", 0.0)?, self.length("y", 0.0)?];
                let (width, height) = self.size()?;
                let r = self.length("rx", 0.0)?.min(width / 2.0).min(height / 2.0);
                let (right, bottom) = (x + width, y + height);
                if r <= 0.0 {
                    return Ok(format!("M{x} {y}H{right}V{bottom}H{x}Z"));
                }
                Ok(format!(
                    "M{0} {y}H{1}A{r} {r} 0 0 1 {right} {2}V{3}A{r} {r} 0 0 1 {1} {bottom}H{0}\
                     A{r} {r} 0 0 1 {x} {3}V{2}A{r} {r} 0 0 1 {0} {y}Z",
                    x + r,
                    right - r,
                    y + r,
                    bottom - r
                ))
            }
            other => Err(format!("<{other}> is not known").into()),
        }
    }

    fn pen(&self) -> Result<Pen, Fault> {
        let dashes = self.text("stroke-dasharray").unwrap_or_default().split_whitespace();
        let dashes = dashes.map(|dash| self.number("stroke-dasharray", dash));
        Ok(Pen {
            width: self.length("stroke-width", 1.0)?,
            dashes: dashes.collect::<Result<_, _>>()?,
            cap: match self.text("stroke-linecap") {
                Some("round") => Cap::Round,
                _ => Cap::Butt,
            },
            join: match self.text("stroke-linejoin") {
                Some("round") => Join::Round,
                _ => Join::Miter,
            },
        })
    }
}

fn shape(element: &Element, right: f32, canvas: &mut Canvas) -> Result<(), Fault> {
    // As the outlines of letters are: what draws is compiled once for each form that paths have.
    let path: Vec<Command> = element.path()?.as_str().commands().collect();
    // Nobody points at a picture.
    if element.is_unseen() {
        return Ok(());
    }
    if let Some(colour) = element.paint("fill")? {
        canvas.fill(&path, right, colour);
    }
    if let Some(colour) = element.paint("stroke")? {
        canvas.stroke(&path, right, &element.pen()?, colour);
    }
    Ok(())
}

fn write(
    element: &Element,
    text: &str,
    right: f32,
    lettering: &Lettering,
    canvas: &mut Canvas,
) -> Result<(), Fault> {
    let size = element.needed("font-size")?;
    let colour = element.paint("fill")?.unwrap_or_default();
    let (mut x, y) = (right + element.needed("x")?, element.needed("y")?);
    let width = lettering.width(text, size);
    match element.text("text-anchor") {
        Some("middle") => x -= width / 2.0,
        Some("end") => x -= width,
        _ => {}
    }
    canvas.fill(&lettering.outline(text, size, (x, y)), 0.0, colour);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(inner: &str) -> Canvas {
        let svg = format!("<svg width=\"20\" height=\"10\">{inner}</svg>");
        drawn(&svg).unwrap()
    }

    #[test]
    fn shapes_are_where_they_are_claimed_to_be() {
        let rect = "<rect fill=\"#ff0000\" x=\"2\" y=\"2\" width=\"4\" height=\"4\"/>";
        let canvas = painted(&format!("<g transform=\"translate(10 0)\">\n{rect}</g>{rect}"));
        let red = [255, 0, 0];
        for (x, y, colour) in [
            (5, 5, red),
            (4, 4, red),
            (11, 11, red),
            (12, 11, [255; 3]),
            (25, 5, red),
            (3, 5, [255; 3]),
        ] {
            assert_eq!(canvas.pixel(x, y), Some(colour), "{x} {y}");
        }
        assert_eq!(canvas.pixel(40, 0), None);
    }

    #[test]
    fn half_a_pixel_is_half_the_colour() {
        let canvas = painted("<rect fill=\"#000000\" x=\"0.25\" width=\"4\" height=\"4\"/>");
        let [grey, ..] = canvas.pixel(0, 0).unwrap();
        assert!((120..=135).contains(&grey), "{grey}");
    }

    #[test]
    fn lines_are_as_wide_as_they_are_claimed_to_be_and_broken() {
        let line =
            "<line stroke=\"#000000\" stroke-width=\"2\" x1=\"0\" x2=\"20\" y1=\"5\" y2=\"5\"";
        let whole = painted(&format!("{line}/>"));
        assert_eq!([7, 8, 11, 12].map(|y| whole.pixel(9, y).unwrap()[0]), [255, 0, 0, 255]);
        let dashed = painted(&format!("{line} stroke-dasharray=\"4 4\"/>"));
        assert_eq!([2, 10, 18].map(|x| dashed.pixel(x, 10).unwrap()[0]), [0, 255, 0]);
        let polyline = "<polyline fill=\"none\" stroke=\"#000000\" points=\"0,5 20,5\"/>";
        assert_eq!(painted(polyline).pixel(20, 10), Some([0; 3]));
    }

    #[test]
    fn what_is_not_seen_is_not_drawn_and_text_is_unescaped() {
        let circle = "<circle class=\"m q f-c1\" fill=\"#000000\" cx=\"5\" cy=\"5\" r=\"4\">";
        let canvas = painted(&format!("{circle}<title>told</title></circle>"));
        assert_eq!(canvas.pixel(10, 10), Some([255; 3]));
        let text = |text| {
            painted(&format!(
                "<text fill=\"#000000\" x=\"1\" y=\"9\" font-size=\"10\">{text}</text>"
            ))
        };
        let ink = |canvas: &Canvas| {
            let all = (0..40).flat_map(|x| (0..20).map(move |y| (x, y)));
            all.filter(|(x, y)| canvas.pixel(*x, *y).unwrap()[0] < 128).count()
        };
        assert!(ink(&text("a&lt;b")) > ink(&text("ab")));
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for (inner, says) in [
            ("<ellipse/>", "<ellipse> is not known"),
            ("<circle cx=\"1\" r=\"1\"/>", "cy of <circle> is missing"),
            ("<rect fill=\"red\" width=\"1\" height=\"1\"/>", "fill of <rect> is \"red\""),
            ("<g transform=\"rotate(4)\"></g>", "rotate"),
        ] {
            let svg = format!("<svg width=\"20\" height=\"10\">{inner}</svg>");
            let text = drawn(&svg).err().unwrap().to_string();
            assert!(text.contains(says), "{text}");
        }
    }
}
