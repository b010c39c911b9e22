//! The plans of a table: one for a side, or one for each share of the keys, sent at the same time.

use workload::{CacheCommand, Plan, PlanParts, Stop, Target};

use super::placement::CpuPlacement;
use super::{ComparisonTerms, PairedLoad, Side, Test};

/// Division of a load.
pub(super) struct Shares<'w> {
    pub(super) count: usize,
    pub(super) terms: &'w ComparisonTerms,
    pub(super) placement: &'w CpuPlacement,
}

impl Shares<'_> {
    /// A load on the servers of both sides; the two tests may differ in how a get is split.
    pub(super) fn paired(
        &self,
        sides: &[Side; 2],
        tests: [&Test; 2],
        servers: &[Vec<Target>; 2],
    ) -> Result<PairedLoad, String> {
        let plans = |side: usize| -> Result<Vec<Plan>, String> {
            (0..self.count)
                .map(|share| {
                    let targets = &servers[side];
                    let target = targets[share % targets.len()].clone();
                    let load = self.share(&tests[side].load, share)?;
                    let plan =
                        load.in_protocol(sides[side].protocol, target, &tests[side].value)?;
                    PlanParts { name: tests[side].name.clone(), ..plan }
                        .build()
                        .map_err(|error| error.to_string())
                })
                .collect()
        };
        Ok(PairedLoad { name: tests[0].name.clone(), sides: [plans(0)?, plans(1)?] })
    }

    fn share(&self, whole: &PlanParts, share: usize) -> Result<PlanParts, String> {
        let count = self.count;
        let part = |n: u64| n.div_ceil(count as u64).max(1);
        let mut load = whole.clone();
        if count > 1 {
            for command in &mut load.sequence {
                let own = CacheCommand::read(command)?.prefixed(&format!("s{share}:"));
                *command = own.in_protocol(whole.protocol)?;
            }
            load.data.keys.range = load.data.keys.range.map(part);
            if let Stop::Requests(n) = load.load.stop {
                load.load.stop = Stop::Requests(part(n));
            }
            load.load.concurrency.connections =
                part(load.load.concurrency.connections.into()) as u32;
            load.load.seed = load.load.seed.wrapping_add(share as u64);
        }
        let as_asked = self.terms.threads_given || self.placement.client.is_empty();
        let threads = if as_asked {
            usize::from(load.load.concurrency.workers)
        } else {
            self.placement.client.len()
        };
        let threads =
            (threads / count).clamp(1, load.load.concurrency.connections.clamp(1, 500) as usize);
        (load.load.concurrency.workers, load.load.concurrency.multi_thread) =
            (threads as u16, threads > 1);
        if !self.placement.client.is_empty() {
            let turns = self.placement.client.iter().copied().cycle();
            load.load.concurrency.cpus = turns.skip(share * threads).take(threads).collect();
        }
        Ok(load)
    }
}
