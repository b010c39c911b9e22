//! Constraints of a plan, with errors that name options by their identity.

use super::{BudgetScope, Operation, Plan, PlanError, PlanParts, StepCondition, Stop, limits};
use std::ops::Range;

use naming::{
    CLUSTER, CONNECTIONS, CONTENT, DATASET, DURATION, FAIL_ON_MISS, FILL, HIT_RATIO, HOST, JOIN,
    KEY_DIST, KEY_RANGE, KEYS_BY, ONE_SLOT, PER_CONNECTION, PER_NODE, PIPELINE, PRECISION, RATE,
    REQUESTS, RFR_CONNECTIONS, RPS_PER_NODE, SEQUENTIAL, SHARD, SIZE, SIZE_BY, THREADS, Text,
    VERIFY, WARMUP, text,
};

use crate::{
    CommandSpec, DrawnBy, Endpoint, KeyDist, KeyGroups, KeySpace, Pace, Piece, Schedule, Shard,
    SizeBy, Slot, verify,
};

pub(crate) fn refuse<T: Into<Text>>(
    ok: bool,
    message: impl FnOnce() -> T,
) -> Result<(), PlanError> {
    if ok { Ok(()) } else { Err(PlanError(message().into())) }
}

impl PlanParts {
    /// Checks every bound and makes the plan.
    ///
    /// # Errors
    /// Returns the first violated bound, with its option and the limit.
    pub fn build(self) -> Result<Plan, PlanError> {
        self.check_concurrency()?;
        self.check_per_request()?;
        self.check_end()?;
        refuse((1..=5).contains(&self.recording.precision), || {
            let given = self.recording.precision;
            text!("{PRECISION} {given}: must be between 1 and 5")
        })?;
        self.check_retry()?;
        self.check_timeouts()?;
        if let Pace::Open(schedule) = &self.load.pace {
            self.check_schedule(schedule)?;
        }
        refuse(!self.sequence.is_empty(), || "no command to send".to_owned())?;
        refuse(self.sequence.len() <= limits::SEQUENCE_MAX, || {
            format!("a sequence has at most {} commands, including repeats", limits::SEQUENCE_MAX)
        })?;
        self.check_nodes()?;
        self.check_servers()?;
        self.check_mix()?;
        self.key_spaces()
            .try_for_each(|(span, keys)| self.check_keys(&self.sequence[span], keys))?;
        self.check_inserts()?;
        self.check_shard()?;
        self.check_batch_bytes()?;
        self.check_fields()?;
        let valued = self.data.values.is_some() || self.sequence.iter().all(|c| c.values() == 0);
        refuse(valued, || text!("a varying value requires {SIZE} or {CONTENT}"))?;
        self.check_verify()?;
        self.check_misses()?;
        self.check_replies()?;
        self.check_logged().and_then(|()| self.check_messages())?;
        self.check_source()?;
        Ok(Plan(self.without_open_passwords()))
    }

