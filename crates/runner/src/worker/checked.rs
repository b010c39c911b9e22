//! Fields of returned records, compared with the content that their names and keys determine.

use wire::{Batch, RequestInputs, StringRole};

/// Maximum length of a kept name of a field.
const NAME_MAX: usize = 4096;
/// Maximum length of a record that comes as one string.
const RECORD_MAX: usize = 16 << 20;

/// State of the comparison of a reply.
#[derive(Debug, Default)]
pub(crate) struct CheckedReply {
    /// Number of its strings that have begun.
    strings: usize,
    /// Role of the current string.
    shown: Option<StringRole>,
    /// Name of the field and its expected value, or the expected record.
    name: Vec<u8>,
    want: Vec<u8>,
    /// Bytes of the value read so far.
    passed: usize,
    /// Name of the first wrong field.
    wrong: Option<String>,
}

impl CheckedReply {
    pub(super) fn begin(
        &mut self,
        batch: &Batch,
        request: RequestInputs<'_>,
        command: u32,
        len: Option<u64>,
    ) {
        let Self { strings, name, want, .. } = self;
        let shown = batch.shown(request, command, *strings, name, want);
        self.strings += 1;
        self.passed = 0;
        self.shown = Some(shown);
        match (shown, len) {
            // There is none to compare.
            (StringRole::Record(_), None) => self.shown = None,
            (StringRole::Name | StringRole::Record(_), _) => self.name.clear(),
            (StringRole::Value, len) if len != Some(self.want.len() as u64) => self.fault(),
            _ => {}
        }
    }

    pub(super) fn bytes(&mut self, part: &[u8]) {
        match self.shown {
            Some(StringRole::Name) => {
                let room = NAME_MAX.saturating_sub(self.name.len());
                self.name.extend_from_slice(&part[..part.len().min(room)]);
            }
            Some(StringRole::Value) => {
                let at = self.passed;
                self.passed += part.len();
                if self.want.get(at..self.passed).is_some_and(|want| want != part) {
                    self.fault();
                }
            }
            Some(StringRole::Record(_)) => {
                let room = RECORD_MAX.saturating_sub(self.name.len());
                self.name.extend_from_slice(&part[..part.len().min(room)]);
            }
            Some(StringRole::Other) | None => {}
        }
    }

    #[cold]
    fn fault(&mut self) {
        let name = &self.name;
        self.wrong.get_or_insert_with(|| String::from_utf8_lossy(name).into_owned());
    }

    /// Ends the reply. Returns the name of a wrong field, if there was one.
    pub(super) fn ended(&mut self, batch: &Batch) -> Option<String> {
        self.strings = 0;
        match self.shown.take() {
            Some(StringRole::Record(key)) => {
                let record = String::from_utf8_lossy(&self.name);
                batch.wrong_field(key, &record).map(str::to_owned)
            }
            _ => self.wrong.take(),
        }
    }
}
