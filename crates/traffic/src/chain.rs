//! Files that follow each other, such as the parts of an append-only file.

use crate::format::aof::NO_TIMES;
use crate::{Event, Losses, ReadError, Reader, Source, Stamps, Stream};

/// Records, read one after another.
#[derive(Default)]
pub(crate) struct Chain {
    readers: Vec<Stream>,
    current: usize,
    source: Source,
}

impl Chain {
    /// Chains at least one record. Notes are those of the first, with `notes` before them. The chain has
    /// times if one of the records does.
    pub(crate) fn new(readers: Vec<Stream>, notes: Vec<String>) -> Self {
        let mut source = readers.first().map(|reader| reader.source().clone()).unwrap_or_default();
        source.notes.splice(0..0, notes);
        if readers.iter().any(|reader| reader.source().stamps == Stamps::Second) {
            source.stamps = Stamps::Second;
            source.notes.retain(|note| note != NO_TIMES);
        }
        Self { readers, current: 0, source }
    }

    /// Number of the last event's line or record, from 1.
    pub(crate) fn position(&self) -> u64 {
        self.readers.iter().map(Stream::position).sum()
    }
}

impl Reader for Chain {
    fn source(&self) -> &Source {
        &self.source
    }

    fn next(&mut self, event: &mut Event) -> Result<bool, ReadError> {
        while let Some(reader) = self.readers.get_mut(self.current) {
            if reader.next(event)? {
                return Ok(true);
            }
            self.current += 1;
        }
        event.clear();
        Ok(false)
    }

    fn losses(&self) -> Losses {
        let mut all = Losses::default();
        self.readers.iter().for_each(|reader| all.merge(&reader.losses()));
        all
    }
}
