//! `keystorm --hold`: a client of a coordinator, over lines of JSON on standard input and output.
//!
//! Owns the client's side of the protocol in `fleet::line`: answers at once, runs shares of plans one after
//! another, and stops the load when its input ends, so that no load outlives the coordinator.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{process, thread};

use anyhow::{Result, anyhow};
use cli::job::End;
use fleet::line::{FromClient, Hello, LINE_BYTES_MAX, Tick, ToClient};
use measure::{Deliveries, Ending, Point, Tally};
use report::{Record, Run, Summary};
use runner::{Barrier, ExchangeObserver, Observer, Progress, ReceivedPage, Snapshot};
use workload::{Plan, Target, streams};

use crate::signals;
use crate::test_bed::TestBed;

/// Interval of reports to the coordinator: signs of life and measurements.
const EVERY_NS: u64 = 1_000_000_000;
/// Interval of checks for a signal while idle.
const LOOK: Duration = Duration::from_millis(100);
/// Time that the current work may take to end after the input has ended.
const FAREWELL: Duration = Duration::from_secs(3);

/// Runs plans until there are no more.
///
/// # Errors
/// Returns an error if the protocol was violated.
pub(crate) fn client() -> Result<End> {
    let epoch = Instant::now();
    let signal = signals::number()?;
    let interrupted = signals::interrupted()?;
    let out = LineOutput::default();
    out.say(&FromClient::Hello(Box::new(Hello::of_this_process(env!("CARGO_PKG_VERSION")))));
    let (alive, listening) = (out.clone(), out.clone());
    thread::Builder::new().name("alive".into()).spawn(move || {
        for seconds in 1.. {
            thread::sleep(Duration::from_nanos(EVERY_NS));
            alive.say(&FromClient::Alive(seconds));
        }
    })?;
    let (shares, to_do) = channel();
    let (stop, asked) = (interrupted, Arc::clone(&signal));
    thread::Builder::new().name("listen".into()).spawn(move || {
        let fault = listen(epoch, &listening, &shares, stop, &asked);
        stop.store(true, Ordering::Relaxed);
        if let Err(error) = fault {
            listening.say(&FromClient::Failed(error.to_string()));
        }
        // Without shares to come the program ends: only now that its error has been printed.
        drop(shares);
        thread::sleep(FAREWELL);
        // Whatever holds it up, the load has been stopped; what is left is of no use to anybody.
        process::exit(1);
    })?;
    carry_out_all(&to_do, &out, interrupted, &signal);
    Ok(End::Complete)
}

/// A share to run, and the signal for its start.
struct Share {
    plan: Plan,
    barrier: Arc<Barrier>,
}

/// Standard output, a line at a time.
#[derive(Clone, Default)]
struct LineOutput(Arc<Mutex<()>>);

