//! Progress of an experiment and time left, on standard error if that is a terminal.

use std::time::{Duration, Instant};

use cli::console::bar::{self, Bar};
use cli::console::live_page::LiveWords;
use runner::{Observer, Snapshot};
use workload::{Plan, Stop};

/// Steps of the bar.
const STEPS: u64 = 1000;
/// Ratio of the duration of a run to its measured time, until one has been measured.
const OVERHEAD: f64 = 1.1;

/// A bar with the time left. A run that ends by count is estimated as one second, until the first of them has
/// run.
pub(crate) struct Progress {
    /// Bar in the terminal, where it has a line to itself.
    bar: Option<Bar>,
    what: String,
    /// Planned seconds of the finished runs, of the current run, and of those after it.
    done_s: f64,
    this_s: f64,
    after_s: f64,
    took: Duration,
    began: Instant,
    /// Page that shows it in addition to the terminal.
    page: Option<LiveWords>,
}

/// Planned seconds of a plan; 1 if it ends by count.
pub(crate) fn planned_s(plan: &Plan) -> f64 {
    let stop_s = match plan.load.stop {
        Stop::AfterNs(ns) => ns as f64 / 1e9,
        Stop::Requests(_) => 1.0,
    };
    stop_s + plan.load.warmup_ns as f64 / 1e9
}

impl Progress {
    /// Progress on standard error, and on a growing page if there is one.
    pub(crate) fn new(page: Option<LiveWords>) -> Self {
        Self { bar: Some(Bar::new(STEPS)), ..Self::beside_line(page) }
    }

    /// Progress on the page only: in the terminal, runs have a line of their own.
    pub(crate) fn beside_line(page: Option<LiveWords>) -> Self {
        Self {
            bar: None,
            what: String::new(),
            done_s: 0.0,
            this_s: 0.0,
            after_s: 0.0,
            took: Duration::ZERO,
            began: Instant::now(),
            page,
        }
    }

    /// Begins a run of `this_s` planned seconds, after which runs of `after_s` in total are left.
    pub(crate) fn begin(&mut self, what: String, this_s: f64, after_s: f64) {
        self.what = what;
        (self.this_s, self.after_s, self.began) = (this_s, after_s, Instant::now());
        self.show(0.0);
    }

    /// The run has ended.
    pub(crate) fn end(&mut self) {
        self.done_s += self.this_s;
        self.took += self.began.elapsed();
        self.this_s = 0.0;
    }

    /// Prints something while the bar is hidden.
    pub(crate) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        bar::out_of_the_way(print)
    }

    /// Leaves an empty line for further output.
    pub(crate) fn clear(&self) {
        self.bar.iter().for_each(Bar::clear);
    }

    fn show(&self, share_of_this: f64) {
        let left_s = self.this_s * (1.0 - share_of_this) + self.after_s;
        let all_s = self.done_s + self.this_s + self.after_s;
        let factor =
            if self.done_s > 0.0 { self.took.as_secs_f64() / self.done_s } else { OVERHEAD };
        let left_s = (left_s * factor).ceil() as u64;
        let share =
            if all_s > 0.0 { (self.done_s + self.this_s * share_of_this) / all_s } else { 0.0 };
        let (minutes, seconds) = (left_s / 60, left_s % 60);
        let words = format!("{minutes}:{seconds:02} left  {}", self.what);
        if let Some(page) = &self.page {
            page.say(&words);
        }
        if let Some(bar) = &self.bar {
            bar.show((share * STEPS as f64) as u64, words);
        }
    }
}

impl Observer for Progress {
    fn interval(&mut self, _snapshot: &Snapshot<'_>) {
        let share =
            if self.this_s > 0.0 { self.began.elapsed().as_secs_f64() / self.this_s } else { 0.0 };
        self.show(share.min(1.0));
    }
}
