//! `--data-verify`: what was written is read again by one connection, and compared with the file.

use anyhow::Result;
use cli::console::diagnostics::{self, ClosedPipe};
use cli::job::RunMonitor;
use report::Run;
use runner::{Observer, Snapshot};
use spec::values::{Count, Threads};
use spec::{LoadSpec, RetryOptions};
use workload::{Pick, Plan};

use super::fault::{Fault, check_error};
use super::items::Items;
use super::operations::one;
use super::options::Options;
use super::plan::get_command;

/// Changes `spec`, whose plan is `load`, into the load that reads what the SETs of one of its connections write, in
/// their order.
pub(super) fn describe(
    options: &Options,
    items: &Items,
    load: &Plan,
    spec: &mut LoadSpec,
) -> Result<(), Fault> {
    let count = match options.requests_each() {
        Some(each) => sets_of(load, each),
        // The progress of a run by time is unknown: each item once.
        None => load.data.dataset.as_ref().map_or(0, |items| items.len() as u64),
    };
    if count == 0 {
        return Err(check_error("--data-verify: no SET is sent, so that nothing can be compared"));
    }
    let [keys, _] = items.keys.clone();
    let get = get_command(options, &items.key, 0);
    spec.send(vec![(one("GET", 1, keys), vec![get])], Pick::InOrder);
    if let Some(peer) = &mut spec.peer {
        "memtier verification".clone_into(&mut peer.name);
        peer.options.each_failure = false;
    }
    (spec.data.verify, spec.data.fail_on_miss) = (true, true);
    let load = &mut spec.load;
    (load.threads, load.connections) = (Some(Threads::Number(1)), Some(Count(1)));
    load.end_after(Some(Count(count)), None);
    (load.per_connection, load.rate) = (true, None);
    (load.connecting.join, load.connecting.connect_spacing) = (None, None);
    load.retrying = RetryOptions::default();
    Ok(())
}

/// Number of SETs among the first requests of a connection.
fn sets_of(load: &Plan, requests: u64) -> u64 {
    let (Some(operations), numberings) = (load.operations(), load.numberings()) else { return 0 };
    let set = load.operation_names().position(|name| name == "SET");
    let (Some(set), Some(last)) = (set, requests.checked_sub(1)) else { return 0 };
    let before = numberings[set].before(last);
    before + u64::from(operations.pick(last) as usize == set)
}

/// Monitor of the verification: it says which keys are wrong.
pub(super) struct Verification;

impl Observer for Verification {
    fn interval(&mut self, _snapshot: &Snapshot<'_>) {}
}

impl RunMonitor for Verification {
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, run: &Run) -> Result<bool> {
        let errors = &run.measurement.total.errors;
        let mut unread = false;
        for example in errors.examples() {
            unread |= diagnostics::put(&format!("error: {}\n", report::escape(example))).is_err();
        }
        if unread { Err(ClosedPipe.into()) } else { Ok(errors.total() == 0) }
    }
}
