//! `-d`, `--set size-by` and `--content`: size and content of values.

use std::fmt;
use std::str::FromStr;

use naming::{SIZE, SIZE_BY, Text, text};
use workload::sizes::SIZE_MAX;
use workload::{Content, SizeBy, Sizes, ValueSpec};

use crate::DataOptions;
use crate::dialect::Dialect;
use crate::text::as_text;
use crate::values::written;

/// `-d`: a number of bytes, or a distribution by its name. As in the peers, what is too small or too large becomes
/// the nearest that is not.
#[derive(Debug, Clone, PartialEq)]
pub enum Size {
    /// Size that is equal for all values.
    Fixed(u32),
    /// Size that is equal for all values, the nearest that is possible.
    Nearest {
        /// Size that was asked for.
        asked: i64,
        /// The size.
        bytes: u32,
    },
    /// A distribution.
    Drawn(Sizes),
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(bytes) = text.parse::<i64>() {
            let nearest = bytes.clamp(1, i64::from(SIZE_MAX));
            return Ok(if nearest == bytes {
                Self::Fixed(nearest as u32)
            } else {
                Self::Nearest { asked: bytes, bytes: nearest as u32 }
            });
        }
        let sizes: Sizes = text.parse().map_err(|why| {
            let uniform = format!("uniform:{text}");
            let meant = text.contains("..") && uniform.parse::<Sizes>().is_ok();
            if meant { format!("for sizes in a range, write {uniform}") } else { why }
        })?;
        let largest = sizes.largest();
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            Ok(Self::Fixed(largest.max(1)))
        } else {
            Ok(Self::Drawn(sizes))
        }
    }
}

written! {
    Size size => match size {
        Self::Fixed(bytes) => bytes.to_string(),
        Self::Nearest { asked, .. } => asked.to_string(),
        Self::Drawn(sizes) => sizes.to_string(),
    };
}

/// The size of a value, the mean where sizes differ; and how values differ, if they do.
///
/// # Errors
/// Returns an error if an option has no effect.
pub(crate) fn values(
    options: &DataOptions,
    dialect: Dialect,
) -> Result<(u32, Option<ValueSpec>), Text> {
    let DataOptions { size: data_size, size_by, content, .. } = options;
    let drawn = match data_size {
        Some(Size::Drawn(sizes)) => Some(sizes),
        Some(Size::Fixed(_) | Size::Nearest { .. }) | None => None,
    };
    if size_by.is_some() && drawn.is_none() {
        return Err(text!("{SIZE_BY} requires varying sizes, such as {SIZE} uniform:100..4k"));
    }
    // Read values are compared with rows, not with values that keystorm makes.
    let verified = options.verify && options.row_value.is_none();
    let fixed = match data_size {
        Some(Size::Fixed(bytes) | Size::Nearest { bytes, .. }) => *bytes,
        _ => 3,
    };
    let content = content.unwrap_or(match drawn {
        Some(_) if dialect.random_content => Content::Random,
        // The classic content is the same for every key, so a wrong value would go unnoticed.
        None if verified => Content::Random,
        // By the name of a peer, and where values are those of the peers, so are their bytes.
        _ => Content::Classic,
    });
    let Some(sizes) = drawn else {
        let spec = || ValueSpec { sizes: Sizes::fixed(fixed), by: SizeBy::Key, content };
        return Ok((fixed, (content != Content::Classic || verified || options.fill).then(spec)));
    };
    let mean = sizes.draws().mean().round().max(1.0) as u32;
    let by = size_by.unwrap_or_default();
    Ok((mean, Some(ValueSpec { sizes: sizes.clone(), by, content })))
}
