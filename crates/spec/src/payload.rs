//! `-d`, `--set size-by` and `--content`: size and content of values.

use naming::{SIZE, SIZE_BY, Text, text};
use workload::{Content, SizeBy, Sizes, ValueSpec};

use crate::data::{DataOptions, Size};
use crate::dialect::Dialect;

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
