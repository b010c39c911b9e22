//! The unit of rates and CPU times.

use workload::Plan;

use crate::Metric;

/// Unit that a run counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CountUnit {
    /// Answered requests.
    #[default]
    Request,
    /// Received messages.
    Message,
}

impl CountUnit {
    /// Returns the unit of the runs of a plan.
    pub fn from_plan(plan: &Plan) -> Self {
        if plan.has_receivers() { Self::Message } else { Self::Request }
    }

    fn word(self, of_request: &'static str, of_message: &'static str) -> &'static str {
        if self == Self::Request { of_request } else { of_message }
    }

    /// Returns the noun in the singular: `request`.
    pub fn singular(self) -> &'static str {
        self.word("request", "message")
    }

    /// Returns the noun in the plural: `requests`.
    pub fn plural(self) -> &'static str {
        self.word("requests", "messages")
    }

    /// Returns the head of a column of rates. A sent message is received by none, one or many.
    pub fn per_second(self) -> &'static str {
        self.word("requests/s", "received/s")
    }

    /// Returns the name of its rate as a title.
    pub fn rate_title(self) -> &'static str {
        self.word("Requests per second", "Messages received per second")
    }

    /// The name of a figure in a table.
    pub fn label(self, metric: Metric) -> &'static str {
        match (self, metric) {
            (Self::Message, Metric::Throughput) => self.per_second(),
            (Self::Message, Metric::ClientCpu) => "client µs/message",
            (Self::Message, Metric::ServerCpu) => "server µs/message",
            _ => metric.label(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_named_by_what_it_counts() {
        let labels = |unit: CountUnit| {
            [Metric::Throughput, Metric::ServerCpu, Metric::P99].map(|metric| unit.label(metric))
        };
        assert_eq!(labels(CountUnit::Request), ["requests/s", "server µs/request", "p99 (ms)"]);
        assert_eq!(labels(CountUnit::Message), ["received/s", "server µs/message", "p99 (ms)"]);
    }
}
