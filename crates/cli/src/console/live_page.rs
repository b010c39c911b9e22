//! `--live`: the page of the run in a browser, while it runs.
//!
//! A run is never disturbed. The collecting thread copies the measurement, at most once a second and only
//! while a browser listens. The serving thread draws it, with the code for finished runs, and rests after
//! each drawing, according to its [pace](DrawPace). A browser may leave at any time.
//!
//! There is one copy, which the next replaces, and histograms of intervals are shared with the measurement.
//! So a listener costs the same memory after an hour as after a minute.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::job::MetricsAt;
use anyhow::{Context, Result};
use host::{ServerFacts, WatchSoFar};
use naming::LIVE;
use percent_encoding::percent_decode_str;
use report::page::runs::{self, Source};
use report::page::{Page, Verdict, live};
use report::{Mark, Run};
use runner::{Observer, Snapshot};
use workload::{Plan, Stop};

use crate::console::diagnostics::{self, Diagnostics};
use crate::console::http::{HttpRequest, HttpResponse, HttpServer, Service};
use crate::console::metrics::listen;
use crate::console::so_far::PartialRun;

/// Pace at which the page is redrawn.
#[derive(Debug, Clone, Copy)]
pub struct DrawPace {
    /// Minimum time between drawings.
    pub every: Duration,
    /// Rest after a drawing, as a multiple of its duration.
    pub rest: u32,
}

impl Default for DrawPace {
    /// Once a second, using at most 50 ms of it for drawing.
    fn default() -> Self {
        Self { every: Duration::from_secs(1), rest: 19 }
    }
}

/// Marks of a job, and characters of each.
const MARKS_MAX: usize = 100;
const MARK_CHARS_MAX: usize = 60;
/// Time without a request after which a browser counts as gone.
const GONE: Duration = Duration::from_secs(5);
/// Maximum number of finished tests on the live page, as a repeating suite would make it grow for ever.
const TESTS_MAX: usize = 24;

/// Server of the live page, until it is dropped.
pub struct LivePage {
    shared: Arc<PageState>,
    server: Option<HttpServer>,
}

struct PageState {
    /// Number that distinguishes this keystorm from others on the port.
    started: u128,
    began: Instant,
    /// Required host name in a browser's request; `None` accepts any.
    host: Option<String>,
    pace: DrawPace,
    /// Set if marks can be set, because there is a saved run that keeps them.
    takes_marks: bool,
    /// Counter of changes that require a redrawing.
    version: AtomicU64,
    /// Time at which a browser last asked for events, in milliseconds since `began`, plus 1; 0 for never.
    asked_ms: AtomicU64,
    state: Mutex<State>,
    drawing: Mutex<Drawing>,
}

#[derive(Clone, Default)]
struct State {
    /// Tests that have ended, the latest [`TESTS_MAX`], and the running one so far. A drawing shares those
    /// that it draws.
    runs: Arc<Vec<Run>>,
    /// Set while the last of `runs` still runs.
    is_running: bool,
    /// Progress in a few words.
    words: String,
    /// Page of an experiment, shown instead of the runs.
    page: Option<Arc<Page>>,
    marks: Vec<(SystemTime, String)>,
    ended: bool,
}

impl State {
    /// Replaces the running test; `is_running` says whether the new one still runs.
    fn put(&mut self, mut run: Run, is_running: bool) {
        run.marks = marks_of(&self.marks, &run);
        let runs = Arc::make_mut(&mut self.runs);
        if self.is_running {
            runs.pop();
        }
        if runs.len() == TESTS_MAX {
            runs.remove(0);
        }
        runs.push(run);
        self.is_running = is_running;
    }
}

#[derive(Default)]
struct Drawing {
    version: u64,
    event: Arc<str>,
    /// Earliest time of the next drawing.
    rest_until: Option<Instant>,
}

impl LivePage {
    /// Listens at this address, for browsers that watch an experiment.
    ///
    /// # Errors
    /// Returns the errors of [`serve`](Self::serve).
    pub fn of_experiment(at: &MetricsAt) -> Result<Self> {
        Self::serve(at, DrawPace::default(), false, &Diagnostics::Stderr)
    }

