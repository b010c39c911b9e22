//! Load of another tool: commands made from its own words, and properties without an option.

use std::sync::Arc;

use naming::Text;
use workload::{
    CommandSpec, Data, Dataset, KeySpace, Mix, Operation, PeerOptions, Pick, PlanParts, ValueSpec,
};

/// Commands that another tool's words describe, ready to be sent.
#[derive(Debug, Clone, Default)]
pub struct PreparedLoad {
    /// Name in reports.
    pub name: String,
    /// Commands of all operations, one after another.
    pub sequence: Vec<CommandSpec>,
    /// Operations.
    pub mix: Mix,
    /// Positions of commands that read, though their names do not tell.
    pub read_only: Vec<u32>,
    /// Keys of operations without keys of their own.
    pub keys: KeySpace,
    /// Rows that commands take fields from.
    pub dataset: Option<Arc<Dataset>>,
    /// Values, if they differ from each other.
    pub values: Option<ValueSpec>,
    /// Bytes of a value, for reports.
    pub payload_bytes: u64,
    /// Recording that only such a tool asks for.
    pub peer: PeerOptions,
}

impl PreparedLoad {
    /// Load of operations with their commands; one without keys of its own has those of the first.
    #[must_use]
    pub fn new(name: &str, operations: Vec<(Operation, Vec<CommandSpec>)>, pick: Pick) -> Self {
        let keys = operations.first().and_then(|(operation, _)| operation.keys.clone());
        let (operations, commands): (Vec<_>, Vec<_>) = operations.into_iter().unzip();
        let (sequence, mix) = (commands.concat(), Mix { operations, pick });
        let (name, keys) = (name.to_owned(), keys.unwrap_or_default());
        Self { name, sequence, mix, keys, ..Self::default() }
    }

    /// The plan of this load, on the common part of all tests.
    pub(crate) fn parts(self, base: PlanParts) -> Result<PlanParts, Text> {
        let Self { name, sequence, mix, read_only, keys, dataset, values, payload_bytes, peer } =
            self;
        let data = Data { keys, dataset, values, payload_bytes, ..base.data };
        let mix = Some(mix);
        let parts = PlanParts { name, sequence, mix, read_only, data, peer, ..base };
        wire::check(&parts)?;
        Ok(parts)
    }
}
