//! Sum of all clients' reports for each second, for observers of the run.

use std::collections::BTreeMap;

use measure::{Point, Tally};
use runner::{Gauges, Observer, Snapshot};

use crate::line::Tick;

/// Seconds that not all clients have reported yet.
#[derive(Default)]
pub(crate) struct Seconds {
    open: BTreeMap<u32, Second>,
    /// The first second that each client has yet to report; [`u32::MAX`] for a client that reports no more.
    reported: Vec<u32>,
    workers: Vec<Vec<Gauges>>,
    total: Option<Tally>,
}

struct Second {
    tally: Tally,
    warming_up: bool,
    elapsed_ns: u64,
    span_ns: u64,
}

impl Seconds {
    pub(crate) fn new(clients: usize) -> Self {
        let (reported, workers) = (vec![0; clients], vec![Vec::new(); clients]);
        Self { reported, workers, ..Self::default() }
    }

    /// Adds a client's report, and shows the seconds that it completes.
    pub(crate) fn add(
        &mut self,
        client: usize,
        tick: &Tick,
        tally: Tally,
        observer: &mut dyn Observer,
    ) {
        self.reported[client] = tick.number.saturating_add(1);
        self.workers[client] = tick.workers.clone();
        match self.open.get_mut(&tick.number) {
            Some(second) => {
                second.tally.merge(&tally);
                second.elapsed_ns = second.elapsed_ns.max(tick.elapsed_ns);
                second.span_ns = second.span_ns.max(tick.span_ns);
            }
            None => {
                let (warming_up, elapsed_ns) = (tick.warming_up, tick.elapsed_ns);
                let second = Second { tally, warming_up, elapsed_ns, span_ns: tick.span_ns };
                self.open.insert(tick.number, second);
            }
        }
        self.show(&tick.engine, observer);
    }

    /// Notes that a client reports no more.
    pub(crate) fn ended(&mut self, client: usize) {
        self.reported[client] = u32::MAX;
        self.workers[client].clear();
    }

    fn show(&mut self, engine: &str, observer: &mut dyn Observer) {
        let complete = self.reported.iter().copied().min().unwrap_or(0);
        // An observer takes the engine's name as `&'static str`.
        let engine = ["uring", "epoll"].into_iter().find(|known| *known == engine).unwrap_or("?");
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() < complete) {
            let (number, second) = entry.remove_entry();
            let Second { tally, warming_up, elapsed_ns, span_ns } = second;
            if !warming_up {
                match &mut self.total {
                    Some(total) => total.merge(&tally),
                    None => self.total = Some(tally.clone()),
                }
            }
            let point = Point::from_tally(number, &tally);
            let gauges: Vec<Gauges> = self.workers.iter().flatten().copied().collect();
            observer.interval(&Snapshot {
                point: &point,
                span_ns,
                tally: &tally,
                warming_up,
                total: self.total.as_ref().unwrap_or(&tally),
                elapsed_ns,
                gauges: &gauges,
                engine,
                successes: None,
                sending: None,
            });
        }
    }
}
