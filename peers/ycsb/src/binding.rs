//! What bindings share: operations as commands and steps, and the names of fields.

use workload::derived::DrawnNumber;
use workload::{Arg, CommandSpec, DerivedText, Piece, Step};

use super::arguments::Binding;
use super::workload::{CoreWorkload, Kind};
use super::{memcached, redis};

/// The commands of an operation, and the steps that they are.
pub(super) struct OperationCommands {
    pub(super) commands: Vec<CommandSpec>,
    pub(super) steps: Vec<Step>,
}

impl Binding {
    /// An operation of a workload.
    pub(super) fn operation(
        self,
        workload: &CoreWorkload,
        kind: Kind,
    ) -> Result<OperationCommands, String> {
        match self {
            Self::Redis => Ok(redis::operation(workload, kind)),
            Self::Memcached => memcached::operation(workload, kind),
        }
    }
}

/// A field of a record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field {
    /// Field of this number.
    Number(u32),
    /// Field that is drawn for each request.
    Drawn(DrawnNumber),
}

impl Field {
    /// Every field of a record.
    pub(super) fn all(workload: &CoreWorkload) -> Vec<Self> {
        (0..workload.fields).map(Self::Number).collect()
    }

    /// The field that a read asks for.
    pub(super) fn read(workload: &CoreWorkload) -> DrawnNumber {
        DrawnNumber {
            least: 0,
            most: workload.fields - 1,
            skew: workload::derived::Skew::None,
            stream: 0,
            letters: 0,
        }
    }

    /// The field that an update writes: drawn apart from that of a read.
    pub(super) fn written(workload: &CoreWorkload) -> DrawnNumber {
        DrawnNumber { stream: 1, ..Self::read(workload) }
    }
}

/// The name of a field.
pub(super) fn field_name(workload: &CoreWorkload, field: &Field) -> Arg {
    let prefix = &workload.field_prefix;
    match field {
        Field::Number(n) => Arg::literal(format!("{prefix}{n}").as_bytes()),
        Field::Drawn(drawn) => {
            let text = Piece::Bytes(prefix.as_bytes().to_vec());
            Arg { pieces: vec![text, Piece::Derived(DerivedText::Drawn(*drawn))] }
        }
    }
}
