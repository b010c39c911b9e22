//! Commands by shape: name, pattern of the first key, and number of arguments, with an example of each.

use std::collections::HashMap;

use super::patterns::pattern;
use super::sizes::Sizes;
use crate::Event;
use crate::commands::{Command, DataType, Role};

/// Maximum number of shapes that are distinguished; commands of others are left out.
const SHAPES_MAX: usize = 512;
/// Longest argument of an example, such as a script.
const TEXT_BYTES_MAX: usize = 4096;
/// The most arguments of an example.
const WORDS_MAX: usize = 256;

/// Commands with the same shape.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// Number of commands of this shape.
    pub count: u64,
    /// The arguments of the first, the name in front.
    pub words: Vec<Word>,
    /// Pattern of the first key; empty without one.
    pub pattern: Vec<u8>,
    /// Sizes of values.
    pub values: Sizes,
    /// Number of values that are whole numbers.
    pub numbers: u64,
    /// Type of its keys, if the command applies to one type only.
    pub data_type: Option<DataType>,
}

/// An argument of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Text that is common to all, or from the first one.
    Text(Vec<u8>),
    /// A key of this pattern.
    Key(Vec<u8>),
    /// A value.
    Value,
    /// An argument of this length that was not recorded, or is too long.
    Size(u32),
}

/// All shapes.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    all: HashMap<Vec<u8>, Shape>,
    buffer: Vec<u8>,
}

impl Shapes {
    pub(super) fn add(&mut self, event: &Event, roles: &[Role]) {
        self.buffer.clear();
        self.buffer.extend(event.name().iter().map(u8::to_ascii_lowercase));
        self.buffer.extend((event.len() as u32).to_le_bytes());
        let name_bytes = self.buffer.len();
        if let Some(key) = roles.iter().position(|role| *role == Role::Key) {
            pattern(event.bytes(key), &mut self.buffer);
        }
        if !self.all.contains_key(&self.buffer) {
            if self.all.len() >= SHAPES_MAX || event.len() > WORDS_MAX {
                return;
            }
            let pattern = self.buffer[name_bytes..].to_vec();
            let words = words(event, roles);
            let data_type = Command::for_event(event).data_type();
            let shape = Shape { words, pattern, data_type, ..Shape::default() };
            self.all.insert(self.buffer.clone(), shape);
        }
        let Some(shape) = self.all.get_mut(&self.buffer) else { return };
        shape.count += 1;
        for (at, role) in roles.iter().enumerate() {
            if let (Role::Value, Some(value)) = (role, event.argument(at)) {
                shape.values.add(u64::from(value.size), 1);
                shape.numbers += u64::from(value.bytes.is_some_and(is_number));
            }
        }
    }

    /// The most frequent first.
    pub(super) fn sorted(self) -> Vec<Shape> {
        let mut all: Vec<(Vec<u8>, Shape)> = self.all.into_iter().collect();
        all.sort_by(|(a, of_a), (b, of_b)| of_b.count.cmp(&of_a.count).then_with(|| a.cmp(b)));
        all.into_iter().map(|(_, shape)| shape).collect()
    }
}

fn is_number(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<i64>().is_ok())
}

fn words(event: &Event, roles: &[Role]) -> Vec<Word> {
    let words = event.arguments().zip(roles).map(|(argument, role)| match (role, argument.bytes) {
        (Role::Value, _) => Word::Value,
        (Role::Key, Some(key)) => {
            let mut name = Vec::new();
            pattern(key, &mut name);
            Word::Key(name)
        }
        (_, Some(text)) if text.len() <= TEXT_BYTES_MAX => Word::Text(text.to_vec()),
        _ => Word::Size(argument.size),
    });
    words.collect()
}
