//! Values that name their key: which strings of a reply are such values, and their expected content.

use workload::derived::append_checked;
use workload::{Piece, Slot};

use crate::RequestInputs;
use crate::batch::Batch;
use crate::payload::LastDraw;
use crate::reply_patterns::{CheckedReads, StringPattern};

/// The role of a string in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringRole {
    /// A string that cannot be checked.
    Other,
    /// The name of the field whose value comes next.
    Name,
    /// A value that can be checked.
    Value,
    /// A JSON object of all fields for the key with this number.
    Record(u64),
}

impl Batch {
    /// Returns whether replies are checked for values that name their key.
    #[inline]
    pub fn checks(&self) -> bool {
        self.checked.is_some()
    }

    /// Returns the role of string number `element` of the reply to a command. For a value, `want` is set to
    /// the expected content; `name` is its field's name, if one came before, and otherwise a buffer.
    pub fn shown(
        &self,
        request: RequestInputs<'_>,
        command: u32,
        element: usize,
        name: &mut Vec<u8>,
        want: &mut Vec<u8>,
    ) -> StringRole {
        let Some(CheckedReads { values, asks }) = &self.checked else { return StringRole::Other };
        let numbers = self.numbers_of(command as usize);
        let key = || LastDraw::default().number(numbers, request, Slot::Key, 0);
        match &asks[command as usize] {
            StringPattern::Nothing => return StringRole::Other,
            StringPattern::Record => return StringRole::Record(key()),
            StringPattern::Pairs if element.is_multiple_of(2) => return StringRole::Name,
            StringPattern::Pairs => {}
            StringPattern::Fields(fields) => {
                let Some(field) = fields.get(element) else { return StringRole::Other };
                name.clear();
                for piece in &field.pieces {
                    match piece {
                        Piece::Bytes(bytes) => name.extend_from_slice(bytes),
                        Piece::Derived(derived) => {
                            let source = LastDraw::default().source(derived, numbers, request);
                            derived.append(source, name);
                        }
                        _ => return StringRole::Other,
                    }
                }
            }
        }
        want.clear();
        append_checked(values.len as usize, &values.key, key(), [name, b""], want);
        StringRole::Value
    }

    /// Returns the name of the first field of a record whose value does not belong to its key; the whole text
    /// if it is no record. Correct values contain nothing that JSON would escape.
    pub fn wrong_field<'r>(&self, key: u64, record: &'r str) -> Option<&'r str> {
        let CheckedReads { values, .. } = self.checked.as_ref()?;
        let inner = record.strip_prefix("{\"").and_then(|rest| rest.strip_suffix("\"}"));
        let Some(inner) = inner else { return Some(record) };
        let mut want = Vec::new();
        inner.split("\",\"").find_map(|pair| {
            let (name, value) = pair.split_once("\":\"").unwrap_or((pair, ""));
            want.clear();
            let (len, field) = (values.len as usize, [name.as_bytes(), b""]);
            append_checked(len, &values.key, key, field, &mut want);
            (value.as_bytes() != want).then_some(name)
        })
    }
}
