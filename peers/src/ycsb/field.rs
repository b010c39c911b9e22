//! Fields of records, which bindings share, and their names.

use spec::escape::literal;
use workload::DerivedText;
use workload::derived::DrawnNumber;

use super::workload::CoreWorkload;

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
        DrawnNumber { most: workload.fields - 1, ..DrawnNumber::default() }
    }

    /// The fields that an update writes: all, or one that is drawn apart from that of a read.
    pub(super) fn written(workload: &CoreWorkload) -> Vec<Self> {
        if workload.writes_all {
            return Self::all(workload);
        }
        vec![Self::Drawn(DrawnNumber { stream: 1, ..Self::read(workload) })]
    }
}

/// The name of a field.
pub(super) fn field_name(workload: &CoreWorkload, field: &Field) -> String {
    let prefix = workload.field_prefix.as_bytes();
    match field {
        Field::Number(n) => literal(prefix, "", "") + &n.to_string(),
        Field::Drawn(drawn) => {
            let number = format!("__{}__", DerivedText::Drawn(*drawn));
            literal(prefix, "", &number) + &number
        }
    }
}
