//! Counters for Prometheus.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

/// Upper ends of the times of requests, in seconds.
const SECONDS: [f64; 9] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0, 10.0];

fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

/// All of them.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
    /// Campaigns that run here.
    pub(super) campaigns: Gauge,
    /// Cases that campaigns here ran.
    pub(super) cases: Counter,
    /// Findings that campaigns here kept.
    pub(super) findings: Counter,
    /// Clients that watch events.
    pub(super) watchers: Gauge,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("caqtus");
        let requests = Family::default();
        let seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        let (campaigns, cases, findings, watchers) =
            (Gauge::default(), Counter::default(), Counter::default(), Gauge::default());
        registry.register("http_requests", "Requests answered", requests.clone());
        let about = "Time until the answer began";
        registry.register_with_unit("http_request_duration", about, Unit::Seconds, seconds.clone());
        registry.register("campaigns_running", "Campaigns that this service runs", campaigns.clone());
        registry.register("cases", "Test cases of campaigns that this service ran", cases.clone());
        registry.register("findings", "Findings of campaigns that this service ran", findings.clone());
        registry.register("event_watchers", "Clients that watch events", watchers.clone());
        Self { registry, requests, seconds, campaigns, cases, findings, watchers }
    }

    pub(super) fn request(&self, method: &str, route: &str, status: u16, elapsed: Duration) {
        // Clients make up methods; each would be a counter of its own.
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(&method);
        let method = if known { method } else { "other" }.to_owned();
        let route = route.to_owned();
        self.requests.get_or_create(&RequestLabels { method, route: route.clone(), status }).inc();
        self.seconds.get_or_create(&RouteLabels { route }).observe(elapsed.as_secs_f64());
    }

    /// The text that Prometheus reads.
    pub(super) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
