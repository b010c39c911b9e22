//! The commands of YCSB's binding for Redis: a hash for each record, and one sorted set of all keys.

use workload::derived::{DrawnNumber, NamedKey};
use workload::{Arg, CommandSpec, DerivedText, Piece};

use super::field::{Field, field_name};
use super::workload::{CoreWorkload, Kind, Reads};

/// Start of every key.
const PREFIX: &str = "user";
/// The sorted set of all keys.
const INDEX: &str = "_indices";

/// The commands of an operation.
pub(super) fn operation(workload: &CoreWorkload, kind: Kind) -> Vec<CommandSpec> {
    let score = || Piece::Derived(DerivedText::Score(named(workload))).into();
    match kind {
        Kind::Read => vec![read(workload, key(workload))],
        Kind::Update => vec![update(workload)],
        Kind::Insert => {
            let index = vec!["ZADD".into(), INDEX.into(), score(), key(workload)];
            vec![write(workload, &Field::all(workload)), index.into()]
        }
        Kind::ReadModifyWrite => vec![read(workload, key(workload)), update(workload)],
        Kind::Scan => {
            let mut list = vec!["ZRANGEBYSCORE".into(), INDEX.into(), score()];
            list.extend(["+inf", "LIMIT", "0"].map(Arg::from));
            list.push(Piece::Derived(DerivedText::Drawn(workload.scan_length)).into());
            vec![list.into(), read(workload, Piece::Reply { or: Vec::new() }.into())]
        }
    }
}

fn update(workload: &CoreWorkload) -> CommandSpec {
    if workload.writes_all {
        write(workload, &Field::all(workload))
    } else {
        write(workload, &[Field::Drawn(Field::written(workload))])
    }
}

fn read(workload: &CoreWorkload, key: Arg) -> CommandSpec {
    let fields = match workload.reads {
        Reads::All => return vec!["HGETALL".into(), key].into(),
        Reads::ByName => Field::all(workload),
        Reads::One => vec![Field::Drawn(Field::read(workload))],
    };
    let mut args = vec!["HMGET".into(), key];
    args.extend(fields.iter().map(|field| field_name(workload, field)));
    args.into()
}

fn write(workload: &CoreWorkload, fields: &[Field]) -> CommandSpec {
    let mut args = vec!["HMSET".into(), key(workload)];
    for field in fields {
        args.extend([field_name(workload, field), value(workload, field).into()]);
    }
    args.into()
}

/// The value of a field.
pub(super) fn value(workload: &CoreWorkload, field: &Field) -> Piece {
    let Some(len) = workload.checked else { return Piece::Value };
    let (field, number): (String, Option<DrawnNumber>) = match field {
        Field::Number(n) => (format!("{}{n}", workload.field_prefix), None),
        Field::Drawn(drawn) => (workload.field_prefix.clone(), Some(*drawn)),
    };
    Piece::Derived(DerivedText::Checked { len, key: named(workload), field, number })
}

pub(super) fn named(workload: &CoreWorkload) -> NamedKey {
    NamedKey { prefix: PREFIX.to_owned(), number: workload.key }
}

pub(super) fn key(workload: &CoreWorkload) -> Arg {
    key_behind("", workload)
}

/// The key with this text before it.
pub(super) fn key_behind(text: &str, workload: &CoreWorkload) -> Arg {
    let text = Piece::Bytes(format!("{text}{PREFIX}").into_bytes());
    Arg { pieces: vec![text, Piece::Derived(DerivedText::Key(workload.key))] }
}
