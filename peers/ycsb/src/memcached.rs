//! The commands of YCSB's binding for memcached: a JSON object for each record, added, replaced and got.

use workload::{Arg, CommandSpec, Piece};

use super::field::{Field, field_name};
use super::redis;
use super::workload::{CoreWorkload, Kind};

/// The commands of an operation.
pub(super) fn operation(workload: &CoreWorkload, kind: Kind) -> Result<Vec<CommandSpec>, String> {
    let get = || vec!["get".into(), key(workload)].into();
    match kind {
        Kind::Read => Ok(vec![get()]),
        Kind::Update => Ok(vec![update(workload)]),
        Kind::Insert => Ok(vec![store(workload, "add", &Field::all(workload))]),
        Kind::ReadModifyWrite => Ok(vec![get(), update(workload)]),
        Kind::Scan => {
            Err("scanproportion: memcached has no scans; workload E requires redis".to_owned())
        }
    }
}

/// An update replaces the whole record, as in YCSB: a partial one leaves a single field.
fn update(workload: &CoreWorkload) -> CommandSpec {
    if workload.writes_all {
        store(workload, "replace", &Field::all(workload))
    } else {
        store(workload, "replace", &[Field::Drawn(Field::written(workload))])
    }
}

/// Stores an object of these fields.
fn store(workload: &CoreWorkload, command: &str, fields: &[Field]) -> CommandSpec {
    let text = |text: &str| Piece::Bytes(text.into());
    let mut pieces = vec![text("{\"")];
    for (at, field) in fields.iter().enumerate() {
        pieces.push(text(if at > 0 { "\",\"" } else { "" }));
        pieces.extend(field_name(workload, field).pieces);
        pieces.extend([text("\":\""), redis::value(workload, field)]);
    }
    pieces.push(text("\"}"));
    let expires = workload.expires.to_string();
    let value = pieces.into_iter().collect();
    vec![command.into(), key(workload), "0".into(), expires.as_str().into(), value].into()
}

fn key(workload: &CoreWorkload) -> Arg {
    redis::key_behind(&format!("{}-", workload.table), workload)
}