    /// Listens at this address, for browsers that watch runs, and may set marks, or an experiment.
    ///
    /// # Errors
    /// Returns an error if it cannot listen on the address.
    pub fn serve(
        at: &MetricsAt,
        pace: DrawPace,
        takes_marks: bool,
        remarks: &Diagnostics,
    ) -> Result<Self> {
        let listener = listen(at, LIVE)?;
        let address = listener.local_addr().context(LIVE)?;
        let is_private = address.ip().is_loopback();
        if !is_private {
            remarks.say(format_args!(
                "warning: anyone who can reach this machine can see the page on {address} and set marks"
            ))?;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let shared = Arc::new(PageState {
            started: since.as_nanos(),
            began: Instant::now(),
            host: is_private.then(|| at.host.clone()),
            pace,
            takes_marks,
            version: AtomicU64::new(1),
            asked_ms: AtomicU64::new(0),
            state: Mutex::default(),
            drawing: Mutex::default(),
        });
        let server = HttpServer::start(listener, "live", Arc::clone(&shared))
            .with_context(|| format!("{LIVE}: starting to serve"))?;
        diagnostics::say(format_args!(
            "The page of the run is on http://{address}/ while it lasts"
        ))?;
        Ok(Self { shared, server: Some(server) })
    }

    /// Starts to watch a test that is about to run, with the observations `seen` of servers and machine.
    pub fn watch<'p>(
        &self,
        plan: &'p Plan,
        server: &ServerFacts,
        seen: Option<WatchSoFar>,
    ) -> LiveWatch<'p> {
        let so_far = PartialRun::new(plan, server.clone(), seen);
        LiveWatch { plan, so_far, shared: Arc::clone(&self.shared), copied: None }
    }

    /// Returns a handle that shows the job's progress on the page.
    pub fn words(&self) -> LiveWords {
        LiveWords { shared: Arc::clone(&self.shared), said: Cell::new(None) }
    }

    /// Shows the page of an experiment so far, which is made only for a browser.
    pub fn show(&self, page: impl FnOnce() -> Page) {
        if !self.shared.is_watched() {
            return;
        }
        let page = page();
        self.shared.lock().page = Some(Arc::new(page));
        self.shared.changed();
    }

    /// Ends the job: sends this page to connected browsers, with the file that `--html` would write.
    pub fn end(mut self, page: Option<Page>) {
        let mut state = self.shared.lock();
        if let Some(page) = page {
            state.page = Some(Arc::new(page));
        }
        (state.ended, state.words) = (true, "Ended".to_owned());
        drop(state);
        self.shared.changed();
        if let Some(server) = self.server.take() {
            server.finish();
        }
    }
}

impl PageState {
    /// Locks the state, even after a panic of a thread, which leaves no partial data that matters.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    fn is_watched(&self) -> bool {
        let asked_ms = self.asked_ms.load(Ordering::Relaxed);
        let now_ms = self.began.elapsed().as_millis() as u64;
        asked_ms > 0 && now_ms.saturating_sub(asked_ms) < GONE.as_millis() as u64
    }

    /// Returns whether a drawing shares the data to be replaced, which can wait for the next interval.
    fn is_drawing(&self) -> bool {
        Arc::strong_count(&self.lock().runs) > 1
    }

    /// Sets a mark; returns the reason if it cannot.
    fn mark(&self, text: &str) -> Result<(), &'static str> {
        let text = percent_decode_str(text).decode_utf8_lossy();
        let text: String = text.chars().filter(|c| !c.is_control()).take(MARK_CHARS_MAX).collect();
        let mut state = self.lock();
        if state.marks.len() >= MARKS_MAX {
            return Err("there are as many marks as a run may have");
        }
        state.marks.push((SystemTime::now(), text));
        let state = &mut *state;
        if let (true, Some(run)) = (state.is_running, Arc::make_mut(&mut state.runs).last_mut()) {
            run.marks = marks_of(&state.marks, run);
        }
        self.changed();
        Ok(())
    }

    /// Returns whether the request names this page, so that a browser on this machine may send it.
    fn is_addressed(&self, asked: &HttpRequest<'_>) -> bool {
        let Some(host) = &self.host else { return true };
        let named = asked.field("Host").unwrap_or_default();
        let named = match named.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => named,
        };
        let named = named.trim_start_matches('[').trim_end_matches(']');
        named == host || ["127.0.0.1", "localhost", "::1"].contains(&named)
    }

    fn draw(&self, state: &State) -> Arc<str> {
        let event = |page: &Page| live::event(page, &state.words, self.started, state.ended);
        let event = match &state.page {
            Some(page) => event(page),
            None => event(&page_of(&state.runs)),
        };
        format!("event: page\ndata: {event}\n\n").into()
    }
}

/// The page of runs.
fn page_of(runs: &[Run]) -> Page {
    if runs.is_empty() {
        let text = "They come when the load has begun: the server is started and filled before.";
        let lede = vec![Verdict::new("No figures yet", text)];
        return Page { title: "keystorm".to_owned(), lede, ..Page::default() };
    }
    runs::page(&[Source { name: String::new(), runs, complete: true }])
}

/// Marks that were set during a run, or its warm-up.
fn marks_of(marks: &[(SystemTime, String)], run: &Run) -> Vec<Mark> {
    let started = run.measurement.started_at;
    let marks = marks.iter().map(|(at, text)| {
        let after = at.duration_since(started).unwrap_or_default();
        Mark { at_ns: after.as_nanos() as u64, text: text.clone() }
    });
    let elapsed_ns = run.measurement.elapsed_ns;
    marks.map(|mark| Mark { at_ns: mark.at_ns.min(elapsed_ns), ..mark }).collect()
}

