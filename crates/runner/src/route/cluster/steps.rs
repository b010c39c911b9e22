//! Implementation of [`Route`] for a cluster.

use std::borrow::Cow;

use engine::{Address, ConnId, Engine};
use measure::NodeTally;
use wire::Protocol;
use wire::cluster::Redirect;

use super::{Cluster, ClusterRequest, Mark, RouteState, balance, recovery, redirect};
use crate::Fatal;
use crate::recorder::Recorder;
use crate::request::{OperationState, Request, SettledReply};
use crate::route::{Completion, LostRequest, Route, RouteHooks, by_node};
use crate::worker::Worker;

/// Time between checks for news of the cluster while nothing else happens.
const NEWS_EVERY_NS: u64 = 20_000_000;

impl Route for Cluster<'_> {
    type Mark = Mark;
    type RouteState = RouteState;
    const SENDS_ANYWHERE: bool = true;

    /// Gives each node that gets load at least one connection, or one of each client where clients have their
    /// own.
    fn places(&self, connections: u32) -> Vec<RouteState> {
        let used = self.map.used();
        if self.shared.queues.has_clients() {
            return (0..connections)
                .flat_map(|client| used.iter().map(move |node| RouteState::new(*node, client)))
                .collect();
        }
        let mut given = vec![0u64; used.len()];
        let mut place = |_| {
            let of = |n: &usize| [given[*n], u64::from(self.map.weight(used[*n]))];
            let next = (0..used.len())
                .min_by(|a: &usize, b: &usize| balance::least_for_its_weight(of(a), of(b)))
                .unwrap_or(0);
            given[next] += 1;
            RouteState::new(used[next], 0)
        };
        (0..used.len().max(connections as usize)).map(&mut place).collect()
    }

    fn address(&self, place: &RouteState) -> Cow<'_, Address> {
        Cow::Owned(Address::Tcp(self.map.node(place.node).address))
    }

    fn has_room(&self, in_flight: u64) -> bool {
        self.shared.has_room(in_flight)
    }

    #[inline]
    fn record_of(&self, place: &RouteState, recorder: &mut Recorder) {
        recorder.of_node(self.number(place.node));
    }

    fn server(&self, place: &RouteState) -> String {
        self.map.node(place.node).name.clone()
    }

    fn splits_sequences(&self) -> bool {
        !self.commands.whole
    }

    fn waiting(&self) -> u64 {
        self.shared.queues.waiting() as u64
    }

    fn dequeue(&mut self, place: &RouteState, conn: ConnId) -> bool {
        self.shared.queues.remove_idle(place.lane(), conn);
        true
    }

    #[inline]
    fn counted_as(&self, place: &RouteState, conn: ConnId) -> ConnId {
        if self.shared.queues.has_clients() { ConnId(place.client) } else { conn }
    }

    #[inline]
    fn passes_over(&self, oldest: &mut ClusterRequest) -> bool {
        let Request { mark, command, .. } = oldest;
        let next = *command + 1;
        let due = mark.asking && mark.asked != next && self.commands.asks[*command as usize];
        if due {
            mark.asked = next;
        }
        due
    }

    fn may_retry(&self, place: &RouteState, _request: &ClusterRequest, text: &str) -> bool {
        place.redirect.is_none() && Redirect::parse(text).is_none()
    }

    /// Excludes redirects, and an `EXEC` that fails because of one.
    fn counts_error(
        &mut self,
        place: &mut RouteState,
        request: &ClusterRequest,
        text: &str,
    ) -> bool {
        if Redirect::parse(text).is_some() && !request.mark.bound {
            place.redirect.get_or_insert_with(|| text.to_owned());
        }
        let counts = place.redirect.is_none();
        if counts {
            self.tally(place.node).errors += u64::from(request.measured);
        } else {
            place.passed_over += 1;
        }
        counts
    }

    /// Holds the outcomes of an indivisible sequence until it is known to have been carried out.
    #[inline]
    fn counts(
        &mut self,
        place: &mut RouteState,
        request: &ClusterRequest,
        answer: &SettledReply,
        now_ns: u64,
    ) -> bool {
        let single = request.mark.commands == 1;
        if self.map.compares_answers() {
            self.map.answered(place.node, now_ns - request.handed_ns);
        }
        if single {
            by_node::tally_reply(self.tally(place.node), &answer.answered, now_ns);
        } else {
            place.held.push(*answer);
        }
        single
    }

    #[inline]
    fn completed(
        &mut self,
        place: &mut RouteState,
        request: &mut ClusterRequest,
        recorder: &mut Recorder,
        now_ns: u64,
    ) -> Completion {
        if let Some(text) = place.redirect.take() {
            place.held.clear();
            place.passed_over = 0;
            let Mark { first, commands, .. } = request.mark;
            let progress = OperationState { missed: false, failed: false, ..request.progress };
            let whole = Request { command: first, left: commands, progress, ..*request };
            self.turned_away.push((place.node, whole, text));
            return Completion::Partly;
        }
        for answer in place.held.drain(..) {
            recorder.reply(&answer, now_ns);
            let tally = &mut self.tallies[usize::from(place.node)];
            by_node::tally_reply(tally, &answer.answered, now_ns);
        }
        self.forget_sourced(request);
        Completion::Whole
    }

    fn forsake(&mut self, request: &ClusterRequest) -> LostRequest {
        self.forget_sourced(request);
        LostRequest { commands: u64::from(request.left), is_last: true }
    }

    fn count_ready(&mut self, place: &RouteState, is_ready: bool) {
        self.shared.queues.count_ready(place.lane(), is_ready);
    }

    fn withheld(place: &mut RouteState) -> u64 {
        place.redirect = None;
        place.held.drain(..).count() as u64 + std::mem::take(&mut place.passed_over)
    }

    fn count_unanswered(&mut self, place: &RouteState, commands: u64) {
        self.tally(place.node).unanswered += commands;
    }

    fn ask_where(&self) {
        self.watch.ask();
    }

    #[inline]
    fn has_news(&self, now_ns: u64) -> bool {
        self.watch.version() != self.version || self.later.ended(now_ns)
    }

    fn finish(mut self, recorder: &mut Recorder) -> Vec<NodeTally> {
        let mut unanswered = Vec::new();
        for node in 0..self.tallies.len() as u16 {
            let resent = self.shared.queues.drain(node).into_iter().filter(|r| r.was_ever_sent());
            unanswered.extend(resent.map(|request| (node, request)));
        }
        for request in self.later.take(|_| true) {
            let node = self.map.route(request.mark.slot, request.mark.read_only);
            unanswered.push((node, request));
        }
        for (node, request) in unanswered.into_iter().filter(|(_, request)| request.measured) {
            recorder.connections().unanswered += u64::from(request.left);
            self.tally(node).unanswered += u64::from(request.left);
        }
        for (number, tally) in (0..).zip(&mut self.tallies) {
            (tally.master, tally.slots) = self.map.role(number);
            tally.used |= self.map.is_used(number);
        }
        self.tallies
    }
}

