//! The admin port: figures of a run while it lasts, and the word to end it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use cli::console::http::{HttpRequest, HttpResponse, HttpServer, Service};
use cli::console::metrics;
use cli::job::MetricsAt;
use runner::LiveRate;

use crate::rpc_perf::layout::{Metrics, Snapshot};

/// Serves until it is dropped.
pub(super) struct Admin {
    shared: Arc<AdminState>,
    _server: HttpServer,
}

/// State that is shown, and the requests for changes.
struct AdminState {
    snapshot: Mutex<Snapshot>,
    ends: AtomicBool,
    throttle: Throttle,
}

/// Control over the rate of a run.
pub(super) enum Throttle {
    /// No rate is set.
    Unlimited,
    /// Several clients send the load, each by the schedule of its share, which nothing can change.
    Shared,
    /// The rate may be changed.
    Live(Arc<LiveRate>),
}

impl Throttle {
    /// Changes it.
    fn set(&self, rate_per_s: u32) -> HttpResponse {
        match self {
            Self::Unlimited => {
                HttpResponse::plain("404 Not Found", "this run has no rate limit to change")
            }
            Self::Shared => HttpResponse::plain(
                "501 Not Implemented",
                "several clients (--ks-on) keep their initial schedule; use the steps of \
                 [workload.ratelimit]",
            ),
            Self::Live(rate) => match rate.set((rate_per_s > 0).then(|| rate_per_s.into())) {
                Ok(()) if rate_per_s == 0 => {
                    HttpResponse::plain(OK, "no limit until another rate is set")
                }
                Ok(()) => HttpResponse::plain(OK, &format!("{rate_per_s} requests per second")),
                Err(why) => HttpResponse::plain("409 Conflict", &why),
            },
        }
    }
}

/// The text format of Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const OK: &str = "200 OK";

impl AdminState {
    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service for AdminState {
    fn answer(&self, asked: &HttpRequest<'_>) -> HttpResponse {
        if let Some(rate) = asked.path.strip_prefix("/ratelimit/") {
            return match (asked.method, rate.parse::<u32>()) {
                ("PUT", Ok(rate)) => self.throttle.set(rate),
                ("PUT", Err(_)) => {
                    HttpResponse::plain("400 Bad Request", "the rate must be a whole number")
                }
                _ => HttpResponse::not_allowed("PUT"),
            };
        }
        if asked.path == "/quitquitquit" {
            if asked.method != "POST" {
                return HttpResponse::not_allowed("POST");
            }
            self.ends.store(true, Ordering::Relaxed);
            return HttpResponse::plain(OK, "the run ends");
        }
        type Page = fn(&Metrics<'_>) -> String;
        let (content_type, page): (_, Page) = match asked.path {
            "/vars" => (TEXT, |metrics| metrics.page()),
            "/vars.json" | "/metrics.json" | "/admin/metrics.json" => {
                (JSON, |metrics| metrics.json())
            }
            "/metrics" => (PROMETHEUS, |metrics| metrics.prometheus()),
            _ => return HttpResponse::plain("404 Not Found", "docs/rpc-perf.md lists the paths"),
        };
        if !asked.reads() {
            return HttpResponse::not_allowed("GET, HEAD");
        }
        HttpResponse::page(content_type, page(&Metrics::new(&self.lock())))
    }
}

impl Admin {
    /// Listens there.
    ///
    /// # Errors
    /// Returns an error if the address is invalid, or cannot be listened on.
    pub(super) fn start(address: &str, throttle: Throttle) -> Result<Self> {
        let option = "[general] admin";
        let at = MetricsAt::parse(address).map_err(anyhow::Error::msg);
        let at = at.with_context(|| format!("{option}: {address}"))?;
        let listener = metrics::listen(&at, option)?;
        let (snapshot, ends) = (Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(AdminState { snapshot, ends, throttle });
        let server = HttpServer::start(listener, "admin", Arc::clone(&shared))
            .with_context(|| format!("{option}: starting to serve"))?;
        Ok(Self { shared, _server: server })
    }

    /// Shows the state of the run.
    pub(super) fn show(&self, snapshot: &Snapshot) {
        let snapshot = snapshot.clone();
        *self.shared.lock() = snapshot;
    }

    /// Returns whether the end was asked for.
    pub(super) fn ends(&self) -> bool {
        self.shared.ends.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cli::job::Intent;

    fn status(shared: &AdminState, method: &str, path: &str) -> String {
        shared.answer(&HttpRequest::new(method, path)).status[..3].to_owned()
    }

    #[test]
    fn what_is_asked_for_is_answered_and_what_is_not_there_is_reported() {
        let words = ["--rps", "200", "--duration", "9", "ping"].map(Into::into);
        let Ok(Intent::Run(job)) = cli::parse(&[], "keystorm".as_ref(), words.into()) else {
            panic!("a run")
        };
        let rate = Arc::new(LiveRate::from_plan(&job.plans[0]).unwrap());
        let mut shared = AdminState {
            snapshot: Mutex::default(),
            ends: AtomicBool::new(false),
            throttle: Throttle::Live(Arc::clone(&rate)),
        };
        for (method, path, expected) in [
            ("GET", "/vars", "200"),
            ("HEAD", "/vars.json", "200"),
            ("GET", "/metrics.json", "200"),
            ("GET", "/admin/metrics.json", "200"),
            ("GET", "/metrics", "200"),
            ("POST", "/metrics", "405"),
            ("GET", "/", "404"),
            ("PUT", "/ratelimit/0", "200"),
            ("PUT", "/ratelimit/5000", "200"),
            ("PUT", "/ratelimit/4000000000", "409"),
            ("PUT", "/ratelimit/-1", "400"),
            ("PUT", "/ratelimit/x", "400"),
            ("GET", "/ratelimit/1", "405"),
            ("GET", "/quitquitquit", "405"),
        ] {
            assert_eq!(status(&shared, method, path), expected, "{method} {path}");
        }
        assert!(!shared.ends.load(Ordering::Relaxed));
        assert_eq!(status(&shared, "POST", "/quitquitquit"), "200");
        assert!(shared.ends.load(Ordering::Relaxed));
        assert_eq!((rate.at(0), rate.at(1)), (200.0, 5000.0));
        for (throttle, expected) in [(Throttle::Unlimited, "404"), (Throttle::Shared, "501")] {
            shared.throttle = throttle;
            assert_eq!(status(&shared, "PUT", "/ratelimit/5"), expected);
        }
    }
}
