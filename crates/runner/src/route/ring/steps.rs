//! Implementation of [`Route`] for several servers.

use std::borrow::Cow;

use engine::{Address, ConnId, Engine};
use measure::NodeTally;
use wire::Protocol;

use super::split::PartEnd;
use super::{Mark, RingRequest, RingRoute, RouteState, lost};
use crate::recorder::Recorder;
use crate::request::SettledReply;
use crate::route::{Completion, LostRequest, Route, RouteHooks, by_node};
use crate::worker::Worker;

impl RingRoute<'_> {
    #[inline]
    fn tally(&mut self, place: RouteState) -> &mut NodeTally {
        &mut self.tallies[usize::from(place.0)]
    }

    /// Returns whether a request has only some of the keys of its command.
    #[inline]
    fn is_split(&self, request: &RingRequest) -> bool {
        let split = request.mark.split;
        !split.is_none() && !self.splits.get(split).is_step()
    }
}

impl Route for RingRoute<'_> {
    type Mark = Mark;
    type RouteState = RouteState;
    const SENDS_ANYWHERE: bool = true;

    /// Gives each server at least one connection. Each worker begins after the last server of the previous
    /// one.
    fn places(&self, connections: u32) -> Vec<RouteState> {
        let servers = self.servers.len() as u32;
        let places = 0..connections.max(servers);
        places.map(|n| RouteState(((self.first + n) % servers) as u16)).collect()
    }

    fn address(&self, place: &RouteState) -> Cow<'_, Address> {
        Cow::Borrowed(&self.servers[usize::from(place.0)].address)
    }

    fn has_room(&self, in_flight: u64) -> bool {
        self.shared.has_room(in_flight)
    }

    #[inline]
    fn record_of(&self, place: &RouteState, recorder: &mut Recorder) {
        recorder.of_node(place.0);
    }

    fn splits_sequences(&self) -> bool {
        true
    }

    fn waiting(&self) -> u64 {
        self.shared.queues.waiting() as u64
    }

    fn dequeue(&mut self, place: &RouteState, conn: ConnId) -> bool {
        self.shared.queues.remove_idle(place.0, conn);
        true
    }

    /// Refuses retries of split requests, as other parts may have been carried out.
    fn may_retry(&self, _place: &RouteState, request: &RingRequest, _text: &str) -> bool {
        request.mark.split.is_none()
    }

    fn counts_error(&mut self, place: &mut RouteState, request: &RingRequest, _text: &str) -> bool {
        self.tally(*place).errors += u64::from(request.measured);
        !self.is_split(request) || self.splits.fail(request.mark.split)
    }

    /// Records a split request with its last part.
    #[inline]
    fn counts(
        &mut self,
        place: &mut RouteState,
        request: &RingRequest,
        answer: &SettledReply,
        now_ns: u64,
    ) -> bool {
        by_node::tally_reply(self.tally(*place), &answer.answered, now_ns);
        let is_split = self.is_split(request);
        if is_split {
            self.splits.answer(request.mark.split, answer);
        }
        !is_split
    }

    #[inline]
    fn completed(
        &mut self,
        _place: &mut RouteState,
        request: &mut RingRequest,
        recorder: &mut Recorder,
        now_ns: u64,
    ) -> Completion {
        let split = request.mark.split;
        if split.is_none() {
            return Completion::Whole;
        }
        let (answer, ended) = self.splits.end(split, request, true);
        if let Some(answer) = answer {
            recorder.reply(&answer, now_ns);
        }
        match ended {
            PartEnd::Not => Completion::Partly,
            PartEnd::Whole => Completion::Whole,
            PartEnd::Lost => Completion::Lost,
        }
    }

    fn count_ready(&mut self, place: &RouteState, is_ready: bool) {
        self.shared.queues.count_ready(place.0, is_ready);
        self.absence.note(place.0, self.shared.queues.is_absent(place.0));
    }

    fn forsake(&mut self, request: &RingRequest) -> LostRequest {
        let split = request.mark.split;
        if split.is_none() {
            return LostRequest { commands: u64::from(request.left), is_last: true };
        }
        let commands = self.splits.lose(split, request.left);
        let (_, ended) = self.splits.end(split, &mut { *request }, false);
        LostRequest { commands, is_last: ended != PartEnd::Not }
    }

    fn count_unanswered(&mut self, place: &RouteState, commands: u64) {
        self.tally(*place).unanswered += commands;
    }

    #[inline]
    fn has_news(&self, now_ns: u64) -> bool {
        now_ns >= self.absence.look_ns()
    }

    /// Counts requests that were sent in part as unanswered.
    fn finish(mut self, recorder: &mut Recorder) -> Vec<NodeTally> {
        for server in 0..self.servers.len() as u16 {
            for request in self.shared.queues.drain(server) {
                let split = request.mark.split;
                if request.measured && request.progress.retries > 0 {
                    recorder.connections().unanswered += u64::from(request.left);
                    self.count_unanswered(&RouteState(server), u64::from(request.left));
                }
                if request.measured && !split.is_none() && self.splits.has_begun(split) {
                    let commands = self.forsake(&request).commands;
                    recorder.connections().unanswered += commands;
                    self.count_unanswered(&RouteState(server), commands);
                }
            }
        }
        self.tallies
    }
}

impl RouteHooks for RingRoute<'_> {
    fn prepare<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        worker.recorder.know_nodes(worker.route.servers.len(), worker.engine.now_ns());
    }

    fn start<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        by_node::start(worker);
    }

    #[inline]
    fn refill<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId) {
        by_node::queue_up(worker, conn);
        by_node::dispatch(worker);
    }

    #[inline]
    fn dispatch<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        by_node::dispatch(worker);
    }

    #[inline]
    fn follow<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, _conn: ConnId) {
        by_node::follow(worker);
    }

    fn take_news<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        lost::look(worker);
    }

    /// Returns none while any server is present.
    fn absent_server<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> Option<String> {
        let RingRoute { absence, servers, .. } = &worker.route;
        absence.is_total().then(|| servers[0].address.to_string())
    }

    fn give_up_waiting<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, now_ns: u64) {
        by_node::give_up_waiting(worker, worker.route.servers.len() as u16, now_ns);
    }

    fn wants_connections<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        !worker.has_no_more() || worker.in_flight > 0
    }

    fn wake_ns<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>, _now_ns: u64) -> u64 {
        worker.route.absence.look_ns()
    }

    fn note_asked<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        let cut_off = worker.is_cut_off();
        let Worker { connections, route, recorder, .. } = worker;
        recorder.asks(|server| {
            let NodeTally { unanswered, .. } = route.tallies[usize::from(server)];
            // Without a connection, no request is drawn that could wait for its server, so the server is noted
            // as missing here.
            if cut_off && route.tallies[usize::from(server)].requests() + unanswered > 0 {
                return true;
            }
            route.shared.queues.peek(server).is_some()
                || route.absence.is_gone(server)
                || connections.iter().any(|c| c.place.0 == server && c.requests.commands() > 0)
        });
    }
}
