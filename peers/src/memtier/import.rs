//! `--data-import`: a dump of memcached's items as a dataset.

use std::path::Path;

use spec::DataOptions;
use spec::dump::{self, COLUMNS, DATA, TTL};
use workload::{Dataset, RowBy};

use super::fault::{Fault, check_error};
use super::options::Options;

/// Items of a file.
#[derive(Debug, Clone)]
pub(super) struct ImportedItems {
    pub(super) items: Dataset,
    /// Mean length of a value.
    pub(super) mean_len: u64,
    /// Number of items that say when they expire.
    pub(super) expiring: usize,
}

/// Reads the file of these options, if they name one.
///
/// What its users look for is added to `notes`.
pub(super) fn read(
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Option<ImportedItems>, Fault> {
    let Some(path) = &options.data_import else { return Ok(None) };
    let items = dump::read(Path::new(path), None);
    let items = items.map_err(|why| check_error(format!("--data-import: {why}")))?;
    if !options.generate_keys {
        notes.push(format!("Reading keys from {path}... {} keys read.", items.len()));
    }
    let rows = || 0..items.len() as u64;
    let lengths: usize = rows().map(|row| items.cell(row, DATA).len()).sum();
    let mean_len = (lengths / items.len()) as u64;
    let expiring = rows().filter(|row| items.cell(*row, TTL) != b"0").count();
    Ok(Some(ImportedItems { items, mean_len, expiring }))
}

/// Says in `data` that values are those of the file.
pub(super) fn describe(options: &Options, data: &mut DataOptions) {
    let Some(path) = &options.data_import else { return };
    // Keys that are made up have no rows: items come one after another.
    let by = if options.generate_keys { RowBy::Turn } else { RowBy::Key };
    (data.dataset, data.rows_by) = (Some(path.into()), Some(by));
    data.row_value = Some(COLUMNS[DATA].to_owned());
}