impl Service for PageState {
    fn answer(&self, asked: &HttpRequest<'_>) -> HttpResponse {
        if !self.is_addressed(asked) {
            return HttpResponse::plain(
                "421 Misdirected Request",
                "ask for this page by the address that keystorm printed",
            );
        }
        if let Some(text) = asked.path.strip_prefix("/mark/").filter(|_| self.takes_marks) {
            // No other page can have a browser send this field without asking first.
            if asked.method != "POST" || asked.field("X-Keystorm").is_none() {
                return HttpResponse::not_allowed("POST");
            }
            return match self.mark(text) {
                Ok(()) => HttpResponse::plain("200 OK", "marked"),
                Err(why) => HttpResponse::plain("429 Too Many Requests", why),
            };
        }
        if !asked.reads() {
            return HttpResponse::not_allowed("GET, HEAD");
        }
        match asked.path {
            "/" => HttpResponse::page(
                "text/html; charset=utf-8",
                live::frame("keystorm", self.takes_marks),
            ),
            "/events" => HttpResponse::events(),
            _ => HttpResponse::plain("404 Not Found", "the page is /"),
        }
    }

    fn event(&self, seen: u64) -> Option<(u64, Arc<str>)> {
        let now_ms = self.began.elapsed().as_millis() as u64;
        self.asked_ms.store(now_ms + 1, Ordering::Relaxed);
        let mut drawing = self.drawing.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.version.load(Ordering::Acquire);
        let began = Instant::now();
        let state = self.lock();
        let may_draw = state.ended || drawing.rest_until.is_none_or(|until| began >= until);
        if version > drawing.version && may_draw {
            // The copy is quick; drawing must not keep the run from the state.
            let copy = state.clone();
            drop(state);
            drawing.event = "".into();
            drawing.event = self.draw(&copy);
            drawing.version = version;
            let took = began.elapsed();
            drawing.rest_until =
                Some(Instant::now() + (took * self.pace.rest).max(self.pace.every));
        }
        (drawing.version > seen).then(|| (drawing.version, Arc::clone(&drawing.event)))
    }
}

/// A line with the progress of an experiment on its page.
pub struct LiveWords {
    shared: Arc<PageState>,
    said: Cell<Option<Instant>>,
}

impl LiveWords {
    /// Shows the words, no more often than the page is drawn.
    pub fn say(&self, words: &str) {
        let is_early = self.said.get().is_some_and(|at| at.elapsed() < self.shared.pace.every);
        if is_early || !self.shared.is_watched() {
            return;
        }
        self.said.set(Some(Instant::now()));
        words.clone_into(&mut self.shared.lock().words);
        self.shared.changed();
    }
}

/// Watches one test.
pub struct LiveWatch<'p> {
    plan: &'p Plan,
    so_far: PartialRun<'p>,
    shared: Arc<PageState>,
    copied: Option<Instant>,
}

impl LiveWatch<'_> {
    /// Ends the test: the run gets the marks that were set in it.
    pub fn ended(self, run: &mut Run) {
        let mut state = self.shared.lock();
        run.marks = marks_of(&state.marks, run);
        state.put(run.clone(), false);
        state.marks.clear();
        drop(state);
        self.shared.changed();
    }

    /// Describes the progress of the test.
    fn words(&self, snapshot: &Snapshot<'_>) -> String {
        let elapsed_s = snapshot.elapsed_ns as f64 / 1e9;
        let left = match (self.plan.load.stop, self.plan.own_requests()) {
            (Stop::AfterNs(ns), _) => Some(ns as f64 / 1e9 - elapsed_s),
            (Stop::Requests(_), Some(n)) if !self.plan.has_receivers() => {
                let done = snapshot.total.operations_ended() as f64 / n as f64;
                (done > 0.0).then(|| elapsed_s / done - elapsed_s)
            }
            (Stop::Requests(_), _) => None,
        };
        let what = if snapshot.warming_up { "Warming up" } else { "Running" };
        let left = left.filter(|left| left.is_finite() && !snapshot.warming_up);
        let left =
            left.map_or(String::new(), |left| format!(", about {:.0} s left", left.max(0.0)));
        let name = report::escape(&self.plan.name);
        format!("{what} {name}: {elapsed_s:.0} s{left}")
    }
}

impl Observer for LiveWatch<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        self.so_far.add(snapshot);
        let is_early = self.copied.is_some_and(|at| at.elapsed() < self.shared.pace.every);
        if is_early || !self.shared.is_watched() || self.shared.is_drawing() {
            return;
        }
        self.copied = Some(Instant::now());
        let run = if snapshot.warming_up { None } else { self.so_far.run(snapshot) };
        let words = self.shared.takes_marks.then(|| self.words(snapshot));
        let mut state = self.shared.lock();
        if let Some(run) = run {
            state.put(run, true);
        }
        if let Some(words) = words {
            state.words = words;
        }
        drop(state);
        self.shared.changed();
    }
}
