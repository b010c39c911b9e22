//! The commands of YCSB's binding for Redis: a hash for each record, and one sorted set of all keys.

use workload::derived::{DrawnNumber, NamedKey};
use workload::{Arg, CommandSpec, DerivedText, Piece, Step, StepCondition};

use super::binding::{Field, OperationCommands, field_name};
use super::workload::{CoreWorkload, Kind, Reads};

/// Start of every key.
const PREFIX: &str = "user";
/// The sorted set of all keys.
const INDEX: &[u8] = b"_indices";

/// The commands of an operation, and the steps that they are.
pub(super) fn operation(workload: &CoreWorkload, kind: Kind) -> OperationCommands {
    let step = |when| Step { commands: 1, when };
    let (commands, steps) = match kind {
        Kind::Read => (vec![read(workload, key(workload))], vec![step(StepCondition::Always)]),
        Kind::Update => (vec![update(workload)], vec![step(StepCondition::Always)]),
        Kind::Insert => {
            let index = vec![literal(b"ZADD"), literal(INDEX), score(workload), key(workload)];
            (
                vec![write(workload, &Field::all(workload)), spec(index)],
                vec![step(StepCondition::Always); 2],
            )
        }
        Kind::ReadModifyWrite => {
            let commands = vec![read(workload, key(workload)), update(workload)];
            (commands, vec![step(StepCondition::Always); 2])
        }
        Kind::Scan => {
            let length = piece(Piece::Derived(DerivedText::Drawn(workload.scan_length)));
            let mut list = vec![literal(b"ZRANGEBYSCORE"), literal(INDEX), score(workload)];
            list.extend([literal(b"+inf"), literal(b"LIMIT"), literal(b"0"), length]);
            let each = read(workload, piece(Piece::Reply { or: Vec::new() }));
            (
                vec![spec(list), each],
                vec![step(StepCondition::Always), step(StepCondition::ForEach)],
            )
        }
    };
    OperationCommands { commands, steps }
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
        Reads::All => return spec(vec![literal(b"HGETALL"), key]),
        Reads::ByName => Field::all(workload),
        Reads::One => vec![Field::Drawn(Field::read(workload))],
    };
    let mut args = vec![literal(b"HMGET"), key];
    args.extend(fields.iter().map(|field| field_name(workload, field)));
    spec(args)
}

fn write(workload: &CoreWorkload, fields: &[Field]) -> CommandSpec {
    let mut args = vec![literal(b"HMSET"), key(workload)];
    for field in fields {
        args.push(field_name(workload, field));
        args.push(piece(value(workload, field)));
    }
    spec(args)
}

/// The value of a field.
fn value(workload: &CoreWorkload, field: &Field) -> Piece {
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

fn score(workload: &CoreWorkload) -> Arg {
    piece(Piece::Derived(DerivedText::Score(named(workload))))
}

fn literal(word: &[u8]) -> Arg {
    Arg::literal(word)
}

fn piece(piece: Piece) -> Arg {
    Arg { pieces: vec![piece] }
}

fn spec(args: Vec<Arg>) -> CommandSpec {
    CommandSpec { args, inline: false }
}
