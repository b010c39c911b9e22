//! The commands of YCSB's binding for memcached: a JSON object for each record, added, replaced and got.

use workload::{Arg, CommandSpec, DerivedText, Piece};

use super::binding::Field;
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
    let mut pieces = vec![];
    let mut text = "{\"".to_owned();
    let flush = |text: &mut String, pieces: &mut Vec<Piece>| {
        pieces.push(Piece::Bytes(std::mem::take(text).into_bytes()));
    };
    for (at, field) in fields.iter().enumerate() {
        text += if at > 0 { "\",\"" } else { "" };
        text += &workload.field_prefix;
        let (name, drawn) = match field {
            Field::Number(n) => {
                text += &n.to_string();
                (format!("{}{n}", workload.field_prefix), None)
            }
            Field::Drawn(drawn) => {
                flush(&mut text, &mut pieces);
                pieces.push(Piece::Derived(DerivedText::Drawn(*drawn)));
                (workload.field_prefix.clone(), Some(*drawn))
            }
        };
        text += "\":\"";
        flush(&mut text, &mut pieces);
        pieces.push(match workload.checked {
            None => Piece::Value,
            Some(len) => {
                let key = redis::named(workload);
                Piece::Derived(DerivedText::Checked { len, key, field: name, number: drawn })
            }
        });
    }
    text += "\"}";
    flush(&mut text, &mut pieces);
    let expires = workload.expires.to_string();
    let value = Arg { pieces };
    vec![command.into(), key(workload), "0".into(), expires.as_str().into(), value].into()
}

fn key(workload: &CoreWorkload) -> Arg {
    redis::key_behind(&format!("{}-", workload.table), workload)
}