    fn check_concurrency(&self) -> Result<(), PlanError> {
        let given = &self.load.concurrency;
        refuse((1..=limits::WORKERS_MAX).contains(&given.workers), || {
            let (threads, most) = (given.workers, limits::WORKERS_MAX);
            text!("{THREADS} {threads}: must be between 1 and {most}")
        })?;
        refuse((1..=limits::CONNECTIONS_MAX).contains(&given.connections), || {
            text!(
                "{CONNECTIONS} {}: must be between 1 and {}",
                given.connections,
                limits::CONNECTIONS_MAX
            )
        })?;
        refuse((1..=limits::PIPELINE_MAX).contains(&given.pipeline_depth), || {
            text!(
                "{PIPELINE} {}: must be between 1 and {}",
                given.pipeline_depth,
                limits::PIPELINE_MAX
            )
        })?;
        refuse(given.renewed_per_s <= limits::RENEWALS_MAX, || {
            let (each, most) = (given.renewed_per_s, limits::RENEWALS_MAX);
            format!("{each} reconnects per second; the maximum is {most}")
        })?;
        if let Some(joining) = given.joining {
            refuse(joining.first > 0 && joining.step > 0 && joining.every_ns > 0, || {
                "connections join the load at least one at a time, and one is there from the start"
                    .to_owned()
            })?;
            // Elsewhere the load of a node is on whichever connection has room.
            refuse(!self.target.is_by_key() || self.target.has_clients(), || {
                text!(
                    "{JOIN}: among several servers that share out keys, only clients of a cluster join \
                 the load: add {CLUSTER} {PER_NODE}"
                )
            })?;
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), PlanError> {
        match self.load.stop {
            Stop::Requests(n) => refuse((1..=limits::REQUESTS_MAX).contains(&n), || {
                text!("{REQUESTS} {n}: must be between 1 and {}", limits::REQUESTS_MAX)
            })?,
            Stop::AfterNs(ns) => refuse((1..=limits::DURATION_NS_MAX).contains(&ns), || {
                text!(
                    "{DURATION} {}: must be above 0 seconds and at most 366 days",
                    ns as f64 / 1e9
                )
            })?,
        }
        let limit =
            self.load.at_most_ns.is_none_or(|ns| (1..=limits::DURATION_NS_MAX).contains(&ns));
        refuse(limit, || "a time limit must be above 0 seconds and at most 366 days")?;
        refuse(self.load.warmup_ns <= limits::DURATION_NS_MAX, || {
            text!("{WARMUP} {}: the maximum is 366 days", self.load.warmup_ns as f64 / 1e9)
        })
    }

    /// Turns every password in its commands into a secret.
    fn without_open_passwords(mut self) -> Self {
        let known = self.target.credentials.as_ref().map(|login| login.password.reveal());
        for command in self
            .setup
            .iter_mut()
            .chain(&mut self.sequence)
            .chain(self.data.fill.iter_mut().flatten())
        {
            command.hide_passwords(known);
        }
        self
    }

    fn check_schedule(&self, schedule: &Schedule) -> Result<(), PlanError> {
        let most = limits::RATE_MAX;
        let rates = schedule.stages.iter().flat_map(|s| [s.from_per_s, s.to_per_s]);
        let possible = rates.into_iter().all(|r| r.is_finite() && (0.0..=most).contains(&r));
        refuse(possible && schedule.peak_per_s() > 0.0, || {
            text!("{RATE}: must be above 0 and at most {most} per second")
        })?;
        refuse((1..=limits::STAGES_MAX).contains(&schedule.stages.len()), || {
            text!("{RATE}: must have between 1 and {} steps", limits::STAGES_MAX)
        })?;
        let (_, all_but_last) = schedule.stages.split_last().unwrap_or((&LASTING, &[]));
        refuse(all_but_last.iter().all(|s| s.lasts_ns.is_some()), || {
            text!("{RATE}: only the last step can have no end")
        })?;
        let lengths = schedule.stages.iter().filter_map(|s| s.lasts_ns);
        let total = lengths.clone().try_fold(0u64, u64::checked_add);
        let within = total.is_some_and(|ns| ns <= limits::DURATION_NS_MAX);
        refuse(within && lengths.into_iter().all(|ns| ns > 0), || {
            text!(
                "{RATE}: a step or ramp must be longer than 0 seconds, and all together at most 366 \
             days"
            )
        })?;
        let ends = matches!(self.load.stop, Stop::AfterNs(_)) || schedule.last_per_s() > 0.0;
        refuse(ends, || {
            text!(
                "{RATE}: a ramp that ends at 0 per second may never send the last of {REQUESTS} requests; use \
             {DURATION}"
            )
        })
    }

    fn check_nodes(&self) -> Result<(), PlanError> {
        let Some(options) = self.target.cluster else { return Ok(()) };
        refuse(!options.per_node || options.connections.is_none(), || {
            text!(
                "{PER_NODE}: each client has one connection to every node, which leaves nothing to \
             {RFR_CONNECTIONS}"
            )
        })?;
        refuse(!options.rate_per_node || options.per_node, || {
            text!("{RPS_PER_NODE}: requires {PER_NODE}")
        })?;
        refuse(!options.rate_per_node || self.load.pace != Pace::Closed, || {
            text!("{RPS_PER_NODE}: requires {RATE}")
        })
    }

    fn check_servers(&self) -> Result<(), PlanError> {
        let Some(servers) = self.target.servers() else { return Ok(()) };
        let most = limits::SERVERS_MAX;
        refuse((2..=most).contains(&servers.len()), || {
            text!("{HOST}: {} servers; must be between 2 and {most}", servers.len())
        })?;
        refuse(
            servers.iter().all(|server| matches!(server, Endpoint::Tcp { .. } | Endpoint::Unix(_))),
            || text!("{HOST}: each of several servers must be a host or a unix socket"),
        )?;
        match self.target.ring() {
            Some((servers, _)) => self.check_ring(servers),
            None => self.check_pool(),
        }
    }

    fn check_ring(&self, servers: &[Endpoint]) -> Result<(), PlanError> {
        let twice = servers.iter().enumerate().find(|(at, server)| servers[..*at].contains(server));
        refuse(twice.is_none(), || {
            text!("{HOST}: {} is named twice", twice.map_or(String::new(), |(_, s)| s.to_string()))
        })?;
        refuse(self.protocol.is_memcache(), || {
            text!(
                "{HOST}: several servers work with memcached only; for a cluster, name one node and add \
             {CLUSTER}"
            )
        })
    }

    fn check_pool(&self) -> Result<(), PlanError> {
        refuse(self.target.cluster.is_none(), || {
            text!("{CLUSTER}: name one node; keystorm finds the others")
        })?;
        refuse(self.data.fill.is_none(), || {
            text!("{FILL}: a key would be written to one server and read from any; name one server")
        })
    }

    fn check_verify(&self) -> Result<(), PlanError> {
        if !self.data.verify {
            return Ok(());
        }
        if self.data.dataset.as_ref().is_some_and(|dataset| dataset.values().is_some()) {
            let asks = self
                .sequence
                .iter()
                .any(|command| verify::keys_asked(command, self.protocol).len() == 1);
            return refuse(asks, || text!("{VERIFY}: no command reads the value of a single row"));
        }
        let Some(values) = &self.data.values else {
            return Err(PlanError(text!("{VERIFY}: requires {SIZE} or {CONTENT}")));
        };
        refuse(values.by == SizeBy::Key, || {
            text!(
                "{VERIFY}: cannot be combined with {SIZE_BY}=request, where the size of a key's \
             value is unknown"
            )
        })?;
        refuse(self.key_spaces().all(|(_, keys)| keys.range.is_some()), || {
            text!("{VERIFY}: requires {KEY_RANGE}, such as {KEY_RANGE} 1M")
        })?;
        let mut asked_keys =
            self.sequence.iter().flat_map(|command| verify::keys_asked(command, self.protocol));
        let known = asked_keys.any(|key| key.is_some());
        refuse(known, || {
            let names = verify::names(self.protocol).collect::<Vec<_>>().join(", ");
            text!(
                "{VERIFY}: no command reads the values of numbered keys; {names} do, such as: \
                 get key:__rand_int__"
            )
        })
    }

    /// Misses that a plan asks for are no errors in it.
    fn check_misses(&self) -> Result<(), PlanError> {
        if !self.data.fail_on_miss {
            return Ok(());
        }
        refuse(self.sequence.iter().any(|command| command.looks_for(self.protocol)), || {
            text!("{FAIL_ON_MISS}: no command reads a key, as get k:__key__ does")
        })?;
        refuse(self.key_spaces().all(|(_, keys)| !keys.draw.may_miss()), || {
            text!("{FAIL_ON_MISS}: cannot be combined with {HIT_RATIO}, which asks for misses")
        })?;
        let operations = self.mix.iter().flat_map(|mix| &mix.operations);
        let mut steps = operations.flat_map(|operation| &operation.steps);
        refuse(steps.all(|step| step.when != StepCondition::OnMiss), || {
            text!("{FAIL_ON_MISS}: cannot be combined with ;?, which expects misses")
        })
    }

    /// Only a later step comes after a reply.
    fn check_replies(&self) -> Result<(), PlanError> {
        let first = |(operation, span): (&Operation, Range<usize>)| {
            let commands = operation.steps.first().map_or(0, |step| step.commands as usize);
            span.start..span.start + commands
        };
        let firsts: Vec<Range<usize>> = match &self.mix {
            Some(mix) => mix.spans().map(first).collect(),
            None => std::iter::once(0..self.sequence.len()).collect(),
        };
        let early = firsts.into_iter().flat_map(|span| &self.sequence[span]);
        let others = self.setup.iter().chain(self.data.fill.iter().flatten());
        let tokens = self.pieces().any(|piece| *piece == Piece::Cas);
        refuse(!tokens || self.protocol.is_memcache(), || {
            "__cas__ is the token of a memcached item".to_owned()
        })?;
        refuse(!early.chain(others).any(CommandSpec::names_reply), || {
            let names = "__reply__ is the value that an earlier step returned";
            let (names, such_as) = if self.protocol.is_memcache() {
                (
                    format!("{names}, and __cas__ its token"),
                    "gets a ';>' cas a 0 0 __cas__ __data__",
                )
            } else {
                (names.to_owned(), "get a ';>' set b __reply__")
            };
            format!("{names}: use it in a command after ;> or ;?, such as: {such_as}")
        })
    }

    fn check_shard(&self) -> Result<(), PlanError> {
        let Shard { index, of } = self.load.shard;
        refuse((1..=limits::SHARDS_MAX).contains(&of) && (1..=of).contains(&index), || {
            text!(
                "{SHARD} {index}/{of}: shares are numbered from 1, and the maximum is {}",
                limits::SHARDS_MAX
            )
        })?;
        refuse(self.load.concurrency.connections >= of, || {
            text!(
                "{SHARD} {index}/{of}: {CONNECTIONS} {} is the total over all shares, and each share needs \
                 a connection",
                self.load.concurrency.connections
            )
        })?;
        let enough = match self.load.stop {
            Stop::Requests(n) => n.div_ceil(self.requests_per_number() as u64) >= u64::from(of),
            Stop::AfterNs(_) => true,
        };
        refuse(enough, || {
            text!(
                "{SHARD} {index}/{of}: {REQUESTS} is the total over all shares, and each share needs \
                a request"
            )
        })
    }

    fn check_batch_bytes(&self) -> Result<(), PlanError> {
        let (one, depth) = (self.sequence_bytes(), self.load.concurrency.pipeline_depth);
        refuse(self.batch_bytes() <= limits::BATCH_BYTES_MAX, || {
            text!(
                "a pipeline of {depth} requests of {one} bytes is over the limit of {} bytes; \
                 lower {PIPELINE} or {SIZE}",
                limits::BATCH_BYTES_MAX
            )
        })
    }

    fn check_fields(&self) -> Result<(), PlanError> {
        let columns = self.data.dataset.as_ref().map_or(0, |d| d.columns().len());
        for piece in self.pieces() {
            if let Piece::Field(column) = piece {
                refuse(*column < columns, || {
                    text!("a __field:name__ placeholder requires {DATASET} FILE with that column")
                })?;
            }
        }
        Ok(())
    }

    /// Checks that keys can be drawn as is asked for, by the commands that are sent with them.
    fn check_keys(&self, commands: &[CommandSpec], keys: &KeySpace) -> Result<(), PlanError> {
        let KeySpace { range, draw, numbered, one_slot } = keys;
        let held = range.unwrap_or(0).max(1);
        refuse(numbered.first.checked_add(held).is_some(), || {
            format!("{held} keys from number {} on are more than can be counted", numbered.first)
        })?;
        refuse(numbered.by != DrawnBy::Slice || *draw == KeyDist::SEQUENTIAL, || {
            text!("{KEYS_BY}=slice: requires {SEQUENTIAL}, and not {KEY_DIST} {draw}")
        })?;
        let by = numbered.by;
        let counted = matches!(by, DrawnBy::Connection | DrawnBy::Slice);
        refuse(!counted || self.load.share == BudgetScope::PerConnection, || {
            text!(
                "{KEYS_BY}={by}: requires {PER_CONNECTION}, by which connections count for themselves"
            )
        })?;
        let mut pieces =
            commands.iter().flat_map(|command| &command.args).flat_map(|arg| &arg.pieces);
        let other = |piece: &Piece| matches!(piece, Piece::Number(Slot::Key | Slot::Shared(_)));
        refuse(one_slot.is_none() || !pieces.any(other), || {
            text!(
                "{ONE_SLOT}: the keys of a command must be __rand_int__, with the same text around it"
            )
        })?;
        refuse(one_slot.is_none() || held <= KeyGroups::KEYS_MAX, || {
            text!(
                "{KEY_RANGE} {held}: keys of one slot are looked for among {} at most",
                KeyGroups::KEYS_MAX
            )
        })?;
        refuse(draw.trace_range().is_none_or(|needed| needed <= held), || {
            let largest = draw.trace_range().unwrap_or(0).saturating_sub(1);
            text!("{KEY_DIST} {draw}: the file has key {largest}, beyond {KEY_RANGE} {held}")
        })
    }
}

/// Substitute for the missing stage of an empty schedule.
const LASTING: crate::Stage =
    crate::Stage { from_per_s: 0.0, to_per_s: 0.0, lasts_ns: None, unlimited: false };
