//! Operations of a mix on the route to one server: those of a turn are encoded together and sent as one piece.

use engine::{ConnId, Engine};
use wire::Protocol;
use workload::SequenceBatch;

use super::DirectWorker;
use crate::request::{OperationState, Request};
use crate::worker::operations::Steps;
use crate::worker::{Worker, operations};

/// Sends the first steps of the operations of a turn. The route gives the due times of scheduled ones.
#[inline]
pub(super) fn begin_operations<E: Engine, P: Protocol>(
    worker: &mut DirectWorker<'_, '_, E, P>,
    conn: ConnId,
    turn: SequenceBatch,
    measured: bool,
) {
    let of_run = worker.context.message_origin(conn).map(|origin| (origin, worker.engine.now_ns()));
    if worker.has_single_operations() && worker.pacer.is_none() && of_run.is_none() {
        return begin_runs(worker, conn, turn, measured);
    }
    let share = worker.context.plan.load.share;
    let Worker { connections, steps, recorder, batch, route, pacer, in_flight, .. } = worker;
    let Steps { operations: Some(operations), growing, kept, .. } = steps else { return };
    let connection = &mut connections[conn.0 as usize];
    route.out.clear();
    for n in 0..turn.sequences {
        let number = turn.first.wrapping_add(u64::from(n));
        let due_ns = if pacer.is_some() { route.due_ns[n as usize] } else { 0 };
        let mut request =
            Request::of_operation(operations, growing, number, due_ns, measured, |_, _| ());
        connection.scan.go_on(operations, share, &mut request);
        let start = route.out.len();
        operations::append(&request, batch, kept, recorder, &mut route.out);
        if let Some((origin, now_ns)) = of_run {
            // In a closed loop each is due when it is sent.
            let due_ns = if pacer.is_some() { due_ns } else { now_ns };
            let message = origin.message(measured, number, due_ns, now_ns);
            batch.put_message(message, &mut route.out[start..]);
        }
        *in_flight += u64::from(request.left);
        connection.requests.push(request);
    }
    send_operations(worker, conn, turn.sequences as usize);
}

/// Begins operations of one command each. Those of one command in a row are one request.
fn begin_runs<E: Engine, P: Protocol>(
    worker: &mut DirectWorker<'_, '_, E, P>,
    conn: ConnId,
    turn: SequenceBatch,
    measured: bool,
) {
    let Worker { connections, steps, recorder, batch, route, in_flight, .. } = worker;
    let Some(operations) = &steps.operations else { return };
    let requests = &mut connections[conn.0 as usize].requests;
    route.out.clear();
    let (mut runs, mut run) = (0, None::<Request<()>>);
    for number in (0..turn.sequences).map(|n| turn.first.wrapping_add(n.into())) {
        let operation = operations.pick(number);
        let command = operations.first_step(operation).start;
        let (at, before) = (command as usize, route.out.len());
        batch.append_of(number.into(), at..at + 1, &mut route.out);
        recorder.sent_bytes(command, route.out.len() - before, measured);
        if let Some(run) = run.as_mut().filter(|run| run.command == command) {
            run.left += 1;
            continue;
        }
        if let Some(ended) = run.take() {
            requests.push(ended);
        }
        runs += 1;
        run = Some(Request {
            number,
            intended_ns: 0,
            sent_ns: 0,
            handed_ns: 0,
            command,
            left: 1,
            measured,
            progress: OperationState { operation, is_run: true, ..OperationState::default() },
            mark: (),
        });
    }
    if let Some(ended) = run {
        requests.push(ended);
    }
    *in_flight += u64::from(turn.sequences);
    send_operations(worker, conn, runs);
}

/// Sends the prepared bytes of the last `count` requests of a connection.
#[inline]
pub(super) fn send_operations<E: Engine, P: Protocol>(
    worker: &mut DirectWorker<'_, '_, E, P>,
    conn: ConnId,
    count: usize,
) {
    let (len, room_ns) = (worker.route.out.len(), worker.route.room_ns);
    let sent_ns = worker.engine.send_vec(conn, &mut worker.route.out);
    worker.note_handed(conn, count, len, room_ns, sent_ns);
}
