//! Sending on a cluster: the node of each request, and its encoding.

use engine::Engine;
use wire::Protocol;
use workload::DueRequest;

use super::{Cluster, ClusterRequest, Mark, RouteState, recovery};
use crate::recorder::Recorder;
use crate::request::Request;
use crate::route::by_node::{ByNode, ByNodeState, Lane, RequestSources};
use crate::worker::{Worker, operations};

impl ByNode for Cluster<'_> {
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
        place.lane()
    }

    #[inline]
    fn mark(first: u32, commands: u32, client: u32) -> Mark {
        Mark::new(first, commands, client)
    }

    fn mark_sourced(client: u32, command: &DueRequest) -> Mark {
        let DueRequest { slot, bound, .. } = *command;
        Mark { slot, bound, ..Mark::new(command.command, 1, client) }
    }

    #[inline]
    fn client(mark: &Mark) -> u32 {
        mark.client
    }

    #[inline]
    fn was_sent(request: &ClusterRequest) -> bool {
        request.mark.was_sent()
    }

    #[inline]
    fn sends_whole(&self) -> bool {
        self.commands.whole
    }

    /// Queues a request for the node that owns its key.
    #[inline]
    fn enqueue<E: Engine, P: Protocol>(
        worker: &mut Worker<'_, E, P, Self>,
        mut request: ClusterRequest,
    ) {
        let route = &mut worker.route;
        let command = route.commands.key_of(request.command, request.left);
        // A request of a source knows its slot.
        if worker.source.is_none() {
            let slots = &route.commands.slots;
            let given = request.given(&worker.steps.kept);
            request.mark.slot = worker.batch.slot(slots, given, command, &mut route.key);
        }
        request.mark.read_only = route.commands.read_only[command];
        let node = route.map.route(request.mark.slot, request.mark.read_only);
        route.shared.queues.push(request.mark.lane(node), request);
    }

    fn give_up<E: Engine, P: Protocol>(
        worker: &mut Worker<'_, E, P, Self>,
        node: u16,
        request: ClusterRequest,
    ) {
        recovery::give_up(worker, node, request);
    }

    #[inline]
    fn take_up(&mut self, request: &mut ClusterRequest) {
        if std::mem::take(&mut request.mark.delayed) {
            self.shared.set_aside -= u64::from(request.left);
        }
    }

    #[inline]
    fn write(
        &mut self,
        request: &ClusterRequest,
        _node: u16,
        (batch, kept, source): RequestSources<'_>,
        counted: Option<&mut Recorder>,
        out: &mut Vec<u8>,
    ) {
        let Request { mark: Mark { first, commands, asking, .. }, .. } = *request;
        if let (Some(source), Some(retained)) = (source, &mut self.retained) {
            if asking {
                out.extend_from_slice(&self.asking);
            }
            return retained.append(request, source, &mut self.shared.forgotten, out);
        }
        if let (Some(recorder), false) = (counted, asking) {
            return operations::append(request, batch, kept, recorder, out);
        }
        let (from, to) = (first as usize, (first + commands) as usize);
        let given = request.given(kept);
        if !asking {
            return batch.append_of(given, from..to, out);
        }
        for command in from..to {
            if self.commands.asks[command] {
                out.extend_from_slice(&self.asking);
            }
            batch.append_of(given, command..command + 1, out);
        }
    }
}
