//! Requirements of receivers on a server: places at its nodes and replicas, and keyspace events.

mod event_setting;
mod node_receivers;
mod replica_reads;

use std::borrow::Cow;

use anyhow::Result;
use workload::Plan;

use crate::test_bed::TestBed;

pub(crate) use event_setting::enable;
pub(crate) use replica_reads::addresses;

/// The plan with its receivers at the nodes and replicas of the server.
///
/// # Errors
/// Returns an error if the server does not name one that is needed.
pub(crate) fn placed<'p>(bed: &TestBed<'_>, plan: Cow<'p, Plan>) -> Result<Cow<'p, Plan>> {
    replica_reads::found(&bed.server, node_receivers::placed(bed, plan)?)
}
