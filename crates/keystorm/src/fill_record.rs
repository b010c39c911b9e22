//! Record of what a server was filled with: contents, announcements, evictions, and keys to remove.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use report::{Run, Summary, Warning, WarningKind};
use workload::{Data, Load, PlanParts};

/// Record of the data that a server was filled with.
#[derive(Debug, Default)]
pub(crate) struct FillRecord(Mutex<State>);

/// State of a record.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Content last written, for each form of keys.
    written: HashMap<String, String>,
    /// Fills that were announced.
    pub(crate) announced: HashSet<String>,
    /// Warning about evictions by the last fill.
    evicted: Option<Warning>,
    /// Keys that were written and are to be removed at the end, once for each form.
    pub(crate) to_remove: HashMap<String, PlanParts>,
}

/// Keys to fill, and their content.
pub(crate) struct Content {
    pub(crate) keys: String,
    pub(crate) all: String,
}

impl Content {
    /// Takes the content from a plan that writes.
    pub(crate) fn from_parts(parts: &PlanParts) -> Result<Self> {
        let PlanParts { sequence, load: Load { seed, shard, .. }, data, .. } = parts;
        let Data { keys, values, .. } = data;
        let names: Vec<_> = sequence.iter().map(|command| command.args.get(1)).collect();
        Ok(Self {
            keys: serde_json::to_string(&(names, keys, shard))?,
            all: serde_json::to_string(&(sequence, keys, values, seed, shard))?,
        })
    }
}

impl FillRecord {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all fills, as the server is another.
    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        (state.evicted, state.written) = (None, HashMap::new());
    }

    /// Returns the warning for every run that reads the data.
    pub(crate) fn evicted(&self) -> Option<Warning> {
        self.lock().evicted.clone()
    }

    /// Notes evictions during the fill of `what`.
    pub(crate) fn note(&self, run: &Run, what: &str) {
        let counts = run.watched.servers.iter().filter_map(|server| server.evicted_keys);
        let evicted = counts.fold(0, u64::saturating_add);
        let text = format!(
            "{what}: the server evicted {} keys in the course of {} writes, to stay below its limit of memory",
            report::grouped(evicted as f64),
            report::grouped(run.measurement.total.requests() as f64)
        );
        if evicted > 0 {
            self.lock().evicted = Some(Warning::about(WarningKind::Evicted, what, text));
        }
    }

    /// After a run that may have used up its data, forgets the fill, so that the next run fills anew. Evicted
    /// data would be evicted again, and intentionally missing data was never written.
    pub(crate) fn forget_used(&self, run: &Run) {
        let plan = &run.plan;
        let evicts = self.evicted().is_some()
            || run.watched.servers.iter().any(|server| server.evicted_keys > Some(0));
        let is_meant = plan.key_spaces().any(|(_, keys)| keys.draw.may_miss());
        let used = plan.data.fill_lifetime.is_some()
            || plan
                .sequence
                .iter()
                .any(|command| !command.reads(plan.protocol) && !plan.writes(command))
            || !evicts && !is_meant && Summary::from_run(run).lookups.misses > 0;
        if plan.data.fill.is_some() && used {
            self.forget();
        }
    }

    /// Notes a content. Returns whether the server was not filled with it before.
    pub(crate) fn is_new(&self, content: &Content) -> bool {
        let Content { keys, all } = content;
        self.lock().written.insert(keys.clone(), all.clone()).as_ref() != Some(all)
    }
}
