//! A chart as points, drawn from its SVG with a font that comes with the program.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};

use super::{Chart, ChartError, draw};

/// Points for a pixel of the SVG, so that it is sharp on paper and dense screens.
const POINTS: f32 = 2.0;

pub(super) fn png(chart: &Chart) -> Result<Vec<u8>, ChartError> {
    // Nobody points at a picture of points: marks that are not seen are left out.
    let svg = draw::picture(chart, "<style>.q{opacity:0}</style>")?;
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let options = usvg::Options {
        fontdb: Arc::new(fonts),
        font_resolver: usvg::FontResolver {
            select_font: Box::new(|_, fonts| fonts.faces().next().map(|face| face.id)),
            select_fallback: usvg::FontResolver::default_fallback_selector(),
        },
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(&svg, &options).map_err(|e| chart.failed(e))?;
    let size = tree.size();
    let (width, height) = ((size.width() * POINTS) as u32, (size.height() * POINTS) as u32);
    let mut points =
        tiny_skia::Pixmap::new(width, height).ok_or_else(|| chart.failed("it is too large"))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(POINTS, POINTS), &mut points.as_mut());
    points.encode_png().map_err(|e| chart.failed(e))
}
