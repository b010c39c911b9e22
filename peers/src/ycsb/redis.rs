//! The commands of YCSB's binding for Redis: a hash for each record, and one sorted set of all keys.

use workload::DerivedText;
use workload::derived::{DrawnNumber, NamedKey};

use super::field::{Field, field_name};
use super::workload::{CoreWorkload, Kind, Reads};

/// Start of every key.
const PREFIX: &str = "user";
/// The sorted set of all keys.
const INDEX: &str = "_indices";

/// The words of a command.
pub(super) type Words = Vec<String>;

/// The commands of an operation; `new` is the placeholder of a key that it inserts.
pub(super) fn operation(workload: &CoreWorkload, kind: Kind, new: &str) -> Vec<Words> {
    let score = || format!("__{}__", DerivedText::Score(named(workload)));
    match kind {
        Kind::Read => vec![read(workload, key(workload, KEY))],
        Kind::Update => vec![update(workload)],
        Kind::Insert => {
            let key = key(workload, new);
            let index = vec!["ZADD".into(), INDEX.into(), score(), key.clone()];
            vec![write(workload, key, &Field::all(workload)), index]
        }
        Kind::ReadModifyWrite => vec![read(workload, key(workload, KEY)), update(workload)],
        Kind::Scan => {
            let mut list = vec!["ZRANGEBYSCORE".into(), INDEX.into(), score()];
            list.extend(["+inf", "LIMIT", "0"].map(String::from));
            list.push(format!("__{}__", DerivedText::Drawn(workload.scan_length)));
            vec![list, read(workload, "__reply__".to_owned())]
        }
    }
}

fn update(workload: &CoreWorkload) -> Words {
    write(workload, key(workload, KEY), &Field::written(workload))
}

fn read(workload: &CoreWorkload, key: String) -> Words {
    let fields = match workload.reads {
        Reads::All => return vec!["HGETALL".into(), key],
        Reads::ByName => Field::all(workload),
        Reads::One => vec![Field::Drawn(Field::read(workload))],
    };
    let mut words = vec!["HMGET".into(), key];
    words.extend(fields.iter().map(|field| field_name(workload, field)));
    words
}

fn write(workload: &CoreWorkload, key: String, fields: &[Field]) -> Words {
    let mut words = vec!["HMSET".into(), key];
    for field in fields {
        words.extend([field_name(workload, field), value(workload, field)]);
    }
    words
}

/// The value of a field.
pub(super) fn value(workload: &CoreWorkload, field: &Field) -> String {
    let Some(len) = workload.checked else { return "__data__".to_owned() };
    let (field, number): (String, Option<DrawnNumber>) = match field {
        Field::Number(n) => (format!("{}{n}", workload.field_prefix), None),
        Field::Drawn(drawn) => (workload.field_prefix.clone(), Some(*drawn)),
    };
    format!("__{}__", DerivedText::Checked { len, key: named(workload), field, number })
}

pub(super) fn named(workload: &CoreWorkload) -> NamedKey {
    NamedKey { prefix: PREFIX.to_owned(), number: workload.key }
}

/// Placeholder of a key that is there, and of one that an operation inserts.
pub(super) const KEY: &str = "key";
pub(super) const INSERTED: &str = "insert";

/// The key that a placeholder stands for.
pub(super) fn key(workload: &CoreWorkload, placeholder: &str) -> String {
    format!("{PREFIX}__{placeholder}:{}__", workload.key)
}
