//! Sending on a ring: the servers of a request, whole or in parts, and their encoding.

use engine::Engine;
use wire::Protocol;

use super::lost::Why;
use super::split::SplitId;
use super::{Mark, RingRequest, RingRoute, RingWorker, RouteState, lost};
use crate::recorder::Recorder;
use crate::request::Request;
use crate::route::by_node::{ByNode, ByNodeState, Lane, RequestSources};
use crate::worker::{Worker, operations};

impl ByNode for RingRoute<'_> {
    #[inline]
    fn shared_mut(&mut self) -> &mut ByNodeState<Mark> {
        &mut self.shared
    }

    #[inline]
    fn shared(&self) -> &ByNodeState<Mark> {
        &self.shared
    }

    #[inline]
    fn lane(place: &RouteState) -> Lane {
        place.0.into()
    }

    #[inline]
    fn mark(_first: u32, _commands: u32, _client: u32) -> Mark {
        Mark::default()
    }

    #[inline]
    fn has_begun(&self, request: &RingRequest) -> bool {
        let split = request.mark.split;
        request.progress.is_under_way() || !split.is_none() && self.splits.has_begun(split)
    }

    #[inline]
    fn sends_whole(&self) -> bool {
        false
    }

    /// Sends a step whole if all its keys are on one server.
    #[inline]
    fn enqueue<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, request: RingRequest) {
        if request.left == 1 {
            return enqueue_command(worker, request, SplitId::NONE);
        }
        let commands = request.command..request.command + request.left;
        worker.route.found.clear();
        commands.clone().for_each(|command| find(worker, &request, command as usize));
        let RingRoute { found, splits, .. } = &mut worker.route;
        if let Some((&first, others)) = found.split_first()
            && others.iter().all(|other| *other == first)
        {
            return push(worker, first, request);
        }
        let step = splits.begin(SplitId::NONE, request.left);
        for command in commands {
            enqueue_command(worker, Request { command, left: 1, ..request }, step);
        }
    }

    #[inline]
    fn begins(&mut self, request: &RingRequest) -> bool {
        let split = request.mark.split;
        split.is_none() || self.splits.hand(split)
    }

    fn give_up<E: Engine, P: Protocol>(
        worker: &mut Worker<'_, E, P, Self>,
        node: u16,
        request: RingRequest,
    ) {
        lost::lose(worker, node, &request, Why::Over);
    }

    #[inline]
    fn write(
        &mut self,
        request: &RingRequest,
        node: u16,
        (batch, kept, _): RequestSources<'_>,
        counted: Option<&mut Recorder>,
        out: &mut Vec<u8>,
    ) {
        let Request { mark: Mark { split }, command, left, measured, .. } = *request;
        let given = request.given(kept);
        let at = command as usize;
        if split.is_none() || self.splits.get(split).is_step() {
            return match counted {
                Some(recorder) => operations::append(request, batch, kept, recorder, out),
                None => batch.append_of(given, at..at + left as usize, out),
            };
        }
        let servers = &self.splits.get(split).servers;
        let before = out.len();
        batch.append_some(&self.keys, at, |key| servers[key] == node, given, out);
        if let Some(recorder) = counted {
            recorder.sent_bytes(command, out.len() - before, measured);
        }
    }
}

/// Queues a command at the servers of its keys, as a part of that step if there is one.
#[inline]
fn enqueue_command<E: Engine, P: Protocol>(
    worker: &mut RingWorker<'_, '_, E, P>,
    request: RingRequest,
    step: SplitId,
) {
    let part_of = |split| Request { mark: Mark { split }, ..request };
    worker.route.found.clear();
    find(worker, &request, request.command as usize);
    let route = &mut worker.route;
    let Some((&first, others)) = route.found.split_first() else {
        // It has no key, and goes to the servers in turn.
        route.turn = (route.turn + 1) % route.servers.len() as u16;
        let server = route.turn;
        return push(worker, server, part_of(step));
    };
    if others.iter().all(|other| *other == first) {
        return push(worker, first, part_of(step));
    }
    let found = std::mem::take(&mut route.found);
    // Each server once, by the first of its keys.
    let servers = || (0..).zip(&found).filter(|(at, server)| !found[..*at].contains(server));
    let split = route.splits.begin(step, servers().count() as u32);
    route.splits.of_mut(split).servers.extend_from_slice(&found);
    for (_, server) in servers() {
        push(worker, *server, part_of(split));
    }
    worker.route.found = found;
}

/// Adds the servers of the keys of a command.
#[inline]
fn find<E: Engine, P: Protocol>(
    worker: &mut RingWorker<'_, '_, E, P>,
    request: &RingRequest,
    command: usize,
) {
    let given = request.given(&worker.steps.kept);
    let RingRoute { keys, key, shares, found, .. } = &mut worker.route;
    for at in 0..keys.count(command) {
        key.clear();
        worker.batch.append_key(keys, command, at, given, key);
        found.push(shares.server(key));
    }
}

/// Queues a request at its server, if that is present.
#[inline]
fn push<E: Engine, P: Protocol>(
    worker: &mut RingWorker<'_, '_, E, P>,
    server: u16,
    request: RingRequest,
) {
    if worker.route.absence.is_gone(server) {
        worker.route.shared.lost_at_once += 1;
        return lost::lose(worker, server, &request, Why::Gone);
    }
    worker.route.shared.queues.push(server, request);
}