impl LineOutput {
    /// Sends a message. A missing coordinator is noticed by the end of the input, not here.
    fn say(&self, message: &FromClient) {
        let line = message.to_line().unwrap_or_else(|error| {
            let failed =
                FromClient::Failed(format!("a message cannot be written as JSON: {error}"));
            failed.to_line().unwrap_or_default()
        });
        let _whole = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = streams::output();
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

impl ExchangeObserver for LineOutput {
    fn sent(&self) {
        self.say(&FromClient::Sent);
    }

    fn progress(&self, progress: Progress) {
        self.say(&FromClient::Messages(progress));
    }

    fn received(&self, page: ReceivedPage<'_>) {
        self.say(&FromClient::Received(page.into()));
    }
}

/// Answers lines until there are no more.
fn listen(
    epoch: Instant,
    out: &LineOutput,
    shares: &Sender<Share>,
    interrupted: &AtomicBool,
    signal: &AtomicUsize,
) -> Result<()> {
    let mut input = BufReader::new(streams::input());
    let mut barrier: Option<Arc<Barrier>> = None;
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let request = serde_json::from_slice(&line);
        match request.map_err(|error| anyhow!("a line is not part of the protocol: {error}"))? {
            ToClient::Clock(number) => {
                let monotonic_ns = epoch.elapsed().as_nanos() as u64;
                out.say(&FromClient::Clock { number, monotonic_ns });
            }
            ToClient::Plan(plan) => {
                interrupted.store(false, Ordering::Relaxed);
                // A signal that came since is still to be heeded.
                if signal.load(Ordering::Relaxed) != 0 {
                    interrupted.store(true, Ordering::Relaxed);
                }
                let (ready, connections) = (out.clone(), plan.own_connections());
                let opens = Barrier::new(move || ready.say(&FromClient::Ready { connections }));
                let opens = Arc::new(match plan.exchange() {
                    Some(_) => opens.with_exchange(out.clone()),
                    None => opens,
                });
                barrier = Some(Arc::clone(&opens));
                if shares.send(Share { plan: *plan, barrier: opens }).is_err() {
                    return Ok(());
                }
            }
            ToClient::Start { monotonic_ns } => {
                let start = epoch.checked_add(Duration::from_nanos(monotonic_ns));
                if let Some((barrier, start)) = barrier.as_ref().zip(start) {
                    let begun = barrier.release(start).saturating_duration_since(epoch);
                    out.say(&FromClient::Begun { monotonic_ns: begun.as_nanos() as u64 });
                }
            }
            ToClient::AllSent => barrier.iter().for_each(|barrier| barrier.all_have_sent()),
            ToClient::AllReceived => barrier.iter().for_each(|barrier| barrier.all_have_received()),
            ToClient::AllClosed { removes } => {
                barrier.iter().for_each(|barrier| barrier.all_are_closed(removes));
            }
            ToClient::Stop(_) => interrupted.store(true, Ordering::Relaxed),
        }
    }
}

/// Runs shares until there are no more, or a signal ends this process.
fn carry_out_all(
    to_do: &Receiver<Share>,
    out: &LineOutput,
    interrupted: &AtomicBool,
    signal: &AtomicUsize,
) {
    let mut bed: Option<(Target, TestBed<'_>)> = None;
    let stopped = || match signal.load(Ordering::Relaxed) {
        0 => false,
        number => {
            out.say(&FromClient::Stopped(signals::name(number)));
            true
        }
    };
    loop {
        let share = match to_do.recv_timeout(LOOK) {
            Ok(share) => share,
            Err(RecvTimeoutError::Timeout) if stopped() => return,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let message = match carry_out(&share, &mut bed, out, interrupted) {
            Ok(record) => FromClient::Run(Box::new(record)),
            Err(error) => FromClient::Failed(report::escape(format!("{error:#}"))),
        };
        // Before the result, which it explains.
        let stopped = stopped();
        out.say(&message);
        if stopped {
            return;
        }
    }
}

fn carry_out<'r>(
    Share { plan, barrier }: &Share,
    bed: &mut Option<(Target, TestBed<'r>)>,
    out: &LineOutput,
    interrupted: &'r AtomicBool,
) -> Result<Record> {
    // Many plans of an experiment are against one server, which is looked at once.
    let known = bed.take().filter(|(target, _)| *target == plan.target);
    let known = match known {
        Some((_, bed)) => {
            bed.allow_connections(plan.own_connections())?;
            bed
        }
        None => {
            TestBed::reach(&plan.target, plan.protocol, plan.own_connections(), None, interrupted)?
        }
    };
    let (_, known) = bed.insert((plan.target.clone(), known));
    let mut ticks = Ticks { out, number: 0, open: None };
    let run: Run = known.run_share(plan, barrier, &mut ticks)?;
    let mut record = Record::new(false);
    record.put(0, &Summary::from_run(&run))?;
    if run.measurement.ending == Ending::Complete {
        record.set_complete();
    }
    Ok(record)
}

/// Reports the measurements of each second.
struct Ticks<'t> {
    out: &'t LineOutput,
    number: u32,
    open: Option<Second>,
}

/// Measurements since the last report to the coordinator.
struct Second {
    tally: Tally,
    points: Vec<Point>,
    span_ns: u64,
    warming_up: bool,
}

impl Ticks<'_> {
    fn tell(&mut self, snapshot: &Snapshot<'_>, second: Second) {
        let Second { tally, points, span_ns, warming_up } = second;
        let sending = snapshot.sending.as_ref().filter(|_| !warming_up);
        let deliveries = sending.map(|(sending, expected)| {
            let (elapsed_ns, received) = (snapshot.elapsed_ns, snapshot.total.succeeded());
            Box::new(Deliveries::so_far((*sending).clone(), elapsed_ns, *expected, received))
        });
        self.out.say(&FromClient::Tick(Box::new(Tick {
            number: self.number,
            warming_up,
            elapsed_ns: snapshot.elapsed_ns,
            span_ns,
            tally,
            points,
            deliveries,
            workers: snapshot.gauges.to_vec(),
            engine: snapshot.engine.to_owned(),
        })));
        self.number += 1;
    }
}

impl Observer for Ticks<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        let warming_up = snapshot.warming_up;
        // The rest of the warm-up counts in no figure.
        let open = self.open.take().filter(|second| second.warming_up == warming_up);
        let second = match open {
            Some(mut second) => {
                second.tally.merge(snapshot.tally);
                second
            }
            None => {
                let tally = snapshot.tally.clone();
                Second { tally, points: Vec::new(), span_ns: 0, warming_up }
            }
        };
        let mut second = Second { span_ns: second.span_ns + snapshot.span_ns, ..second };
        if !warming_up {
            second.points.push(snapshot.point.clone());
        }
        if second.span_ns >= EVERY_NS {
            self.tell(snapshot, second);
        } else {
            self.open = Some(second);
        }
    }
}
