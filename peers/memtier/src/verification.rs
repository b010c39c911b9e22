//! `--data-verify`: what was written is read again by one connection, and compared with the file.

use anyhow::Result;
use console::diagnostics::{self, ClosedPipe};
use job::RunMonitor;
use report::Run;
use runner::{Observer, Snapshot};
use workload::{
    BudgetScope, Concurrency, Data, Load, Mix, Pace, PeerOptions, Pick, Plan, PlanParts, Recovery,
    Stop,
};

use super::fault::{Fault, check_error};
use super::items::Items;
use super::options::Options;
use super::plan::{get_command, one};

/// The plan that reads what the SETs of one connection of `load` write, in their order.
pub(super) fn plan(options: &Options, items: &Items, load: &Plan) -> Result<PlanParts, Fault> {
    let count = match options.requests_each() {
        Some(each) => sets_of(load, each),
        // Nobody knows how far a run by time came: each item once.
        None => load.data.dataset.as_ref().map_or(0, |items| items.len() as u64),
    };
    if count == 0 {
        return Err(check_error("--data-verify: no SET is sent, so that nothing can be compared"));
    }
    let [keys, _] = &items.keys;
    let operation = one("GET", 1, keys.clone());
    Ok(PlanParts {
        name: "memtier verification".to_owned(),
        sequence: vec![get_command(options, &items.key, 0)],
        mix: Some(Mix { operations: vec![operation], pick: Pick::InOrder }),
        load: Load {
            concurrency: Concurrency {
                workers: 1,
                connections: 1,
                joining: None,
                spacing: None,
                ..load.load.concurrency.clone()
            },
            pace: Pace::Closed,
            stop: Stop::Requests(count),
            at_most_ns: None,
            share: BudgetScope::PerConnection,
            ..load.load.clone()
        },
        data: Data { keys: keys.clone(), verify: true, fail_on_miss: true, ..load.data.clone() },
        recovery: Recovery { retry: None, ..load.recovery.clone() },
        peer: PeerOptions { each_failure: false, ..load.peer.clone() },
        ..(**load).clone()
    })
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
