//! Charts as SVG.
//!
//! `plot` and `bars` draw a [`Chart`](crate::document::Chart) in the colours of a `theme`. Points that no
//! scale can show (not finite, or not above zero on a logarithmic one) are left out, and a chart without any
//! says so.

mod axes;
mod bars;
mod draw;
mod heat;
mod mark;
mod plot;
mod scale;
mod svg;
mod theme;

pub(crate) use draw::inline;
pub use draw::svg;
pub(crate) use mark::{BROAD, NARROW, WIDE};
pub(crate) use theme::dark_css;
