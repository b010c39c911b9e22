//! Parts of a load that only other tools ask for, without an option.

use std::sync::Arc;

use naming::Text;
use workload::{Dataset, PeerOptions, PlanParts};

use crate::captured::Capture;

/// Another tool, by whose words a load is sent.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    /// Name of the load in reports.
    pub name: String,
    /// Bytes of a value, for reports.
    pub payload_bytes: u64,
    /// Set if commands are lines, and not arrays of their words.
    pub inline: bool,
    /// Rows of the dataset, which the tool has read: a pipe is read once.
    pub rows: Option<Arc<Dataset>>,
    /// Commands of the capture, which the tool has read.
    pub capture: Option<Arc<Capture>>,
    /// Recording that only such a tool asks for.
    pub options: PeerOptions,
}

impl Peer {
    /// Completes a plan of the tool's words. Without a size it has no values.
    pub(crate) fn complete(&self, parts: &mut PlanParts, has_size: bool) -> Result<(), Text> {
        (parts.name, parts.peer) = (self.name.clone(), self.options.clone());
        parts.sequence.iter_mut().for_each(|command| command.inline = self.inline);
        parts.data.payload_bytes = self.payload_bytes;
        parts.data.values.take_if(|_| !has_size);
        wire::check(parts)
    }
}
