//! The commands of YCSB's binding for memcached: a JSON object for each record, added, replaced and got.

use spec::escape::literal;

use super::field::{Field, field_name};
use super::redis::{self, KEY, Words};
use super::workload::{CoreWorkload, Kind};

/// The commands of an operation; `new` is the placeholder of a key that it inserts.
pub(super) fn operation(
    workload: &CoreWorkload,
    kind: Kind,
    new: &str,
) -> Result<Vec<Words>, String> {
    let get = || vec!["get".into(), key(workload, KEY)];
    match kind {
        Kind::Read => Ok(vec![get()]),
        Kind::Update => Ok(vec![update(workload)]),
        Kind::Insert => Ok(vec![store(workload, "add", new, &Field::all(workload))]),
        Kind::ReadModifyWrite => Ok(vec![get(), update(workload)]),
        Kind::Scan => {
            Err("scanproportion: memcached has no scans; workload E requires redis".to_owned())
        }
    }
}

/// An update replaces the whole record, as in YCSB: a partial one leaves a single field.
fn update(workload: &CoreWorkload) -> Words {
    store(workload, "replace", KEY, &Field::written(workload))
}

/// Stores an object of these fields.
fn store(workload: &CoreWorkload, command: &str, of_key: &str, fields: &[Field]) -> Words {
    let fields = fields.iter().map(|field| {
        format!("\"{}\":\"{}\"", field_name(workload, field), redis::value(workload, field))
    });
    let object = fields.collect::<Vec<_>>().join(",");
    let expires = workload.expires.to_string();
    vec![command.into(), key(workload, of_key), "0".into(), expires, format!("{{{object}}}")]
}

fn key(workload: &CoreWorkload, placeholder: &str) -> String {
    let table = literal(workload.table.as_bytes(), "", "");
    format!("{table}-{}", redis::key(workload, placeholder))
}
