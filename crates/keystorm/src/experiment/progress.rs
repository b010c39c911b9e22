//! How far an experiment is and how long it will take, on standard error where that is a terminal.

use std::time::{Duration, Instant};

use console::bar::{self, Bar};
use console::live_page::LiveWords;
use runner::{Observer, Snapshot};
use workload::{Plan, Stop};

/// Steps of the bar.
const STEPS: u64 = 1000;
/// Factor by which a run takes longer than it measures, until one has shown it.
const OVERHEAD: f64 = 1.1;

/// A bar with the time left. A run that ends by count weighs as much as a second would, which the
/// first of them corrects.
pub(crate) struct Progress {
    /// In the terminal, where nothing else has its line.
    bar: Option<Bar>,
    what: String,
    /// Planned seconds of what is done, of the run that goes on, and of what comes after.
    done_s: f64,
    this_s: f64,
    after_s: f64,
    took: Duration,
    began: Instant,
    /// Page on which it is shown beside the terminal.
    page: Option<LiveWords>,
}

/// The seconds that a plan is to take; 1 where it ends by count.
pub(crate) fn planned_s(plan: &Plan) -> f64 {
    let stop_s = match plan.load.stop {
        Stop::AfterNs(ns) => ns as f64 / 1e9,
        Stop::Requests(_) => 1.0,
    };
    stop_s + plan.load.warmup_ns as f64 / 1e9
}

impl Progress {
    /// On standard error, and on a page that grows, if there is one.
    pub(crate) fn new(page: Option<LiveWords>) -> Self {
        Self { bar: Some(Bar::new(STEPS)), ..Self::beside_line(page) }
    }

    /// On the page alone: runs have a line of their own in the terminal.
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

    /// A run of `this_s` planned seconds begins; runs of `after_s` in all come after it.
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

    /// Prints something while the bar is out of the way.
    pub(crate) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        bar::out_of_the_way(print)
    }

    /// Leaves a clean line for what is printed next.
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
