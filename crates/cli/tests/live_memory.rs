//! What a listener to a page that grows costs: no second copy of the histograms of a run's intervals.
//!
//! One test in a process of its own, since the counting allocator counts every thread.
#![allow(missing_docs, clippy::unwrap_used)]

use std::alloc::System;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use cli::console::diagnostics::Diagnostics;
use cli::console::live_page::{DrawPace, LivePage, LiveWatch};
use cli::job::MetricsAt;
use measure::{EncodedLatency, Latency, Point, Tally};
use report::fixture;
use runner::{INTERVAL_NS, Observer, Snapshot, tally_shape};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PATIENCE: Duration = Duration::from_secs(120);

fn live_bytes() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Intervals of a run, with a histogram each that no other has in common.
struct Intervals {
    first: Point,
    total: Tally,
    count: u32,
}

impl Intervals {
    fn ending_with(total: Tally) -> Self {
        let mut response = Latency::new(3);
        // Counts that no compression makes small.
        let count = |n: u64| 1 + n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_500;
        (0..4_000).for_each(|n| response.record_n(20_000 + 250 * n + n * n, count(n)));
        Self { first: Point::with(0, 16_000, 0, &response), total, count: 0 }
    }

    fn next(&mut self) -> Point {
        let response = self.first.response.as_ref().unwrap();
        let buckets = response.buckets.to_vec().into();
        let response = Some(EncodedLatency { buckets, ..response.clone() });
        self.count += 1;
        Point { index: self.count - 1, response, ..self.first.clone() }
    }

    /// Shows so many intervals to the watch.
    fn show(&mut self, count: u32, watch: &mut LiveWatch<'_>) {
        for _ in 0..count {
            let point = self.next();
            watch.interval(&Snapshot {
                point: &point,
                span_ns: INTERVAL_NS,
                tally: &self.total,
                warming_up: false,
                total: &self.total,
                elapsed_ns: u64::from(self.count) * INTERVAL_NS,
                gauges: &[],
                engine: "none",
                successes: None,
                sending: None,
            });
        }
    }

    /// Shows one after another until the listener has the page of the last.
    fn show_until_drawn(&mut self, watch: &mut LiveWatch<'_>, listener: &mut Listener) {
        loop {
            self.show(1, watch);
            let elapsed_s = f64::from(self.count) * INTERVAL_NS as f64 / 1e9;
            if listener.next_page_has(&format!(": {elapsed_s:.0} s")) {
                return;
            }
        }
    }
}

/// The listener, of whom every page is read.
struct Listener {
    stream: BufReader<TcpStream>,
    line: Vec<u8>,
}

impl Listener {
    fn on_port(port: u16) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        Self { stream: BufReader::new(stream), line: Vec::with_capacity(8 << 20) }
    }

    fn next_page_has(&mut self, words: &str) -> bool {
        loop {
            self.line.clear();
            assert!(self.stream.read_until(b'\n', &mut self.line).unwrap() > 0);
            if self.line.starts_with(b"data: ") {
                let words = words.as_bytes();
                return self.line.windows(words.len()).any(|part| part == words);
            }
        }
    }
}

/// Waits until no more than that is held.
fn holds_at_most(most: usize, what: &str) {
    let began = Instant::now();
    while live_bytes() > most {
        let more = live_bytes().saturating_sub(most);
        assert!(began.elapsed() < PATIENCE, "{what}: {more} bytes more than {most}");
        thread::yield_now();
    }
}

#[test]
fn a_listener_costs_no_second_copy_of_what_was_measured() {
    let run = fixture::complete();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = MetricsAt { host: "127.0.0.1".to_owned(), port };
    let pace = DrawPace { every: Duration::ZERO, rest: 0 };
    let page = LivePage::serve(&at, pace, true, &Diagnostics::Stderr).unwrap();
    let mut listener = Listener::on_port(port);
    assert!(listener.next_page_has("keystorm"));
    let mut watch = page.watch(&run.plan, &run.server, None);
    let mut intervals = Intervals::ending_with(Tally::new(&tally_shape(&run.plan)));

    intervals.show(200, &mut watch);
    // A page that is being written comes and goes: what is held with it counts.
    let sizes = (0..5).map(|_| {
        intervals.show_until_drawn(&mut watch, &mut listener);
        live_bytes()
    });
    let before = sizes.max().unwrap_or_default();
    // What the run itself keeps of further intervals.
    let further = 200;
    let kept: Vec<Point> = (0..further).map(|_| intervals.next()).collect();
    let own = live_bytes() - before;
    assert!(own > 1_000_000, "{own} bytes are too few to tell");
    drop(kept);
    intervals.count -= further;
    intervals.show(further, &mut watch);
    intervals.show_until_drawn(&mut watch, &mut listener);
    holds_at_most(before + own + own / 4, "what was measured once");
    // Points are put together from then on.
    for _ in 0..3 {
        intervals.show(further, &mut watch);
        intervals.show_until_drawn(&mut watch, &mut listener);
        holds_at_most(before + 2 * own, "a run that lasts longer");
    }
    page.end(None);
}
