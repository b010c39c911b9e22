//! What a screen shows of one test while it runs, gathered from its intervals.

use std::time::Duration;

use host::ServerFacts;
use page::screen::{Course, Moment, Screen};
use report::LiveProgress;
use runner::Snapshot;
use workload::{Plan, Stop};

use crate::live_screen;
use crate::so_far::PartialRun;

/// Tests that are to last so long have a screen; of shorter ones it would hide more than it shows.
const LASTS_NS: u64 = 60_000_000_000;
/// How often limit and outages are found anew, which copies and weighs all that was measured.
const JUDGED_EVERY: Duration = Duration::from_secs(5);

/// The screen of a test; the terminal is given back when it is dropped.
pub(crate) struct LiveView<'p> {
    screen: Screen,
    /// Needs to be known of the server, too.
    so_far: Option<PartialRun<'p>>,
    /// Time of the test at which it is judged again.
    judged_again_ns: u64,
}

impl<'p> LiveView<'p> {
    /// Of a plan that lasts, where standard output is a terminal that can show it.
    pub(crate) fn of_plan(plan: &Plan) -> Option<Self> {
        let lasts = matches!(plan.load.stop, Stop::AfterNs(ns) if ns >= LASTS_NS);
        let screen = Screen::default();
        (lasts && live_screen::is_possible()).then_some(Self {
            screen,
            so_far: None,
            judged_again_ns: 0,
        })
    }

    /// Lets it say what limits the test.
    pub(crate) fn of_server(&mut self, plan: &'p Plan, server: &ServerFacts) {
        self.so_far = Some(PartialRun::new(plan, server.clone()));
    }

    /// Takes an interval.
    pub(crate) fn add(&mut self, snapshot: &Snapshot<'_>) {
        if let Some(so_far) = &mut self.so_far {
            so_far.add(snapshot);
        }
    }

    /// The warm-up is over: what is measured begins.
    pub(crate) fn begin(&mut self) {
        self.screen.course = Course::default();
    }

    /// Keeps a line about what happened.
    pub(crate) fn event(&mut self, line: String) {
        self.screen.events.push(line);
    }

    /// Draws it with what came since the last time; whether it could be.
    pub(crate) fn show(
        &mut self,
        progress: LiveProgress,
        came: Moment,
        snapshot: &Snapshot<'_>,
    ) -> bool {
        let response = snapshot.total.response();
        let of_all = [0.5, 0.99, 1.0].map(|q| response.quantile_ns(q));
        self.screen.so_far_msec = of_all.map(|ns| ns.map(|ns| ns as f64 / 1e6));
        self.screen.progress = progress;
        self.screen.course.push(came);
        if !snapshot.warming_up && snapshot.elapsed_ns >= self.judged_again_ns {
            self.judged_again_ns = snapshot.elapsed_ns + JUDGED_EVERY.as_nanos() as u64;
            if let Some(run) = self.so_far.as_ref().and_then(|so_far| so_far.run(snapshot)) {
                let (verdict, outages) = page::runs::so_far(&run);
                (self.screen.verdict, self.screen.outages) = (Some(verdict), outages);
            }
        }
        live_screen::show(self.screen.clone())
    }
}

impl Drop for LiveView<'_> {
    fn drop(&mut self) {
        live_screen::hide();
    }
}