impl RouteHooks for Cluster<'_> {
    fn prepare<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        super::know_nodes(worker);
        worker.route.tell_owners(worker.engine.now_ns());
        for connection in &worker.connections {
            worker.route.shared.queues.count_connection(connection.place.lane(), true);
        }
    }

    fn start<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        by_node::start(worker);
    }

    #[inline]
    fn refill<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId) {
        let idle = worker.connections[conn.0 as usize].requests.commands() == 0;
        if idle && worker.route.unbalanced && balance::rehome(worker, conn) {
            return;
        }
        by_node::queue_up(worker, conn);
        by_node::dispatch(worker);
    }

    #[inline]
    fn dispatch<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        by_node::dispatch(worker);
    }

    #[inline]
    fn follow<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId) {
        if worker.route.commands.follows {
            by_node::follow_on(worker, conn)
        } else {
            by_node::follow(worker)
        }
    }

    fn take_news<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        recovery::take_news(worker);
    }

    fn absent_server<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> Option<String> {
        let route = &worker.route;
        let mut nodes = 0..route.map.nodes().len() as u16;
        let absent = nodes.find(|node| route.shared.queues.is_cut_off(*node))?;
        Some(route.map.node(absent).name.clone())
    }

    fn waits<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        worker.route.waiting() > 0 || !worker.route.later.is_empty()
    }

    fn give_up_waiting<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, now_ns: u64) {
        recovery::give_up_waiting(worker, now_ns);
    }

    #[inline]
    fn after_read<E: Engine, P: Protocol>(
        worker: &mut Worker<'_, E, P, Self>,
    ) -> Result<(), Fatal> {
        if worker.route.turned_away.is_empty() { Ok(()) } else { redirect::redirect(worker) }
    }

    fn wants_connections<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        !worker.has_no_more() || worker.in_flight > 0
    }

    fn wake_ns<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>, now_ns: u64) -> u64 {
        let route = &worker.route;
        let later_ns = route.later.first_ns().unwrap_or(u64::MAX);
        // While something is amiss, news of the cluster may come at any time; past the end, what
        // is to be sent again is waited for as well.
        let amiss = route.unbalanced
            || worker.recovery.is_under_way()
            || !route.later.is_empty()
            || now_ns >= worker.stop_ns;
        later_ns.min(if amiss { now_ns + NEWS_EVERY_NS } else { u64::MAX })
    }

    fn drop_overdue<E: Engine, P: Protocol>(
        worker: &mut Worker<'_, E, P, Self>,
        overdue_ns: u64,
    ) -> Option<String> {
        recovery::drop_overdue(worker, overdue_ns)
    }

    fn gives_up<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>, now_ns: u64) -> bool {
        recovery::gives_up(worker, now_ns) || by_node::gives_up(worker, now_ns)
    }

    fn note_asked<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>) {
        super::note_asked(worker);
    }
}
